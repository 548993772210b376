//! Escapes names that come from outside: a process chooses its own name, a disk's vendor its model, and a result file
//! may come from anybody. None of them may move a terminal's cursor, break a row or start a formula. There is one function for each format. Pure.

pub use crate::text::hidden::is_hidden;

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

/// A message of several lines, parts of which may be somebody else's: no line of it is a command of a CI service that reads
/// what its steps print (`::error::`, `##[`, `##vso[`, `##teamcity[`).
pub fn message(text: &str) -> String {
    let page = page(text)
        .replace("##[", "# #[")
        .replace("##vso[", "# #vso[")
        .replace("##teamcity[", "# #teamcity[");
    let lines = page.split('\n').map(|line| {
        let start = line.trim_start();
        if start.starts_with("::") {
            format!("? {line}")
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// One CSV cell: spreadsheets evaluate what begins like a formula, even in quotes, and some take the wide forms too.
pub fn cell(text: &str) -> String {
    let text = line(text);
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠') => format!("'{text}"),
        _ => text,
    }
}

/// JSON for a terminal: serde leaves the control characters from U+007F on unescaped.
pub fn json(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c != '\n' && is_hidden(c) => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units).iter();
                units.fold(String::new(), |text, unit| format!("{text}\\u{unit:04x}"))
            }
            c => c.to_string(),
        })
        .collect()
}

/// Text between tags and in the attributes of XML: JUnit, and the SVG of a screen. The templates of HTML pages escape the
/// rest themselves, and the whole page goes through [`page`].
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\r' | '\t' => escaped.push(' '),
            // XML 1.0 forbids these characters, even escaped.
            c if is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text in a line of Markdown, also in a table.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(&text.replace(['\n', '\r'], " ")).chars() {
        match c {
            '|' | '*' | '_' | '`' | '\\' | '[' | ']' => escaped.extend(['\\', c]),
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A name in KTAP, where `#` starts a directive.
pub fn ktap(text: &str) -> String {
    line(&text.replace(['\n', '\r', '#'], " "))
}

/// The value of a label in OpenMetrics. The format has no escape for other control characters.
pub fn label(text: &str) -> String {
    line(
        &text
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n"),
    )
}

/// A component of a name in Go's benchmark format: contains no blank and no `/`, which separates components.
pub fn component(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-=,".contains(c);
    text.chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hidden_characters_stay_in_json() {
        let text = "a\u{e0041}\u{202e}\u{9b}\u{7f}b";
        let quoted = json(&serde_json::to_string(text).expect("JSON"));
        assert!(!quoted.contains(is_hidden), "{quoted}");
        assert_eq!(serde_json::from_str::<String>(&quoted).expect("JSON"), text);
    }

    #[test]
    fn no_line_of_a_message_is_a_command() {
        let said = message("a\n::error::x\n  ::set-output name=x::y\n##[error]z\n  b::c");
        assert_eq!(
            said,
            "a\n? ::error::x\n?   ::set-output name=x::y\n# #[error]z\n  b::c"
        );
    }

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

    #[test]
    fn text_stays_text_in_each_format() {
        assert_eq!(markdown("a|b_c <x>\ny"), "a\\|b\\_c &lt;x> y");
        assert_eq!(
            xml("a<b & \"c\"\u{1b}[0m\n"),
            "a&lt;b &amp; &quot;c&quot;?[0m "
        );
        assert_eq!(ktap("a # SKIP\nb"), "a   SKIP b");
        assert_eq!(label("a\\\"\n\u{7f}"), "a\\\\\\\"\\n?");
        assert_eq!(component("a b/c\u{202e}"), "a_b_c_");
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
