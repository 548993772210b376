//! Names by others: each text of a result that may be any text, in each format.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// A formula, a terminal's title and colour, a reversal, line breaks, markup of HTML and Markdown, a workflow's command.
const HOSTILE: &str = "=1+1\u{1b}]0;t\u{7}\u{9b}31m\u{202e}rev\u{2066}\u{200b}\r\n::error::x\u{2028}\"'><script>alert(1)</script>|`a`<img src=x onerror=y>\u{0}\u{feff}";

fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n'
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{2028}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || c == '\u{feff}'
}

/// Replaces each text below this key, and says whether there was one.
fn rename(value: &mut Value, key: &str, is_below: bool) -> bool {
    match value {
        Value::String(text) if is_below => {
            HOSTILE.clone_into(text);
            true
        }
        Value::Array(all) => {
            let renamed = all.iter_mut().map(|it| rename(it, key, is_below));
            renamed.fold(false, |any, it| any | it)
        }
        Value::Object(all) => {
            let renamed = all
                .iter_mut()
                .map(|(name, it)| rename(it, key, is_below || name == key));
            renamed.fold(false, |any, it| any | it)
        }
        _ => false,
    }
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|it| keys(it, found)),
        Value::Object(all) => all.iter().for_each(|(name, it)| {
            found.insert(name.clone());
            keys(it, found);
        }),
        _ => {}
    }
}

fn ended(program: &Program, words: &[&str], result: &Value) -> Ended {
    fs::write(program.file("result"), result.to_string()).expect("a file");
    let ended = run_in("C.UTF-8", program, words);
    for text in [&ended.stdout, &ended.stderr] {
        // Rows of CSV end so, and its cells are looked at one by one.
        let text = text.replace("\r\n", "\n");
        let hidden: Vec<char> = text.chars().filter(|c| is_hidden(*c)).collect();
        assert!(hidden.is_empty(), "{words:?}: {hidden:?} in {text}");
        // A page is for a browser.
        assert!(
            words.contains(&"html") || !text.contains("\n::error"),
            "{words:?}: a command of its own: {text}"
        );
    }
    ended
}

/// The result with as many hostile texts as it is read with: the others are refused, which is said without them.
fn hostile(program: &Program) -> (Value, BTreeSet<String>) {
    let mut result: Value =
        serde_json::from_slice(&fs::read(data("result.json")).expect("a result")).expect("JSON");
    // Fields that the sample does not have.
    result["notes"] = json!(["a note"]);
    result["error"] = "an error".into();
    for round in result["rounds"].as_array_mut().expect("rounds") {
        let excerpt = json!({ "bytes": 3, "head": "it" });
        round["evidence"]["outcome"]["output"] = json!({ "stdout": excerpt, "stderr": excerpt });
    }
    let mut names = BTreeSet::new();
    keys(&result, &mut names);
    let mut taken = BTreeSet::new();
    for name in names {
        let mut with = result.clone();
        if rename(&mut with, &name, false) {
            let how = ["report", "result", "--format", "csv"];
            match ended(program, &how, &with).code {
                Some(0) => {
                    result = with;
                    taken.insert(name);
                }
                Some(2) => {}
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    (result, taken)
}

/// All that the program knows.
fn formats(program: &Program, command: &str) -> Vec<String> {
    let refused = program.run(&[command, "result", "--format", "none-of-them"]);
    let values = refused.stderr.split_once("possible values: ");
    let values = values.and_then(|(_, rest)| rest.split_once(']'));
    let (values, _) = values.unwrap_or_else(|| panic!("{refused:#?}"));
    values.split(", ").map(str::to_owned).collect()
}

/// A study has texts of its own, and a page and a table for each of its cells.
#[test]
fn what_others_named_does_nothing_in_any_format_of_a_study() {
    let program = Program::new(BINARY);
    let mut study = super::pages::study();
    for name in ["title", "model", "problem", "text", "notes"] {
        rename(&mut study, name, false);
    }
    let all = formats(&program, "report");
    assert!(all.len() >= 10, "{all:?}");
    let mut shown = 0;
    for format in all {
        let ended = ended(&program, &["report", "result", "--format", &format], &study);
        assert!(matches!(ended.code, Some(0 | 2)), "{format}: {ended:#?}");
        shown += usize::from(ended.code == Some(0));
        let is_markup = ["html", "junit", "markdown"].contains(&&*format);
        let text = &ended.stdout;
        let is_active = text.contains("<script>alert") || text.contains("<img src=x");
        assert!(!is_markup || !is_active, "{format}: {text}");
    }
    assert!(shown >= 3, "{shown} formats show a study");
}

#[test]
fn what_others_named_does_nothing_in_any_format() {
    let program = Program::new(BINARY);
    let (result, taken) = hostile(&program);
    for name in ["name", "notes", "error", "model", "problem", "head"] {
        assert!(taken.contains(name), "{name} is refused; taken: {taken:?}");
    }
    let mut said = BTreeMap::new();
    for command in ["report", "gate"] {
        for format in formats(&program, command) {
            let mut words = vec![command, "result", "--format", &format];
            // One file for each direction.
            let writes_files = format == "github-benchmark";
            if writes_files {
                words.extend(["-o", "page"]);
            }
            let mut ended = ended(&program, &words, &result);
            assert!(ended.code.is_some_and(|code| code != 101), "{ended:#?}");
            if writes_files {
                let file = program.file("page-smaller.json");
                ended.stdout = fs::read_to_string(file).expect("it");
                assert!(!ended.stdout.contains(is_hidden), "{}", ended.stdout);
            }
            // Some show only what a traced run has.
            let needs_trace = ["perfetto", "blkparse"].contains(&&*format);
            if !(needs_trace && ended.code == Some(2)) {
                said.insert((command, format), ended.stdout);
            }
        }
    }
    assert!(said.len() >= 15, "{:?}", said.keys());
    said.insert(
        ("report", "--all".to_owned()),
        ended(&program, &["report", "result", "--all"], &result).stdout,
    );
    for ((command, format), text) in &said {
        let is_markup = ["html", "junit", "markdown"].contains(&&**format);
        assert!(!text.is_empty(), "{command} {format}");
        assert!(
            !is_markup || !text.contains("<script>alert") && !text.contains("<img src=x"),
            "{command} {format}: {text}"
        );
    }
    for format in ["json", "bmf"] {
        let _: Value = serde_json::from_str(&said[&("report", format.to_owned())]).expect(format);
    }
    let mut cells = csv::Reader::from_reader(said[&("report", "csv".to_owned())].as_bytes());
    for record in cells.records() {
        for cell in &record.expect("a row") {
            let is_formula =
                cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
            assert!(!is_formula && !cell.contains(is_hidden), "{cell:?}");
        }
    }
}
