//! The same for code hosts: the matrix, then each cell. Pure.

use std::fmt::Write;

use crate::report::escape::markdown as escaped;
use crate::report::markdown::{self, ROOM};
use crate::study::result::StudyResult;
use crate::types::result::Status;

pub fn markdown(study: &StudyResult) -> String {
    let mut page = format!(
        "## {}: {}\n\n",
        escaped(&study.study),
        escaped(&study.title)
    );
    if study.status != Status::Complete {
        page += "**Not complete**: the verdicts cover the rounds so far.\n\n";
    }
    if let Some(truth) = study
        .cells
        .first()
        .and_then(|cell| cell.result.device.scratch.as_ref())
    {
        let _ = writeln!(page, "**Simulated**: {}\n", escaped(&truth.text));
    }
    for cut in study.budget.iter().flat_map(|budget| &budget.cut) {
        let (cell, blocks) = (escaped(&cut.cell), cut.blocks);
        let _ = writeln!(page, "The time was over after {blocks} blocks of {cell}.\n");
    }
    for arm in &study.left_out {
        let (label, why) = (escaped(&arm.arm), escaped(&arm.why));
        let _ = writeln!(page, "Left out: {label}: {why}\n");
    }
    for line in super::decisions(study).lines() {
        let _ = writeln!(page, "{}\n", escaped(line.trim_start()));
    }
    for (index, row) in super::rows(study).iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
        if index == 0 {
            let _ = writeln!(page, "|{}", "---|".repeat(row.len()));
        }
    }
    let mut after = String::new();
    super::exact(&mut after, study);
    super::level(&mut after, study);
    super::choice(&mut after, study);
    for line in after.lines().filter(|line| !line.is_empty()) {
        let _ = writeln!(page, "\n{}", escaped(line.trim_start()));
    }
    for cell in study.compared() {
        let details = format!(
            "\n<details><summary>{}</summary>\n\n{}\n</details>\n",
            escaped(&cell.name),
            markdown::render(&cell.result)
        );
        if page.len() + details.len() > ROOM {
            page +=
                "\nThere are too many cells for this page: the others are in the result file.\n";
            break;
        }
        page += &details;
    }
    page
}
