//! The outcome in words: a sentence, a list of the arms, and what weakens it. Pure.

use maud::{Markup, html};

use super::figure::name;
use crate::analysis::turn;
use crate::report::{decision, levels, limits, live, noise, text, words};
use crate::statistics::verdict::Verdict;
use crate::types::result::{ArmComparison, ResultFile};

pub fn section(result: &ResultFile) -> Markup {
    let arms: Vec<Outcome<'_>> = outcomes(result);
    html! {
        div #verdict {
            @if let Some(why) = turn::why_invalid(result) {
                p.lead { span.verdict.worse { "✗ invalid" } " " (name(&why)) ". Its verdicts mean nothing." }
            } @else if result.design.is_placebo {
                pre tabindex="0" { (name(noise::section(result).trim_end())) }
            } @else if arms.is_empty() {
                p.lead { "No verdict: nothing was compared." }
            } @else {
                p.lead { (name(&decision::in_words(result))) }
                (list(&text::status(result)))
                (outcome_list(&arms))
                (list(&limits::in_words(result)))
            }
            (list(&live::section(result)))
        }
    }
}

fn outcome_list(arms: &[Outcome<'_>]) -> Markup {
    html! {
        ul.outcomes {
            @for arm in arms {
                li {
                    strong { (name(arm.label)) } " "
                    span.verdict.(arm.class) { (arm.sign) " " (arm.word) }
                    ul { @for row in &arm.told { li { (name(&said(row))) } } }
                }
            }
        }
    }
}

/// `throughput: 42.0 % more, at least 35.8 % (95 %)`, or why nothing is decided.
fn said(row: &ArmComparison) -> String {
    let found = words::said(&row.comparison, &row.metric.unit);
    match row.comparison.verdict {
        Verdict::Inconclusive => format!("{}: {found}: {}", row.metric.name, words::verdict(row)),
        Verdict::Equivalent => format!("{}: {found}: the same", row.metric.name),
        _ => format!("{}: {found}", row.metric.name),
    }
}

/// The outcome of one arm by the primary rows.
struct Outcome<'a> {
    label: &'a str,
    class: &'static str,
    sign: &'static str,
    word: &'static str,
    /// Its rows.
    told: Vec<&'a ArmComparison>,
}

fn outcomes(result: &ResultFile) -> Vec<Outcome<'_>> {
    let arms = result.design.arms.iter().enumerate();
    let others = arms.filter(|(index, _)| *index != result.design.reference);
    let of = |label: &str| {
        let rows = result.primary();
        rows.filter(|row| row.arm == label).collect::<Vec<_>>()
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
    Outcome {
        label,
        class,
        sign,
        word,
        told: rows.to_vec(),
    }
}

/// Remarks that a reader must know before he believes it, in the words of the text report.
pub fn remarks(result: &ResultFile) -> Markup {
    let rows: Vec<&ArmComparison> = result.primary().collect();
    html! {
        section #remarks {
            h2 { "What to keep in mind" }
            @if turn::why_invalid(result).is_none() { (list(&levels::in_words(&rows))) }
            (list(&text::remarks(result)))
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
