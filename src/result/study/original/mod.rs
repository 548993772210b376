//! Published comparisons of schedulers, judged by the statistics of this project from the figures that they printed.
//! Pure.
//!
//!
//! The figures are in `data/originals/`, and every number of a judgement is computed from them. None of the originals
//! repeated a run, so what varies within a run stands in for blocks where there is enough of it. Such an interval does
//! not cover what varies between runs; each judgement says so.

mod compare; // two schedulers, over the cells that both have
mod fsync;
mod oltp_dss;
mod oltp_web;
mod read_buffer;
mod record_size;
mod table; // the figures, read from CSV

use std::fmt;

use serde::Serialize;

pub use compare::Comparison;

pub const NAMES: [&str; 5] = [
    "record-size",
    "oltp-web",
    "read-buffer",
    "fsync",
    "oltp-dss",
];

/// Level of the intervals.
const ALPHA: f64 = 0.05;
/// Width of the printed text, in characters.
const WIDTH: usize = 100;

/// A published comparison: its claim, and what its own figures support.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judged {
    /// One of [`NAMES`].
    pub name: &'static str,
    pub title: &'static str,
    /// Who, when and on what.
    pub source: &'static str,
    pub claim: &'static str,
    pub comparisons: Vec<Comparison>,
    /// Other findings from the figures.
    pub findings: Vec<String>,
    /// Reasons why the figures do not support more.
    pub reasons: Vec<String>,
    pub conclusion: String,
}

/// None for a name that is not one of [`NAMES`].
pub fn judge(name: &str) -> Option<Judged> {
    let judged = match name {
        "record-size" => record_size::judge(record_size::CSV),
        "oltp-web" => oltp_web::judge(oltp_web::CSV),
        "read-buffer" => read_buffer::judge(read_buffer::CSV),
        "fsync" => fsync::judge(fsync::CSV),
        "oltp-dss" => oltp_dss::judge(oltp_dss::CSV),
        _ => return None,
    };
    // The figures are part of the program; a test judges all of them.
    Some(judged.expect("the embedded figures are complete"))
}

impl Judged {
    pub fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        wrap(f, "", &format!("{}: {}", self.name, self.title))?;
        wrap(f, "", &format!("Source: {}", self.source))?;
        wrap(f, "", &format!("Claim: {}", self.claim))?;
        writeln!(f, "Its own figures:")?;
        for comparison in &self.comparisons {
            wrap(f, "- ", &comparison.to_string())?;
        }
        for finding in &self.findings {
            wrap(f, "- ", finding)?;
        }
        writeln!(f, "Why they do not say more:")?;
        for reason in &self.reasons {
            wrap(f, "- ", reason)?;
        }
        wrap(f, "", &format!("Conclusion: {}", self.conclusion))
    }
}

/// A paragraph; the lines after its first are indented.
fn wrap(f: &mut fmt::Formatter<'_>, bullet: &str, paragraph: &str) -> fmt::Result {
    let mut line = bullet.to_owned();
    let mut is_empty = true;
    // A number stays with what belongs to it.
    let paragraph = paragraph
        .replace(" %", "\u{a0}%")
        .replace(" = ", "\u{a0}=\u{a0}");
    for word in paragraph.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(f, "{}", line.replace('\u{a0}', " "))?;
            "  ".clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(f, "{}", line.replace('\u{a0}', " "))
}

/// The change that a ratio means.
fn change(ratio: f64, decimals: usize) -> String {
    let scale = 10f64.powi(decimals as i32);
    // Adding zero makes a negative zero positive.
    let rounded = ((ratio - 1.0) * 100.0 * scale).round() / scale + 0.0;
    format!("{rounded:+.decimals$} %")
}

/// How far a ratio is above 1.
fn excess(ratio: f64) -> String {
    format!("{:.1} %", (ratio - 1.0) * 100.0)
}

/// The smallest and the largest; infinite without values.
fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let all = values.into_iter();
    all.fold(none, |(low, high), x| (low.min(x), high.max(x)))
}

#[cfg(test)]
mod tests;
