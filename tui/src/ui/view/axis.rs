//! The axis of times: the user's, or that of the present screen.

use ratatui::layout::{Position, Size};

use super::{compare, heatmap, overview, process};
use crate::ui::state::action::Screen;
use crate::ui::state::axis::Axis;
use crate::ui::state::model::Model;

/// The user's, or else one around what is shown.
pub fn of(model: &Model, around: impl FnOnce() -> Axis) -> Axis {
    model.axis.unwrap_or_else(around)
}

/// The axis on the screen of this size; None if it shows no times.
pub fn shown(model: &Model, size: Size) -> Option<Axis> {
    if !has_one(model) {
        return None;
    }
    if model.axis.is_some() {
        return model.axis;
    }
    match model.screen {
        Screen::Overview => {
            let measured = model.device_sample()?.measured.as_deref()?;
            Some(overview::axis_around(measured))
        }
        Screen::Compare => Some(compare::axis_around(model, size.width)),
        Screen::Processes => {
            let owner = model.device().page.as_ref()?.owner.as_ref()?;
            Some(process::axis_around(owner))
        }
        Screen::Heatmap => heatmap::axis_around(model, super::body(size)),
        _ => None,
    }
}

pub fn has_one(model: &Model) -> bool {
    match model.screen {
        Screen::Overview | Screen::Compare | Screen::Heatmap => true,
        Screen::Processes => model.table.is_open,
        _ => false,
    }
}

/// The place on the axis under the pointer, from 0 to 1; None if there is no picture. Compare has rows in its place.
pub fn place(model: &Model, size: Size, at: Position) -> Option<f64> {
    let body = super::body(size);
    if model.dialog.is_some() || !body.contains(at) {
        return None;
    }
    match model.screen {
        Screen::Heatmap => Some(heatmap::place(body, at)),
        Screen::Overview | Screen::Processes if has_one(model) => {
            let inner = super::parts::inner(body);
            let from = f64::from(at.x.saturating_sub(inner.x));
            Some((from / f64::from(inner.width.max(1))).min(1.0))
        }
        _ => None,
    }
}
