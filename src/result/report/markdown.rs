//! Markdown for code hosts: a step summary or a comment. Pure.

use std::fmt::Write;

use super::escape::markdown as escaped;
use super::{decision, level, levels, limits, words};
use crate::analysis::turn;
use crate::types::result::{ArmComparison, ResultFile};

/// Code hosts limit a comment to 64 KiB.
pub(super) const ROOM: usize = 60_000;

pub fn render(result: &ResultFile) -> String {
    let mut page = format!(
        "### {}\n\n**{}**\n\n",
        escaped(&words::title(result)),
        escaped(&decision::in_words(result))
    );
    if let Some(why) = turn::why_invalid(result) {
        let _ = writeln!(page, "**Invalid**: {}.\n", escaped(&why));
    }
    if !result.has_ended() {
        page += "**Not complete**: the verdicts cover the rounds so far.\n\n";
    }
    for line in [words::arms(result), words::cold(result)]
        .into_iter()
        .flatten()
    {
        let _ = writeln!(page, "{}\n", escaped(&line));
    }
    let (primary, others): (Vec<_>, Vec<_>) = result.comparisons.iter().partition(|c| c.primary);
    table(&mut page, &primary);
    let below = limits::in_words(result) + &levels::in_words(&primary);
    for line in below.lines() {
        let _ = writeln!(page, "\n{}", escaped(line));
    }
    for line in level::remarks(result) {
        let _ = writeln!(page, "\n{}", escaped(&line));
    }
    if !result.excluded.is_empty() {
        let (excluded, blocks) = (result.excluded.len(), result.blocks_begun());
        let _ = writeln!(page, "\n{excluded} of {blocks} blocks did not count:\n");
        for block in &result.excluded {
            let (arm, problem) = (escaped(&block.arm), escaped(&block.problem));
            let _ = writeln!(page, "- block {} {arm}: {problem}", block.block + 1);
        }
    }
    if !others.is_empty() {
        let mut details = format!(
            "\n<details><summary>{} exploratory comparisons, each with 95 % confidence on its own</summary>\n\n",
            others.len()
        );
        table(&mut details, &others);
        details += "\n</details>\n";
        page += match details {
            details if page.len() + details.len() <= ROOM => details,
            _ => "\nThere are too many exploratory comparisons for this page.\n".to_owned(),
        }
        .as_str();
    }
    page
}

fn table(page: &mut String, rows: &[&ArmComparison]) {
    *page += "| metric | arm | value | against | value | change | interval | verdict |\n";
    *page += "|---|---|--:|---|--:|--:|---|---|\n";
    for row in rows {
        let cells = words::cells(row).map(|cell| escaped(&cell));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}
