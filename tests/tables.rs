//! Tables in `docs/` name tests as `path::name`: for each fault and for each trap. They are there.

use std::fs;
use std::path::Path;

const FEWEST_FAULTS: usize = 25;
const TRAPS: usize = 32;

#[test]
fn every_fault_has_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/reliability.md")).expect("the table");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| fault"))
        .collect();
    assert!(rows.len() >= FEWEST_FAULTS, "{} faults", rows.len());
    let problems: Vec<String> = rows.iter().flat_map(|row| problems(root, row)).collect();
    assert_eq!(problems, [""; 0]);
    // No two rows lean on the same test alone.
    let mut tests: Vec<_> = rows.iter().map(|row| named_in(row)).collect();
    tests.sort_unstable();
    tests.dedup();
    assert_eq!(tests.len(), rows.len());
}

#[test]
fn every_trap_has_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/traps.md")).expect("the table");
    let row = |line| number(line).map(|number| (number, problems(root, line)));
    let mut rows: Vec<_> = text.lines().filter_map(row).collect();
    rows.sort_unstable();
    let wanted: Vec<_> = (1..=TRAPS).map(|number| (number, Vec::new())).collect();
    assert_eq!(rows, wanted);
}

/// Number of the trap in a row.
fn number(line: &str) -> Option<usize> {
    let cell = line.strip_prefix("| ")?.split(" | ").next()?;
    cell.parse().ok()
}

/// And none is here of which the table does not speak.
#[test]
fn every_test_of_a_trap_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/traps.md")).expect("the table");
    let mut count = 0;
    for entry in fs::read_dir(root.join("tui/tests/traps")).expect("tests") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a source");
        let name = path.file_name().expect("a name").to_string_lossy();
        let functions = source.lines().filter_map(|line| line.strip_prefix("fn "));
        for function in functions.filter_map(|rest| rest.split('(').next()) {
            if has_test(&source, function) {
                let wanted = format!("`tui/tests/traps/{name}::{function}`");
                assert!(text.contains(&wanted), "{wanted}");
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count}");
}

/// The `path::name`s in backquotes of a row of a table.
fn named_in(row: &str) -> Vec<(&str, &str)> {
    row.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|words| words.rsplit_once("::"))
        .filter(|(path, _)| Path::new(path).extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// A test, and not just a function of that name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(place, line)| {
        let above = lines[..place].iter().rev();
        let mut attributes = above.take_while(|line| line.starts_with("#["));
        line.starts_with(&function) && attributes.any(|line| *line == "#[test]")
    })
}

/// Problems of the tests that a row names, by paths from `root`.
fn problems(root: &Path, row: &str) -> Vec<String> {
    let named = named_in(row);
    if named.is_empty() {
        return vec![format!("no test in {row}")];
    }
    let missing = named.iter().filter(|(path, name)| {
        let source = fs::read_to_string(root.join(path));
        !source.is_ok_and(|source| has_test(&source, name))
    });
    missing
        .map(|(path, name)| format!("no test {name} in {path}"))
        .collect()
}

#[test]
fn a_test_is_told_from_other_text() {
    let source = "#[test]\n#[ignore = \"root\"]\nfn a() {}\nfn b() {}\n// fn c() {}\n";
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| has_test(source, name)),
        [true, false, false, false]
    );
    assert_eq!(
        named_in("| a `word` | `x/y.rs::a`, `z.rs::b` |"),
        [("x/y.rs", "a"), ("z.rs", "b")]
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(problems(root, "| a | b |").len(), 1);
    let absent = "| `tests/tables.rs::no_such_test` |";
    assert_eq!(
        problems(root, absent),
        ["no test no_such_test in tests/tables.rs"]
    );
}
