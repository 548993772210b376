//! Dialogs in a box over the screen: they show what will be changed, and what else changes with it.
//!
//! When rows are scarce, the explanations are dropped first; a long list shows the rows around the chosen one.

use iosched_result::report::units::time;
use iosched_result::types::queue::State;
use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

use super::fit::{self, Piece};
use super::parts::{Part, stack, window};
use super::{compare, line, scroll, text_lines};
use crate::ui::sampling::parts::PartName;
use crate::ui::sampling::sample::Flip;
use crate::ui::state::model::{Dialog, Model};

/// The maximum width of the box, and the width of its border and margins.
const WIDEST: u16 = 72;
const BORDER: u16 = 4;
/// So many rows of the explanations come before more of the list: the first one is what would be lost.
const LEAST_EXPLAINED: u16 = 2;

/// The content of a box, from top to bottom.
struct DialogQuestion<'a> {
    title: String,
    /// Choices with a remark; one of them is chosen.
    list: Vec<(String, &'static str)>,
    row: usize,
    /// A setting that the dialog can change, in one line, with ranks.
    setting: Vec<(u8, String)>,
    /// Explanations that do not fit are left out.
    explanations: Vec<String>,
    /// The most important first.
    keys: &'a [&'a str],
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model, dialog: &Dialog) {
    let question = match dialog {
        Dialog::Filter => return,
        Dialog::Flip {
            arms,
            row,
            put_back,
        } => flip(model, arms, *row, *put_back),
        Dialog::Rotate { arms, row, seconds } => rotation(model, arms, *row, *seconds),
        Dialog::Whose { parts, row } => whose(parts, *row),
        Dialog::Quit => quit(model),
        Dialog::Flipped(flip) => flipped(flip),
    };
    draw(frame, area, model, &question);
}

fn draw(frame: &mut Frame, area: Rect, model: &Model, question: &DialogQuestion<'_>) {
    let width = area.width.saturating_sub(2).min(WIDEST);
    let room = usize::from(width.saturating_sub(BORDER));
    let setting_rows = u16::from(!question.setting.is_empty());
    let first = question.explanations.first().map_or("", |text| &**text);
    let first_rows = fit::wrap(first, room).len();
    let explained = |rows: u16| match usize::from(rows) {
        rows if rows < first_rows => fit::paragraph(first, room, rows),
        rows => fit::paragraphs(&question.explanations, room, rows),
    };
    let all = explained(u16::MAX).len() as u16;
    let rows = question.list.len() as u16;
    let gap = u16::from(rows > 0);
    let wanted = rows + gap + all + setting_rows + 1;
    let height = (wanted + 2).min(area.height);
    let at = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    // Clears whole rows, because the screen beside the box would be cut off.
    frame.render_widget(
        Clear,
        Rect {
            x: area.x,
            width: area.width,
            ..at
        },
    );
    let title = fit::clip(&question.title, room.saturating_sub(2));
    frame.render_widget(Block::bordered().title(format!(" {title} ")), at);
    let [list, _, above, set, keys] = stack(
        at.inner(Margin::new(2, 1)),
        [
            Part::new(1, u16::from(rows > 0), rows),
            Part::gap(wanted + 2 <= area.height && rows > 0),
            Part::new(3, LEAST_EXPLAINED.min(all), all),
            Part::new(2, setting_rows, setting_rows),
            Part::new(0, 1, 1),
        ],
    );
    let shown = window(question.row, question.list.len(), usize::from(list.height));
    for (index, (name, said)) in question.list[shown.clone()].iter().enumerate() {
        let style = if shown.start + index == question.row {
            model.palette.chosen()
        } else {
            Style::new()
        };
        let pieces = vec![
            Piece::new(0, style, [fit::clip(name, room)]),
            Piece::new(1, style, [*said]),
        ];
        line(frame, list, index as u16, fit::line(pieces, list.width));
    }
    let all = question.list.len();
    scroll::bar(frame, list, model.palette, shown.clone(), all);
    text_lines(frame, above, explained(above.height));
    if set.height > 0 {
        let setting = question.setting.iter().map(|(rank, text)| (*rank, &**text));
        line(frame, set, 0, fit::plain_line(setting, set.width));
    }
    let hidden = match question.list.len() - shown.len() {
        0 => String::new(),
        hidden => format!("  {hidden} more"),
    };
    let pieces = question.keys.iter().enumerate().map(|(index, key)| {
        let before = if index == 0 { "" } else { ", " };
        (2 * index as u8, format!("{before}{key}"))
    });
    let keys_line = fit::plain_line(pieces.chain([(3, hidden)]), keys.width);
    line(frame, keys, 0, keys_line.style(model.palette.faint()));
}

fn flip<'a>(model: &Model, arms: &[String], row: usize, put_back: bool) -> DialogQuestion<'a> {
    let state = model
        .last
        .as_ref()
        .and_then(|last| last.devices.get(model.selected)?.queue.as_ref());
    let list = arms.iter().enumerate().map(|(index, arm)| {
        let is_active = state.is_some_and(|state| state.active == *arm);
        let now = if is_active {
            "  (active; starts anew)"
        } else {
            ""
        };
        let mark = if index == row { ">" } else { " " };
        (format!("{mark} {arm}"), now)
    });
    let consequences = state.zip(arms.get(row));
    let mark = if put_back { "x" } else { " " };
    DialogQuestion {
        title: format!("Switch the scheduler of {}", model.device().disk.name),
        list: list.collect(),
        row,
        setting: vec![
            (0, format!("[{mark}] restore everything on exit")),
            (1, " (p)".to_owned()),
        ],
        explanations: consequences
            .map_or_else(Vec::new, |(state, arm)| consequences_of(state, arm)),
        keys: &["Enter switches", "Esc cancels"],
    }
}

/// Other changes by a switch, as far as they are known before; the real changes are shown afterwards.
fn consequences_of(state: &State, target: &str) -> Vec<String> {
    let own: Vec<&str> = state
        .settings
        .keys()
        .filter_map(|name| name.strip_prefix("iosched/"))
        .collect();
    let mut lines = Vec::new();
    if own.is_empty() {
        lines.push(format!(
            "- {} has no settings that would be lost",
            state.active
        ));
    } else {
        lines.push(format!(
            "- the {} settings of {} are lost: {}",
            own.len(),
            state.active,
            own.join(", ")
        ));
    }
    if let Some(requests) = state.settings.get("nr_requests") {
        lines.push(format!(
            "- nr_requests ({requests}) becomes what the kernel chooses for {target}"
        ));
    }
    let bfq = |name: &str| name.starts_with("bfq");
    if let Some(wbt) = state.settings.get("wbt_lat_usec")
        && bfq(target) != bfq(&state.active)
    {
        let what = if bfq(target) {
            "is disabled by bfq"
        } else {
            "is enabled again without bfq"
        };
        lines.push(format!(
            "- writeback throttling (wbt_lat_usec {wbt}) {what}, unless it was set by hand"
        ));
    }
    lines.push(
        "- the queue is frozen for a moment, which is measured; I/Os across the switch count for neither scheduler"
            .to_owned(),
    );
    lines
}

fn rotation<'a>(
    model: &Model,
    arms: &[(String, bool)],
    row: usize,
    seconds: u64,
) -> DialogQuestion<'a> {
    let list = arms.iter().map(|(arm, is_chosen)| {
        let mark = if *is_chosen { "x" } else { " " };
        (format!("[{mark}] {arm}"), "")
    });
    let chosen = arms.iter().filter(|(_, is_chosen)| *is_chosen).count() as u64;
    DialogQuestion {
        title: format!("Rotate the schedulers of {}", model.device().disk.name),
        list: list.collect(),
        row,
        setting: vec![
            (0, format!("{seconds} s each")),
            (1, " (Left, Right)".to_owned()),
            (2, format!(": one block of all takes about {} s", chosen * (seconds + 1))),
        ],
        explanations: vec![
            "The schedulers take turns in random, balanced order while your load runs. I/Os across a switch, and those of \
             the first moments after it, do not count."
                .to_owned(),
            "The present scheduler keeps its settings in its turns, and is restored with them at the end. Every other \
             arm has the kernel's defaults and what --arm sets. On exit, everything is restored."
                .to_owned(),
            format!(
                "The rounds are saved in {} now and then, and at the end; --directory names another place.",
                model.directory.display()
            ),
        ],
        keys: &["Space selects", "Enter starts", "Esc cancels"],
    }
}

fn whose<'a>(parts: &[(PartName, bool)], row: usize) -> DialogQuestion<'a> {
    let list = parts.iter().map(|(name, is_chosen)| {
        let mark = if *is_chosen { "x" } else { " " };
        (format!("[{mark}] {}", compare::part_name(name)), "")
    });
    DialogQuestion {
        title: "Whose I/O is compared".to_owned(),
        list: list.collect(),
        row,
        setting: Vec::new(),
        explanations: vec![
            "Up to four. The pictures then show them under every scheduler, in the rounds that count; none: the whole \
             device. Those that are chosen before a rotation begins have verdicts of their own in it; if none is, the two \
             busiest have."
                .to_owned(),
        ],
        keys: &["Space selects", "Enter shows them", "Esc cancels"],
    }
}

fn quit<'a>(model: &Model) -> DialogQuestion<'a> {
    let rotating = model.rotating.as_ref().map(|rotating| {
        let name = &model.devices[rotating.device].disk.name;
        format!(
            "The rotation on {name} ends. The rounds that it has measured are written to {}.",
            model.directory.display()
        )
    });
    let changed = model.devices.iter();
    let changed = changed.filter(|device| device.modified == Some(true));
    let changed = changed.map(|device| {
        let name = &device.disk.name;
        format!(
            "{name} gets the scheduler and the settings that it had before iosched changed them."
        )
    });
    DialogQuestion {
        title: "Quit".to_owned(),
        list: Vec::new(),
        row: 0,
        setting: Vec::new(),
        explanations: rotating.into_iter().chain(changed).collect(),
        keys: &["Enter quits", "Esc goes on"],
    }
}

fn flipped<'a>(flip: &Flip) -> DialogQuestion<'a> {
    let stood_still = match flip.switch_ns {
        Some(ns) => format!("The queue was frozen for {}.", time(Some(ns as f64))),
        None => "Nothing was switched: the disk has only one scheduler.".to_owned(),
    };
    let changes = flip.changes.iter().map(|change| format!("- {change}"));
    DialogQuestion {
        title: format!("{} -> {}", flip.from, flip.to),
        list: Vec::new(),
        row: 0,
        setting: Vec::new(),
        explanations: std::iter::once(stood_still).chain(changes).collect(),
        keys: &["Enter closes this"],
    }
}
