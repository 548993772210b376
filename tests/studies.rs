//! `docs/studies.md` shows what iosched computes from the figures of published comparisons.
//! `UPDATE=1 cargo test --test studies` writes it.

use std::fs;
use std::path::Path;

use iosched::study::original::{NAMES, judge};

#[test]
fn the_page_shows_the_judgements_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/studies.md");
    let mut page = fs::read_to_string(&path).expect("the page");
    for name in NAMES {
        let text = judge(name).expect("a judgement").text();
        let wanted = format!("```text\n{text}```\n");
        let marks = (
            format!("<!-- original {name} -->\n"),
            format!("<!-- end of {name} -->\n"),
        );
        let (before, rest) = page.split_once(&marks.0).expect("its mark");
        let (found, after) = rest.split_once(&marks.1).expect("its end");
        if std::env::var_os("UPDATE").is_some() {
            page = format!("{before}{}{wanted}{}{after}", marks.0, marks.1);
        } else {
            assert_eq!(
                found, wanted,
                "UPDATE=1 cargo test --test studies writes it"
            );
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page).expect("the page");
    }
}
