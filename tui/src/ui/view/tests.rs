//! Draws every screen from fixed numbers at three sizes, and checks that no size and no numbers cause a panic.

mod chosen_axis;
pub mod data;
mod follow;
mod past;
mod rounds;
mod sweep;

use std::collections::BTreeMap;

use iosched_result::measured::snapshot::Merges;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use iosched_experiment::rotation::Program;

use crate::ui::sampling::parts::PartName;
use crate::ui::sampling::programs::Chosen;
use crate::ui::sampling::request::{Request, Wanted};
use crate::ui::state::action::{Action, KeyCommand, Screen};
use crate::ui::state::appearance::{Depth, Theme};
use crate::ui::state::compare::ShownStage;
use crate::ui::state::keymap::{self, Keymap};
use crate::ui::state::model::{Dialog, Model};
use crate::ui::state::update::{Effect, update};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

fn drawn(model: &Model, (width, height): (u16, u16)) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| super::draw(frame, model))
        .expect("a picture");
    terminal
}

/// The expected screens are in tests/screens.
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
    let mut stalled = on(Screen::Compare);
    data::stall_rounds(&mut stalled);
    check("compare_stalls", &stalled);
    let mut one = data::one_scheduler();
    one.screen = Screen::Compare;
    check("compare_one_scheduler", &one);
    let mut two = on(Screen::Compare);
    update(&mut two, Action::Do(KeyCommand::Whose));
    for command in [KeyCommand::Toggle, KeyCommand::Down, KeyCommand::Toggle] {
        update(&mut two, Action::Do(command));
    }
    check("dialog_whose", &two);
    update(&mut two, Action::Do(KeyCommand::Open));
    check("compare_programs", &two);
}

/// Shares of the time for which the submitters under none, mq-deadline and kyber were blocked.
fn stalled(shares: [f64; 3]) -> Model {
    let mut model = on(Screen::Compare);
    let rounds = rounds::Rounds {
        stalled: shares.to_vec(),
        ..data::rounds()
    };
    rounds.report(&mut model);
    model
}

#[test]
fn queue_waits_do_not_compare_where_stalls_differ() {
    let warning = |mq_deadline: f64, stage: ShownStage| {
        let mut model = stalled([0.9, mq_deadline, 0.9]);
        model.compare.stage = stage;
        let screen = drawn(&model, (120, 40)).backend().to_string();
        let line = screen
            .lines()
            .find(|line| line.contains("cannot be compared"));
        line.map(|line| line.trim_matches(['"', ' ']).to_owned())
    };
    assert_eq!(
        warning(0.5, ShownStage::Wait).expect("a warning"),
        "queue waits cannot be compared (n/c): submitters stalled 90.0 % under none, 50.0 % under mq-deadline"
    );
    let total = warning(0.92, ShownStage::Total).expect("a warning");
    assert!(total.starts_with("total latencies cannot"), "{total}");
    assert!(total.contains("92.0 % under mq-deadline, 90.0 % under "));
    assert_eq!(warning(0.895, ShownStage::Wait), None, "alike");
    assert_eq!(
        warning(0.5, ShownStage::Device),
        None,
        "device times compare"
    );
}

#[test]
fn what_does_not_compare_has_its_values_and_no_ratio() {
    let rows = |model: &Model, size| {
        let screen = drawn(model, size).backend().to_string();
        let row = |arm: &str| {
            let mut rows = screen.lines().filter(|line| line.starts_with(arm));
            rows.next_back()
                .expect("a row")
                .trim_end_matches(['"', ' '])
                .to_owned()
        };
        ["\" none ", "\" mq-d", "\" kyber "].map(row)
    };
    let mut model = stalled([0.9, 0.0, 0.9]);
    // There is room for the verdicts only.
    let [none, mq_deadline, _] = rows(&model, (40, 10));
    assert!(none.ends_with(" 200 us"), "{none}");
    assert!(mq_deadline.ends_with(" n/c"), "{mq_deadline}");
    for size in SIZES {
        let [none, mq_deadline, kyber] = rows(&model, size);
        assert!(none.ends_with(" reference"), "{none}");
        let is_refused =
            [" n/c: stalls", " n/c: stalls differ"].map(|end| mq_deadline.ends_with(end));
        assert!(is_refused.contains(&true), "{mq_deadline}");
        assert!(mq_deadline.contains("9.09 ms"), "{mq_deadline}");
        assert!(
            kyber.contains(" ?+3.3 %"),
            "it stalled as the reference did: {kyber}"
        );
    }
    let screen = |model: &Model| drawn(model, (80, 24)).backend().to_string();
    assert!(screen(&model).contains("; not all are comparable (n/c)"));
    model.compare.stage = ShownStage::Device;
    let [_, mq_deadline, _] = rows(&model, (80, 24));
    assert!(mq_deadline.contains(" ▼46x"), "{mq_deadline}");
    // Latencies from the arrival on leave out the same waits; rates do not.
    let screen = screen(&model);
    let mut score = screen
        .lines()
        .filter(|line| line.starts_with("\" mq-deadline  "));
    let score = score.next().expect("its verdicts");
    assert!(score.contains("n/c") && score.contains('%'), "{score}");
}

/// Without a rotation there are no rounds: all time under each scheduler counts, and there is no verdict.
#[test]
fn without_rounds_all_the_time_decides() {
    let mut model = stalled([0.9, 0.0, 0.0]);
    model.devices[0].seen.score = None;
    model.rotating = None;
    let screen = drawn(&model, (120, 40)).backend().to_string();
    assert!(screen.contains("cannot be compared (n/c)"), "{screen}");
    assert!(!screen.contains('▲') && !screen.contains('▼'), "{screen}");
    assert!(screen.contains("measured one after the other"), "{screen}");
}

#[test]
fn the_processes() {
    check("processes", &on(Screen::Processes));
    let mut open = on(Screen::Processes);
    open.open_page();
    check("process", &open);
    data::ask(&mut open);
    check("process_asked", &open);
    let mut filtered = on(Screen::Processes);
    filtered.table.filter = "hog".into();
    check("processes_filtered", &filtered);
}

#[test]
fn what_has_no_queue_wait_is_told_where_queue_waits_are() {
    let with = |unknown: u64| {
        let mut model = on(Screen::Overview);
        let device = &mut model.last.as_mut().expect("a sample").devices[0];
        let measured = device.measured.as_mut().expect("measured");
        measured.live.without_queue_wait = unknown;
        measured.processes[0].without_queue_wait = unknown;
        model.devices[0].seen.left_out.without_queue_wait = unknown;
        model
    };
    let told = |unknown: u64, screen: Screen, is_open: bool, size| {
        let mut model = with(unknown);
        model.screen = screen;
        if is_open {
            model.open_page();
        }
        let text = drawn(&model, size).backend().to_string();
        let text = text.replace('"', " "); // around each line
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (screen, is_open, words) in [
        (Screen::Overview, false, "queue wait, unknown for 17"),
        (Screen::Processes, false, "queue wait unknown for 17 I/Os"),
        (Screen::Processes, true, "queue wait unknown for 17 I/Os"),
        (Screen::Compare, false, ", 17 without queue wait"),
    ] {
        for size in SIZES {
            let text = told(17, screen, is_open, size);
            assert!(text.contains(words), "{words}: {text}");
            let text = told(0, screen, is_open, size);
            assert!(
                !text.contains("unknown") && !text.contains("without"),
                "{text}"
            );
        }
    }
    check("processes_unknown", &{
        let mut model = with(17);
        model.screen = Screen::Processes;
        model
    });
    let small = told(17, Screen::Overview, false, (40, 16));
    assert!(small.contains("queue wait, unknown for 17"), "{small}");
    let mut device_times = with(17);
    device_times.screen = Screen::Compare;
    device_times.compare.stage = ShownStage::Device;
    let text = drawn(&device_times, (120, 40)).backend().to_string();
    assert!(!text.contains("without"), "they have a device time: {text}");
}

/// As on a disk that never answers.
#[test]
fn who_only_waits_did_no_io() {
    let title = |waiting: usize, all: usize| {
        let mut model = on(Screen::Processes);
        let device = &mut model.last.as_mut().expect("a sample").devices[0];
        let processes = &mut device.measured.as_mut().expect("measured").processes;
        processes.truncate(all);
        for process in processes.iter_mut().take(waiting) {
            (process.ios, process.merges) = (0, Merges::default());
        }
        let screen = drawn(&model, (80, 24)).backend().to_string();
        let line = screen.lines().nth(2).expect("the title");
        let end = line.find(';').expect("how it is sorted");
        line[..end].trim_matches(['"', ' ']).to_owned()
    };
    assert_eq!(title(0, 2), "2 processes did I/O");
    assert_eq!(title(1, 2), "2 processes did I/O or wait for it");
    assert_eq!(title(2, 2), "2 processes wait for I/O");
    assert_eq!(title(1, 1), "1 process waits for I/O");
}

#[test]
fn order_fairness_heatmap_and_help() {
    check("order", &on(Screen::Order));
    check("fairness", &on(Screen::Fairness));
    check("heatmap", &on(Screen::Heatmap));
    check("help", &on(Screen::Help));
}

/// However many keys the user has given a command.
#[test]
fn help_names_every_key() {
    let names = ["F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10"];
    let keys: Result<Vec<_>, _> = names.into_iter().map(keymap::parse).collect();
    let keys = BTreeMap::from([("rotate".to_owned(), keys.expect("keys"))]);
    let mut model = on(Screen::Help);
    model.keys = Keymap::with(&keys).expect("a keymap");
    let screen = drawn(&model, (80, 60)).backend().to_string();
    let all = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains("F2 F3 F4 F5 F6 F7 F8 F9 F10"), "{screen}");
}

#[test]
fn the_questions() {
    for (name, command) in [("flip", KeyCommand::Flip), ("rotate", KeyCommand::Rotate)] {
        let mut model = on(Screen::Overview);
        model.rotating = None;
        update(&mut model, Action::Do(command));
        check(&format!("dialog_{name}"), &model);
    }
}

/// Small screens: the numbers remain.
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
    update(&mut many, Action::Do(KeyCommand::Rotate));
    golden("small_dialog_rotate_40x10", &drawn(&many, (40, 10)));
}

#[test]
fn what_is_too_small_says_so() {
    golden("too_small", &drawn(&on(Screen::Overview), (39, 10)));
}

/// No colours in monochrome; the text must be the same, so colour is never the only information.
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

/// On every screen and in every dialog, and no information is lost but in names.
#[test]
fn a_terminal_without_utf8_gets_ascii_alone() {
    for (name, change) in sweep::views::VIEWS {
        let mut model = sweep::models::rotated(4);
        change(&mut model);
        let unicode = drawn(&model, (120, 40));
        model.palette.is_ascii = true;
        let ascii = drawn(&model, (120, 40));
        let (unicode, ascii) = (unicode.backend().buffer(), ascii.backend().buffer());
        for (before, after) in unicode.content.iter().zip(&ascii.content) {
            assert!(after.symbol().is_ascii(), "{name}: {:?}", after.symbol());
            assert!(
                after.symbol() != "?" || before.symbol() == "?",
                "{name}: {before:?}"
            );
            assert_eq!(before.style(), after.style(), "{name}");
        }
    }
}

#[test]
fn a_flip_is_asked_for_and_a_rotation_begins_a_new_comparison() {
    let mut model = on(Screen::Overview);
    model.rotating = None;
    assert_eq!(update(&mut model, Action::Do(KeyCommand::Flip)), []);
    update(&mut model, Action::Do(KeyCommand::Down));
    update(&mut model, Action::Do(KeyCommand::Pause));
    let effects = update(&mut model, Action::Do(KeyCommand::Open));
    let arm = "mq-deadline".to_owned(); // none is the first that is not active
    assert_eq!(
        effects,
        [Effect::Ask(Request::Flip {
            device: 0,
            arm,
            put_back: false
        })]
    );
    assert!(model.dialog.is_none());

    update(&mut model, Action::Do(KeyCommand::Rotate));
    update(&mut model, Action::Do(KeyCommand::Toggle));
    update(&mut model, Action::Do(KeyCommand::Right));
    let effects = update(&mut model, Action::Do(KeyCommand::Open));
    // Without the settings in force, and without the defaults of kyber, which is active.
    let arms = ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec();
    let named = |label: &str, comm: &str, reads: bool| Chosen {
        name: PartName {
            cgroup: format!("/demo/{label}"),
            comm: Some(comm.to_owned()),
        },
        program: Program {
            label: label.to_owned(),
            reads,
            writes: !reads,
        },
    };
    assert_eq!(
        effects,
        [
            Effect::Ask(Request::Rotate {
                device: 0,
                arms: arms.clone(),
                reference: 0,
                seconds: 20,
                programs: vec![
                    named("hog", "writer", false),
                    named("probe", "reader", true)
                ],
            }),
            Effect::Ask(Request::Compare {
                device: 0,
                metric: "read_queue_wait_mean".to_owned(),
                reference: 0
            }),
            Effect::Ask(Request::Read(Wanted {
                order: false,
                why: false,
                why_of_arms: true,
                owner_histograms: false
            }))
        ]
    );
    assert_eq!(
        (model.screen, model.compare.reference),
        (Screen::Compare, 0)
    );
    let seen = &model.device().seen.arms;
    assert!(seen.iter().map(|arm| &arm.label).eq(&arms));
    assert!(seen.iter().all(|arm| arm.sums.seconds == 0.0));
}

/// Not by one key while something is changed or recorded; Ctrl-C, as a signal, asks nothing.
#[test]
fn to_quit_is_asked_for_where_something_ends_with_it() {
    let mut quiet = on(Screen::Overview);
    quiet.rotating = None;
    quiet.devices[0].modified = None;
    let quits = [Effect::Quit];
    assert_eq!(
        update(&mut quiet.clone(), Action::Do(KeyCommand::Quit)),
        quits
    );
    let mut changed = quiet.clone();
    changed.devices[0].modified = Some(true);
    let rotating = on(Screen::Overview);
    assert!(rotating.rotating.is_some());
    for (mut model, told) in [(changed, "gets the scheduler"), (rotating, "The rounds")] {
        assert_eq!(
            update(&mut model.clone(), Action::Do(KeyCommand::QuitNow)),
            quits
        );
        assert_eq!(update(&mut model, Action::Do(KeyCommand::Quit)), []);
        let screen = drawn(&model, (80, 24)).backend().to_string();
        assert!(
            screen.contains(told) && screen.contains("Enter quits"),
            "{screen}"
        );
        assert_eq!(
            update(&mut model.clone(), Action::Do(KeyCommand::QuitNow)),
            quits
        );
        assert_eq!(
            update(&mut model.clone(), Action::Do(KeyCommand::Open)),
            quits
        );
        assert_eq!(update(&mut model, Action::Do(KeyCommand::Back)), []);
        assert!(model.dialog.is_none());
    }
    // What the user chose to keep ends with nothing.
    quiet.devices[0].modified = Some(false);
    assert_eq!(update(&mut quiet, Action::Do(KeyCommand::Quit)), quits);
}

#[test]
fn the_settings_in_force_are_an_arm_of_their_own() {
    let choices = |model: &Model| -> Vec<(String, bool)> { model.arms_of_rotation() };
    let all = |texts: &[(&str, bool)]| -> Vec<(String, bool)> {
        let own = texts
            .iter()
            .map(|(text, is_on)| ((*text).to_owned(), *is_on));
        own.collect()
    };
    let mut model = on(Screen::Overview);
    assert_eq!(
        choices(&model),
        all(&[
            ("kyber (present)", true),
            ("none", true),
            ("mq-deadline", true),
            ("kyber", false),
            ("bfq", true)
        ])
    );
    model.named_arms = vec!["kyber".to_owned(), "a".to_owned()];
    assert_eq!(
        choices(&model),
        all(&[("kyber (present)", true), ("kyber", true), ("a", true)]),
        "--arm names the arms"
    );
    assert_eq!(model.arms(), ["kyber", "a"]);
    // `none` has no settings of its own.
    let mut model = data::one_scheduler();
    model.named_arms = vec!["none".to_owned()];
    assert_eq!(choices(&model), all(&[("none", true)]));
    update(&mut model, Action::Do(KeyCommand::Rotate));
    assert!(
        model
            .message
            .as_ref()
            .is_some_and(|text| text.contains("name another one"))
    );
}

#[test]
fn frozen_numbers_stay_while_measuring_goes_on() {
    let mut model = data::one_scheduler();
    let before = drawn(&model, (80, 24)).backend().to_string();
    let arms = |model: &Model| model.device().seen.arms[0].sums.stages.total[0].count();
    let seen = arms(&model);
    update(&mut model, Action::Do(KeyCommand::Pause));
    data::add_sample(&mut model, "none", 7);
    assert_eq!(arms(&model), seen);
    let frozen = drawn(&model, (80, 24)).backend().to_string();
    // Without the tabs, the status line and the footer.
    let body = |screen: &str| screen.lines().skip(2).take(21).map(str::to_owned).collect();
    let (frozen, before): (Vec<String>, Vec<String>) = (body(&frozen), body(&before));
    assert_eq!(frozen, before);
    update(&mut model, Action::Do(KeyCommand::Pause));
    assert!(arms(&model) > seen, "what came meanwhile was counted");
}

#[test]
fn without_root_nothing_can_be_switched() {
    let mut model = data::without_root();
    for command in [KeyCommand::Flip, KeyCommand::Rotate] {
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
            .contains("another program switched none to bfq")
    );
    assert!(model.dialog.is_none());
    let arms: Vec<&str> = model
        .device()
        .seen
        .arms
        .iter()
        .map(|arm| &*arm.label)
        .collect();
    assert_eq!(arms, ["none"], "a disturbed interval belongs to no arm");
    assert!(model.device().seen.left_out.disturbed > 0);
}

#[test]
fn a_path_names_the_disk_that_it_leads_to() {
    for screen in [Screen::Overview, Screen::Disks] {
        let mut model = on(screen);
        for device in &mut model.devices {
            device.disk.path_of = Some("nvme1n1".to_owned());
            device.modified = None;
        }
        let text = drawn(&model, SIZES[1]).backend().to_string();
        assert!(text.contains("path of nvme1n1"), "{text}");
    }
}

#[test]
fn unless_one_is_named_the_busiest_disk_is_shown() {
    // Later activity does not change the selection.
    assert_eq!(data::two_disks(1).selected, 1);
    assert_eq!(data::two_disks(2).selected, 0);
}

#[test]
fn the_busiest_disk_is_first_and_the_cursor_stays_on_its_disk() {
    let mut model = data::two_disks(1);
    model.screen = Screen::Disks;
    model.devices[1].disk.name = "sdb".to_owned();
    check("disks", &model);
    let disks = |model: &Model| {
        let text = drawn(model, SIZES[1]).backend().to_string();
        let (_, text) = text.split_once("DISK").expect("a heading");
        let [sdb, other] = ["sdb ", &*model.devices[0].disk.name].map(|name| text.find(name));
        sdb.expect("a row") < other.expect("a row")
    };
    assert!(
        disks(&model),
        "it was busier most of the time, not in the last interval"
    );
    assert_eq!(model.disk_row, 1);
    update(&mut model, Action::Do(KeyCommand::Down));
    assert_eq!(model.disk_row, 0);
    for _ in 0..30 {
        model.devices[0].load.add(1.0, 1.0);
        model.devices[1].load.add(0.0, 1.0);
    }
    assert!(!disks(&model));
    assert_eq!(model.disk_row, 0);
    update(&mut model, Action::Do(KeyCommand::Down));
    assert_eq!(model.disk_row, 1);
}

fn commands() -> impl Strategy<Value = Vec<KeyCommand>> {
    let all: Vec<KeyCommand> = crate::ui::state::keys::KEYS
        .iter()
        .map(|binding| binding.command)
        .collect();
    prop::collection::vec(prop::sample::select(all), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
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
