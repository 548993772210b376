//! One line with the times since the program submitted, only with `--detail asked`.
//!
//! When columns are scarce, the time to the issue is dropped first, then the time to the queue.

use iosched_result::stat::{LatencySummary, LiveAsked};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::fit::{self, Piece};
use super::{few, line};

/// The rows that it needs.
pub fn rows(asked: Option<&LiveAsked>) -> u16 {
    u16::from(asked.is_some())
}

pub fn render(frame: &mut Frame, area: Rect, asked: Option<&LiveAsked>) {
    let Some(asked) = asked else { return };
    let stage = |rank, name: &str, latency: &LatencySummary| {
        let short = format!("  to {name} p50 {}", few::p50(latency));
        let long = format!("{short} p99 {}", few::p99(latency));
        Piece::new(rank, Style::new(), [long, short])
    };
    let pieces = vec![
        Piece::new(0, Style::new(), ["asked"]),
        stage(2, "queued", &asked.a2q),
        stage(3, "issued", &asked.a2d),
        stage(1, "completed", &asked.a2c),
    ];
    line(frame, area, 0, fit::line(pieces, area.width));
}
