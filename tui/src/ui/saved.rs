//! The screen for people elsewhere: saved as SVG, or copied as text.

use std::path::PathBuf;

use anyhow::Result;
use iosched_files::output::write_whole_in;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use super::place;
use super::state::appearance::{Depth, Theme};
use super::state::model::Model;
use super::view;

/// `iosched-SCREEN-TIME.svg`, in true colour whatever the terminal has.
pub fn picture(model: &Model, size: Size) -> Result<PathBuf> {
    let mut model = model.clone();
    model.palette.depth = Depth::True;
    model.palette.is_ascii = false;
    let svg = view::svg(&drawn(&model, size)?, model.palette.theme == Theme::Light);
    let path = place::file(
        &model.directory,
        &model.screen.title().to_lowercase(),
        "svg",
    );
    write_whole_in(&path, svg.as_bytes())?;
    Ok(path)
}

/// The screen's text, without blanks at the ends of lines.
pub fn text(model: &Model, size: Size) -> Result<String> {
    let buffer = drawn(model, size)?;
    let rows = buffer.content.chunks(usize::from(size.width.max(1)));
    let lines = rows.map(|cells| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}

fn drawn(model: &Model, size: Size) -> Result<Buffer> {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height))?;
    terminal.draw(|frame| view::draw(frame, model))?;
    Ok(terminal.backend().buffer().clone())
}
