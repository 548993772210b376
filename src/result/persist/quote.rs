//! Names of disks in patterns, comments and names of files: a vendor chooses them, and a file may come from anybody. Pure.

pub use crate::text::comment::comment;

/// A pattern of udev and of its hardware database that matches this text. They cannot quote special characters, so those
/// match any character. Some characters are replaced before they are compared, and others are compared byte by byte.
pub fn glob(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        match c {
            c if is_plain(c) => pattern.push(c),
            c if c.is_ascii() => pattern.push('?'),
            _ if pattern.ends_with('*') => {}
            _ => pattern.push('*'),
        }
    }
    pattern
}

/// The same as a regular expression. udev writes blanks of a model as underscores for some buses.
pub fn regex(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.chars()
        .map(|c| if is_safe(c) { c } else { '.' })
        .collect()
}

/// Whether a pattern of `text`, in any format, may match this other text: blanks and special characters match any character, and
/// others any number of them.
pub fn may_match(text: &str, other: &str) -> bool {
    let loose = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c.is_ascii();
    let text: Vec<char> = text.chars().collect();
    let other: Vec<char> = other.chars().collect();
    // places[i]: the pattern so far may have matched the first i characters.
    let mut places = vec![false; other.len() + 1];
    places[0] = true;
    for c in text {
        let mut next = vec![false; other.len() + 1];
        for i in 0..=other.len() {
            if !c.is_ascii() {
                // Any number of characters, those of earlier places among them.
                next[i] = places[i] || (i > 0 && next[i - 1]);
            } else if i > 0 && places[i - 1] {
                next[i] = loose(c) || other[i - 1] == c;
            }
        }
        places = next;
    }
    places[other.len()]
}

/// Whether a pattern of this text still says which disk is meant.
pub fn is_telling(text: &str) -> bool {
    text.chars().filter(char::is_ascii_alphanumeric).count() >= 3
}

/// Letters, digits and dashes.
pub fn slug(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric();
    let dashed: String = text
        .chars()
        .map(|c| {
            if is_safe(c) {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(60).collect()
}

/// Whether a value may stand in quotes in every format.
pub fn is_plain_value(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| is_plain(c) || matches!(c, '[' | ']'))
}

/// A kernel name of a block device.
pub fn is_device(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-!".contains(c))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " ._-+:/,@=".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_no_program() {
        assert_eq!(glob("Samsung SSD 980 PRO"), "Samsung SSD 980 PRO");
        assert_eq!(glob("a\"b$c%d*e\\f\ng|h'i#(~"), "a?b?c?d?e?f?g?h?i???");
        assert_eq!(glob("x\u{56fa}\u{6001} y"), "x* y");
        assert_eq!(regex("Samsung SSD (980)"), "Samsung.SSD..980.");
        assert_eq!(slug("Samsung SSD 980 PRO"), "samsung-ssd-980-pro");
        assert_eq!(slug("../../etc"), "etc");
        assert!(is_telling("S1A") && !is_telling("") && !is_telling("?? *") && !is_telling("A b"));
        assert!(is_plain_value("100 200") && !is_plain_value("$(id)") && !is_plain_value("64#32"));
        assert!(
            is_device("nvme0n1")
                && is_device("cciss!c0d0")
                && !is_device("../sda")
                && !is_device("a\nb")
        );
    }

    #[test]
    fn models_that_a_pattern_cannot_tell_apart_are_found() {
        for (text, other) in [
            ("ABC#1", "ABC-1"),
            ("ABC 1", "ABC_1"),
            ("Disk \u{56fa}\u{6001} X", "Disk A Y X"),
            ("ABC", "ABC"),
        ] {
            assert!(may_match(text, other), "{text} {other}");
        }
        for (text, other) in [
            ("ABC-1", "ABC#1"),
            ("ABC", "ABCD"),
            ("ABCD", "ABC"),
            ("A", ""),
        ] {
            assert!(!may_match(text, other), "{text} {other}");
        }
    }

    #[test]
    fn a_comment_stays_one_in_every_language() {
        let bad = "a{{lookup('pipe','id')}}{% b %}$(c)`d`\"e\u{2028}f\n\u{85}g#\\h''${i}";
        let comment = comment(bad);
        assert!(
            !comment.contains([
                '{', '\'', '}', '$', '`', '"', '\n', '\u{2028}', '\u{85}', '#', '\\'
            ]),
            "{comment}"
        );
    }
}
