//! Every key, from the table that handles them, and every word's meaning.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use crate::ui::keys::{Binding, KEYS, Place};
use crate::ui::model::Model;
use crate::ui::words::WORDS;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let inner = area.inner(ratatui::layout::Margin::new(2, 0));
    let palette = model.palette;
    let mut lines = Vec::new();
    let heading = |text: &str| Line::styled(text.to_owned(), palette.strong());
    let binding = |binding: &Binding| {
        let place = match binding.place {
            Place::Anywhere | Place::Dialog => String::new(),
            Place::On(screens) => {
                let names: Vec<&str> = screens.iter().map(|screen| screen.title()).collect();
                format!("  ({})", names.join(", "))
            }
        };
        Line::from(vec![
            Span::styled(format!("{:<11}", binding.shown), palette.title()),
            Span::raw(binding.what),
            Span::styled(place, palette.faint()),
        ])
    };
    if let Some(demo) = &model.demo {
        lines.push(Line::from(demo.clone()));
    }
    let is_shown = |binding: &&Binding| !binding.shown.is_empty();
    lines.push(heading("Keys"));
    lines.extend(
        KEYS.iter()
            .filter(is_shown)
            .filter(|b| b.place != Place::Dialog)
            .map(binding),
    );
    lines.push(heading("Keys while a question is open"));
    lines.extend(
        KEYS.iter()
            .filter(is_shown)
            .filter(|b| b.place == Place::Dialog)
            .map(binding),
    );
    lines.push(heading("Words"));
    lines.extend(WORDS.iter().map(|(word, meaning)| {
        Line::from(vec![
            Span::styled(format!("{word:<14}"), palette.title()),
            Span::raw(*meaning),
        ])
    }));
    lines.extend(
        model
            .notes
            .iter()
            .map(|note| Line::from(format!("This kernel: {note}"))),
    );
    let row = model.help_row.min(lines.len().saturating_sub(1));
    frame.render_widget(
        Paragraph::new(lines)
            .wrap(Wrap { trim: false })
            .scroll((row as u16, 0)),
        inner,
    );
}
