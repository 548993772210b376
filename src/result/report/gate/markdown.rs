//! The findings of a gate in Markdown, for a step summary or a comment. Pure.

use std::fmt::Write;

use super::{cells, headline, remarks, selected};
use crate::gate::Judgement;
use crate::report::escape::markdown as escaped;
use crate::report::markdown::ROOM;
use crate::report::{decision, words};
use crate::types::result::ResultFile;

pub fn markdown(result: &ResultFile, judgement: &Judgement) -> String {
    let mut page = format!(
        "### {}\n\n**Gate**: {}. {}\n",
        escaped(&words::title(result)),
        escaped(&headline(judgement)),
        escaped(&decision::in_words(result))
    );
    if judgement.checks.is_empty() {
        return page;
    }
    page += "\n| gate | metric | arm | change | interval | verdict | value |\n|---|---|---|--:|---|---|--:|\n";
    for (done, check) in judgement.checks.iter().enumerate() {
        let row = cells(check).map(|cell| escaped(&cell)).join(" | ");
        if page.len() + row.len() > ROOM {
            let left = judgement.checks.len() - done;
            let _ = writeln!(page, "\nThere is no room for {left} more comparisons.");
            return page;
        }
        let _ = writeln!(page, "| {row} |");
    }
    for line in (remarks(&judgement.checks) + &selected(judgement)).lines() {
        let _ = writeln!(page, "\n{}", escaped(line));
    }
    page
}
