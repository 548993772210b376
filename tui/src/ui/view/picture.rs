//! A screen as SVG. Block characters are drawn as paths, since fonts leave gaps between them.

use std::collections::BTreeMap;
use std::fmt::Write;

use iosched_result::report::escape;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Size of a character in pixels.
const WIDTH: u32 = 8;
const HEIGHT: u32 = 17;
const MARGIN: u32 = 10;
/// Background and foreground of a dark and of a light theme.
const DARK: [&str; 2] = ["#16181d", "#d8d8d8"];
const LIGHT: [&str; 2] = ["#ffffff", "#202020"];

/// Paths by colour and opacity in percent.
type Blocks = BTreeMap<(String, u32), String>;

/// The colours must be true colours.
pub fn svg(buffer: &Buffer, is_light: bool) -> String {
    let [background, foreground] = if is_light { LIGHT } else { DARK };
    let area = buffer.area;
    let outer_width = u32::from(area.width) * WIDTH + 2 * MARGIN;
    let outer_height = u32::from(area.height) * HEIGHT + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {outer_width} {outer_height}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"13\">\n\
         <rect width=\"{outer_width}\" height=\"{outer_height}\" rx=\"6\" fill=\"{background}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\">\n"
    );
    let (mut blocks, mut texts) = (Blocks::new(), String::new());
    let rows = buffer.content.chunks(usize::from(area.width.max(1)));
    for (cells, y) in rows.zip((0..).step_by(HEIGHT as usize)) {
        row(cells, y, [background, foreground], &mut blocks, &mut texts);
    }
    for ((colour, opacity), path) in blocks {
        let opacity = f64::from(opacity) / 100.0;
        let _ = writeln!(
            out,
            "<path fill=\"{colour}\" fill-opacity=\"{opacity}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>"
        );
    }
    out + &texts + "</g>\n</svg>\n"
}

fn row(
    cells: &[Cell],
    y: u32,
    [background, foreground]: [&str; 2],
    blocks: &mut Blocks,
    texts: &mut String,
) {
    let mut run = Run::default();
    for (cell, x) in cells.iter().zip((0..).step_by(WIDTH as usize)) {
        let (mut ink, mut paper) = (colour(cell.fg, foreground), None);
        if let Color::Rgb(..) = cell.bg {
            paper = Some(colour(cell.bg, background));
        }
        if cell.modifier.contains(Modifier::REVERSED) {
            let other = paper.unwrap_or(background.to_owned());
            (ink, paper) = (other, Some(ink));
        }
        if let Some(paper) = paper {
            let path = blocks.entry((paper, 100)).or_default();
            let _ = write!(path, "M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z");
        }
        if let Some((eighths, opacity)) = block(cell.symbol()) {
            let high = HEIGHT * eighths / 8;
            let top = y + HEIGHT - high;
            let path = blocks.entry((ink, opacity)).or_default();
            let _ = write!(path, "M{x} {top}h{WIDTH}v{high}h-{WIDTH}z");
            run.end(texts);
        } else {
            run.add(cell, ink, (x, y), texts);
        }
    }
    run.end(texts);
}

/// Adjacent characters of one style.
#[derive(Default)]
struct Run {
    text: String,
    ink: String,
    is_bold: bool,
    at: (u32, u32),
}

impl Run {
    fn add(&mut self, cell: &Cell, ink: String, at: (u32, u32), out: &mut String) {
        let is_bold = cell.modifier.contains(Modifier::BOLD);
        if self.text.is_empty() || self.ink != ink || self.is_bold != is_bold {
            self.end(out);
            *self = Run {
                text: String::new(),
                ink,
                is_bold,
                at,
            };
        }
        self.text.push_str(cell.symbol());
    }

    fn end(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.text);
        let lead = text.len() - text.trim_start_matches(' ').len();
        let text = text.trim_matches(' ');
        if text.is_empty() {
            return;
        }
        let (x, y) = (self.at.0 + lead as u32 * WIDTH, self.at.1 + HEIGHT - 4);
        let length = text.chars().count() as u32 * WIDTH;
        let weight = if self.is_bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let ink = &self.ink;
        let escaped = escape::xml(text);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" fill=\"{ink}\"{weight} xml:space=\"preserve\">{escaped}</text>"
        );
    }
}

/// Height of a block character in eighths, and its shade in percent.
fn block(text: &str) -> Option<(u32, u32)> {
    let character = text.chars().next()?;
    match character {
        '▁'..='█' => Some((character as u32 - '▁' as u32 + 1, 100)),
        '░' => Some((8, 35)),
        '▒' => Some((8, 60)),
        '▓' => Some((8, 80)),
        _ => None,
    }
}

/// A colour of a palette in true colour.
fn colour(colour: Color, default: &str) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        _ => default.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn what_is_on_the_screen_is_in_the_picture() {
        let mut buffer = Buffer::with_lines(["a <b> & c  █▄░", "second row    "]);
        buffer.set_style(
            ratatui::layout::Rect::new(0, 1, 6, 1),
            Style::new()
                .fg(Color::Rgb(255, 0, 16))
                .add_modifier(Modifier::REVERSED),
        );
        let svg = svg(&buffer, false);
        assert!(svg.contains("viewBox=\"0 0 132 54\""), "{svg}");
        assert!(svg.contains(">a &lt;b&gt; &amp; c</text>"), "{svg}");
        assert!(svg.contains("M88 0h8v17h-8zM96 9h8v8h-8z"), "{svg}");
        assert!(svg.contains("fill-opacity=\"0.35\""), "{svg}");
        // Reversed: the text has the colour of the background.
        assert!(
            svg.contains("fill=\"#16181d\" xml:space=\"preserve\">second</text>"),
            "{svg}"
        );
        assert!(svg.contains("<path fill=\"#ff0010\""), "{svg}");
        assert!(svg.contains(">row</text>"), "{svg}");
    }
}
