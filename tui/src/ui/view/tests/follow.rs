//! The cursor and the page of a process stay with the process.

use iosched_result::measured::histogram::Histogram;
use iosched_result::stat::LiveProcess;

use super::{data, drawn, on};
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::model::Model;
use crate::ui::state::update::update;

fn press(model: &mut Model, command: KeyCommand) {
    update(model, Action::Do(command));
}

fn chosen(model: &Model) -> Option<(usize, u32)> {
    let rows = model.processes();
    let row = model.chosen_row(&rows)?;
    Some((row, rows[row].1.pid?))
}

fn processes(model: &mut Model) -> &mut Vec<LiveProcess> {
    let last = model.last.as_mut().expect("a sample");
    let measured = last.devices[0].measured.as_mut().expect("measured");
    &mut measured.processes
}

#[test]
fn the_cursor_stays_with_its_process() {
    let mut model = on(Screen::Processes);
    press(&mut model, KeyCommand::Down);
    let (row, pid) = chosen(&model).expect("a row");
    assert_eq!(row, 1);
    press(&mut model, KeyCommand::Reverse);
    let (reversed, same) = chosen(&model).expect("a row");
    assert_eq!((reversed, same), (model.processes().len() - 2, pid));
    press(&mut model, KeyCommand::Reverse);
    data::add_sample(&mut model, "none", 7);
    assert_eq!(chosen(&model).map(|(_, pid)| pid), Some(pid));

    // A later process with its PID is another one.
    let is_it = |process: &&mut LiveProcess| process.pid == Some(pid);
    processes(&mut model)
        .iter_mut()
        .find(is_it)
        .expect("it")
        .start_ms = Some(99);
    assert_eq!(chosen(&model), None);
    processes(&mut model).retain(|process| process.pid != Some(pid));
    assert_eq!(chosen(&model), None);
    let (place, all) = (model.table.row, model.processes().len());
    press(&mut model, KeyCommand::Down);
    let next = (place + 1).min(all - 1);
    assert_eq!(chosen(&model).map(|(row, _)| row), Some(next));
}

#[test]
fn the_page_is_of_one_process_and_adds_up_its_intervals() {
    let mut model = on(Screen::Processes);
    press(&mut model, KeyCommand::Down);
    press(&mut model, KeyCommand::Open);
    let count = |model: &Model| {
        let page = model.device().page.as_ref().expect("a page");
        let owner = page.owner.as_ref().expect("histograms");
        let all = owner.d2c.iter().map(Histogram::count);
        (owner.key.tgid, all.sum::<u64>(), page.seconds)
    };
    let (pid, first, seconds) = count(&model);
    assert_eq!(Some(pid), chosen(&model).map(|(_, pid)| pid));
    data::add_sample(&mut model, "none", 7);
    let last = model.last.as_ref().expect("a sample");
    let measured = last.devices[0].measured.as_ref().expect("measured");
    let owner = measured.owners.iter().find(|owner| owner.key.tgid == pid);
    let own: u64 = owner.expect("it").d2c.iter().map(Histogram::count).sum();
    assert_eq!(count(&model), (pid, first + own, seconds + 1.0));
    let screen = drawn(&model, (120, 40)).backend().to_string();
    assert!(screen.contains("histograms over 2 s"), "{screen}");

    press(&mut model, KeyCommand::Up);
    let (other, ..) = count(&model);
    assert_eq!(Some(other), chosen(&model).map(|(_, pid)| pid));
    assert_ne!(other, pid);
    let pid = other;
    processes(&mut model).retain(|process| process.pid != Some(pid));
    let screen = drawn(&model, (120, 40)).backend().to_string();
    assert!(screen.contains("no I/O of this process"), "{screen}");
    assert!(
        screen.contains("queue wait of"),
        "what was measured stays: {screen}"
    );
    press(&mut model, KeyCommand::Back);
    assert!(model.device().page.is_none() && !model.table.is_open);
}
