//! Progress on stderr: on a terminal a bar, elsewhere one line per round; both with the time that is left.

mod bars; // on a terminal
mod foretold; // the time that is left

use std::io::{IsTerminal, Write};

use indicatif::ProgressBar;
use iosched_experiment::run::Observer;
use iosched_experiment::study::ahead::Ahead;
use iosched_experiment::study::run::StudyObserver;
use iosched_experiment::tune::TuneObserver;
use iosched_experiment::workload::recorded;
use iosched_result::analysis::early;
use iosched_result::report::study::detectable;
use iosched_result::report::{escape, live, times, tune as report_tune, units};
use iosched_result::study::times::{Budget, LeftOut, Times};
use iosched_result::tune::{TuneResult, search};
use iosched_result::types::arm::Arm;
use iosched_result::types::level::Precondition;
use iosched_result::types::live::Watched;
use iosched_result::types::plan::Turn;
use iosched_result::types::result::{ResultFile, Round};
use iosched_result::types::scratch_place::ScratchPlace;

use self::bars::{bar, of_rounds, spinner};
use self::foretold::Foretold;
use iosched_read::messages::{messages, note};

#[derive(Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    rounds: usize,
    left: Foretold,
    waits: bool,
    /// What a load is was said.
    has_watched: bool,
    /// Name of the cell of a study, with a space.
    cell: String,
    /// How much of the study is left.
    study: String,
    /// The pass of the study, from 1.
    pass: usize,
}

impl Observer for Progress {
    fn scratch_file_grows(&mut self, place: &ScratchPlace, done_bytes: u64) {
        let Some(size_bytes) = place.size_bytes else {
            return;
        };
        if done_bytes == 0 && !messages().quiet {
            if std::io::stderr().is_terminal() {
                self.bar = Some(bar(size_bytes, "writing the scratch file"));
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
        let planned = result.design.schedule().most_blocks().unwrap_or(0);
        let in_budget = result
            .times
            .as_ref()
            .and_then(|times| times.blocks_in_budget);
        let is_extended = !result.design.extensions.is_empty();
        let most = in_budget.filter(|_| !is_extended).unwrap_or(planned) * result.design.arms.len();
        self.rounds = most.max(result.plan.rounds.len());
        self.left.begin(result);
        if std::io::stderr().is_terminal() && !messages().quiet {
            self.clear();
            let bar = of_rounds(self.rounds as u64, &self.left);
            bar.set_position(result.rounds.len() as u64);
            self.bar = Some(bar);
        }
    }

    fn preconditions(&mut self, so_far: &Precondition) {
        let count = so_far.iops.len();
        let iops = units::count(so_far.iops.last().copied().unwrap_or(0.0));
        let text = match &so_far.problem {
            Some(problem) => format!("the preconditioning ended early: {}", escape::line(problem)),
            None => format!("preconditioning, execution {count}: {iops} I/Os per second"),
        };
        self.says(text);
    }

    fn pilot_begins(&mut self, arm: &Arm) {
        self.says(escape::line(&format!("pilot, 10 s: {}", arm.label)));
    }

    fn watches(&mut self, since_s: f64, load: &Watched) {
        // The first of them is seen at once, and later ones where they replace it.
        const EARLY_S: f64 = 10.0;
        let is_first = !self.has_watched && since_s >= EARLY_S;
        if self.bar.is_some() || is_first {
            self.has_watched = true;
            let load = live::load(load);
            self.says(format!(
                "watched for {since_s:.0} s before any switch: {load}"
            ));
        }
    }

    fn watched(&mut self, result: &ResultFile) {
        self.clear();
        let seen = result
            .design
            .live
            .as_ref()
            .and_then(|it| it.watched.as_ref());
        for line in seen.map_or(Vec::new(), live::watched) {
            note(&line);
        }
        if let Some(why) = result.notes.last() {
            note(why);
        }
        if let Some(line) = live::first_statement(result) {
            note(&line);
        }
        self.begin(result);
    }

    fn times_chosen(&mut self, result: &ResultFile) {
        self.clear();
        note(&format!("each round {}", times::rounds(result)));
        let more = [times::in_budget(result), times::too_few_blocks(result)];
        more.iter().flatten().for_each(|line| note(line));
        self.begin(result);
    }

    fn round_begins(&mut self, turn: &Turn, arm: &Arm) {
        self.rounds = self.rounds.max(turn.planned.index + 1);
        self.waits = false;
        if let Some(bar) = &self.bar {
            let again = if turn.attempt > 0 { " again" } else { "" };
            if self.cell.is_empty() {
                bar.set_length(self.rounds as u64);
            }
            let round = format!("block {}{again}: {}", turn.planned.block + 1, arm.label);
            let text = match self.study.as_str() {
                "" => round,
                study => format!("{study}: {}{round}", self.cell),
            };
            bar.set_message(escape::line(&text));
        }
    }

    fn trace_begins(&mut self, arm: &Arm) {
        match &self.bar {
            Some(bar) => bar.set_message(escape::line(&format!("trace: {}", arm.label))),
            None => note(&format!("tracing {}", arm.label)),
        }
    }

    fn begins_again(&mut self, why: &str) {
        if let Some(bar) = &self.bar {
            bar.println(escape::line(why));
            bar.set_position(0);
        } else {
            note(why);
        }
    }

    fn waits(&mut self, why: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(escape::line(why)),
            None if self.waits => {}
            None => note(why),
        }
        self.waits = true;
    }

    fn round_ends(&mut self, result: &ResultFile, round: &Round) {
        let shown = if messages().verbose { usize::MAX } else { 1 };
        let declared = &result.design.primary;
        let primary = if declared.is_empty() {
            &early::likely_primary(round)
        } else {
            declared
        };
        let values = primary.iter().filter_map(|metric| {
            let value = round.value(metric)?;
            let text = units::value(Some(value), &metric.unit);
            Some(format!("{} {text}", metric.name))
        });
        let values: Vec<String> = values.take(shown).collect();
        let outcome = match (&round.problem, round.censored) {
            // This ends the run.
            (Some(problem), _) if round.evidence.outcome.misread.is_some() => {
                format!("cannot be read: {problem}")
            }
            (Some(problem), Some(_)) => format!("counts as worse than every other: {problem}"),
            (Some(problem), None) => format!("does not count: {problem}"),
            (None, _) if values.is_empty() => "done".to_owned(),
            (None, _) => values.join(", "),
        };
        let number = match self.cell.as_str() {
            "" => format!("round {}/{} ", round.index + 1, self.rounds),
            cell => cell.to_owned(),
        };
        let left = if self.cell.is_empty() {
            self.left.after(result)
        } else {
            None
        };
        let line = escape::line(&format!(
            "{number}block {}{} {}: {outcome}{}",
            round.block + 1,
            if round.attempt > 0 { " again" } else { "" },
            round.arm,
            left.map_or_else(String::new, |left| format!("; {left}"))
        ));
        match &self.bar {
            Some(bar) => {
                if round.problem.is_some() || messages().verbose {
                    bar.println(line);
                }
                bar.inc(1);
            }
            None if messages().quiet => {}
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}

impl TuneObserver for Progress {
    fn leaves_out(&mut self, arm: &str, why: &str) {
        let why = why.lines().next().unwrap_or_default();
        let line = escape::line(&format!("left out: {arm}: {why}"));
        match &self.bar {
            Some(bar) => bar.println(line),
            None => note(&line),
        }
    }

    fn stage_begins(&mut self, tune: &TuneResult, name: &str, result: &ResultFile) {
        self.clear();
        let (arms, rounds) = (result.design.arms.len(), result.plan.rounds.len());
        let time = search::round_s(tune).map_or_else(String::new, |round_s| {
            format!(", about {}", units::duration(round_s * rounds as f64))
        });
        note(&format!("{name}: {arms} arms, {rounds} rounds{time}"));
        self.left.of = " of this stage";
        self.begin(result);
    }

    fn stage_ends(&mut self, tune: &TuneResult) {
        self.clear();
        if let [only] = tune.stages.as_slice() {
            // What was said before is not of a metric.
            let primary = &only.result.design.primary;
            let is_of_metric = |text: &&String| primary.iter().any(|it| text.contains(&it.name));
            let notes = only.result.notes.iter().filter(is_of_metric);
            notes.for_each(|text| note(text));
        }
        if tune.referee.is_none()
            && let Some(best) = report_tune::ledger(tune).first()
        {
            let [arm, _, _, change, ..] = best.cells();
            note(&escape::line(&format!(
                "so far the search finds {arm} best ({change}), which claims nothing"
            )));
        }
    }

    fn asks(&mut self, argv: &[String]) {
        self.says(escape::line(&format!(
            "asks {} for arms",
            recorded::shown(argv)
        )));
    }

    fn refuses(&mut self, lines: usize) {
        note(&format!(
            "{lines} lines of the answer name nothing that can be tried: `skipped` in the result says why"
        ));
    }
}

impl StudyObserver for Progress {
    fn prepares(&mut self, stage: &str) {
        if !stage.is_empty() {
            note(&format!("makes the stage {stage}"));
        }
    }

    fn pilots(&mut self, name: &str) {
        "pilot".clone_into(&mut self.study);
        self.cell = format!("{name} ");
        if self.bar.is_none() && std::io::stderr().is_terminal() && !messages().quiet {
            self.bar = Some(spinner());
        }
    }

    fn leaves_out(&mut self, arm: &LeftOut) {
        self.clear();
        note(&format!("left out: {}: {}", arm.arm, arm.why));
    }

    fn chose(&mut self, times: &Times, budget: &Budget) {
        self.clear();
        let blocks = match times.blocks {
            Some(blocks) => format!("{blocks} blocks"),
            None => "as many blocks as the study may have".to_owned(),
        };
        note(&format!(
            "{} pilot blocks took {}; the time is enough for {blocks} with rounds of {} s after a ramp of {} s",
            budget.pilot_blocks,
            units::duration(budget.pilot_s),
            times.round_s,
            times.ramp_s
        ));
        for line in detectable::lines(budget) {
            note(&format!("  {line}"));
        }
    }

    fn cell_begins(&mut self, name: &str, ahead: &Ahead) {
        if self.cell.is_empty() {
            // That of the scratch file.
            self.clear();
        }
        self.cell = format!("{name} ");
        let left = ahead.left.map_or_else(String::new, |(least, most)| {
            let [least, most] = [least, most].map(|time| units::duration(time.as_secs_f64()));
            if least == most {
                format!(", {most} left")
            } else {
                format!(", {least} to {most} left")
            }
        });
        let (pass, cells) = (ahead.pass + 1, ahead.open_cells);
        let plural = if cells == 1 { "" } else { "s" };
        self.study = format!("pass {pass}, {cells} cell{plural} to go{left}");
        let line = format!("{}: {name}", self.study);
        if std::io::stderr().is_terminal() && !messages().quiet {
            let bar = self.bar.get_or_insert_with(spinner);
            bar.set_message(escape::line(&line));
        } else if pass != self.pass || messages().verbose {
            note(&line);
        }
        self.pass = pass;
    }
}

impl Progress {
    /// What goes on before the first round: beside the bar, or as a line.
    fn says(&self, text: String) {
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None if messages().quiet => {}
            None => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

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
