//! The literal text beside the only group of a regular expression. Pure.

/// Text that an expression itself names directly beside its group: `ms` and `,` in `,([0-9]+)ms`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// A comma or a sign before it.
    pub before: Option<char>,
    /// A unit, or a comma.
    pub after: String,
    /// Something certain must follow: a mark, a letter, a blank, the end of the line.
    pub is_ended: bool,
}

impl Around {
    pub fn group_of(expression: &str) -> Around {
        let Some((open, close)) = only_group(expression) else {
            return Around::default();
        };
        let before = expression[..open].chars().next_back();
        Around {
            before: before.filter(|c| ",-+".contains(*c)),
            after: literal(&expression[close + 1..]),
            is_ended: is_certain(&expression[close + 1..]),
        }
    }
}

/// Where the parentheses of the capturing group are.
fn only_group(expression: &str) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    let mut is_class = false;
    let mut chars = expression.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            '[' => is_class = true,
            ']' => is_class = false,
            '(' if !is_class => {
                let rest = &expression[at + 1..];
                let is_named = rest.starts_with("?P<") || rest.starts_with("?<");
                open.push((at, !rest.starts_with('?') || is_named));
            }
            ')' if !is_class => {
                if let Some((start, true)) = open.pop() {
                    return Some((start, at));
                }
            }
            _ => {}
        }
    }
    None
}

fn is_certain(rest: &str) -> bool {
    let mut chars = rest.chars();
    let is_one = match chars.next() {
        Some('\\') => chars
            .next()
            .is_some_and(|c| c == 's' || !c.is_alphanumeric()),
        Some(c) => !".[(?*+{|^)".contains(c),
        None => false,
    };
    is_one && !chars.next().is_some_and(|next| "?*{|".contains(next))
}

/// The letters and marks of a unit, or a comma, up to anything that may match something else.
fn literal(rest: &str) -> String {
    let mut found = String::new();
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_alphanumeric() => escaped,
                _ => break,
            },
            c if c.is_alphabetic() || "%/,°".contains(c) => c,
            _ => break,
        };
        // A character that may be absent is not there for sure.
        if chars.peek().is_some_and(|next| "?*+{|".contains(*next)) {
            break;
        }
        found.push(c);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_the_group() {
        for (expression, before, after) in [
            ("tps = ([0-9.]+)", None, ""),
            ("lat=([0-9]+)ms", None, "ms"),
            ("rate ([0-9.]+)MB/s", None, "MB/s"),
            (r"rate ([0-9.]+)k\/s", None, "k/s"),
            ("([0-9.]+)k?", None, ""),
            ("([0-9.]+)(?:ms|us)", None, ""),
            ("([0-9.]+).*", None, ""),
            (r"([0-9.]+)\w*", None, ""),
            ("a,([0-9]+),b", Some(','), ",b"),
            ("(?:a|b)-([0-9]+)%", Some('-'), "%"),
            (r"\(([0-9]+)\)", None, ")"),
            ("[(]([0-9]+)", None, ""),
            ("x(?P<n>[0-9]+)s", None, "s"),
        ] {
            let expected = Around {
                before,
                after: after.to_owned(),
                is_ended: Around::group_of(expression).is_ended,
            };
            assert_eq!(Around::group_of(expression), expected, "{expression}");
        }
        for (expression, expected) in [
            ("([0-9]+)", false),
            ("([0-9]+).*", false),
            (r"([0-9]+)\w", false),
            (r"([0-9]+)\b", false),
            (r"([0-9]+)\s*", false),
            ("([0-9]+) ?", false),
            (r"([0-9]+)\s+x", true),
            ("([0-9]+) ", true),
            ("([0-9]+):00", true),
            ("([0-9]+)$", true),
        ] {
            let found = Around::group_of(expression).is_ended;
            assert_eq!(found, expected, "{expression}");
        }
    }
}
