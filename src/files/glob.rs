//! Patterns for names. Pure.

/// Whether `text` matches a pattern with `*` and `?`.
pub fn glob(pattern: &str, text: &str) -> bool {
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => {
            let places = text.char_indices().map(|(place, _)| place);
            let mut places = places.chain([text.len()]);
            places.any(|place| glob(&pattern[1..], &text[place..]))
        }
        Some(first) => {
            let mut rest = text.chars();
            let matches = rest.next().is_some_and(|c| first == '?' || first == c);
            matches && glob(&pattern[first.len_utf8()..], rest.as_str())
        }
    }
}

/// All names that a pattern stands for: `{a|b}` is one of these, `[a|b]` one of these or nothing. Not nested.
pub fn spelled_out(pattern: &str) -> Vec<String> {
    let Some(begin) = pattern.find(['{', '[']) else {
        return vec![pattern.to_owned()];
    };
    let (before, rest) = pattern.split_at(begin);
    let is_optional = rest.starts_with('[');
    let end = rest.find(if is_optional { ']' } else { '}' });
    let Some((inside, after)) = end.map(|end| (&rest[1..end], &rest[end + 1..])) else {
        return vec![pattern.to_owned()];
    };
    let nothing = is_optional.then_some("");
    let mut all = Vec::new();
    for part in nothing.into_iter().chain(inside.split('|')) {
        let rests = spelled_out(after).into_iter();
        all.extend(rests.map(|rest| format!("{before}{part}{rest}")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_spelled_out() {
        assert_eq!(spelled_out("iops"), ["iops"]);
        assert_eq!(
            spelled_out("[read_|write_]{a|b}"),
            ["a", "b", "read_a", "read_b", "write_a", "write_b"]
        );
        for broken in ["{a|b", "[a"] {
            assert_eq!(spelled_out(broken), [broken]);
        }
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "sda", true),
            ("s*a", "sda", true),
            ("s*b", "sda", false),
            ("?da", "sda", true),
            ("?", "", false),
            ("sd**", "sd", true),
            ("é?", "éa", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
