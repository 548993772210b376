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

#[cfg(test)]
mod tests {
    use super::*;

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
