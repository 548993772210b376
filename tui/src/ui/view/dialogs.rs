//! Questions, in a box over the screen: what is going to be changed, and what else changes with it.

use iosched::report::units::time;
use iosched::scheduler::State;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use crate::ui::model::{Dialog, Model};
use crate::ui::sample::Flip;

pub fn render(frame: &mut Frame, area: Rect, model: &Model, dialog: &Dialog) {
    let (title, lines) = match dialog {
        Dialog::Filter => return,
        Dialog::Flip {
            arms,
            row,
            put_back,
        } => (
            format!("Switch the scheduler of {}", model.device().disk.name),
            flip(model, arms, *row, *put_back),
        ),
        Dialog::Rotate { arms, row, seconds } => (
            format!("Rotate the schedulers of {}", model.device().disk.name),
            rotation(model, arms, *row, *seconds),
        ),
        Dialog::Flipped(flip) => (
            format!("{} -> {}", flip.from, flip.to),
            flipped(model, flip),
        ),
    };
    let width = area.width.saturating_sub(4).min(72);
    let needed: usize = lines
        .iter()
        .map(|line| {
            line.width()
                .div_ceil(usize::from(width.saturating_sub(4)).max(1))
                .max(1)
        })
        .sum();
    let height = (needed as u16 + 2).min(area.height);
    let at = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    frame.render_widget(Clear, at);
    let block = Block::bordered()
        .title(format!(" {title} "))
        .padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(
        Paragraph::new(lines)
            .wrap(Wrap { trim: false })
            .block(block),
        at,
    );
}

fn flip<'a>(model: &'a Model, arms: &'a [String], row: usize, put_back: bool) -> Vec<Line<'a>> {
    let state = model
        .last
        .as_ref()
        .and_then(|last| last.devices.get(model.selected)?.queue.as_ref());
    let mut lines = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        let is_active = state.is_some_and(|state| state.active == *arm);
        let now = if is_active {
            "  (now; begins afresh)"
        } else {
            ""
        };
        let text = format!("{} {arm}{now}", if index == row { ">" } else { " " });
        lines.push(if index == row {
            Line::styled(text, model.palette.chosen())
        } else {
            Line::from(text)
        });
    }
    lines.push(Line::from(""));
    if let (Some(state), Some(target)) = (state, arms.get(row)) {
        lines.extend(consequences(state, target).into_iter().map(Line::from));
    }
    let mark = if put_back { "x" } else { " " };
    lines.push(Line::from(format!(
        "[{mark}] put everything back on exit (p)"
    )));
    lines.push(Line::styled(
        "Enter switches, Esc leaves it",
        model.palette.faint(),
    ));
    lines
}

/// What a switch does besides, as far as it can be said beforehand; what it did is shown afterwards.
fn consequences(state: &State, target: &str) -> Vec<String> {
    let own: Vec<&str> = state
        .settings
        .keys()
        .filter_map(|name| name.strip_prefix("iosched/"))
        .collect();
    let mut lines = Vec::new();
    if own.is_empty() {
        lines.push(format!(
            "- {} has no settings of its own to lose",
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
            "is switched off by bfq"
        } else {
            "comes back when bfq goes"
        };
        lines.push(format!(
            "- writeback throttling (wbt_lat_usec {wbt}) {what}, unless somebody has set it"
        ));
    }
    lines.push(
        "- the queue stands still for a moment: it is measured, and those I/Os count for neither"
            .to_owned(),
    );
    lines
}

fn rotation<'a>(
    model: &'a Model,
    arms: &'a [(String, bool)],
    row: usize,
    seconds: u64,
) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for (index, (arm, is_chosen)) in arms.iter().enumerate() {
        let text = format!("[{}] {arm}", if *is_chosen { "x" } else { " " });
        lines.push(if index == row {
            Line::styled(text, model.palette.chosen())
        } else {
            Line::from(text)
        });
    }
    let chosen = arms.iter().filter(|(_, is_chosen)| *is_chosen).count() as u64;
    lines.push(Line::from(""));
    lines.push(Line::from(format!(
        "{seconds} s each (Left, Right): a block of all takes about {} s",
        chosen * (seconds + 1)
    )));
    lines.push(Line::from(
        "They take turns in random, balanced order while your load runs. The",
    ));
    lines.push(Line::from(
        "first moments after each flip, and I/Os across it, count for none.",
    ));
    lines.push(Line::from(
        "When it stops the present scheduler is back, and on exit everything.",
    ));
    lines.push(Line::styled(
        "Space chooses, Enter begins, Esc leaves it",
        model.palette.faint(),
    ));
    lines
}

fn flipped<'a>(model: &Model, flip: &'a Flip) -> Vec<Line<'a>> {
    let mut lines = vec![match flip.switch_ns {
        Some(ns) => Line::from(format!(
            "The queue stood still for {}.",
            time(Some(ns as f64))
        )),
        None => Line::from("Nothing could be switched."),
    }];
    lines.extend(
        flip.changes
            .iter()
            .map(|change| Line::from(format!("- {change}"))),
    );
    lines.push(Line::styled("Enter closes this", model.palette.faint()));
    lines
}
