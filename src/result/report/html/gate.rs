//! The findings of a gate as a page: what it held to its rules first, then the report. Pure.

use maud::{Markup, html};

use super::figure::{self, Data, name};
use super::{merge, page, study, verdict};
use crate::gate::{Decision, Judgement};
use crate::merge::Merged;
use crate::report::gate::several::Together;
use crate::report::gate::{self, of_judgement};
use crate::report::merge as text;
use crate::report::words;
use crate::study::gate::StudyJudgement;
use crate::study::result::StudyResult;
use crate::types::result::ResultFile;

pub fn render(result: &ResultFile, judgement: &Judgement) -> String {
    let title = words::title(result);
    let body = html! {
        h1 { (name(&title)) }
        (decision(&judgement.decision, &gate::headline(judgement)))
        (checks("The comparisons", judgement))
        (super::body(result))
    };
    page::page(&title, result, &body)
}

pub fn render_study(of: &StudyResult, judged: &StudyJudgement<'_>) -> String {
    let title = study::title(of);
    let body = html! {
        h1 { (name(&title)) }
        (decision(&judged.decision, &gate::study::headline(judged)))
        @for (cell, judgement) in &judged.cells {
            h2 { (name(&cell.name)) }
            p { (name(&gate::headline(judgement))) }
            (checks(&cell.name, judgement))
        }
        (study::body(of))
    };
    page::page(&title, of, &body)
}

pub fn render_merged(of: &Merged, together: &Together<'_>) -> String {
    let title = text::title(of);
    let groups = of.groups.iter().zip(together.judged);
    let body = html! {
        h1 { (name(&title)) }
        (decision(&together.decision(), &together.headline()))
        @for (group, (_, judgement)) in groups {
            h2 { (name(&text::kind(&group.kind))) }
            p { (name(&gate::headline(judgement))) }
            (checks(&text::kind(&group.kind), judgement))
        }
        (merge::body(of))
    };
    page::page(&title, of, &body)
}

fn decision(decision: &Decision, headline: &str) -> Markup {
    let (class, word) = match decision {
        Decision::Passed => ("better", "✓ passed"),
        Decision::Failed => ("worse", "✗ failed"),
        Decision::Undecided => ("open", "? not decided"),
        Decision::Incomparable(_) => ("worse", "✗ not comparable"),
        Decision::Invalid(_) => ("worse", "✗ invalid"),
    };
    html! { p.lead { span.verdict.(class) { (word) } ": " (name(headline)) "." } }
}

fn checks(label: &str, judgement: &Judgement) -> Markup {
    let (head, rows, remarks) = of_judgement(judgement);
    let head = head.map(str::to_lowercase).to_vec();
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.to_vec()).collect();
    html! {
        @if !rows.is_empty() { (figure::table(label, &Data { head, rows })) }
        (verdict::list(&remarks))
    }
}
