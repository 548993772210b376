//! ```text
//! bfq against none: read p99 83x faster (95 %: at least 70x); but throughput -98 %
//!        read p50   read p99  write p99    IOPS  throughput  fairness
//! none    2.10 ms     310 ms    12.0 ms   4210/s   520 MB/s     0.610
//! bfq       ▲12x       ▲83x      ▼3.0x    ▼-98 %     ▼-98 %   ▲+0.310
//! queue wait of reads, under each scheduler: further left is faster
//! none         [histogram]         all on the same axis and scale
//! bfq          [histogram]
//!              |10us    |100us    |1ms
//! arm     rounds  I/Os   p50   p95   p99  p99.9   p99 to none
//! mean queue wait, and behind whom   none   bfq
//! what was left out
//! ```
//! When rows are scarce, the notes are dropped first, then who waits behind whom, the table, the pictures of all arms, and the sentence. If the
//! verdicts are still too high, the rows around the chosen one are shown.

mod beside;
mod blame;
mod change;
mod leader;
mod notes;
mod pictures;
mod rows;
mod score;

use iosched_result::measured::histogram::Histogram;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::fit::{self, Piece};
use super::parts::{Part, stack};
use super::{axis, line, measured_or_why, text_lines};
use crate::ui::sampling::sample::Rotating;
use crate::ui::state::axis::Axis;
use crate::ui::state::compare::{ArmSeen, Seen};
use crate::ui::state::model::Model;

/// The maximum width of an arm's name.
const LABEL: usize = 24;
/// The maximum number of lines of the verdict in words.
const SENTENCE: usize = 3;
/// The maximum number of note lines while the picture can use the rows.
const NOTES: u16 = 4;

pub use beside::part_name;

/// The arms with the histograms that are drawn.
struct Sides<'a> {
    seen: &'a Seen,
    arms: Vec<(&'a ArmSeen, Histogram)>,
    reference: usize,
    axis: Axis,
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let inner = area.inner(ratatui::layout::Margin::new(1, 0));
    let seen = &model.device().seen;
    if seen.arms.is_empty() && measured_or_why(frame, inner, model).is_none() {
        return;
    }
    let view = &model.compare;
    let arms = arms(model);
    let sides = Sides {
        reference: match &seen.score {
            Some(score) => score.reference,
            None => view.reference.min(arms.len().saturating_sub(1)),
        },
        axis: axis::of(model, || {
            Axis::around(arms.iter().map(|(_, histogram)| histogram))
        }),
        seen,
        arms,
    };
    let room = usize::from(inner.width);
    let texts = notes::notes(&sides, model);
    let all_notes = fit::paragraphs(&texts, room, usize::from(u16::MAX)).len() as u16;
    let most = all_notes.min(match area.height {
        0..=26 => NOTES,
        27..=40 => NOTES + 2,
        _ => 2 * NOTES + 2,
    });
    let rows = sides.arms.len() as u16 + 1;
    let block_s = model.rotating.as_ref().map(Rotating::block_s);
    let score = seen.score.as_ref();
    let verdict = score.and_then(|score| leader::sentence(score, block_s));
    let verdict = fit::paragraph(&verdict.unwrap_or_default(), room, SENTENCE);
    let has_verdict = verdict.iter().any(|line| !line.is_empty());
    let said = if has_verdict { verdict.len() as u16 } else { 0 };
    let parts = beside::chosen(model, seen);
    let least = if parts.is_empty() {
        pictures::least_rows(&sides, view.is_overlaid)
    } else {
        beside::least_rows(sides.arms.len())
    };
    let rows_below = if parts.is_empty() { rows } else { 0 };
    let blame_rows = match area.height {
        0..=26 => 0,
        _ => blame::rows(&sides, inner.width),
    };
    let [sentence, score, title, pictures, table, blame, footnotes] = stack(
        inner,
        [
            Part::new(1, said, said),
            Part::new(0, rows, rows),
            Part::new(3, rows_below.min(1), rows_below.min(1)),
            Part::filling(2, least),
            Part::new(4, rows_below, rows_below),
            Part::new(5, blame_rows.min(3), blame_rows),
            Part::new(6, 1, most),
        ],
    );
    let strong = model.palette.strong();
    let verdict = verdict.into_iter().map(|text| Line::styled(text, strong));
    text_lines(frame, sentence, verdict);
    score::render(frame, score, model, &sides);
    let [blame, footnotes] = if parts.is_empty() {
        let areas = [title, pictures, table, blame, footnotes];
        device(frame, areas, model, &sides)
    } else {
        if pictures.height > 0 {
            beside::render(frame, pictures, model, seen, &parts);
        }
        [blame, footnotes]
    };
    if blame.height > 0 {
        blame::render(frame, blame, model, &sides);
    }
    let lines = fit::paragraphs(texts, room, usize::from(footnotes.height));
    let faint = model.palette.faint();
    let lines = lines.into_iter().map(|text| Line::styled(text, faint));
    text_lines(frame, footnotes, lines);
}

fn arms(model: &Model) -> Vec<(&ArmSeen, Histogram)> {
    let view = &model.compare;
    let arms = model.device().seen.arms.iter();
    arms.map(|arm| (arm, arm.sums.stages.histogram(view.stage, view.scope)))
        .collect()
}

/// The axis that shows all.
pub fn axis_around(model: &Model, width: u16) -> Axis {
    let seen = &model.device().seen;
    let parts = beside::chosen(model, seen);
    if parts.is_empty() {
        Axis::around(arms(model).iter().map(|(_, histogram)| histogram))
    } else {
        beside::axis_around(
            model,
            seen,
            beside::that_fit(&parts, width.saturating_sub(2)),
        )
    }
}

/// The pictures and the table of the whole device. Rows that strips of equal height cannot use go to the notes. The
/// areas below the table are returned.
fn device(
    frame: &mut Frame,
    [title, pictures, table, blame, footnotes]: [Rect; 5],
    model: &Model,
    sides: &Sides<'_>,
) -> [Rect; 2] {
    let is_overlaid = model.compare.is_overlaid;
    let useful = pictures::useful_rows(sides, is_overlaid, pictures.height);
    let spare = pictures.height.saturating_sub(useful);
    let up = |area: Rect, rows: u16| Rect {
        y: area.y - spare,
        height: area.height + rows,
        ..area
    };
    let (table, blame, footnotes) = (up(table, 0), up(blame, 0), up(footnotes, spare));
    if title.height > 0 {
        line(frame, title, 0, title_line(model, sides, title.width));
    }
    let pictures = Rect {
        height: useful.min(pictures.height),
        ..pictures
    };
    if pictures.height == 0 {
    } else if is_overlaid {
        pictures::curves(frame, pictures, model, sides);
    } else {
        pictures::strips(frame, pictures, model, sides);
    }
    if table.height > 0 {
        rows::render(frame, table, model, sides);
    }
    [blame, footnotes]
}

fn title_line(model: &Model, sides: &Sides<'_>, room: u16) -> Line<'static> {
    let view = &model.compare;
    let plain = |rank, text: String| Piece::new(rank, Style::new(), [text]);
    let mut pieces = vec![
        Piece::new(0, model.palette.strong(), [view.stage.title()]),
        plain(0, format!(" of {}", view.scope.title())),
        plain(3, ", under each scheduler".to_owned()),
        match notes::different_stalls(sides, view.stage, view.scope) {
            None => plain(2, ": further left is faster".to_owned()),
            // Arms that leave out different waits are not faster.
            Some(_) => plain(2, "; not all are comparable (n/c)".to_owned()),
        },
    ];
    if measured_is_g2d(model) {
        let forms = [" (G2D: this kernel does not show Q2G)", " (G2D)"];
        pieces.push(Piece::new(4, Style::new(), forms));
    }
    fit::line(pieces, room)
}

fn measured_is_g2d(model: &Model) -> bool {
    let sample = model
        .device_sample()
        .and_then(|sample| sample.measured.as_deref());
    sample.is_some_and(|measured| measured.queue_wait_is_g2d)
}

/// The width of the labels in pictures and table: a quarter of the screen, but wide enough for the kernel's own
/// names.
fn label_width(sides: &Sides<'_>, room: u16) -> u16 {
    let labels = sides.arms.iter().map(|(arm, _)| fit::width(&arm.label));
    let most = LABEL.min(usize::from(room / 4)).max(12);
    labels.max().unwrap_or(0).clamp(4, most) as u16 + 1
}

fn style(model: &Model, index: usize) -> Style {
    model.palette.series(index)
}
