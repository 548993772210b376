//! Tables in `docs/` name tests as `path::name`. They must be there.

use std::fs;
use std::path::Path;

/// The `path::name`s in backquotes of a row of a table.
pub fn named_in(row: &str) -> Vec<(&str, &str)> {
    row.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|words| words.rsplit_once("::"))
        .filter(|(path, _)| Path::new(path).extension().is_some_and(|end| end == "rs"))
        .collect()
}

/// A test, and not just a function of that name.
pub fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(place, line)| {
        let above = lines[..place].iter().rev();
        let mut attributes = above.take_while(|line| line.starts_with("#["));
        line.starts_with(&function) && attributes.any(|line| *line == "#[test]")
    })
}

/// What is wrong with the tests that a row names, by paths from `root`.
pub fn problems(root: &Path, row: &str) -> Vec<String> {
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
