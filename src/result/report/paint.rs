//! Colours for the text report. The words and signs alone say the same. Pure.

use anstyle::{AnsiColor, Style};

/// How a verdict begins, and its colour.
const VERDICTS: [(&str, AnsiColor); 5] = [
    ("better", AnsiColor::Green),
    ("worse", AnsiColor::Red),
    ("differs", AnsiColor::Cyan),
    ("equivalent", AnsiColor::Blue),
    ("not decided", AnsiColor::Yellow),
];
/// How the first line of a table of findings begins.
const HEADINGS: [&str; 4] = ["METRIC ", "GATE ", "ARM ", "VALUE "];
/// Lines that weaken what the report says.
const WARNINGS: [&str; 4] = [
    "NOT COMPLETE",
    "NEGATIVE CONTROL",
    "CONTROL TOO NOISY",
    "HARDLY ANY REQUEST WAITED",
];

/// The same text with the escape sequences of a terminal around verdicts, headings and warnings.
pub fn report(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let (text, end) = match line.strip_suffix('\n') {
        Some(text) => (text, "\n"),
        None => (line, ""),
    };
    if WARNINGS.iter().any(|warning| text.starts_with(warning)) {
        return styled(text, AnsiColor::Red.on_default().bold()) + end;
    }
    let start = text.trim_start();
    if HEADINGS.iter().any(|heading| start.starts_with(heading)) {
        return styled(text, Style::new().bold()) + end;
    }
    // The last column of a table.
    let verdict = VERDICTS.iter().find_map(|(word, color)| {
        let place = text.find(&format!("  {word}"))? + 2;
        Some((place, *color))
    });
    match verdict {
        Some((place, color)) => {
            text[..place].to_owned() + &styled(&text[place..], color.on_default()) + end
        }
        None => line.to_owned(),
    }
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_it_is_the_same_text() {
        let text = "NOT COMPLETE: interrupted\n METRIC  ARM\n p99  bfq  -3 %  better by more than 5 %\nNote: x";
        let painted = report(text);
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
        assert!(
            painted.contains("\u{1b}[32mbetter by more than 5 %\u{1b}[0m"),
            "{painted:?}"
        );
        assert!(painted.ends_with("Note: x"), "{painted:?}");
    }
}
