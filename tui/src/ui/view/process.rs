//! One process: its own histograms of queue wait and device time, reads and writes.

use iosched::histogram::Histogram;
use iosched::report::units::{count, share, throughput, time};
use iosched::snapshot::OwnerNumbers;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::{line, measured_or_why, strip};
use crate::ui::buckets::Axis;
use crate::ui::model::Model;
use crate::ui::update::name_of;

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let Some(measured) = measured_or_why(frame, area, model) else {
        return;
    };
    let inner = area.inner(ratatui::layout::Margin::new(2, 0));
    let rows = model.processes();
    let Some((_, process)) = rows.get(model.table.row) else {
        line(
            frame,
            inner,
            1,
            Line::from("the row did no I/O in this interval; Esc goes back"),
        );
        return;
    };
    let is_it = |owner: &&OwnerNumbers| {
        owner.key.tgid == process.pid.unwrap_or(0)
            && owner.key.cgroup_id == process.cgroup_id
            && owner.key.kind == process.kind
    };
    let name = Span::styled(name_of(process), model.palette.title());
    let cgroup = process.cgroup.as_deref().unwrap_or("-");
    line(
        frame,
        inner,
        0,
        Line::from(vec![
            name,
            Span::raw(format!(
                "   cgroup {cgroup}   merged {}   {} of {}",
                share(process.merge_ratio),
                model.table.row + 1,
                rows.len()
            )),
        ]),
    );
    let fairness = process.fairness.as_ref();
    let text = format!(
        "{} IOPS  {}  device share {}  backlogged {}  starved {}",
        count(process.iops),
        throughput(process.bytes_per_s),
        share(fairness.and_then(|fairness| fairness.device_time_share)),
        share(fairness.map(|fairness| fairness.backlogged_share)),
        time(
            fairness
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns as f64)
        ),
    );
    line(frame, inner, 1, Line::from(text));
    let below = Rect {
        y: inner.y + 2,
        height: inner.height.saturating_sub(2),
        ..inner
    };
    match measured.owners.iter().find(is_it) {
        Some(owner) if owner.has_histograms => histograms(frame, below, model, owner),
        _ => line(
            frame,
            below,
            1,
            Line::from(
                "no histograms: this screen has just been opened, or the kernel side has no room for this one",
            ),
        ),
    }
}

fn histograms(frame: &mut Frame, area: Rect, model: &Model, owner: &OwnerNumbers) {
    let all: Vec<(&str, &Histogram)> = [
        ("queue wait of reads", &owner.q2d[0]),
        ("queue wait of writes", &owner.q2d[1]),
        ("device time of reads", &owner.d2c[0]),
        ("device time of writes", &owner.d2c[1]),
    ]
    .into_iter()
    .filter(|(_, histogram)| histogram.count() > 0)
    .collect();
    let axis = Axis::around(all.iter().map(|(_, histogram)| *histogram));
    let mut parts = vec![Constraint::Fill(1); all.len()];
    parts.push(Constraint::Length(1));
    let areas = Layout::vertical(parts).split(area);
    for (index, ((title, histogram), area)) in all.iter().zip(areas.iter()).enumerate() {
        let style = model.palette.series(1 + index / 2 + index % 2);
        let text = format!(
            "  {} I/Os  {}",
            count(histogram.count() as f64),
            strip::summary(histogram)
        );
        line(
            frame,
            *area,
            0,
            Line::from(vec![
                Span::styled((*title).to_owned(), style),
                Span::raw(text),
            ]),
        );
        let blocks = Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(1),
            ..*area
        };
        let shares = axis.shares(histogram, usize::from(blocks.width));
        let highest = shares.iter().copied().fold(0.0, f64::max);
        strip::blocks(frame.buffer_mut(), blocks, &shares, highest, style);
    }
    if let Some(ticks) = areas.last() {
        strip::axis(frame.buffer_mut(), *ticks, axis, model.palette);
    }
}
