//! Every screen in its variants, and every dialog.

use super::super::data::{ask, stall_rounds};
use super::models::{ARMS, flip};
use crate::ui::sampling::sample::Newcomer;
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::axis::Axis;
use crate::ui::state::compare::{ShownStage, Statistic};
use crate::ui::state::model::{Dialog, Model};
use crate::ui::state::update::update;

type View = (&'static str, fn(&mut Model));

pub const VIEWS: [View; 35] = [
    ("disks", |model| model.screen = Screen::Disks),
    ("disks, one is new", |model| {
        model.screen = Screen::Disks;
        let last = model.last.as_mut();
        if let Some(last) = last {
            let counters = last.devices.first().map(|device| device.counters);
            last.newcomers.push(Newcomer {
                name: "sdzz".into(),
                scheduler: "none".into(),
                counters: counters.unwrap_or_default(),
            });
        }
        model.disk_row = usize::MAX;
    }),
    ("frozen, earlier", |model| {
        model.screen = Screen::Compare;
        update(model, Action::Do(KeyCommand::Pause));
        update(model, Action::Do(KeyCommand::Earlier));
    }),
    ("overview", |model| model.screen = Screen::Overview),
    ("overview, zoomed", |model| {
        model.screen = Screen::Overview;
        model.axis = Some(SHORT_AXIS);
    }),
    ("compare, zoomed", |model| {
        model.screen = Screen::Compare;
        model.axis = Some(SHORT_AXIS);
    }),
    ("process, zoomed", |model| {
        model.screen = Screen::Processes;
        model.open_page();
        model.axis = Some(SHORT_AXIS);
    }),
    ("heatmap, zoomed", |model| {
        model.screen = Screen::Heatmap;
        model.axis = Some(SHORT_AXIS);
    }),
    ("processes, chosen columns", |model| {
        model.screen = Screen::Processes;
        model.table.columns = vec!["command", "device-p99", "wait-max", "unknown", "cgroup"];
    }),
    ("overview, asked", |model| {
        model.screen = Screen::Overview;
        ask(model);
    }),
    ("compare", |model| model.screen = Screen::Compare),
    ("compare, total", |model| {
        model.screen = Screen::Compare;
        model.compare.stage = ShownStage::Total;
    }),
    ("compare, overlaid", |model| {
        model.screen = Screen::Compare;
        model.compare.is_overlaid = true;
        model.compare.row = usize::MAX;
    }),
    ("compare, too few", |model| {
        model.screen = Screen::Compare;
        model.compare.statistic = Statistic::P99;
        model.compare.reference = usize::MAX;
    }),
    ("compare, no turns", |model| {
        model.screen = Screen::Compare;
        model.rotating = None;
        model.compare.statistic = Statistic::Throughput;
        model.compare.reference = 1;
    }),
    ("compare, stalls differ", |model| {
        model.screen = Screen::Compare;
        model.compare.stage = ShownStage::Total;
        stall_rounds(model);
    }),
    ("compare, two programs", |model| {
        model.screen = Screen::Compare;
        compare_parts(model, 0..2);
    }),
    ("compare, one group", |model| {
        model.screen = Screen::Compare;
        model.compare.stage = ShownStage::Device;
        compare_parts(model, 2..3);
    }),
    ("whose", |model| {
        model.screen = Screen::Compare;
        update(model, Action::Do(KeyCommand::Whose));
        update(model, Action::Do(KeyCommand::Toggle));
    }),
    ("processes", |model| model.screen = Screen::Processes),
    ("processes, last", |model| {
        model.screen = Screen::Processes;
        model.table.by_cgroup = true;
        model.table.reversed = true;
        let last = model.processes().len().saturating_sub(1);
        model.choose(last);
    }),
    ("process", |model| {
        model.screen = Screen::Processes;
        model.choose(1);
        model.open_page();
    }),
    ("process, gone", |model| {
        model.screen = Screen::Processes;
        model.open_page();
        let last = model.last.as_mut();
        for device in last.into_iter().flat_map(|last| &mut last.devices) {
            if let Some(measured) = &mut device.measured {
                measured.processes.clear();
            }
        }
    }),
    ("process, asked", |model| {
        model.screen = Screen::Processes;
        model.open_page();
        ask(model);
    }),
    ("order", |model| model.screen = Screen::Order),
    ("fairness", |model| model.screen = Screen::Fairness),
    ("heatmap", |model| model.screen = Screen::Heatmap),
    ("help", |model| model.screen = Screen::Help),
    ("help, further down", |model| {
        model.screen = Screen::Help;
        model.help_row = 47;
    }),
    ("flip", |model| {
        model.screen = Screen::Compare;
        let arms = arms(model);
        model.dialog = Some(Dialog::Flip {
            row: arms.len() / 2,
            arms,
            put_back: true,
        });
    }),
    ("flip to bfq", |model| {
        model.dialog = Some(Dialog::Flip {
            row: 1,
            arms: [ARMS[4], ARMS[3], ARMS[7]].map(str::to_owned).to_vec(),
            put_back: false,
        });
    }),
    ("rotate", |model| {
        model.screen = Screen::Processes;
        let chosen = |arm: String| (arm, true);
        let arms: Vec<(String, bool)> = arms(model).into_iter().map(chosen).collect();
        model.dialog = Some(Dialog::Rotate {
            row: arms.len().saturating_sub(1),
            arms,
            seconds: 120,
        });
    }),
    ("flipped", |model| {
        model.dialog = Some(Dialog::Flipped(flip(1, ARMS[4])));
    }),
    ("filter", |model| {
        model.screen = Screen::Processes;
        model.table.filter = "hog".repeat(if model.devices.len() == 8 { 99 } else { 1 });
        model.dialog = Some(Dialog::Filter);
    }),
    ("frozen, with a message", |model| {
        let message =
            "loop7: another program switched none to mq-deadline, which took 23.4 ms of 200 ms";
        update(model, Action::Do(KeyCommand::Pause));
        model.message = Some(message.to_owned());
    }),
];

const SHORT_AXIS: Axis = Axis {
    low_ns: 50_000.0,
    high_ns: 600_000.0,
    is_chosen: true,
};

fn compare_parts(model: &mut Model, which: std::ops::Range<usize>) {
    let score = model
        .devices
        .first()
        .and_then(|device| device.seen.score.as_ref());
    let parts = score.and_then(|score| score.parts.get(which));
    let names = parts.into_iter().flatten().map(|part| part.name.clone());
    model.compare.whose = names.collect();
}

/// The arms of the comparison, or else all arms that can be chosen.
fn arms(model: &Model) -> Vec<String> {
    let seen: Vec<String> = match model.devices.first() {
        Some(device) => device
            .seen
            .arms
            .iter()
            .map(|arm| arm.label.clone())
            .collect(),
        None => Vec::new(),
    };
    if seen.is_empty() { model.arms() } else { seen }
}
