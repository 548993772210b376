//! Every screen as it is drawn, from fixed numbers, at three sizes; and never a panic, whatever the size and the numbers.

mod data;
mod sweep;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use crate::ui::action::{Action, Command, Screen};
use crate::ui::compare::Stage;
use crate::ui::model::{Dialog, Model};
use crate::ui::palette::{Depth, Theme};
use crate::ui::update::{Effect, update};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

fn drawn(model: &Model, (width, height): (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| super::draw(frame, model))
        .expect("a picture");
    terminal
}

/// The pictures stand in tests/screens.
fn golden(name: &str, terminal: &Terminal<TestBackend>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../tests/screens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, terminal.backend()));
}

fn check(name: &str, model: &Model) {
    for (width, height) in SIZES {
        golden(
            &format!("{name}_{width}x{height}"),
            &drawn(model, (width, height)),
        );
    }
}

fn on(screen: Screen) -> Model {
    let mut model = data::rotated();
    model.screen = screen;
    model
}

#[test]
fn the_overview() {
    check("overview", &on(Screen::Overview));
    let mut asked = on(Screen::Overview);
    data::ask(&mut asked);
    check("overview_asked", &asked);
    check("overview_without_root", &data::without_root());
    check("overview_before_the_first_sample", &data::empty());
}

#[test]
fn the_comparison() {
    check("compare", &on(Screen::Compare));
    let mut overlaid = on(Screen::Compare);
    overlaid.compare.is_overlaid = true;
    check("compare_overlaid", &overlaid);
    let mut one = data::one_scheduler();
    one.screen = Screen::Compare;
    check("compare_one_scheduler", &one);
}

#[test]
fn queue_waits_do_not_compare_where_stalls_differ() {
    let warning = |mq_deadline: f64, stage: Stage| {
        let mut model = on(Screen::Compare);
        model.compare.stage = stage;
        let arms = &mut model.devices[0].seen.arms;
        for arm in arms.iter_mut() {
            arm.stalled_s = 0.9 * arm.seconds;
        }
        arms[1].stalled_s = mq_deadline * arms[1].seconds;
        let screen = drawn(&model, (120, 40)).backend().to_string();
        let line = screen.lines().find(|line| line.contains("do not compare"));
        line.map(|line| line.trim_matches(['"', ' ']).to_owned())
    };
    assert_eq!(
        warning(0.5, Stage::Wait).expect("a warning"),
        "queue waits do not compare: submitters stalled 90.0 % under none, 50.0 % under mq-deadline"
    );
    let total = warning(0.92, Stage::Total).expect("a warning");
    assert!(total.starts_with("total latencies do not"), "{total}");
    assert!(total.contains("92.0 % under mq-deadline, 90.0 % under "));
    assert_eq!(warning(0.895, Stage::Wait), None, "alike");
    assert_eq!(warning(0.5, Stage::Device), None, "device times compare");
}

#[test]
fn the_processes() {
    check("processes", &on(Screen::Processes));
    let mut open = on(Screen::Processes);
    open.table.is_open = true;
    check("process", &open);
    data::ask(&mut open);
    check("process_asked", &open);
    let mut filtered = on(Screen::Processes);
    filtered.table.filter = "hog".into();
    check("processes_filtered", &filtered);
}

#[test]
fn order_fairness_heatmap_and_help() {
    check("order", &on(Screen::Order));
    check("fairness", &on(Screen::Fairness));
    check("heatmap", &on(Screen::Heatmap));
    check("help", &on(Screen::Help));
}

#[test]
fn the_questions() {
    for (name, command) in [("flip", Command::Flip), ("rotate", Command::Rotate)] {
        let mut model = on(Screen::Overview);
        model.rotating = None;
        update(&mut model, Action::Do(command));
        check(&format!("dialog_{name}"), &model);
    }
}

/// What is left where there is little room: the numbers first.
#[test]
fn small_screens() {
    let mut many = sweep::models::rotated(5);
    for (screen, name) in [
        (Screen::Overview, "overview"),
        (Screen::Compare, "compare_five_arms"),
        (Screen::Processes, "processes"),
        (Screen::Order, "order"),
        (Screen::Fairness, "fairness"),
    ] {
        many.screen = screen;
        for (width, height) in [(80, 24), (60, 16), (40, 10)] {
            golden(
                &format!("small_{name}_{width}x{height}"),
                &drawn(&many, (width, height)),
            );
        }
    }
    many.rotating = None;
    update(&mut many, Action::Do(Command::Rotate));
    golden("small_dialog_rotate_40x10", &drawn(&many, (40, 10)));
}

#[test]
fn what_is_too_small_says_so() {
    golden("too_small", &drawn(&on(Screen::Overview), (39, 10)));
}

/// No colour in monochrome; and without colours the text is the same, so nothing is said by colour alone.
#[test]
fn colours_add_nothing_but_colour() {
    for screen in Screen::ALL {
        let mut model = on(screen);
        model.palette.depth = Depth::True;
        let coloured = drawn(&model, (120, 40));
        let has_colour = |terminal: &Terminal<TestBackend>| {
            let cells = &terminal.backend().buffer().content;
            cells
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(has_colour(&coloured), "{}", screen.title());
        for (depth, theme) in [(Depth::Mono, Theme::Dark), (Depth::True, Theme::Mono)] {
            model.palette.depth = depth;
            model.palette.theme = theme;
            let mono = drawn(&model, (120, 40));
            assert!(!has_colour(&mono), "{}", screen.title());
            assert_eq!(
                mono.backend().to_string(),
                coloured.backend().to_string(),
                "{}",
                screen.title()
            );
        }
        for depth in [Depth::Ansi16, Depth::Ansi256] {
            model.palette.depth = depth;
            model.palette.theme = Theme::Light;
            assert!(has_colour(&drawn(&model, (120, 40))), "{}", screen.title());
        }
    }
}

#[test]
fn a_flip_is_asked_for_and_a_rotation_begins_a_new_comparison() {
    let mut model = on(Screen::Overview);
    model.rotating = None;
    assert_eq!(update(&mut model, Action::Do(Command::Flip)), []);
    update(&mut model, Action::Do(Command::Down));
    update(&mut model, Action::Do(Command::Pause));
    let effects = update(&mut model, Action::Do(Command::Open));
    let arm = "mq-deadline".to_owned(); // none is the first that is not active
    assert_eq!(
        effects,
        [Effect::Flip {
            device: 0,
            arm,
            put_back: false
        }]
    );
    assert!(model.dialog.is_none());

    update(&mut model, Action::Do(Command::Rotate));
    update(&mut model, Action::Do(Command::Toggle));
    update(&mut model, Action::Do(Command::Right));
    let effects = update(&mut model, Action::Do(Command::Open));
    let arms = ["mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec();
    assert_eq!(
        effects,
        [
            Effect::Rotate {
                device: 0,
                arms: arms.clone(),
                reference: 1, // kyber is in force
                seconds: 20
            },
            Effect::Show(Screen::Compare)
        ]
    );
    assert_eq!(
        (model.screen, model.compare.reference),
        (Screen::Compare, 1)
    );
    let seen = &model.device().seen.arms;
    assert!(seen.iter().map(|arm| &arm.label).eq(&arms));
    assert!(seen.iter().all(|arm| arm.seconds == 0.0));
}

#[test]
fn frozen_numbers_stay_while_measuring_goes_on() {
    let mut model = on(Screen::Overview);
    let before = drawn(&model, (80, 24)).backend().to_string();
    let arms = |model: &Model| model.device().seen.arms[0].stages.total[0].count();
    let seen = arms(&model);
    update(&mut model, Action::Do(Command::Pause));
    data::add_sample(&mut model, "none", 7);
    assert_eq!(arms(&model), seen);
    let frozen = drawn(&model, (80, 24)).backend().to_string();
    assert_eq!(
        frozen.lines().skip(2).collect::<Vec<_>>(),
        before.lines().skip(2).collect::<Vec<_>>()
    );
    update(&mut model, Action::Do(Command::Pause));
    assert!(arms(&model) > seen, "what came meanwhile was counted");
}

#[test]
fn without_root_nothing_can_be_switched() {
    let mut model = data::without_root();
    for command in [Command::Flip, Command::Rotate] {
        assert_eq!(update(&mut model, Action::Do(command)), []);
        assert!(model.dialog.is_none());
        assert!(model.message.take().expect("a reason").contains("sudo"));
    }
}

#[test]
fn another_hand_is_noticed() {
    let mut model = data::one_scheduler();
    data::foreign_flip(&mut model, "bfq");
    assert!(
        model
            .message
            .as_ref()
            .expect("a message")
            .contains("somebody else switched none to bfq")
    );
    assert!(model.dialog.is_none());
    let arms: Vec<&str> = model
        .device()
        .seen
        .arms
        .iter()
        .map(|arm| &*arm.label)
        .collect();
    assert_eq!(arms, ["none"], "the disturbed interval is nobody's");
    assert!(model.device().seen.left_out.disturbed > 0);
}

#[test]
fn unless_one_is_named_the_busiest_disk_is_shown() {
    // What is busy later moves nothing.
    assert_eq!(data::two_disks(1).selected, 1);
    assert_eq!(data::two_disks(2).selected, 0);
}

fn commands() -> impl Strategy<Value = Vec<Command>> {
    let all: Vec<Command> = crate::ui::keys::KEYS
        .iter()
        .map(|binding| binding.command)
        .collect();
    prop::collection::vec(prop::sample::select(all), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_panics(size in (1u16..220, 1u16..70), seed: u64, samples in 0usize..12, commands in commands(), text in "\\PC{0,12}") {
        let mut model = data::random(seed, samples);
        let _ = drawn(&model, size);
        for command in commands {
            update(&mut model, Action::Do(command));
            if let Some(Dialog::Filter) = model.dialog {
                text.chars().for_each(|letter| drop(update(&mut model, Action::Type(letter))));
            }
            let _ = drawn(&model, size);
        }
    }
}
