//! Bars and spinners on a terminal.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::foretold::Foretold;

/// Counts the time that is left down between rounds, which may take minutes.
const TICK: Duration = Duration::from_secs(1);

pub fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// A bar that counts the bytes that are written.
pub fn bar(size_bytes: u64, what: &'static str) -> ProgressBar {
    let style = style("{bar:30} {bytes}/{total_bytes}, {left} left  {msg}");
    // Nothing is known before the first step.
    let style = style.with_key("left", |state: &ProgressState, out: &mut dyn Write| {
        let _ = match state.pos() {
            0 => write!(out, "?"),
            _ => write!(out, "{:#}", HumanDuration(state.eta())),
        };
    });
    ProgressBar::new(size_bytes)
        .with_style(style)
        .with_message(what)
}

/// A bar of rounds. It shows the time that was foretold; the pace of the bar itself says little, because rounds take as long as
/// their arm takes, and a run that goes on begins with some.
pub fn of_rounds(rounds: u64, left: &Foretold) -> ProgressBar {
    let style = style(if left.has_looks() {
        "{bar:10} {pos}/{len} rounds, {left}  {msg}"
    } else {
        "{bar:30} {pos}/{len} rounds, {left}  {msg}"
    });
    let left = left.clone();
    let style = style.with_key("left", move |_: &ProgressState, out: &mut dyn Write| {
        let _ = out.write_str(&left.now());
    });
    let bar = ProgressBar::new(rounds).with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
