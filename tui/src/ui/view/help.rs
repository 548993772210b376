//! The help page: all keys, from the table that handles them, and the meaning of the words.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::parts::inner;
use super::{fit, scroll, text_lines};
use crate::ui::state::keys::{Binding, KEYS, KeyPlace};
use crate::ui::state::model::Model;
use crate::ui::state::words::WORDS;

/// Columns for the key, and for the word, left of the explanation.
const KEY: usize = 11;
const WORD: usize = 15;

/// A key or a word with its explanation.
struct HelpEntry {
    name: String,
    /// Columns for the name; 0 for a heading or a note.
    room: usize,
    text: String,
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let inner = inner(area);
    let entries = entries(model);
    let first = model.help_row.min(entries.len().saturating_sub(1));
    let height = |entry: &HelpEntry| lines(model, entry, usize::from(inner.width)).len();
    let above = entries[..first].iter().map(height).sum::<usize>();
    let shown: Vec<Line> = entries[first..]
        .iter()
        .flat_map(|entry| lines(model, entry, usize::from(inner.width)))
        .collect();
    let all = above + shown.len();
    let rows = usize::from(inner.height).min(shown.len());
    text_lines(frame, inner, shown.into_iter().take(rows));
    scroll::bar(frame, inner, model.palette, above..above + rows, all);
}

/// The last entry that can come first without an empty row below.
pub fn last_row(model: &Model, width: u16, height: u16) -> usize {
    let room = usize::from(inner(Rect::new(0, 0, width, height)).width);
    let entries = entries(model);
    let mut left = usize::from(height);
    let fitting = entries.iter().rev().take_while(|entry| {
        let rows = lines(model, entry, room).len();
        let fits = rows <= left;
        left = left.saturating_sub(rows);
        fits
    });
    entries.len().saturating_sub(fitting.count().max(1))
}

fn lines(model: &Model, entry: &HelpEntry, width: usize) -> Vec<Line<'static>> {
    if entry.room == 0 {
        let style = if entry.name.is_empty() {
            Style::new()
        } else {
            model.palette.strong()
        };
        let text = format!("{}{}", entry.name, entry.text);
        let lines = fit::wrap(&text, width);
        return lines
            .into_iter()
            .map(|text| Line::styled(text, style))
            .collect();
    }
    let texts = fit::wrap(&entry.text, width.saturating_sub(entry.room));
    let is_long = fit::width(&entry.name) >= entry.room;
    // The user's keys may need lines of their own.
    let mut lines: Vec<Line> = Vec::new();
    if is_long {
        let names = fit::wrap(&entry.name, width).into_iter();
        lines.extend(names.map(|name| Line::styled(name, model.palette.title())));
    }
    lines.extend(texts.into_iter().enumerate().map(|(index, text)| {
        let is_named = index == 0 && !is_long;
        let name = if is_named { &*entry.name } else { "" };
        Line::from(vec![
            Span::styled(format!("{name:<0$}", entry.room), model.palette.title()),
            Span::raw(text),
        ])
    }));
    lines
}

fn entries(model: &Model) -> Vec<HelpEntry> {
    let heading = |text: &str| HelpEntry {
        name: text.to_owned(),
        room: 0,
        text: String::new(),
    };
    let note = |text: String| HelpEntry {
        name: String::new(),
        room: 0,
        text,
    };
    let keys = |is_of_dialogs: bool| {
        let is_here = move |(_, binding): &(usize, &Binding)| {
            !binding.what.is_empty() && (binding.place == KeyPlace::Dialog) == is_of_dialogs
        };
        let rows = KEYS.iter().enumerate().filter(is_here);
        rows.map(|(row, binding)| key(&model.keys.shown(row), binding))
    };
    let mut entries = Vec::new();
    entries.extend(model.demo.clone().map(note));
    entries.push(heading("Keys"));
    entries.extend(keys(false));
    entries.push(heading("Keys while a dialog is open"));
    entries.extend(keys(true));
    entries.push(heading("Words"));
    entries.extend(WORDS.iter().map(|(word, meaning)| HelpEntry {
        name: (*word).to_owned(),
        room: WORD,
        text: (*meaning).to_owned(),
    }));
    let notes = model.notes.iter();
    entries.extend(notes.map(|text| note(format!("This kernel: {text}"))));
    entries
}

fn key(name: &str, binding: &Binding) -> HelpEntry {
    let place = match binding.place {
        KeyPlace::Anywhere | KeyPlace::Dialog | KeyPlace::Frozen => String::new(),
        KeyPlace::On(screens) => {
            let names: Vec<&str> = screens.iter().map(|screen| screen.title()).collect();
            format!("  ({})", names.join(", "))
        }
    };
    HelpEntry {
        name: name.to_owned(),
        room: KEY,
        text: format!("{}{place}", binding.what),
    }
}
