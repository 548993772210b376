//! Going back through the intervals that are held.

use iosched_measure::history::blocks::Blocks;
use iosched_measure::history::buffer::Buffer;
use iosched_measure::history::frame::Frame;
use iosched_measure::history::packed::Packed;

use super::{data, drawn};
use crate::ui::sampling::sample::{Flip, Sample, SamplerReport, Side};
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::model::Model;
use crate::ui::state::past::{self, Replay};
use crate::ui::state::rows::Places;
use crate::ui::state::update::{Effect, update};

const SIZE: (u16, u16) = (120, 40);
const SCHEDULERS: [&str; 3] = ["none", "bfq", "mq-deadline"];
const SCREENS: [Screen; 5] = [
    Screen::Overview,
    Screen::Processes,
    Screen::Order,
    Screen::Fairness,
    Screen::Heatmap,
];

fn command(model: &mut Model, command: KeyCommand) {
    let effects = update(model, Action::Do(command));
    assert!(
        effects
            .iter()
            .all(|effect| matches!(effect, Effect::Ask(_)))
    );
}

/// Without the tabs, the status line and the footer.
fn body(model: &Model, screen: Screen) -> String {
    let mut model = model.clone();
    model.screen = screen;
    let text = drawn(&model, SIZE).backend().to_string();
    let lines: Vec<&str> = text.lines().collect();
    let lines = lines[2..lines.len() - 1].iter();
    // Compare, below Processes, is looked at in its own way.
    let lines = lines.take_while(|line| !line.contains("Compare ─"));
    lines.copied().collect::<Vec<_>>().join("\n")
}

/// Rows of Compare: each arm with its numbers.
fn arms(model: &Model) -> Vec<String> {
    let seen = &model.device().seen;
    let arm = |arm: &crate::ui::state::compare::ArmSeen| {
        let stages = &arm.sums.stages;
        let (reads, seconds) = (stages.total[0].count(), arm.sums.seconds);
        format!("{} {seconds} {:?} {reads}", arm.label, arm.sums.bytes)
    };
    let mut lines: Vec<String> = seen.arms.iter().map(arm).collect();
    lines.push(format!("{:?} {}", seen.left_out, seen.flips.len()));
    lines
}

/// The interval with this number, in a session of several schedulers.
fn add(model: &mut Model, number: usize) {
    let frame = frame(number);
    for flip in &frame.flips {
        data::report(model, SamplerReport::Flipped(flip.clone()));
    }
    data::keep(model, frame);
}

fn frame(number: usize) -> Frame {
    let name = SCHEDULERS[number / 4 % 3];
    let is_flip = number > 0 && number.is_multiple_of(4);
    let side = if is_flip {
        Side::Settling
    } else {
        Side::Of(name.into())
    };
    let (wait, owners) = (1000 << (number % 9), 1 + number as u64 % 5);
    let mut numbers = data::Numbers(number as u64);
    let mut frame = data::frame(&mut numbers, name, side, wait, owners, number);
    if is_flip {
        frame.flips.push(Flip {
            device: 0,
            time: "12:00:00".into(),
            from: SCHEDULERS[(number / 4 - 1) % 3].into(),
            to: name.into(),
            by_us: false,
            switch_ns: None,
            changes: Vec::new(),
        });
    }
    frame
}

#[test]
fn every_screen_shows_what_it_showed_then() {
    let mut model = data::empty();
    data::attached(&mut model);
    let mut live = Vec::new();
    let count = 130;
    for number in 0..count {
        add(&mut model, number);
        // Rows keep their places only while one watches: an interval of the past stands for itself.
        model.devices[0].places = Places::default();
        live.push((SCREENS.map(|screen| body(&model, screen)), arms(&model)));
    }
    command(&mut model, KeyCommand::Pause);
    // Back to the first, by one and by many, and forth again.
    let mut at = count - 1;
    let steps = [KeyCommand::Earlier; 3]
        .into_iter()
        .chain([KeyCommand::MuchEarlier; 3])
        .chain([KeyCommand::Later; 2])
        .chain([
            KeyCommand::MuchLater,
            KeyCommand::Earlier,
            KeyCommand::MuchLater,
        ])
        .chain([KeyCommand::MuchLater]);
    for step in steps {
        command(&mut model, step);
        at = match step {
            KeyCommand::Earlier => at - 1,
            KeyCommand::Later => at + 1,
            KeyCommand::MuchEarlier => at.saturating_sub(60),
            _ => (at + 60).min(count - 1),
        };
        let (screens, compared) = &live[at];
        for (screen, then) in SCREENS.into_iter().zip(screens) {
            assert_eq!(&body(&model, screen), then, "{} of {at}", screen.title());
        }
        assert_eq!(&arms(&model), compared, "Compare of {at}");
    }
}

#[test]
fn measuring_goes_on_while_one_looks_back() {
    let mut model = data::empty();
    data::attached(&mut model);
    (0..6).for_each(|number| add(&mut model, number));
    command(&mut model, KeyCommand::Pause);
    command(&mut model, KeyCommand::Earlier);
    let then = body(&model, Screen::Overview);
    (6..9).for_each(|number| add(&mut model, number));
    assert_eq!(body(&model, Screen::Overview), then);
    let status = |model: &Model| drawn(model, SIZE).backend().to_string();
    assert!(status(&model).contains("FROZEN 12:00:04, 4 intervals back"));
    command(&mut model, KeyCommand::MuchLater);
    assert!(status(&model).contains("FROZEN 12:00:08 "));
    command(&mut model, KeyCommand::Later);
    assert!(
        model
            .message
            .as_ref()
            .unwrap()
            .contains("the last interval")
    );
    command(&mut model, KeyCommand::MuchEarlier);
    command(&mut model, KeyCommand::Earlier);
    assert!(
        model
            .message
            .as_ref()
            .unwrap()
            .contains("the first interval")
    );
    command(&mut model, KeyCommand::Pause);
    assert!(model.frozen.is_none());
}

#[test]
fn a_comparison_that_was_cleared_is_there_before() {
    let mut model = data::empty();
    data::attached(&mut model);
    (0..3).for_each(|number| add(&mut model, number));
    let before = arms(&model);
    command(&mut model, KeyCommand::Clear);
    add(&mut model, 3);
    let after = arms(&model);
    assert_ne!(before, after);
    command(&mut model, KeyCommand::Pause);
    command(&mut model, KeyCommand::Earlier);
    assert_eq!(arms(&model), before);
    command(&mut model, KeyCommand::MuchLater);
    assert_eq!(arms(&model), after);
}

#[test]
fn a_page_of_the_past_is_of_its_interval_alone() {
    let mut model = data::empty();
    data::attached(&mut model);
    (0..5).for_each(|number| add(&mut model, number));
    model.screen = Screen::Processes;
    command(&mut model, KeyCommand::Open);
    add(&mut model, 5);
    let seconds = |model: &Model| model.device().page.as_ref().map(|page| page.seconds);
    assert_eq!(seconds(&model), Some(2.0));
    command(&mut model, KeyCommand::Pause);
    command(&mut model, KeyCommand::Earlier);
    assert_eq!(seconds(&model), Some(1.0));
    command(&mut model, KeyCommand::Pause);
    assert_eq!(seconds(&model), Some(2.0));
}

/// By process or by control group, also in the past.
#[test]
fn rows_of_the_past_are_summed_as_those_of_now() {
    let mut model = data::empty();
    data::attached(&mut model);
    (0..5).for_each(|number| add(&mut model, number));
    command(&mut model, KeyCommand::Pause);
    command(&mut model, KeyCommand::Earlier);
    let rows = |model: &Model| {
        model
            .processes()
            .iter()
            .map(|row| row.process.pid)
            .collect()
    };
    let processes: Vec<Option<u32>> = rows(&model);
    assert_eq!(processes.len(), 4);
    command(&mut model, KeyCommand::Cgroups);
    let groups: Vec<Option<u32>> = rows(&model);
    assert_eq!(groups, [None, None, None]);
    command(&mut model, KeyCommand::Cgroups);
    assert_eq!(rows(&model), processes);
}

#[test]
fn a_replay_plays_and_switches_nothing() {
    let mut model = data::empty();
    data::attached(&mut model);
    (0..3).for_each(|number| add(&mut model, number));
    past::freeze_here(&mut model);
    model.replay = Some(Replay { is_playing: false });
    for refused in [KeyCommand::Flip, KeyCommand::Rotate] {
        command(&mut model, refused);
        assert!(model.dialog.is_none());
        assert!(model.message.take().unwrap().contains("replay"));
    }
    command(&mut model, KeyCommand::MuchEarlier);
    command(&mut model, KeyCommand::Pause);
    let status = |model: &Model| drawn(model, SIZE).backend().to_string();
    assert!(status(&model).contains("PLAYING 12:00:00, 2 intervals back"));
    for _ in 0..3 {
        update(&mut model, Action::Tick);
    }
    assert!(
        status(&model).contains("REPLAY 12:00:02 "),
        "it stops at the end"
    );
}

/// Far back, several intervals are one: it has their I/Os, and Compare what it had at its end.
#[test]
fn what_is_long_ago_is_summed_and_nothing_is_missing() {
    let mut model = data::empty();
    data::attached(&mut model);
    // Room for few.
    model.kept = Buffer::with_limits([100_000, 100_000, 300_000]);
    let (mut blocks, mut live, mut ios) = (Blocks::default(), Vec::new(), Vec::new());
    let count = 900;
    for number in 0..count {
        let mut frame = frame(number / 30 * 4 + 1);
        frame.time = format!("2026-01-02T12:{:02}:{:02}.000Z", number / 60, number % 60);
        let kept = blocks.add(&frame).unwrap();
        data::keep_blocks(&mut model, frame, kept);
        live.push(arms(&model));
        let device = model.device_sample().unwrap().measured.as_ref().unwrap();
        ios.push(device.live.ops.iter().map(|op| op.ios).sum::<u64>());
    }
    command(&mut model, KeyCommand::Pause);
    let (mut next, mut spans) = (count as u64, Vec::new());
    loop {
        let frozen = model.frozen.as_ref().unwrap();
        let (last, span) = (frozen.number.unwrap(), frozen.span);
        assert_eq!(
            last + 1,
            next,
            "nothing is left out, nothing is there twice"
        );
        next = last + 1 - span;
        spans.push(span);
        assert_eq!(arms(&model), live[last as usize], "Compare at {last}");
        let sample = model.sample().unwrap();
        let device = sample.devices[0].measured.as_ref().unwrap();
        let found: u64 = device.live.ops.iter().map(|op| op.ios).sum();
        let wanted: u64 = ios[next as usize..=last as usize].iter().sum();
        assert_eq!(found, wanted, "I/Os from {next} to {last}");
        assert_eq!(sample.seconds.to_bits(), (span as f64).to_bits());
        command(&mut model, KeyCommand::Earlier);
        if model.message.is_some() {
            break;
        }
    }
    // 30 intervals of one arm are 8 + 8 + 8 + 6.
    spans.dedup();
    assert!(spans.starts_with(&[1]), "{spans:?}");
    assert!(
        spans.contains(&8) && spans.contains(&30),
        "{spans:?} {next} {:?}",
        model.message
    );
    assert!(next < count as u64 / 2, "{next}");
}

/// The history holds the interval that was shown, to the last digit.
#[test]
fn nothing_is_lost_on_the_way_to_memory_and_back() {
    let frame = data::frame(&mut data::Numbers(4), "bfq", Side::Disturbed, 5000, 3, 7);
    let back = Packed::of(&frame).unwrap().frame().unwrap();
    let shown = |frame| format!("{:?}", Sample::of(frame, false));
    assert_eq!(shown(back), shown(frame));
}
