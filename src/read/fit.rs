//! Breaks sentences that are wider than a terminal at their spaces.

use std::os::fd::AsFd;

use textwrap::{Options, WordSeparator, WordSplitter, core::display_width};

/// Narrower than this, nothing is worth breaking.
const LEAST: usize = 40;

/// `COLUMNS` where the user has set it, also for a pipe or a file; else that of the terminal. None: not a terminal, or one that does
/// not say how wide it is.
pub fn columns(stream: &impl AsFd) -> Option<usize> {
    let set = std::env::var("COLUMNS").ok();
    set.as_deref().and_then(wanted).or_else(|| {
        let size = rustix::termios::tcgetwinsize(stream).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    })
}

/// A width that is none is as good as not set.
fn wanted(columns: &str) -> Option<usize> {
    columns.parse().ok().filter(|columns| *columns >= LEAST)
}

/// What goes to a file or through a pipe stays as it is: others break it, or search in its lines. Unless `COLUMNS` is set.
pub fn to_terminal(text: &str, stream: &impl AsFd) -> String {
    columns(stream).map_or_else(|| text.to_owned(), |columns| to_width(text, columns))
}

/// Tables and pictures stay as they are: they have runs of spaces.
pub fn to_width(text: &str, columns: usize) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        if columns < LEAST || display_width(line) <= columns || line.trim().contains("  ") {
            fitted.push_str(line);
        } else {
            fitted.push_str(&broken(line, columns));
        }
        fitted.push_str(end);
    }
    fitted
}

/// No word is broken: it may be a path, or a part of a command.
fn broken(line: &str, columns: usize) -> String {
    let indent: String = line.chars().take_while(|c| *c == ' ').collect();
    let further = format!("{indent}  ");
    let options = Options::new(columns)
        .initial_indent(&indent)
        .subsequent_indent(&further)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let joined = with_units(&with_commands(line.trim_start()));
    textwrap::fill(&joined, options).replace(JOINS, " ")
}

/// A space that is none for the breaking: names from outside have none, they were escaped.
const JOINS: char = '\u{a0}';

/// A command between backticks can be pasted.
fn with_commands(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let is_closed = parts.len() % 2 == 1;
    let parts = parts.iter().enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        1 if is_closed => part.replace(' ', &JOINS.to_string()),
        _ => (*part).to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A number and its unit stay together.
fn with_units(line: &str) -> String {
    const UNITS: [&str; 12] = [
        "%", "ns", "us", "ms", "s", "min", "h", "KiB", "MiB", "MB/s", "I/Os", "blocks",
    ];
    let mut joined = String::with_capacity(line.len());
    let mut before = "";
    for word in line.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_number = before.ends_with(|c: char| c.is_ascii_digit());
        if !joined.is_empty() {
            joined.push(if is_number && UNITS.contains(&bare) {
                JOINS
            } else {
                ' '
            });
        }
        joined.push_str(word);
        before = word;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_at_spaces_and_tables_are_not() {
        let sentence = "Not decided: bfq against none: throughput -2.6 % (-8.7 % .. +6.6 %), read_total_p99 -2.5 %.\n";
        let table = " METRIC      ARM          REFERENCE           VALUE   CHANGE  INTERVAL         VERDICT\n";
        let fitted = to_width(&format!("{sentence}\n{table}"), 60);
        let lines: Vec<&str> = fitted.lines().collect();
        assert_eq!(
            lines,
            [
                "Not decided: bfq against none: throughput -2.6 % (-8.7 % ..",
                "  +6.6 %), read_total_p99 -2.5 %.",
                "",
                table.trim_end(),
            ]
        );
        assert_eq!(to_width(sentence, 200), sentence);
        // A number is not parted from its unit.
        let told = to_width(
            "It is slower than it was before, by as much as 12.5 %, at least.",
            48,
        );
        assert_eq!(
            told.lines().next(),
            Some("It is slower than it was before, by as much as")
        );
        let advice = to_width(
            "About 5 more blocks show it: `iosched-ab run --resume FILE --rounds +5`.",
            60,
        );
        assert_eq!(
            advice.lines().nth(1),
            Some("  `iosched-ab run --resume FILE --rounds +5`.")
        );
        // A command stays one word after the other.
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&fitted), words(&format!("{sentence}{table}")));
    }

    #[test]
    fn a_width_that_is_none_is_not_set() {
        assert_eq!(wanted("70"), Some(70));
        for none in ["", "0", "-1", "39", "wide", "70 "] {
            assert_eq!(wanted(none), None, "{none:?}");
        }
    }

    #[test]
    fn colours_take_no_room_and_long_words_stay_whole() {
        let painted = format!("\u{1b}[32m{}\u{1b}[0m", "x".repeat(60));
        assert_eq!(to_width(&painted, 60), painted);
        let path = format!("Result file: /{}\n", "x".repeat(90));
        let fitted = to_width(&path, 60);
        assert!(
            fitted.contains(&format!("\n  /{}\n", "x".repeat(90))),
            "{fitted}"
        );
        assert_eq!(
            to_width(
                "     indented and far too long for this narrow terminal here",
                40
            )
            .lines()
            .nth(1),
            Some("       narrow terminal here")
        );
    }
}
