//! Progress on stderr: a bar with the time left on a terminal, a line per round elsewhere.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use iosched::ab::run::Observer;
use iosched::ab::turn::Turn;
use iosched::arm::Arm;
use iosched::report::result::{ResultFile, Round};
use iosched::report::{escape, units};
use iosched::scratch_file::Place;

#[derive(Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    rounds: usize,
    metric: Option<(String, String)>,
}

impl Observer for Progress {
    fn scratch_file_grows(&mut self, place: &Place, done_bytes: u64) {
        let Some(size_bytes) = place.size_bytes else {
            return;
        };
        if done_bytes == 0 {
            if std::io::stderr().is_terminal() {
                let template = "{bar:30} {bytes}/{total_bytes}, {eta} left  {msg}";
                let bar = bar(template, size_bytes);
                bar.set_message("writing the scratch file");
                self.bar = Some(bar);
            } else {
                let line = escape::line(&format!("writing {place}"));
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done_bytes);
        }
    }

    fn begin(&mut self, result: &ResultFile) {
        self.rounds = result.plan.rounds.len();
        self.metric = result
            .design
            .primary
            .first()
            .map(|metric| (metric.name.clone(), metric.unit.clone()));
        if std::io::stderr().is_terminal() {
            self.clear();
            let template = "{bar:30} {pos}/{len} rounds, {eta} left  {msg}";
            let bar = bar(template, self.rounds as u64);
            bar.set_position(result.rounds.len() as u64);
            self.bar = Some(bar);
        }
    }

    fn round_begins(&mut self, turn: &Turn, arm: &Arm) {
        self.rounds = self.rounds.max(turn.planned.index + 1);
        if let Some(bar) = &self.bar {
            let again = if turn.attempt > 0 { " again" } else { "" };
            bar.set_length(self.rounds as u64);
            bar.set_message(format!(
                "block {}{again}: {}",
                turn.planned.block + 1,
                arm.label
            ));
        }
    }

    fn round_ends(&mut self, round: &Round) {
        let value = self.metric.as_ref().and_then(|(name, unit)| {
            let value = *round.metrics.get(name)?;
            let text = units::value(Some(value), unit);
            Some(format!("{name} {text}"))
        });
        let outcome = match &round.problem {
            Some(problem) => format!("does not count: {problem}"),
            None => value.unwrap_or_else(|| "done".to_owned()),
        };
        let line = escape::line(&format!(
            "round {}/{} block {}{} {}: {outcome}",
            round.index + 1,
            self.rounds,
            round.block + 1,
            if round.attempt > 0 { " again" } else { "" },
            round.arm
        ));
        match &self.bar {
            Some(bar) => {
                if round.problem.is_some() {
                    bar.println(line);
                }
                bar.inc(1);
            }
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}

fn bar(template: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(length);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

impl Progress {
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
