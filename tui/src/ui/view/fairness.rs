//! ```text
//! Jain's index: device time 0.52, bytes 0.50 ...
//! NAME    device share [bar]    bytes  backlogged  starved
//! who waits for whom: NAME   11.7 ms behind NAME 97.6 %, itself 2.38 %
//! shares over time, a line for each
//! ```

use iosched::report::live::{LiveFairness, LiveProcess};
use iosched::report::units::{share, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::heatmap::schedulers;
use super::{line, measured_or_why, strip};
use crate::ui::model::{Model, Moment};
use crate::ui::sample::Measured;
use crate::ui::update::name_of;

const BAR: usize = 10;
/// Of a chart over time.
const LABEL: u16 = 23;

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
        Constraint::Length(if inner.height > 30 { 7 } else { 4 }),
        Constraint::Min(1),
    ])
    .areas(inner);
    for (row, text) in index(measured).into_iter().enumerate() {
        line(frame, head, row as u16, Line::from(text));
    }
    shares(frame, table, model, &rows);
    who_waits(frame, waits, model, &rows);
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
                "Jain's index: device time {}, bytes {}, I/Os {}",
                number(fairness.jain_device_time),
                number(fairness.jain_bytes),
                number(fairness.jain_ios),
            ),
            format!(
                "1 is fair, 1/{} one has all; of the {} that were backlogged, {} others left out",
                fairness.flows.max(1),
                fairness.flows,
                fairness.left_out
            ),
        ],
    }
}

fn shares(frame: &mut Frame, area: Rect, model: &Model, rows: &[(&LiveProcess, &LiveFairness)]) {
    let header = format!(
        "{:<21} {:<BAR$}  device   bytes backlog starved >.1s >1s",
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
        let name: String = name_of(process).chars().take(21).collect();
        let text = format!(
            "  {:>6}  {:>6} {:>7} {:>7} {:>4} {:>3}",
            share(fairness.device_time_share),
            share(fairness.bytes_share),
            share(Some(fairness.backlogged_share.min(1.0))),
            time(fairness.starvation_max_ns.map(|ns| ns as f64)),
            fairness.starved_100ms,
            fairness.starved_1s,
        );
        let spans = vec![
            Span::raw(format!("{name:<21} ")),
            Span::styled("#".repeat(filled), model.palette.series(row)),
            Span::styled(".".repeat(BAR - filled), model.palette.faint()),
            Span::raw(text),
        ];
        line(frame, area, row as u16 + 1, Line::from(spans));
    }
}

/// Of those that nearly always had I/O pending, and so waited while the device served what it served.
fn who_waits(frame: &mut Frame, area: Rect, model: &Model, rows: &[(&LiveProcess, &LiveFairness)]) {
    const BACKLOGGED: f64 = 0.5;
    const SERVED: usize = 3;
    let mut waiting: Vec<&(&LiveProcess, &LiveFairness)> = rows
        .iter()
        .filter(|(_, fairness)| fairness.backlogged_share >= BACKLOGGED)
        .collect();
    let wait = |process: &LiveProcess| process.queue_wait.mean_ns.unwrap_or(0.0);
    waiting.sort_by(|(a, _), (b, _)| wait(b).total_cmp(&wait(a)));
    let title = "who waits for whom: mean queue wait, and device shares in the same interval";
    line(frame, area, 1, Line::styled(title, model.palette.faint()));
    let served = |waiting: &LiveProcess| {
        let part = |(process, fairness): &(&LiveProcess, &LiveFairness)| {
            let is_same = process.pid == waiting.pid && process.cgroup_id == waiting.cgroup_id;
            let name = if is_same {
                "itself".to_owned()
            } else {
                name_of(process)
            };
            format!("{name} {}", share(fairness.device_time_share))
        };
        let parts: Vec<String> = rows.iter().take(SERVED).map(part).collect();
        parts.join(", ")
    };
    for (row, (process, _)) in waiting.into_iter().enumerate() {
        let name: String = name_of(process).chars().take(21).collect();
        let wait = time(process.queue_wait.mean_ns);
        let text = format!("{name:<21} {wait:>8} behind {}", served(process));
        line(frame, area, row as u16 + 2, Line::from(text));
    }
}

fn over_time(frame: &mut Frame, area: Rect, model: &Model) {
    let width = usize::from(area.width.saturating_sub(LABEL));
    let history = &model.device().history;
    let moments: Vec<&Moment> = history
        .iter()
        .skip(history.len().saturating_sub(width))
        .collect();
    line(
        frame,
        area,
        0,
        Line::styled("share of device time:", model.palette.faint()),
    );
    let names = Rect {
        x: area.x + LABEL,
        width: area.width.saturating_sub(LABEL),
        height: 1,
        ..area
    };
    if area.height > 0 {
        schedulers(frame, names, model, &moments);
    }
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
    let jain = (
        "Jain's index",
        moments.iter().map(|moment| jain(moment)).collect(),
    );
    let room = area.height.saturating_sub(1);
    // As high as there is room for, one empty line between two.
    let each = (room / (names.len() as u16 + 1)).clamp(1, 6);
    let height = each.saturating_sub(1).max(1);
    for (row, (name, values)) in lines
        .chain([jain])
        .enumerate()
        .take(usize::from(room / each))
    {
        let top = area.y + 1 + row as u16 * each;
        let label: String = name.chars().take(22).collect();
        line(
            frame,
            Rect {
                y: top + height - 1,
                height: 1,
                ..area
            },
            0,
            Line::from(label),
        );
        let chart = Rect {
            x: area.x + LABEL,
            y: top,
            width: area.width.saturating_sub(LABEL),
            height,
        };
        strip::blocks(
            frame.buffer_mut(),
            chart,
            &values,
            1.0,
            model.palette.series(row),
        );
        for (x, _) in moments
            .iter()
            .enumerate()
            .filter(|(_, moment)| moment.is_flip)
        {
            for y in chart.top()..chart.bottom() {
                frame.buffer_mut()[(chart.x + x as u16, y)]
                    .set_symbol("|")
                    .set_style(model.palette.faint());
            }
        }
    }
}
