//! Draws the pictures of the README from a real run: starts `iosched --demo` on a terminal, rotates the schedulers, and
//! saves the screens as SVG. Needs root, and takes about three minutes:
//!
//!     cargo build --release -p iosched-tui --bin iosched --example pictures
//!     sudo target/release/examples/pictures target/release/iosched docs

#[path = "../tui/tests/terminal/pty.rs"]
mod pty;
#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use pty::Terminal;
use support::program::Program;
use vt100::{Cell, Color, Screen};

const SIZE: (u16, u16) = (100, 30);
/// Four schedulers at 4 s each, settling included: about ten blocks, enough for intervals.
const ROTATES: Duration = Duration::from_secs(170);
/// Size of a character in pixels.
const WIDTH: u32 = 8;
const HEIGHT: u32 = 17;
const MARGIN: u32 = 10;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d8d8d8";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().context("pictures IOSCHED DIRECTORY")?;
    let directory = arguments.next().context("pictures IOSCHED DIRECTORY")?;
    let binary = std::fs::canonicalize(&binary).with_context(|| format!("looking for {binary}"))?;
    let binary = binary.to_str().context("a path that is UTF-8")?;
    let program = Program::new(binary);
    let mut terminal = Terminal::start(&program, binary, &["--demo"], SIZE);
    terminal.until("of an I/O's time");
    terminal.keys("F");
    terminal.until("Rotate the schedulers");
    terminal.keys("\r");
    std::thread::sleep(ROTATES);
    for (key, title, name) in [
        ("2", "queue wait of reads", "compare"),
        ("6", "over time", "heatmap"),
    ] {
        terminal.keys(key);
        terminal.until(title);
        std::thread::sleep(Duration::from_millis(1500));
        let path = Path::new(&directory).join(format!("{name}.svg"));
        std::fs::write(&path, terminal.with_screen(svg))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    terminal.keys("q");
    terminal.end();
    Ok(())
}

fn svg(screen: &Screen) -> String {
    let (width, height) = (u32::from(SIZE.0) * WIDTH, u32::from(SIZE.1) * HEIGHT);
    let (outer_width, outer_height) = (width + 2 * MARGIN, height + 2 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {outer_width} {outer_height}\" \
         font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"13\">\n\
         <rect width=\"{outer_width}\" height=\"{outer_height}\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\">\n"
    );
    // By colour and opacity. Block characters are drawn as paths, since fonts leave gaps between them.
    let mut blocks: BTreeMap<(String, u32), String> = BTreeMap::new();
    let mut texts = String::new();
    for row in 0..SIZE.1 {
        let mut run = Run::default();
        for column in 0..SIZE.0 {
            let Some(cell) = screen.cell(row, column) else {
                continue;
            };
            let colour = colour(cell.fgcolor(), FOREGROUND);
            let (ink, paper) = if cell.inverse() {
                (BACKGROUND.to_owned(), Some(colour))
            } else {
                (colour, None)
            };
            let (x, y) = (u32::from(column) * WIDTH, u32::from(row) * HEIGHT);
            if let Some(paper) = paper {
                let path = blocks.entry((paper, 100)).or_default();
                let _ = write!(path, "M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z");
            }
            if let Some((eighths, opacity)) = block(cell.contents()) {
                let high = HEIGHT * eighths / 8;
                let top = y + HEIGHT - high;
                let path = blocks.entry((ink, opacity)).or_default();
                let _ = write!(path, "M{x} {top}h{WIDTH}v{high}h-{WIDTH}z");
                run.end(&mut texts);
            } else {
                run.add(cell, &ink, (x, y), &mut texts);
            }
        }
        run.end(&mut texts);
    }
    for ((colour, opacity), path) in blocks {
        let _ = writeln!(
            out,
            "<path fill=\"{colour}\" fill-opacity=\"{}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>",
            f64::from(opacity) / 100.0
        );
    }
    out + &texts + "</g>\n</svg>\n"
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
    fn add(&mut self, cell: &Cell, ink: &str, at: (u32, u32), out: &mut String) {
        let character = if cell.contents().is_empty() {
            " "
        } else {
            cell.contents()
        };
        if self.text.is_empty() || self.ink != ink || self.is_bold != cell.bold() {
            self.end(out);
            *self = Run {
                text: String::new(),
                ink: ink.to_owned(),
                is_bold: cell.bold(),
                at,
            };
        }
        self.text.push_str(character);
    }

    fn end(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.text);
        let lead = text
            .chars()
            .take_while(|&character| character == ' ')
            .count() as u32;
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let (x, y) = (self.at.0 + lead * WIDTH, self.at.1 + HEIGHT - 4);
        let length = text.chars().count() as u32 * WIDTH;
        let weight = if self.is_bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let ink = &self.ink;
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
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

/// The UI writes in true colour.
fn colour(colour: Color, default: &str) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Default | Color::Idx(_) => default.to_owned(),
    }
}
