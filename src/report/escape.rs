//! Names come from outside: a process is called what it likes, a disk's model is what its maker wrote, a result file may
//! be anybody's. None of it may move a terminal's cursor, break a row or be taken for a formula. Pure.

/// On one line: what is no character to be seen is a question mark.
pub fn line(text: &str) -> String {
    text.chars()
        .map(|c| if is_hidden(c) { '?' } else { c })
        .collect()
}

/// The same on several lines.
pub fn page(text: &str) -> String {
    text.chars()
        .map(|c| if c != '\n' && is_hidden(c) { '?' } else { c })
        .collect()
}

/// For a cell of CSV: spreadsheets take for a formula what begins like one, even in quotes.
pub fn cell(text: &str) -> String {
    let text = line(text);
    match text.chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{text}"),
        _ => text,
    }
}

/// JSON that is shown on a terminal: its writer leaves the controls from U+007F on as they are.
pub fn json(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c != '\n' && is_hidden(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect()
}

/// Controls, and what turns the direction of writing.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminals_see_text_only() {
        assert_eq!(line("a\u{1b}[2Jb\n\u{9b}31m\u{202e}c"), "a?[2Jb??31m?c");
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
