//! The cursor and the page of a process stay with the process.

use iosched_result::measured::histogram::Histogram;
use iosched_result::stat::LiveProcess;

use super::{data, drawn, on};
use crate::ui::sampling::sample::Side;
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::model::Model;
use crate::ui::state::rows::Places;
use crate::ui::state::update::update;

fn press(model: &mut Model, command: KeyCommand) {
    update(model, Action::Do(command));
}

fn chosen(model: &Model) -> Option<(usize, u32)> {
    let rows = model.processes();
    let row = model.chosen_row(&rows)?;
    Some((row, rows[row].process.pid?))
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

/// An interval in which each of these processes, by PID, completed so many reads and writes.
fn interval(model: &mut Model, ios: &[(u32, u64)]) {
    let time = model.device().history.len();
    let side = Side::Of("none".into());
    let mut frame = data::frame(&mut data::Numbers(5), "none", side, 1000, 4, time);
    let interval = frame.interval.as_mut().expect("measured");
    interval.owners.retain_mut(|owner| {
        let all = owner.ops.iter().map(|op| op.ios).sum::<u64>();
        let wanted = ios.iter().find(|(pid, _)| *pid == owner.key.tgid);
        let Some((_, wanted)) = wanted else {
            return false;
        };
        let largest = owner.ops.iter_mut().max_by_key(|op| op.ios);
        let largest = largest.expect("an operation");
        largest.ios = largest.ios + wanted - all.min(largest.ios + wanted);
        true
    });
    data::keep(model, frame);
}

/// The PID of each row, and whether it is idle.
fn rows(model: &Model) -> Vec<(u32, bool)> {
    let rows = model.processes().into_iter();
    rows.map(|row| (row.process.pid.expect("a PID"), row.is_idle))
        .collect()
}

#[test]
fn a_row_moves_only_when_its_process_does_something_else() {
    let mut model = on(Screen::Processes);
    model.devices[0].places = Places::default();
    interval(&mut model, &[(4001, 1000), (4002, 900), (4003, 20)]);
    let first = [4001, 4002, 4003].map(|pid| (pid, false));
    assert_eq!(rows(&model), first);
    for _ in 0..5 {
        interval(&mut model, &[(4001, 960), (4002, 1010), (4003, 20)]);
        assert_eq!(rows(&model), first);
    }
    for _ in 0..20 {
        interval(&mut model, &[(4001, 960), (4002, 1010), (4003, 9000)]);
    }
    assert_eq!(rows(&model), [4003, 4001, 4002].map(|pid| (pid, false)));
    // Another column, or another direction, is a question of its own.
    press(&mut model, KeyCommand::Reverse);
    assert_eq!(rows(&model), [4002, 4001, 4003].map(|pid| (pid, false)));
}

#[test]
fn a_process_that_did_nothing_keeps_its_row_for_ten_seconds() {
    let mut model = on(Screen::Processes);
    let all = [(4001, 1000), (4002, 900), (4003, 20)];
    interval(&mut model, &all);
    interval(&mut model, &all);
    let without = [all[0], all[2]];
    let seconds = |model: &Model| model.last.as_ref().expect("a sample").seconds;
    let mut waited = 0.0;
    loop {
        interval(&mut model, &without);
        waited += seconds(&model);
        if waited >= 10.0 {
            break;
        }
        assert_eq!(rows(&model), [(4001, false), (4002, true), (4003, false)]);
        let screen = drawn(&model, (120, 36)).backend().to_string();
        assert!(screen.contains("2 processes did I/O"), "{screen}");
        assert!(screen.contains("1 idle"), "{screen}");
    }
    assert_eq!(rows(&model), [(4001, false), (4003, false)]);

    // It is back where it was, if it is back in time.
    interval(&mut model, &all);
    interval(&mut model, &without);
    interval(&mut model, &all);
    assert_eq!(rows(&model), [4001, 4002, 4003].map(|pid| (pid, false)));
    // The numbers of an earlier interval are not those of this one.
    interval(&mut model, &without);
    press(&mut model, KeyCommand::Down);
    press(&mut model, KeyCommand::Open);
    let screen = drawn(&model, (120, 36)).backend().to_string();
    assert!(screen.contains("no I/O of this process"), "{screen}");
}

#[test]
fn processes_that_come_and_go_by_the_thousand_leave_few_rows() {
    let mut model = on(Screen::Processes);
    for second in 0..4 {
        let time = model.device().history.len();
        let side = Side::Of("none".into());
        let mut frame = data::frame(&mut data::Numbers(5), "none", side, 1000, 1, time);
        let interval = frame.interval.as_mut().expect("measured");
        let owner = interval.owners.remove(0);
        interval.owners.extend((0..1000).map(|index| {
            let mut owner = owner.clone();
            owner.key.tgid = 10_000 + second * 1000 + index;
            owner
        }));
        data::keep(&mut model, frame);
    }
    let rows = rows(&model);
    let idle = rows.iter().filter(|(_, is_idle)| *is_idle).count();
    assert_eq!((rows.len() - idle, idle), (1000, 200));
}
