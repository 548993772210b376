//! What a key or the mouse means at this moment. Pure.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::{Position, Size};

use super::state::action::{Action, KeyCommand, Screen};
use super::state::keys;
use super::state::model::{Dialog, Model};
use super::view;

/// Rows that one step of the wheel moves.
const WHEEL: usize = 3;

pub fn actions(input: &Event, model: &Model, size: Size) -> Vec<Action> {
    match input {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            of_key(*key, model).into_iter().collect()
        }
        Event::Mouse(mouse) => of_mouse(*mouse, model, size),
        Event::Paste(text) if matches!(model.dialog, Some(Dialog::Filter)) => {
            let letters = text.chars().filter(|c| !c.is_control());
            letters.map(Action::Type).collect()
        }
        _ => Vec::new(),
    }
}

fn of_key(key: KeyEvent, model: &Model) -> Option<Action> {
    let is_typing = matches!(model.dialog, Some(Dialog::Filter));
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char(letter) if is_typing && !is_control => Some(Action::Type(letter)),
        KeyCode::Backspace if is_typing => Some(Action::Erase),
        _ => {
            let (is_dialog, is_frozen) = (model.dialog.is_some(), model.frozen.is_some());
            keys::command(key, model.screen, is_dialog, is_frozen).map(Action::Do)
        }
    }
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
    let move_by = |command| (0..rows).map(|_| Action::Do(command)).collect();
    match mouse.kind {
        MouseEventKind::ScrollUp => move_by(KeyCommand::Up),
        MouseEventKind::ScrollDown => move_by(KeyCommand::Down),
        MouseEventKind::Down(MouseButton::Left) => {
            let at = Position::new(mouse.column, mouse.row);
            let target = view::target(model, size, at);
            target.map(Action::Point).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
