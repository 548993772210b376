//! What many hosts say together, in Markdown for code hosts. Pure.

use std::fmt::Write;

use super::{HEAD, KEY, cells, decided, heading, left_out, remarks, title};
use crate::merge::Merged;
use crate::report::escape::markdown as escaped;
use crate::report::markdown::ROOM;

pub fn markdown(merged: &Merged) -> String {
    let mut page = format!("### {}\n", escaped(&title(merged)));
    for (done, group) in merged.groups.iter().enumerate() {
        let mut part = format!(
            "\n#### {}\n\n**{}**\n\n| {} |\n|---|---|--:|--:|---|---|--:|---|\n",
            escaped(&heading(group)),
            escaped(&decided(merged, group)),
            HEAD.join(" | ").to_lowercase()
        );
        for row in &group.rows {
            let row = cells(row).map(|cell| escaped(&cell)).join(" | ");
            let _ = writeln!(part, "| {row} |");
        }
        for line in remarks(group) {
            let _ = writeln!(part, "\n{}", escaped(&line));
        }
        if page.len() + part.len() > ROOM {
            let left = merged.groups.len() - done;
            let _ = writeln!(page, "\nThere is no room for {left} more kinds of disk.");
            break;
        }
        page += &part;
    }
    let _ = writeln!(page, "\n{}", escaped(KEY));
    for line in left_out(merged) {
        let _ = writeln!(page, "\n{}", escaped(line.trim_start()));
    }
    page
}
