//! What came out, in words: a sentence, a list of the arms, and what weakens it. Pure.

use maud::{Markup, html};

use super::figure::name;
use crate::ab::result::{ArmComparison, ResultFile};
use crate::ab::statistics::verdict::Verdict;
use crate::ab::turn;
use crate::report::{live, noise, text, words};

pub fn section(result: &ResultFile) -> Markup {
    let reference = &result.design.arms[result.design.reference].label;
    let arms: Vec<Outcome<'_>> = outcomes(result);
    html! {
        div #verdict {
            @if let Some(why) = turn::why_invalid(result) {
                p.lead { span.verdict.worse { "✗ invalid" } " " (name(&why)) }
            } @else if result.design.is_placebo {
                pre tabindex="0" { (name(noise::section(result).trim_end())) }
            } @else if arms.is_empty() {
                p.lead { "No verdict: no block was completed." }
            } @else {
                p.lead { (name(&lead(reference, &arms))) }
            }
            (list(&text::status(result)))
            ul.outcomes {
                @for arm in &arms {
                    li {
                        strong { (name(arm.label)) } " "
                        span.verdict.(arm.class) { (arm.sign) " " (arm.word) }
                        @if !arm.found.is_empty() {
                            ul { @for row in &arm.found { li { (name(&row.metric.name)) ": " (words::said(&row.comparison, &row.metric.unit)) } } }
                        }
                    }
                }
            }
            (list(&live::section(result)))
        }
    }
}

/// What the primary rows say about one arm.
struct Outcome<'a> {
    label: &'a str,
    class: &'static str,
    sign: &'static str,
    word: &'static str,
    /// The rows in which a difference is shown.
    found: Vec<&'a ArmComparison>,
}

fn outcomes(result: &ResultFile) -> Vec<Outcome<'_>> {
    let arms = result.design.arms.iter().enumerate();
    let others = arms.filter(|(index, _)| *index != result.design.reference);
    let of = |label: &str| {
        let rows = result.comparisons.iter();
        rows.filter(|row| row.primary && row.arm == label)
            .collect::<Vec<_>>()
    };
    let some = others.map(|(_, arm)| (arm.label.as_str(), of(&arm.label)));
    some.filter(|(_, rows)| !rows.is_empty())
        .map(|(label, rows)| outcome(label, &rows))
        .collect()
}

fn outcome<'a>(label: &'a str, rows: &[&'a ArmComparison]) -> Outcome<'a> {
    let count = |verdict: Verdict| {
        rows.iter()
            .filter(|row| row.comparison.verdict == verdict)
            .count()
    };
    let (better, worse) = (count(Verdict::Better), count(Verdict::Worse));
    let (class, sign, word) = match (better, worse) {
        (0, 0) if count(Verdict::Equivalent) == rows.len() => {
            ("same", "=", "no difference that matters")
        }
        (0, 0) if count(Verdict::Differs) > 0 => ("differs", "≠", "differs"),
        (0, 0) => ("open", "?", "not decided"),
        (_, 0) => ("better", "▲", "better"),
        (0, _) => ("worse", "▼", "worse"),
        _ => ("differs", "▲▼", "a trade"),
    };
    let is_found = |row: &&ArmComparison| {
        matches!(
            row.comparison.verdict,
            Verdict::Better | Verdict::Worse | Verdict::Differs
        )
    };
    Outcome {
        label,
        class,
        sign,
        word,
        found: rows.iter().copied().filter(is_found).collect(),
    }
}

/// `Against none: bfq is better; kyber is not decided.`
fn lead(reference: &str, arms: &[Outcome<'_>]) -> String {
    let said = |arm: &Outcome<'_>| match arm.word {
        "no difference that matters" => format!("{} makes no difference that matters", arm.label),
        "differs" => format!("{} differs", arm.label),
        word => format!("{} is {word}", arm.label),
    };
    let all: Vec<String> = arms.iter().map(said).collect();
    format!("Against {reference}: {}.", all.join("; "))
}

/// What a reader must know before he believes it, in the words of the text report.
pub fn remarks(result: &ResultFile) -> Markup {
    let rows: Vec<&ArmComparison> = result
        .comparisons
        .iter()
        .filter(|row| row.primary)
        .collect();
    html! {
        section #remarks {
            h2 { "What to keep in mind" }
            (list(&format!("{}{}", words::levels(&rows), text::remarks(result))))
        }
    }
}

/// Lines as a list; indented lines are a list below the line before them.
pub fn list(text: &str) -> Markup {
    let mut items: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match items.last_mut() {
            Some((_, below)) if line.starts_with(' ') => below.push(line.trim()),
            _ => items.push((line, Vec::new())),
        }
    }
    html! {
        @if !items.is_empty() {
            ul.remarks {
                @for (line, below) in &items {
                    li {
                        (name(line))
                        @if !below.is_empty() { ul { @for line in below { li { (name(line)) } } } }
                    }
                }
            }
        }
    }
}
