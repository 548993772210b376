//! docs/traps.md names tests for each trap. They are there.

use std::fs;
use std::path::Path;

const TRAPS: usize = 32;

/// Number of the trap, and its tests by path and name.
fn row(line: &str) -> Option<(usize, Vec<(&str, &str)>)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let number = cells.next()?.parse().ok()?;
    let words = cells.nth(2)?.split('`');
    Some((
        number,
        words.filter_map(|word| word.split_once("::")).collect(),
    ))
}

/// A test, and not just a function.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(place, line)| {
        let above = lines[..place].iter().rev();
        let mut attributes = above.take_while(|line| line.starts_with("#["));
        // A property's are written by a macro, the same way.
        line.starts_with(&function) && attributes.any(|line| *line == "#[test]")
    })
}

#[test]
fn every_trap_has_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("docs/traps.md")).expect("the table");
    let rows: Vec<_> = text.lines().filter_map(row).collect();
    let mut numbers: Vec<usize> = rows.iter().map(|row| row.0).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=TRAPS).collect::<Vec<_>>());
    for (number, tests) in rows {
        assert!(!tests.is_empty(), "trap {number} has no test");
        for (path, name) in tests {
            let source = fs::read_to_string(root.join(path))
                .unwrap_or_else(|error| panic!("trap {number}: {path}: {error}"));
            assert!(
                has_test(&source, name),
                "trap {number}: no test {name} in {path}"
            );
        }
    }
}

/// And none is here of which the table does not speak.
#[test]
fn every_test_of_a_trap_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../docs/traps.md")).expect("the table");
    let mut count = 0;
    for entry in fs::read_dir(root.join("tests/traps")).expect("tests") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a source");
        let name = path.file_name().expect("a name").to_string_lossy();
        if name == "table.rs" {
            continue;
        }
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

#[test]
fn a_test_is_told_from_other_text() {
    let source = "#[test]\n#[ignore = \"root\"]\nfn a() {}\nfn b() {}\n// fn c() {}\n";
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| has_test(source, name)),
        [true, false, false, false]
    );
    assert_eq!(
        row("| 3 | words `c` | and words | `x.rs::a`, `y.rs::b` |"),
        Some((3, vec![("x.rs", "a"), ("y.rs", "b")]))
    );
    assert_eq!(row("|---|---|---|"), None);
}
