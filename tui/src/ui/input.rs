//! The meaning of a key or the mouse at this moment. Pure.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::{Position, Size};

use super::state::action::{Action, KeyCommand, Screen};
use super::state::axis::Axis;
use super::state::model::{Dialog, Model};
use super::view;

/// Rows that one step of the wheel moves.
const WHEEL: usize = 3;

pub fn actions(input: &Event, model: &Model, size: Size) -> Vec<Action> {
    match input {
        Event::Key(key) if is_pressed(key) => of_key(*key, model, size).into_iter().collect(),
        Event::Mouse(mouse) => of_mouse(*mouse, model, size),
        Event::Paste(text) if matches!(model.dialog, Some(Dialog::Filter)) => {
            let letters = text.chars().filter(|c| !c.is_control());
            letters.map(Action::Type).collect()
        }
        _ => Vec::new(),
    }
}

/// How many of these are keys.
pub fn keys<'a>(inputs: impl Iterator<Item = &'a Event>) -> usize {
    let keys = inputs.filter(|input| matches!(input, Event::Key(key) if is_pressed(key)));
    keys.count()
}

fn is_pressed(key: &KeyEvent) -> bool {
    key.kind != KeyEventKind::Release
}

/// Whether a key does what pasted text must not do: that key comes alone.
pub fn is_grave(action: &Action, model: &Model) -> bool {
    use KeyCommand::{Clear, Flip, Open, PauseRotation, Quit, Rotate};
    let asks = matches!(
        model.dialog,
        Some(Dialog::Flip { .. } | Dialog::Rotate { .. } | Dialog::Quit)
    );
    match action {
        Action::Do(Quit | Flip | Rotate | PauseRotation | Clear) => true,
        Action::Do(Open) => asks,
        _ => false,
    }
}

fn of_key(key: KeyEvent, model: &Model, size: Size) -> Option<Action> {
    let is_typing = matches!(model.dialog, Some(Dialog::Filter));
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char(letter) if is_typing && !is_control => Some(Action::Type(letter)),
        KeyCode::Backspace if is_typing => Some(Action::Erase),
        _ => {
            let (is_dialog, is_frozen) = (model.dialog.is_some(), model.frozen.is_some());
            let command = (model.keys).command(key, model.screen, is_dialog, is_frozen)?;
            Some(of_axis(command, model, size).unwrap_or(Action::Do(command)))
        }
    }
}

/// A command's change of the axis on the screen, if that is what it is for.
fn of_axis(command: KeyCommand, model: &Model, size: Size) -> Option<Action> {
    let to = |change: fn(Axis) -> Axis| match view::axis::shown(model, size) {
        Some(axis) => Action::Axis(Some(change(axis))),
        None => Action::Say("no times are shown here".to_owned()),
    };
    Some(match command {
        KeyCommand::ZoomIn => to(|axis| axis.zoomed(true, 0.5)),
        KeyCommand::ZoomOut => to(|axis| axis.zoomed(false, 0.5)),
        KeyCommand::AxisLeft => to(|axis| axis.moved(false)),
        KeyCommand::AxisRight => to(|axis| axis.moved(true)),
        KeyCommand::FixAxis if model.axis.is_some() => Action::Axis(None),
        KeyCommand::FixAxis => to(|axis| Axis {
            is_chosen: true,
            ..axis
        }),
        _ => return None,
    })
}

fn of_mouse(mouse: MouseEvent, model: &Model, size: Size) -> Vec<Action> {
    let has_rows = matches!(
        model.screen,
        Screen::Disks | Screen::Processes | Screen::Fairness | Screen::Compare | Screen::Help
    );
    let rows = match &model.dialog {
        Some(_) => 1,
        None if has_rows => WHEEL,
        None => 0,
    };
    let at = Position::new(mouse.column, mouse.row);
    let zoom = |is_in| {
        let place = view::axis::place(model, size, at)?;
        let axis = view::axis::shown(model, size)?.zoomed(is_in, place);
        Some(vec![Action::Axis(Some(axis))])
    };
    let move_by = |command| (0..rows).map(|_| Action::Do(command)).collect();
    match mouse.kind {
        MouseEventKind::ScrollUp => zoom(true).unwrap_or_else(|| move_by(KeyCommand::Up)),
        MouseEventKind::ScrollDown => zoom(false).unwrap_or_else(|| move_by(KeyCommand::Down)),
        MouseEventKind::Down(MouseButton::Left) => {
            let target = view::target(model, size, at);
            target.map(Action::Point).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
