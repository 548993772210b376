//! Up to four programs or control groups under every scheduler, beside each other.
//!
//! ```text
//! probe: queue wait of reads            hog: queue wait of writes
//! none  [histogram]                     none  [histogram]
//! bfq   [histogram]                     bfq   [histogram]
//!       |10us    |1ms                         |10us    |1ms
//!       IOPS throughput  p50   p99            IOPS throughput  p50   p99
//! ```
//! On a narrow screen only the first ones are shown.

use iosched_result::measured::histogram::{Histogram, OWNER};
use iosched_result::report::escape;
use iosched_result::report::units::{count, share, throughput};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Sides, label_width, pictures, style};
use crate::ui::sampling::parts::{Part, PartName, PartSums};
use crate::ui::state::axis::Axis;
use crate::ui::state::compare::{ArmSeen, Scope, Seen, ShownStage};
use crate::ui::state::model::Model;
use crate::ui::state::reports::last_component;
use crate::ui::view::fit::{self, Piece};
use crate::ui::view::parts::{Part as Region, stack};
use crate::ui::view::table::{self, Column};
use crate::ui::view::{axis, few, line, strip};

/// The least width of each.
const EACH: u16 = 37;

/// `probe: fio`, or the control group alone.
pub fn part_name(name: &PartName) -> String {
    let group = last_component(&name.cgroup);
    let text = match &name.comm {
        Some(comm) if group.is_empty() || group == "/" => comm.clone(),
        Some(comm) => format!("{group}: {comm}"),
        None => format!("group {group}"),
    };
    escape::line(&text)
}

/// The chosen parts that the last report knows.
pub fn chosen<'a>(model: &'a Model, seen: &'a Seen) -> Vec<&'a Part> {
    let score = seen.score.as_ref();
    let of = |name: &PartName| score?.parts.iter().find(|part| part.name == *name);
    model.compare.whose.iter().filter_map(of).collect()
}

/// The minimum height: a title, the strips with their axis, and a table.
pub fn least_rows(arms: usize) -> u16 {
    arms as u16 + 2
}

pub fn that_fit<'a, 'p>(parts: &'a [&'p Part], width: u16) -> &'a [&'p Part] {
    let room = usize::from((width + 2) / (EACH + 2)).max(1);
    &parts[..parts.len().min(room)]
}

pub fn axis_around(model: &Model, seen: &Seen, parts: &[&Part]) -> Axis {
    let views = parts.iter().map(|part| PartView::of(model, seen, part));
    let views: Vec<PartView> = views.collect();
    Axis::around(views.iter().flat_map(|view| &view.histograms))
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model, seen: &Seen, parts: &[&Part]) {
    let shown = that_fit(parts, area.width);
    let views: Vec<PartView> = shown
        .iter()
        .map(|part| PartView::of(model, seen, part))
        .collect();
    let all = views.iter().flat_map(|view| &view.histograms);
    let axis = axis::of(model, || Axis::around(all));
    let gap = 2;
    let columns = views.len() as u16;
    let width = (area.width + gap) / columns.max(1) - gap;
    for (index, view) in views.iter().enumerate() {
        let half = Rect {
            x: area.x + index as u16 * (width + gap),
            width,
            ..area
        };
        view.render(frame, half, model, axis);
    }
}

struct PartView<'a> {
    seen: &'a Seen,
    part: &'a Part,
    stage: ShownStage,
    scope: Scope,
    /// In the order of the arms seen.
    histograms: Vec<Histogram>,
}

impl<'a> PartView<'a> {
    fn of(model: &Model, seen: &'a Seen, part: &'a Part) -> Self {
        // Only the device has totals.
        let stage = match model.compare.stage {
            ShownStage::Total => ShownStage::Wait,
            other => other,
        };
        let has = |scope: Scope| {
            let mut under = part.by_arm.iter().flatten();
            under.any(|sums| sum(sums.ios, scope) > 0)
        };
        let asked = model.compare.scope;
        let scope = [asked, Scope::Reads, Scope::Writes]
            .into_iter()
            .find(|scope| has(*scope));
        let mut view = PartView {
            seen,
            part,
            stage,
            scope: scope.unwrap_or(asked),
            histograms: Vec::new(),
        };
        view.histograms = seen.arms.iter().map(|arm| view.histogram(arm)).collect();
        view
    }

    fn sums(&self, arm: &ArmSeen) -> Option<&'a PartSums> {
        let arms = &self.seen.score.as_ref()?.arms;
        let at = arms.iter().position(|of| of.label == arm.label)?;
        self.part.by_arm.get(at)?.as_ref()
    }

    fn histogram(&self, arm: &ArmSeen) -> Histogram {
        let Some(sums) = self.sums(arm) else {
            return Histogram::new(OWNER);
        };
        let pair = match self.stage {
            ShownStage::Device => &sums.device,
            ShownStage::Wait | ShownStage::Total => &sums.wait,
        };
        match self.scope {
            Scope::Reads => pair[0].clone(),
            Scope::Writes => pair[1].clone(),
            Scope::All => {
                let mut both = pair[0].clone();
                let _ = both.merge(&pair[1]); // the layouts are the same by construction
                both
            }
        }
    }

    fn render(&self, frame: &mut Frame, area: Rect, model: &Model, axis: Axis) {
        let arms = self.seen.arms.len() as u16;
        let [title, strips, rows] = stack(
            area,
            [
                Region::new(1, 1, 1),
                Region::filling(0, arms + 1),
                Region::new(2, arms + 1, arms + 1),
            ],
        );
        let sides = Sides {
            seen: self.seen,
            arms: self
                .seen
                .arms
                .iter()
                .zip(self.histograms.iter().cloned())
                .collect(),
            reference: 0,
            axis,
        };
        if title.height > 0 {
            line(frame, title, 0, self.title(model, axis, title.width));
        }
        pictures::strips(frame, strips, model, &sides);
        if rows.height > 0 {
            self.table(frame, rows, model, &sides);
        }
    }

    fn title(&self, model: &Model, axis: Axis, room: u16) -> Line<'static> {
        let what = format!(": {} of {}", self.stage.title(), self.scope.title());
        let name = part_name(&self.part.name);
        let room_of_name = usize::from(room).saturating_sub(what.len()).max(12);
        let mut pieces = vec![
            Piece::new(0, model.palette.title(), [fit::clip(&name, room_of_name)]),
            Piece::new(1, Style::new(), [what]),
        ];
        if let Some(beyond) = strip::most_beyond(axis, &self.histograms) {
            let text = format!("  up to {} beyond the axis", share(Some(beyond)));
            pieces.push(Piece::new(2, Style::new(), [text]));
        }
        if self
            .part
            .by_arm
            .iter()
            .flatten()
            .any(|sums| sums.lacks_histograms)
        {
            let forms = [" (not of all its processes)", " (not all)"];
            pieces.push(Piece::new(2, model.palette.warning(), forms));
        }
        fit::line(pieces, room)
    }

    fn table(&self, frame: &mut Frame, area: Rect, model: &Model, sides: &Sides<'_>) {
        let width = label_width(sides, area.width);
        let arms = || sides.arms.iter();
        let labels = arms().enumerate().map(|(index, (arm, _))| {
            Line::from(Span::styled(arm.label.clone(), style(model, index)))
        });
        let rate = |arm: &ArmSeen, of: fn(&PartSums) -> [u64; 2], form: fn(f64) -> String| {
            let n = self.sums(arm).map_or(0, |sums| sum(of(sums), self.scope));
            // Without any time there is no rate.
            match arm.sums.seconds {
                0.0 => "-".to_owned(),
                seconds => form(n as f64 / seconds),
            }
        };
        let quantile = |p: f64| arms().map(move |(_, histogram)| few::compared(histogram, p));
        let columns = [
            Column::name("", 0.., width, width).of(labels),
            Column::number("IOPS", 1.., 5)
                .of(arms().map(|(arm, _)| rate(arm, |sums| sums.ios, |rate| count(rate.round())))),
            Column::number("throughput", 2.., 9)
                .of(arms().map(|(arm, _)| rate(arm, |sums| sums.bytes, throughput))),
            Column::number("p50", 0.., 8).of(quantile(0.5)),
            Column::number("p99", 0.., 8).of(quantile(0.99)),
        ];
        let faint = model.palette.faint();
        table::render(frame.buffer_mut(), area, &columns, faint, |_| Style::new());
    }
}

fn sum([reads, writes]: [u64; 2], scope: Scope) -> u64 {
    match scope {
        Scope::All => reads + writes,
        Scope::Reads => reads,
        Scope::Writes => writes,
    }
}
