//! The line that comes nearest to a regular expression that matches none. Pure.

/// Shorter words are in many lines.
const SHORTEST: usize = 2;
const LONGEST_LINE: usize = 100;

/// The line with the most letters of the expression's words; the last one if several have as many. None if no line has any.
pub fn line(expression: &str, texts: &[&str]) -> Option<String> {
    let words = words(expression);
    let lines = texts.iter().flat_map(|text| text.split(['\n', '\r']));
    let scored = lines.map(|line| {
        let lower = line.to_lowercase();
        let shared = words.iter().filter(|word| lower.contains(word.as_str()));
        (shared.map(String::len).sum::<usize>(), line)
    });
    let (score, line) = scored.max_by_key(|(score, _)| *score)?;
    (score > 0).then(|| shortened(line.trim()))
}

/// Letters that the expression matches as they are, without its classes and escapes.
fn words(expression: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_class = false;
    let mut chars = expression.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
                words.push(String::new());
            }
            '[' => is_class = true,
            ']' => is_class = false,
            c if c.is_alphanumeric() && !is_class => {
                if let Some(word) = words.last_mut() {
                    word.extend(c.to_lowercase());
                }
            }
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| word.chars().count() >= SHORTEST);
    words
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= LONGEST_LINE {
        return line.to_owned();
    }
    let start: String = line.chars().take(LONGEST_LINE).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_same_words_is_nearest() {
        let text = "starting\nlatency average = 5 ms\ntps: 1234.5\r\ndone\n";
        for (expression, expected) in [
            ("tps = ([0-9.]+)", Some("tps: 1234.5")),
            (r"^latency\s+avg: (\d+)", Some("latency average = 5 ms")),
            ("(?i)TPS ([0-9]+)", Some("tps: 1234.5")),
            ("([0-9]+) widgets", None),
            (r"(\d+)", None),
        ] {
            assert_eq!(
                line(expression, &["", text]).as_deref(),
                expected,
                "{expression}"
            );
        }
        assert_eq!(line("tps", &[""]), None);
        let long = line("tps", &[&"tps ".repeat(100)]).expect("a line");
        assert!(long.len() < 110 && long.ends_with("..."), "{long}");
    }
}
