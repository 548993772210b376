//! The screen for a terminal that shows ASCII only: each character becomes one that looks like it or means the same.

use ratatui::buffer::Buffer;

/// Heights, from low to high.
const HEIGHTS: [(char, &str); 8] = [
    ('▁', "_"),
    ('▂', "."),
    ('▃', ":"),
    ('▄', "-"),
    ('▅', "="),
    ('▆', "+"),
    ('▇', "*"),
    ('█', "#"),
];
const OTHERS: [(char, &str); 20] = [
    ('░', "."),
    ('▒', ":"),
    ('▓', "*"),
    ('▲', "^"),
    ('▼', "v"),
    ('≥', ">"),
    ('≠', "!"),
    ('∞', "@"),
    ('…', "~"),
    ('•', "o"),
    ('─', "-"),
    ('│', "|"),
    ('┌', "+"),
    ('┐', "+"),
    ('└', "+"),
    ('┘', "+"),
    ('├', "+"),
    ('┤', "+"),
    ('┬', "+"),
    ('┴', "+"),
];

pub fn translate(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let symbol = one(cell.symbol());
            cell.set_symbol(symbol);
        }
    }
}

/// A letter of a name that ASCII does not have is `?`.
fn one(symbol: &str) -> &'static str {
    let Some(first) = symbol.chars().next() else {
        return " ";
    };
    let known = HEIGHTS.iter().chain(&OTHERS);
    let found = known.into_iter().find(|(from, _)| *from == first);
    match (found, first) {
        (Some((_, to)), _) => to,
        // Braille, of curves; the first one is empty.
        (None, '\u{2800}') => " ",
        (None, '\u{2801}'..='\u{28ff}') => "*",
        (None, _) => "?",
    }
}
