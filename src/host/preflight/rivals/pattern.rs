//! Patterns of fnmatch(3), as udev, TuneD and systemd-tmpfiles take them. Pure.

enum Piece {
    Star,
    Any,
    One(char),
    /// Ranges; not negated, or negated.
    Class(Vec<(char, char)>, bool),
}

impl Piece {
    fn takes(&self, c: char, ignores_case: bool) -> bool {
        let lower = c.to_ascii_lowercase();
        let is_same =
            |other: char| other == c || ignores_case && other.to_ascii_lowercase() == lower;
        match self {
            Piece::Star | Piece::Any => true,
            Piece::One(other) => is_same(*other),
            Piece::Class(ranges, is_negated) => {
                let upper = c.to_ascii_uppercase();
                let within = |c: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                let is_in = within(c) || ignores_case && (within(lower) || within(upper));
                is_in != *is_negated
            }
        }
    }
}

/// Whether `text` matches `pattern`: `*`, `?`, classes such as `[!a-z]` and `[[:digit:]]`, and `\` before a character that
/// stands for itself.
pub fn matches(pattern: &str, text: &str) -> bool {
    matches_with(pattern, text, false)
}

pub fn matches_with(pattern: &str, text: &str, ignores_case: bool) -> bool {
    let pieces = pieces(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut piece, mut at) = (0, 0);
    // After the last `*`, and the text that it has not taken: a mismatch goes back there only, so that no pattern takes
    // longer than its length times that of the text.
    let mut last: Option<(usize, usize)> = None;
    loop {
        match (pieces.get(piece), text.get(at)) {
            (Some(Piece::Star), _) => {
                piece += 1;
                last = Some((piece, at));
                continue;
            }
            (Some(wanted), Some(c)) if wanted.takes(*c, ignores_case) => {
                piece += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match last {
            Some((after, taken)) if taken < text.len() => {
                last = Some((after, taken + 1));
                (piece, at) = (after, taken + 1);
            }
            _ => return false,
        }
    }
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        at += 1;
        pieces.push(match c {
            '*' => Piece::Star,
            '?' => Piece::Any,
            '\\' if at < chars.len() => {
                at += 1;
                Piece::One(chars[at - 1])
            }
            '[' => match class(&chars[at..]) {
                Some((piece, length)) => {
                    at += length;
                    piece
                }
                // Without its end it is a character like any other.
                None => Piece::One('['),
            },
            other => Piece::One(*other),
        });
    }
    pieces
}

/// The class after `[`, and its length up to and with `]`.
fn class(rest: &[char]) -> Option<(Piece, usize)> {
    let mut at = 0;
    let is_negated = matches!(rest.first(), Some('!' | '^'));
    at += usize::from(is_negated);
    let begin = at;
    let mut ranges = Vec::new();
    loop {
        let mut c = *rest.get(at)?;
        if c == ']' && at > begin {
            return Some((Piece::Class(ranges, is_negated), at + 1));
        }
        if c == '[' && rest.get(at + 1) == Some(&':') {
            let end = (at + 2..rest.len()).find(|end| rest[*end] == ':')?;
            if rest.get(end + 1) == Some(&']') {
                ranges.extend(named(&rest[at + 2..end].iter().collect::<String>()));
                at = end + 2;
                continue;
            }
        }
        if c == '\\' {
            at += 1;
            c = *rest.get(at)?;
        }
        at += 1;
        let high = match (rest.get(at), rest.get(at + 1)) {
            (Some('-'), Some(high)) if *high != ']' => {
                at += 2;
                *high
            }
            _ => c,
        };
        ranges.push((c, high));
    }
}

fn named(name: &str) -> Vec<(char, char)> {
    match name {
        "digit" => vec![('0', '9')],
        "lower" => vec![('a', 'z')],
        "upper" => vec![('A', 'Z')],
        "alpha" => vec![('a', 'z'), ('A', 'Z')],
        "alnum" => vec![('a', 'z'), ('A', 'Z'), ('0', '9')],
        "xdigit" => vec![('a', 'f'), ('A', 'F'), ('0', '9')],
        "space" => vec![(' ', ' '), ('\t', '\r')],
        "blank" => vec![(' ', ' '), ('\t', '\t')],
        "punct" => vec![('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_fnmatch_does() {
        for (pattern, text, expected) in [
            ("sd[a-z]", "sda", true),
            ("sd[a-z]", "sdaa", false),
            ("sd[a-z]*", "sda1", true),
            ("sd*[!0-9]", "sda", true),
            ("sd*[!0-9]", "sda1", false),
            ("sd*[^0-9]", "sda1", false),
            ("nvme[0-9]n[0-9]", "nvme0n1", true),
            ("loop[[:digit:]]*", "loop12", true),
            ("loop[![:digit:]]*", "loop12", false),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("[a", "[a", true),
            ("[a", "a", false),
            (r"\*", "*", true),
            (r"\*", "a", false),
            (r"[\]]", "]", true),
            ("a\\", "a\\", true),
            ("*", "a/b", true),
            ("", "", true),
            ("?*", "", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(matches_with("sd[A-Z]", "SDa", true));
        assert!(!matches_with("sd[A-Z]", "sda", false));
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let (pattern, text) = ("*a".repeat(2000), "a".repeat(4000));
        assert!(matches(&pattern, &text));
        assert!(!matches(&format!("{pattern}*b"), &text));
    }
}
