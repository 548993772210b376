//! A number as programs print it and as people write it, and what follows it. Pure.

use std::ops::Range;

/// A number and the text behind it, which may be its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written<'a> {
    pub value: f64,
    pub unit: &'a str,
}

/// Separators of groups of three digits that are no decimal mark: an apostrophe, no-break spaces, a thin space.
const GROUP_MARKS: [char; 5] = ['\'', '’', '\u{a0}', '\u{202f}', '\u{2009}'];

/// The number that a text consists of, apart from a unit behind it.
pub fn read(text: &str) -> Result<Written<'_>, String> {
    let text = text.trim();
    let end = span(text, 0);
    let value = value(&text[..end]).ok_or_else(|| format!("{text:?} is not a finite number"))?;
    let behind = &text[end..];
    // A sign that ends a sentence or a list is no unit.
    let unit = behind.trim_end_matches(['.', ',', ';', ':']);
    // "5..2", and "5e" without its exponent.
    let is_rest = unit.starts_with(|c: char| is_digit(c) || "+-.,".contains(c));
    if is_rest || matches!(unit, "e" | "E") {
        return Err(format!("{text:?} is not a whole number"));
    }
    Ok(Written {
        value,
        unit: unit.trim(),
    })
}

/// Signs, digits, separators with digits on both sides, an exponent: where the number that begins at `start` ends.
fn span(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let sign = usize::from(rest.starts_with(['+', '-']));
    let point = usize::from(rest[sign..].starts_with('.'));
    let first = start + sign + point;
    if !text[first..].starts_with(is_digit) {
        return start;
    }
    onwards(text, first + 1)
}

/// Where a number that has a digit before `end` really ends.
fn onwards(text: &str, mut end: usize) -> usize {
    loop {
        let mut rest = text[end..].chars();
        let (next, after) = (rest.next(), rest.next());
        match next {
            Some(c) if is_digit(c) => end += 1,
            Some(c) if is_separator(c) && after.is_some_and(is_digit) => end += c.len_utf8(),
            Some('e' | 'E') => return end + exponent(&text[end..]),
            _ => return end,
        }
    }
}

/// The length of an exponent that a text begins with.
fn exponent(text: &str) -> usize {
    let digits = text[1..].strip_prefix(['+', '-']).unwrap_or(&text[1..]);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        0 => 0,
        count => text.len() - digits.len() + count,
    }
}

/// Where the number begins of which `start` is a place. A hyphen behind a word or a digit is no sign.
fn backwards(text: &str, mut start: usize) -> usize {
    loop {
        let mut before = text[..start].chars().rev();
        let (last, second, third) = (before.next(), before.next(), before.next());
        match last {
            Some(c) if is_digit(c) => start -= 1,
            Some(c) if is_separator(c) && second.is_some_and(is_digit) => start -= c.len_utf8(),
            Some('.') if second.is_none_or(|c| !c.is_alphanumeric()) => start -= 1,
            Some('e' | 'E') if second.is_some_and(is_digit) => start -= 1,
            Some('+' | '-') if matches!(second, Some('e' | 'E')) && third.is_some_and(is_digit) => {
                start -= 2;
            }
            Some('+' | '-')
                if second.is_none_or(|c| c.is_whitespace() || "=:([\"'".contains(c)) =>
            {
                return start - 1;
            }
            _ => return start,
        }
    }
}

/// The whole number around a part of a text that begins and ends with digits of it.
pub fn whole(text: &str, part: Range<usize>) -> Range<usize> {
    // A part may end inside an exponent.
    let mantissa = text[..part.end].trim_end_matches(['+', '-']);
    let mantissa = mantissa.trim_end_matches(['e', 'E']);
    let end = if mantissa.ends_with(is_digit) && mantissa.len() > part.start {
        mantissa.len()
    } else {
        part.end
    };
    backwards(text, part.start)..onwards(text, end).max(part.end)
}

/// The number that begins at `start`, to its end.
pub fn at(text: &str, start: usize) -> Range<usize> {
    start..span(text, start)
}

/// How much of what follows a number at the end of `text` may be part of it, for people or for other programs: groups of
/// three digits behind blanks, digits behind an underscore, a time.
pub fn doubtful(text: &str, rest: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(behind) = rest.strip_prefix(['_', ':'])
        && digits(behind) > 0
    {
        return 1 + digits(behind);
    }
    let before = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let is_fraction = text[..text.len() - before].ends_with(['.', ',']);
    let is_group = |rest: &str| {
        let behind = rest.strip_prefix(' ');
        behind.is_some_and(|behind| digits(behind) == 3 && !behind[3..].starts_with(['.', ':']))
    };
    if !(1..=3).contains(&before) || is_fraction {
        return 0;
    }
    let mut more = 0;
    while is_group(&rest[more..]) {
        more += 4;
    }
    more
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_separator(c: char) -> bool {
    c == '.' || c == ',' || GROUP_MARKS.contains(&c)
}

fn value(number: &str) -> Option<f64> {
    if !number.contains(is_digit) {
        return None;
    }
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => number.split_at(at),
        None => (number, ""),
    };
    let plain = without_groups(mantissa)?;
    let value: f64 = format!("{plain}{exponent}").parse().ok()?;
    // 1e-400 is not 0.
    let is_lost = value == 0.0 && plain.contains(|c: char| c.is_ascii_digit() && c != '0');
    (value.is_finite() && !is_lost).then_some(value)
}

/// With a decimal point and nothing else. A comma is a decimal one unless exactly three digits follow each; of a point and
/// a comma, the one that comes last is the decimal one.
fn without_groups(mantissa: &str) -> Option<String> {
    let unsigned = mantissa.trim_start_matches(['+', '-']);
    let marks: Vec<char> = unsigned.chars().filter(|c| !is_digit(*c)).collect();
    let decimal = match marks.last() {
        None => None,
        Some(mark) if GROUP_MARKS.contains(mark) => None,
        Some(mark) if marks.iter().filter(|other| *other == mark).count() > 1 => None,
        Some('.') => Some('.'),
        Some(',') if marks.len() == 1 && is_grouped(unsigned) => None,
        Some(mark) => Some(*mark),
    };
    let (whole, fraction) = match decimal {
        Some(mark) => unsigned.rsplit_once(mark)?,
        None => (unsigned, ""),
    };
    let has_groups = whole.chars().any(|c| !is_digit(c));
    let kinds = whole.chars().filter(|c| !is_digit(*c)).min()
        == whole.chars().filter(|c| !is_digit(*c)).max();
    if has_groups && !(kinds && is_grouped(whole)) {
        return None;
    }
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits: String = whole.chars().filter(|c| is_digit(*c)).collect();
    let digits = if digits.is_empty() { "0" } else { &digits };
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    Some(format!("{sign}{digits}.{fraction}"))
}

/// One to three digits, of which the first is not 0, and then groups of three.
fn is_grouped(text: &str) -> bool {
    let mut groups = text.split(|c| !is_digit(c));
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && groups.all(|group| group.len() == 3)
}

#[cfg(test)]
#[path = "number_tests.rs"]
mod tests;
