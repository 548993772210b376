//! Who waits for the device under each arm of a rotation, and behind whom. As many rows as there is room for; on a small screen Fairness has it.
//!
//! ```text
//! mean queue wait (5 of 8 rounds)         none      bfq
//! probe reads                           431 us  29.0 us
//!   behind hog writes                    100 %   63.6 %
//! ```

use iosched_result::report::units::{share, time};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Sides, style};
use crate::ui::sampling::score::Waiter;
use crate::ui::state::model::Model;
use crate::ui::view::{fit, line};

/// A column of numbers, with the space before it.
const CELL: usize = 10;
/// The least and the greatest width of a name.
const NAME: [usize; 2] = [16, 34];
/// Whom a waiter waits behind, at most.
const PARTS: usize = 2;
/// A part that is smaller under each arm is not shown.
const SHOWN: f64 = 0.05;

/// The rows of all waiters with their heading; 0 if nothing is known, or the arms have no room beside each other.
pub fn rows(sides: &Sides<'_>, width: u16) -> u16 {
    let arms = sides.arms.len();
    let has_room = arms > 1 && usize::from(width) >= NAME[0] + CELL * arms;
    let waiters = waiters(sides).iter().filter(|_| has_room);
    let rows: usize = waiters.map(|waiter| 1 + behind(waiter).count()).sum();
    if rows == 0 { 0 } else { rows as u16 + 1 }
}

fn waiters<'a>(sides: &Sides<'a>) -> &'a [Waiter] {
    let score = sides.seen.score.as_ref();
    score.map_or(&[], |score| &score.waiters)
}

fn behind(waiter: &Waiter) -> impl Iterator<Item = &(String, Vec<Option<f64>>)> {
    let largest = |shares: &[Option<f64>]| shares.iter().flatten().copied().fold(0.0, f64::max);
    let parts = waiter.behind.iter();
    parts
        .filter(move |(_, shares)| largest(shares) >= SHOWN)
        .take(PARTS)
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
    let room = usize::from(area.width).saturating_sub(CELL * sides.arms.len());
    let name_width = room.min(NAME[1]);
    let faint = model.palette.faint();
    let mut lines = Vec::new();
    let mut heading = vec![Span::styled(
        named(&title(sides, name_width), name_width),
        faint,
    )];
    heading.extend(sides.arms.iter().enumerate().map(|(index, (arm, _))| {
        Span::styled(
            format!("{:>CELL$}", fit::clip(&arm.label, CELL - 1)),
            style(model, index),
        )
    }));
    lines.push(Line::from(heading));
    let row = |name: &str, values: &[Option<f64>], shown: fn(Option<f64>) -> String| {
        let cells = sides.arms.iter().map(|(arm, _)| {
            let value = place(sides, &arm.label).and_then(|place| values[place]);
            format!("{:>CELL$}", shown(value))
        });
        named(name, name_width) + &cells.collect::<String>()
    };
    for waiter in waiters(sides) {
        lines.push(Line::from(row(&waiter.name, &waiter.mean_ns, time)));
        for (name, shares) in behind(waiter) {
            let text = row(&format!("  behind {name}"), shares, hundredths);
            lines.push(Line::styled(text, faint));
        }
    }
    for (row, text) in lines.into_iter().enumerate().take(usize::from(area.height)) {
        line(frame, area, row as u16, text);
    }
}

/// The title; if some rounds lack these numbers, with the number of rounds of the arm that has fewest.
fn title(sides: &Sides<'_>, room: usize) -> String {
    let told = sides.seen.score.iter().flat_map(|score| &score.told);
    let fewest = told.min_by_key(|[known, _]| *known);
    let forms = match fewest {
        Some([known, all]) if known < all => [
            format!("mean queue wait ({known} of {all} rounds)"),
            format!("wait ({known} of {all})"),
        ],
        _ => ["mean queue wait".to_owned(), "mean wait".to_owned()],
    };
    let mut fitting = forms.into_iter().filter(|form| form.len() <= room);
    fitting.next().unwrap_or_default()
}

/// To a hundredth of a per cent.
fn hundredths(part: Option<f64>) -> String {
    share(part.map(|part| (part * 1e4).round() / 1e4))
}

/// An arm's place in the score.
fn place(sides: &Sides<'_>, label: &str) -> Option<usize> {
    let mut arms = sides.seen.score.as_ref()?.arms.iter();
    arms.position(|arm| arm.label == label)
}

fn named(name: &str, width: usize) -> String {
    let name = fit::name(name, width);
    let space = width.saturating_sub(fit::width(&name));
    format!("{name}{}", " ".repeat(space))
}
