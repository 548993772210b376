//! `docs/studies.md` shows what iosched computes from the figures of published comparisons.
//! `UPDATE=1 cargo test --test studies` writes it.

use std::fs;
use std::path::Path;

use iosched_experiment::study::builtin;
use iosched_result::study::original::{NAMES, judge};

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

#[test]
fn each_built_in_study_has_been_run_and_its_output_kept() {
    let outputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/studies");
    for study in builtin::all().expect("studies") {
        let is_published = NAMES.contains(&study.name.as_str());
        let on: &[_] = if is_published {
            &["", "-hdd", "-loop"]
        } else {
            &[""]
        };
        for on in on {
            let file = format!("{}{on}.txt", study.name);
            let kept = fs::read_to_string(outputs.join(&file));
            let kept = kept.unwrap_or_else(|error| panic!("{file}: {error}"));
            let heading = format!("{}: {}\n", study.name, study.title);
            assert!(kept.starts_with(&heading), "{file}");
            assert!(!kept.contains("NOT COMPLETE"), "{file}");
            assert_eq!(kept.contains("SIMULATED: "), *on != "-loop", "{file}");
            let ran = study.cells.iter().filter(|cell| kept.contains(&cell.name));
            assert!(ran.count() > 0, "{file}");
        }
    }
}
