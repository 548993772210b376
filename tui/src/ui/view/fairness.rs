//! ```text
//! Jain's index: device time 0.52, bytes 0.50 ...
//! NAME    device share [bar]    bytes  backlogged  starved
//! while NAME waited, the device served ...
//! shares over time, a line for each
//! ```

use iosched::report::live::{LiveFairness, LiveProcess};
use iosched::report::units::{share, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::{line, measured_or_why};
use crate::ui::model::{Model, Moment};
use crate::ui::sample::Measured;
use crate::ui::update::name_of;

const BAR: usize = 10;
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = area.inner(ratatui::layout::Margin::new(2, 0));
    let rows = rows(model);
    let room = usize::from(inner.height.saturating_sub(6)) / 2;
    let [head, table, waits, history] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1 + rows.len().clamp(1, room.max(1)) as u16),
        Constraint::Length(3),
        Constraint::Min(1),
    ])
    .areas(inner);
    for (row, text) in index(measured).into_iter().enumerate() {
        line(frame, head, row as u16, Line::from(text));
    }
    shares(frame, table, model, &rows);
    who_waits(frame, waits, &rows);
    over_time(frame, history, model);
}

/// The filter's rows with a measured share, the largest first.
fn rows(model: &Model) -> Vec<(&LiveProcess, &LiveFairness)> {
    let mut rows: Vec<(&LiveProcess, &LiveFairness)> = model
        .processes()
        .into_iter()
        .filter_map(|(_, process)| Some((process, process.fairness.as_ref()?)))
        .collect();
    let part = |fairness: &LiveFairness| fairness.device_time_share.unwrap_or(0.0);
    rows.sort_by(|(_, a), (_, b)| part(b).total_cmp(&part(a)));
    rows
}

fn index(measured: &Measured) -> [String; 2] {
    let number = |index: Option<f64>| index.map_or("-".to_owned(), |index| format!("{index:.2}"));
    match &measured.live.fairness {
        None => ["nobody did I/O in this interval".to_owned(), String::new()],
        Some(fairness) => [
            format!(
                "Jain's index: device time {}, bytes {}, I/Os {}  (1 fair, 1/{} one got all)",
                number(fairness.jain_device_time),
                number(fairness.jain_bytes),
                number(fairness.jain_ios),
                fairness.flows.max(1)
            ),
            format!(
                "among the {} that always had I/O pending; left out {} who asked for less",
                fairness.flows, fairness.left_out
            ),
        ],
    }
}

fn shares(frame: &mut Frame, area: Rect, model: &Model, rows: &[(&LiveProcess, &LiveFairness)]) {
    let header = format!(
        "{:<22} {:<BAR$}  device   bytes  backlog  starved >0.1 s >1 s",
        "", ""
    );
    line(frame, area, 0, Line::styled(header, model.palette.faint()));
    for (row, (process, fairness)) in rows
        .iter()
        .enumerate()
        .take(usize::from(area.height.saturating_sub(1)))
    {
        let part = fairness.device_time_share.unwrap_or(0.0).clamp(0.0, 1.0);
        let filled = (part * BAR as f64).round() as usize;
        let name: String = name_of(process).chars().take(22).collect();
        let text = format!(
            "  {:>6}  {:>6}  {:>7}  {:>7}  {:>5} {:>4}",
            share(fairness.device_time_share),
            share(fairness.bytes_share),
            share(Some(fairness.backlogged_share.min(1.0))),
            time(fairness.starvation_max_ns.map(|ns| ns as f64)),
            fairness.starved_100ms,
            fairness.starved_1s,
        );
        let spans = vec![
            Span::raw(format!("{name:<22} ")),
            Span::styled("#".repeat(filled), model.palette.series(row)),
            Span::styled(".".repeat(BAR - filled), model.palette.faint()),
            Span::raw(text),
        ];
        line(frame, area, row as u16 + 1, Line::from(spans));
    }
}

/// Of those that waited most: who had the device in the same interval.
fn who_waits(frame: &mut Frame, area: Rect, rows: &[(&LiveProcess, &LiveFairness)]) {
    let mut waiting: Vec<&(&LiveProcess, &LiveFairness)> = rows
        .iter()
        .filter(|(_, fairness)| fairness.backlogged_share >= 0.5)
        .collect();
    let wait = |process: &LiveProcess| process.queue_wait.mean_ns.unwrap_or(0.0);
    waiting.sort_by(|(a, _), (b, _)| wait(b).total_cmp(&wait(a)));
    for (row, (process, fairness)) in waiting.into_iter().take(2).enumerate() {
        let others: Vec<String> = rows
            .iter()
            .filter(|(other, _)| name_of(other) != name_of(process))
            .take(3)
            .map(|(other, fairness)| {
                format!("{} {}", name_of(other), share(fairness.device_time_share))
            })
            .collect();
        let others = if others.is_empty() {
            "nobody else".to_owned()
        } else {
            others.join(", ")
        };
        let text = format!(
            "{} waited {} of the time (mean {}); the device was with {others}",
            name_of(process),
            share(Some(fairness.backlogged_share.min(1.0))),
            time(process.queue_wait.mean_ns),
        );
        line(frame, area, 1 + row as u16, Line::from(text));
    }
}

fn over_time(frame: &mut Frame, area: Rect, model: &Model) {
    let width = usize::from(area.width.saturating_sub(24));
    let history = &model.device().history;
    let moments: Vec<&Moment> = history
        .iter()
        .skip(history.len().saturating_sub(width))
        .collect();
    line(
        frame,
        area,
        0,
        Line::styled(
            "share of the device's time, until now; | a flip",
            model.palette.faint(),
        ),
    );
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in moments
        .iter()
        .rev()
        .take(20)
        .flat_map(|moment| &moment.shares)
    {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    let part = |moment: &Moment, name: &str| {
        let found = moment.shares.iter().find(|(other, _)| other == name);
        found.map_or(0.0, |(_, share)| *share)
    };
    let jain = |moment: &Moment| moment.jain_device_time.unwrap_or(0.0);
    let lines = names.iter().map(|name| {
        (
            *name,
            moments
                .iter()
                .map(|moment| part(moment, name))
                .collect::<Vec<f64>>(),
        )
    });
    let all = lines.chain(std::iter::once((
        "Jain's index",
        moments.iter().map(|moment| jain(moment)).collect(),
    )));
    let room = usize::from(area.height.saturating_sub(1));
    for (row, (name, values)) in all.take(room).enumerate() {
        let label: String = name.chars().take(22).collect();
        let mut spans = vec![Span::raw(format!("{label:<22} "))];
        for (moment, value) in moments.iter().zip(values) {
            let symbol = if moment.is_flip {
                "|"
            } else {
                EIGHTHS[(value.clamp(0.0, 1.0) * 8.0).round() as usize]
            };
            spans.push(Span::styled(symbol, model.palette.series(row)));
        }
        line(frame, area, row as u16 + 1, Line::from(spans));
    }
}
