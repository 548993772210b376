//! docs/reliability.md names a test for each fault. They are there.

#[allow(dead_code)] // each test binary uses its part
#[path = "support/named_tests.rs"]
mod named_tests;

use std::fs;
use std::path::Path;

use named_tests::{has_test, named_in, problems};

const FEWEST: usize = 25;

#[test]
fn every_fault_has_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/reliability.md")).expect("the table");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| fault"))
        .collect();
    assert!(rows.len() >= FEWEST, "{} faults", rows.len());
    let problems: Vec<String> = rows.iter().flat_map(|row| problems(root, row)).collect();
    assert_eq!(problems, [""; 0]);
    // No two rows lean on the same test alone.
    let mut tests: Vec<_> = rows.iter().map(|row| named_in(row)).collect();
    tests.sort_unstable();
    tests.dedup();
    assert_eq!(tests.len(), rows.len());
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
    let absent = "| `tests/reliability.rs::no_such_test` |";
    assert_eq!(
        problems(root, absent),
        ["no test no_such_test in tests/reliability.rs"]
    );
}
