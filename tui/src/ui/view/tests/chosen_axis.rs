//! Keys and the wheel choose the axis of times, and disks that are plugged in are shown from then on.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind,
};
use ratatui::layout::Size;

use super::{data, drawn, on};
use crate::ui::input;
use crate::ui::sampling::sample::SamplerReport;
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::model::Model;
use crate::ui::state::update::update;
use crate::ui::view::axis;

const SIZE: Size = Size {
    width: 80,
    height: 24,
};

fn feed(model: &mut Model, event: &Event) {
    for action in input::actions(event, model, SIZE) {
        update(model, action);
    }
}

fn press(model: &mut Model, letter: char) {
    let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
    feed(model, &Event::Key(key));
}

fn text(model: &Model) -> String {
    drawn(model, (SIZE.width, SIZE.height))
        .backend()
        .to_string()
}

#[test]
fn a_zoomed_axis_stays_on_all_screens_until_it_is_let_go() {
    let mut model = on(Screen::Overview);
    let before = axis::shown(&model, SIZE).expect("an axis");
    assert!(!before.is_chosen && !text(&model).contains("beyond the axis"));
    press(&mut model, 'z');
    let zoomed = axis::shown(&model, SIZE).expect("an axis");
    let length = |axis: crate::ui::state::axis::Axis| (axis.high_ns / axis.low_ns).ln();
    assert!(
        (length(zoomed) / length(before) - 0.5).abs() < 1e-9,
        "{zoomed:?}"
    );
    assert!(text(&model).contains("beyond the axis"));
    assert!(text(&model).contains("  axis "));
    press(&mut model, '.');
    press(&mut model, ',');
    let back = axis::shown(&model, SIZE).expect("an axis");
    assert!((back.low_ns / zoomed.low_ns - 1.0).abs() < 1e-9);
    // A screen without times leaves it as it is.
    model.screen = Screen::Order;
    press(&mut model, 'z');
    model.screen = Screen::Processes;
    press(&mut model, 'Z');
    assert_eq!(model.message.as_deref(), Some("no times are shown here"));
    model.screen = Screen::Heatmap;
    assert_eq!(axis::shown(&model, SIZE), Some(back));
    press(&mut model, 'A');
    assert!(!axis::shown(&model, SIZE).expect("an axis").is_chosen);
    press(&mut model, 'A');
    let fixed = axis::shown(&model, SIZE).expect("an axis");
    data::add_sample(&mut model, "none", 99);
    assert_eq!(axis::shown(&model, SIZE), Some(fixed));
}

#[test]
fn the_wheel_zooms_at_the_pointer() {
    let mut model = on(Screen::Overview);
    let before = axis::shown(&model, SIZE).expect("an axis");
    let wheel = |kind, column, row| {
        Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    feed(&mut model, &wheel(MouseEventKind::ScrollUp, 1, 12));
    let zoomed = axis::shown(&model, SIZE).expect("an axis");
    assert!(
        (zoomed.low_ns / before.low_ns - 1.0).abs() < 1e-9,
        "{zoomed:?}"
    );
    // On the heatmap long times are on top.
    let mut model = on(Screen::Heatmap);
    let before = axis::shown(&model, SIZE).expect("an axis");
    feed(&mut model, &wheel(MouseEventKind::ScrollUp, 20, 22));
    let zoomed = axis::shown(&model, SIZE).expect("an axis");
    assert!(
        (zoomed.low_ns / before.low_ns - 1.0).abs() < 0.2,
        "{zoomed:?}"
    );
    assert!(zoomed.high_ns < before.high_ns);
    // Elsewhere it moves rows, or nothing.
    let mut model = on(Screen::Processes);
    feed(&mut model, &wheel(MouseEventKind::ScrollDown, 1, 8));
    assert_eq!(model.axis, None);
}

#[test]
fn a_plugged_in_disk_is_shown_also_while_the_screen_is_frozen() {
    for is_frozen in [false, true] {
        let mut model = on(Screen::Disks);
        if is_frozen {
            update(&mut model, Action::Do(KeyCommand::Pause));
        }
        let mut disk = data::disk();
        disk.name = "sdzz".to_owned();
        let added = SamplerReport::Added { place: 1, disk };
        update(&mut model, Action::Report(added));
        assert_eq!(model.message.as_deref(), Some("sdzz was plugged in"));
        assert!(text(&model).contains("sdzz"), "{}", text(&model));
        update(&mut model, Action::Do(KeyCommand::Last));
        for command in [KeyCommand::Open, KeyCommand::Earlier, KeyCommand::Later] {
            update(&mut model, Action::Do(command));
        }
        for screen in Screen::ALL {
            update(&mut model, Action::Do(KeyCommand::Show(screen)));
            let _ = text(&model);
        }
        // Another disk of that name takes its place.
        let disk = model.devices[1].disk.clone();
        update(
            &mut model,
            Action::Report(SamplerReport::Added { place: 1, disk }),
        );
        assert_eq!(model.devices.len(), 2);
        let _ = text(&model);
    }
}
