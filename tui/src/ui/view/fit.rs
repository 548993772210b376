//! Fits text into the available columns: a cut name ends in an ellipsis; a number is shown completely, with its unit,
//! or not at all.

mod pieces;

use ratatui::style::Style;
use ratatui::text::Span;

pub use pieces::{Piece, line, plain_line};

/// Units that follow a number; a line break never separates the two.
const UNITS: [&str; 28] = [
    "ns", "us", "ms", "s", "min", "h", "y", "%", "B", "kB", "MB", "GB", "TB", "PB", "EB", "B/s",
    "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
];

/// Width in terminal columns.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        Span::raw(text).width()
    }
}

/// Shortens a name to `room` columns.
pub fn clip(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let kept = head(text, room - 1);
    format!("{}…", kept.trim_end())
}

/// The first characters, up to `room` columns.
fn head(text: &str, room: usize) -> String {
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in Span::raw(text).styled_graphemes(Style::new()) {
        used += width(grapheme.symbol);
        if used > room {
            break;
        }
        kept.push_str(grapheme.symbol);
    }
    kept
}

/// Shortens the name of a row; the PID of `hog: writer 4002` is not cut.
pub fn name(text: &str, room: usize) -> String {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match text.rsplit_once(' ') {
        Some((head, number)) if is_number(number) && number.len() + 3 <= room => {
            format!("{} {number}", clip(head, room - number.len() - 1))
        }
        _ => clip(text, room),
    }
}

/// Cuts the middle: a process and a file are told by the beginning and the end.
pub fn middle(text: &str, room: usize) -> String {
    if width(text) <= room || room < 8 {
        return clip(text, room);
    }
    let head = clip(text, room / 3);
    let left = room - width(&head);
    let end: Vec<char> = text.chars().rev().take(left).collect();
    let mut end: String = end.into_iter().rev().collect();
    while width(&end) > left {
        end.remove(0); // wide characters
    }
    head + &end
}

/// Splits text into words; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ':', '.', ')', ']']);
        let ends_in_digit = |word: &&mut String| word.ends_with(|c: char| c.is_ascii_digit());
        match words.last_mut().filter(ends_in_digit) {
            Some(number) if UNITS.contains(&unit) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The first whole words that fit into one line.
pub fn sentence(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<String> = Vec::new();
    let mut used = 2; // the ellipsis and the space before it
    for word in words(text) {
        used += width(&word) + usize::from(!kept.is_empty());
        if used > room {
            break;
        }
        kept.push(word);
    }
    let is_number = text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    match room {
        0 => String::new(),
        _ if kept.is_empty() && !is_number => clip(text.trim_start(), room),
        _ => unfinished(&kept.join(" "), room),
    }
}

/// Wraps text into lines of whole words; a word longer than a line is broken.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in words(paragraph) {
            if !line.is_empty() && width(&line) + 1 + width(&word) > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
            while width(&line) > room {
                let first = head(&line, room);
                if first.is_empty() {
                    break; // a character wider than the line
                }
                line.drain(..first.len());
                lines.push(first);
            }
        }
        lines.push(line);
    }
    lines
}

/// The first `rows` lines; if there are more, the last one ends in an ellipsis.
pub fn paragraph(text: &str, room: usize, rows: usize) -> Vec<String> {
    let mut lines = wrap(text, room);
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = unfinished(last, room);
        }
    }
    lines
}

/// A line that ends in an ellipsis, because text follows that is not shown.
fn unfinished(line: &str, room: usize) -> String {
    let mut kept = words(line);
    while !kept.is_empty() && width(&kept.join(" ")) + 2 > room {
        kept.pop();
    }
    kept.push("…".to_owned());
    kept.join(" ")
}

/// As many complete texts as fit into `rows`.
pub fn paragraphs<T: AsRef<str>>(
    texts: impl IntoIterator<Item = T>,
    room: usize,
    rows: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let more = wrap(text.as_ref(), room);
        if lines.len() + more.len() <= rows {
            lines.extend(more);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_at_their_end_and_numbers_are_not() {
        assert_eq!(clip("mq-deadline", 11), "mq-deadline");
        assert_eq!(clip("mq-deadline", 6), "mq-de…");
        assert_eq!(clip("a b", 3), "a b");
        assert_eq!(clip("a bcd", 3), "a…");
        assert_eq!((clip("ab", 1), clip("ab", 0)), ("…".into(), String::new()));
        assert_eq!(clip("四五六", 5), "四五…");
        assert_eq!(clip("四五六", 4), "四…");
        assert_eq!(
            name("backup.service: reader 4003", 20),
            "backup.service… 4003"
        );
        assert_eq!(name("writer", 4), "wri…");
    }

    #[test]
    fn what_tells_two_rows_apart_stays() {
        let row = "postgres /srv/pg/base/16384/2619 4003 reads";
        assert_eq!(middle(row, 50), row);
        assert_eq!(middle(row, 32), "postgres…e/16384/2619 4003 reads");
        assert!(width(&middle("四五六四五六四五六", 9)) <= 9);
    }

    #[test]
    fn a_number_and_its_unit_stay_together() {
        let text = "was frozen for 25.0 ms each time (median; longest 30.0 ms)";
        assert_eq!(sentence(text, 24), "was frozen for 25.0 ms …");
        assert_eq!(sentence(text, 23), "was frozen for …");
        assert_eq!(
            wrap("it took 25.0 ms, or less", 12),
            ["it took", "25.0 ms, or", "less"]
        );
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\n\nb", 3), ["a", "", "b"]);
        assert_eq!(paragraph("one two three", 7, 1), ["one …"]);
        assert_eq!(paragraph("one two three", 9, 1), ["one two …"]);
        assert_eq!(paragraph("one\n\nthree", 9, 2), ["one", "…"]);
        assert_eq!(
            (sentence("25.0 ms", 5), sentence("25.0 ms", 0)),
            ("…".into(), String::new())
        );
        assert_eq!(
            paragraphs(["one two three", "four"], 7, 2),
            ["one two", "three"]
        );
        assert_eq!(paragraphs(["one two three", "four"], 7, 1), ["four"]);
    }
}
