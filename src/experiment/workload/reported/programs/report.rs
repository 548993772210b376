//! The one report in an output: the lines of a terminal, and the refusal of a second report. Pure.

/// Lines as they would stand on a terminal: a progress line ends in `\r` and is a line of its own. A last line without its end
/// may have been cut in the middle of a number, and is left out.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.rfind(['\n', '\r']).unwrap_or(0);
    numbered(&text[..end]).map(|(_, line)| line)
}

/// All lines, each with its number in an editor.
pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.split('\n').enumerate();
    numbered.flat_map(|(index, line)| {
        let parts = line.strip_suffix('\r').unwrap_or(line).split('\r');
        parts.map(move |part| (index + 1, part))
    })
}

/// The only line that is a result. A second one would leave it open which of them is meant. Err: both are named.
pub fn only<'a>(
    lines: impl Iterator<Item = &'a str>,
    is_result: impl Fn(&str) -> bool,
) -> Result<Option<&'a str>, String> {
    let mut found = lines.filter(|line| is_result(line));
    let first = found.next();
    match (first, found.next()) {
        (Some(first), Some(second)) => Err(two(first, second)),
        _ => Ok(first),
    }
}

fn two(first: &str, second: &str) -> String {
    format!(
        "it has two reports, {:?} and {:?}; run each by a command of its own",
        short(first),
        short(second)
    )
}

/// The first line that tells of a failure.
pub fn failure<'a>(
    mut lines: impl Iterator<Item = &'a str>,
    program: &str,
    is_failure: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let line = lines.find(|line| is_failure(line));
    line.map_or(Ok(()), |line| {
        Err(format!("{program} failed: {:?}", short(line)))
    })
}

/// So much of a line as a message can show.
fn short(line: &str) -> String {
    const CHARACTERS: usize = 120;
    line.trim().chars().take(CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_report_is_refused_and_both_are_named() {
        let text = "a 1\r\nprogress\rb\nc 2\n";
        let is_result = |line: &str| line.ends_with(|c: char| c.is_ascii_digit());
        let why = only(lines(text), is_result).unwrap_err();
        assert!(why.contains("\"a 1\"") && why.contains("\"c 2\""), "{why}");
        assert_eq!(only(lines("x\ny 3\nz 4"), is_result), Ok(Some("y 3")));
        assert_eq!(only(lines("x 1"), is_result), Ok(None));
    }

    #[test]
    fn a_failure_is_shown_in_part() {
        let text = format!("fine\nError: {}\n", "x".repeat(500));
        let why = failure(lines(&text), "it", |line| line.starts_with("Error")).unwrap_err();
        assert!(
            why.starts_with("it failed: \"Error: xx") && why.len() < 200,
            "{why}"
        );
        assert_eq!(failure(lines("fine\n"), "it", |_| false), Ok(()));
    }
}
