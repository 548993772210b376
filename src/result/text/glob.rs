//! Patterns for names. Pure.

/// Whether `text` matches a pattern with `*` and `?`. A mismatch goes back to the last `*` only, so that no pattern takes
/// longer than its length times that of the text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (mut wanted, mut found) = (pattern.chars(), text.chars());
    // Pattern after the last `*`, and the text that it has not taken.
    let mut last: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut ahead = found.clone();
        match (wanted.next(), ahead.next()) {
            (Some('*'), _) => last = Some((wanted.clone(), found.clone())),
            (Some(sign), Some(c)) if sign == '?' || sign == c => found = ahead,
            (None, None) => return true,
            _ => {
                let Some((after, rest)) = &mut last else {
                    return false;
                };
                if rest.next().is_none() {
                    return false;
                }
                (wanted, found) = (after.clone(), rest.clone());
            }
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
            ("*a*b", "xaxxb", true),
            ("*a*b", "xaxxbc", false),
            ("a*", "", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let (pattern, text) = ("*a".repeat(2000), "a".repeat(4000));
        assert!(glob(&pattern, &text));
        assert!(!glob(&format!("{pattern}*b"), &text));
    }
}
