//! Escapes names that come from outside: a process chooses its own name, a disk's vendor its model, and a result file
//! may come from anybody. None of them may move a terminal's cursor, break a row or start a formula. Pure.

/// One line; every invisible character becomes a question mark.
pub fn line(text: &str) -> String {
    text.chars()
        .map(|c| if is_hidden(c) { '?' } else { c })
        .collect()
}

/// The same for several lines.
pub fn page(text: &str) -> String {
    text.chars()
        .map(|c| if c != '\n' && is_hidden(c) { '?' } else { c })
        .collect()
}

/// One CSV cell: spreadsheets evaluate what begins like a formula, even in quotes.
pub fn cell(text: &str) -> String {
    let text = line(text);
    match text.chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{text}"),
        _ => text,
    }
}

/// JSON for a terminal: serde leaves the control characters from U+007F on unescaped.
pub fn json(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c != '\n' && is_hidden(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect()
}

/// Control characters, those that change the direction of writing, line breaks of Unicode, and what has no width.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminals_see_text_only() {
        assert_eq!(line("a\u{1b}[2Jb\n\u{9b}31m\u{202e}c"), "a?[2Jb??31m?c");
        assert_eq!(line("a\u{2028}b\u{61c}c\u{feff}"), "a?b?c?");
        assert_eq!(page("a\r\n\tb"), "a?\n?b");
        assert_eq!(line("größer /dev/sda"), "größer /dev/sda");
    }

    #[test]
    fn a_cell_is_no_formula() {
        assert_eq!(cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(cell("\t=1"), "?=1");
        assert_eq!(cell("/system.slice"), "/system.slice");
        assert_eq!(cell(""), "");
    }

    proptest! {
        #[test]
        fn json_stays_the_same_json(name in "\\PC{0,5}[\u{1}-\u{ff}\u{202e}]{0,9}") {
            let shown = json(&serde_json::to_string(&name).unwrap());
            prop_assert!(!shown.contains(char::is_control));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), name);
        }
    }
}
