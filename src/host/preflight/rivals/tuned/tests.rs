use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;

use super::super::tests::{Machine, Short, entry};
use super::super::tuned_looks_at;
use super::*;

#[test]
fn tuned_acts_by_its_merged_profile() {
    let machine = Machine::new();
    machine.write("etc/tuned/active_profile", "mine\n");
    machine.write("etc/tuned/post_loaded_profile", "late\n");
    machine.write(
        "usr/lib/tuned/profiles/base/tuned.conf",
        "[disk]\n#elevator=x\nelevator = kyber\n",
    );
    machine.write(
        "etc/tuned/profiles/mine/tuned.conf",
        "[main]\ninclude=base, ../../up\n[variables]\ns=bfq\n[disk]\nelevator=${s}\n[off]\ntype=disk\nenabled=false\nelevator=none\n\
         [other]\ntype=disk\ndevices=sdb, nvme*\nelevator=none\n[one]\ntype=disk\ndevices=sd*,!sda\nelevator=none\n\
         [model]\ntype=disk\ndevices_udev_regex=^ID_MODEL=Fast$\nelevator=none\n[no]\ntype=disk\ndevices_udev_regex=^ID_MODEL=Slow\n\
         elevator=none\n[script]\nscript=${i:PROFILE_DIR}/script.sh\n",
    );
    machine.write(
        "etc/tuned/profiles/mine/script.sh",
        "#!/bin/sh\necho kyber >/sys/block/sda/queue/scheduler\n",
    );
    machine.write(
        "etc/tuned/profiles/late/tuned.conf",
        "[sysfs]\n/sys/block/sd*/queue/scheduler=none\n/sys/block/vd*/queue/scheduler=bfq\n",
    );
    machine.write("etc/tuned/profiles/up/tuned.conf", "[main]\n");
    // Not where this version of TuneD looks.
    machine.write("etc/tuned/late/tuned.conf", "[disk]\nelevator=none\n");
    assert_eq!(
        machine.short(),
        [
            entry("etc/tuned/profiles/mine/tuned.conf", 6, "bfq"),
            entry("etc/tuned/profiles/mine/script.sh", 2, "kyber"),
            entry("etc/tuned/profiles/late/tuned.conf", 2, "none"),
        ]
    );
    let root = machine.root();
    assert!(tuned_looks_at(
        root,
        &root.join("etc/tuned/profiles/late/tuned.conf")
    ));
    assert!(!tuned_looks_at(
        root,
        &root.join("etc/tuned/late/tuned.conf")
    ));
}

#[test]
fn what_a_profile_of_tuned_inherits_is_what_tuned_does() {
    let machine = Machine::new();
    machine.write("etc/tuned/active_profile", "mine\n");
    machine.write(
        "etc/tuned/base/tuned.conf",
        "[disk]\nenabled=false\ndevices=sdb\nelevator=kyber\n[script]\nscript=${i:PROFILE_DIR}/a.sh\n\
         [sysfs]\n/sys/block/sda/queue/scheduler=none\n",
    );
    let script = "#!/bin/sh\necho bfq >/sys/block/sda/queue/scheduler\n";
    machine.write("etc/tuned/base/a.sh", script);
    machine.write("etc/tuned/mine/b.sh", script);
    // devices and enabled are not inherited, scripts are all run, what is dropped is gone.
    machine.write(
        "etc/tuned/mine/tuned.conf",
        "[main]\ninclude=base\n[disk]\nreadahead=128\n[script]\nscript=${i:PROFILE_DIR}/b.sh\n\
         [sysfs]\ndrop=/sys/block/sda/queue/scheduler\n",
    );
    assert_eq!(
        machine.short(),
        [
            entry("etc/tuned/base/tuned.conf", 4, "kyber"),
            entry("etc/tuned/base/a.sh", 2, "bfq"),
            entry("etc/tuned/mine/b.sh", 2, "bfq"),
        ]
    );
    machine.write(
        "etc/tuned/mine/tuned.conf",
        "[main]\ninclude=base\n[disk]\nreplace=true\nreadahead=128\n",
    );
    assert_eq!(machine.short()[0], entry("etc/tuned/base/a.sh", 2, "bfq"));
}

#[test]
fn an_older_tuned_reads_its_older_directories() {
    let machine = Machine::new();
    machine.write("etc/tuned/active_profile", "own\n");
    machine.write(
        "etc/tuned/own/tuned.conf",
        "[sysfs]\n/sys/block/sd*/queue/scheduler=bfq\n",
    );
    assert_eq!(
        machine.short(),
        [entry("etc/tuned/own/tuned.conf", 2, "bfq")]
    );
}

/// The active profile is `mine`; the files are of TuneD's own directory.
fn of_profiles(files: &[(&str, &str)]) -> Machine {
    let machine = Machine::new();
    machine.write("etc/tuned/active_profile", "mine\n");
    machine.write("usr/lib/tuned/profiles/base/a.sh", SCRIPT);
    for (name, text) in files {
        machine.write(&format!("etc/tuned/profiles/{name}/tuned.conf"), text);
        machine.write(&format!("etc/tuned/profiles/{name}/a.sh"), SCRIPT);
    }
    machine
}

const SCRIPT: &str = "#!/bin/sh\necho kyber >/sys/block/sda/queue/scheduler\n";

#[test]
fn a_disk_belongs_to_the_first_section_that_matches_it() {
    let file = "etc/tuned/profiles/mine/tuned.conf";
    let machine = |text: &str| of_profiles(&[("mine", text)]);
    let first = machine("[disk]\nreadahead=128\n[other]\ntype=disk\ndevices=sda\nelevator=none\n");
    assert!(first.short().is_empty());
    let other = machine("[x]\ntype=disk\ndevices=sdb\nelevator=none\n[disk]\nelevator=bfq\n");
    assert_eq!(other.short(), [entry(file, 6, "bfq")]);
    let priority = machine("[disk]\nelevator=none\n[x]\ntype=disk\npriority=-5\nelevator=bfq\n");
    assert_eq!(priority.short(), [entry(file, 6, "bfq")]);
    let perhaps = |text: &str| {
        let found = machine(text).short().into_iter();
        found
            .map(|(_, line, _, is_certain)| (line, is_certain))
            .collect::<Vec<_>>()
    };
    let of_regex =
        "[x]\ntype=disk\ndevices_udev_regex=ID_.*\nelevator=none\n[disk]\nelevator=bfq\n";
    assert_eq!(perhaps(of_regex), [(4, false), (6, false)]);
    let of_machine = "[disk]\nuname_regex=x86\nelevator=bfq\n";
    assert_eq!(perhaps(of_machine), [(3, false)]);
    let removable = machine("[disk]\nelevator=bfq\n");
    removable.write("sys/block/sda/removable", "1\n");
    assert!(removable.short().is_empty());
}

#[test]
fn tuned_applies_nothing_if_a_profile_is_missing() {
    for (include, is_applied) in [
        ("none", false),
        ("-none", true),
        ("base", true),
        ("../base", true),
    ] {
        let mine = format!("[main]\ninclude={include}\n[disk]\nelevator=bfq\n");
        let machine = of_profiles(&[("mine", &mine), ("base", "[cpu]\n")]);
        assert_eq!(!machine.short().is_empty(), is_applied, "{include}");
    }
}

/// Lines from which the sections of three profiles are drawn, by the kind of section.
const LINES: [(&str, &[&str]); 6] = [
    (
        "[main]",
        &[
            "include=base",
            "include=late, base",
            "include=-none",
            "include=none",
            "summary=x",
        ],
    ),
    (
        "[variables]",
        &["s=none", "s=bfq", "t=kyber", "replace=true"],
    ),
    (
        "[disk]",
        &[
            "elevator=bfq",
            "elevator = ${s}",
            "elevator=kyber # now",
            "#elevator=x",
            "elevator=${f:exec:echo:bfq}",
            "readahead=8",
            "devices=sda",
            "devices=sdb",
            "devices=sd*, !sda",
            "devices=!sdb",
            "enabled=false",
            "enabled=1",
            "replace=true",
            "drop=elevator",
            "drop=readahead , elevator",
            "priority=-1",
            "priority=7",
        ],
    ),
    (
        "[other]",
        &[
            "type=disk",
            "elevator=none",
            "elevator=${t}",
            "devices=sd?",
            "enabled=true",
            "drop=elevator",
        ],
    ),
    (
        "[sysfs]",
        &[
            "/sys/block/sda/queue/scheduler=none",
            "/sys/block/sd*/queue/scheduler = ${s}",
            "replace=1",
            "enabled=False",
            "drop=/sys/block/sda/queue/scheduler",
        ],
    ),
    (
        "[script]",
        &[
            "script=a.sh",
            "script=${i:PROFILE_DIR}/a.sh",
            "enabled=true",
            "replace=true",
        ],
    ),
];

/// A profile of sections with some of their lines each.
fn profile() -> impl Strategy<Value = String> {
    let section = (0..LINES.len()).prop_flat_map(|index| {
        let (name, lines) = LINES[index];
        proptest::sample::subsequence(lines, 0..=lines.len().min(4))
            .prop_shuffle()
            .prop_map(move |lines| format!("{name}\n{}\n", lines.join("\n")))
    });
    proptest::collection::vec(section, 0..6).prop_map(|sections| sections.concat())
}

/// Ours, and that of TuneD's loader; None: it is not there.
fn both(machine: &Machine) -> Option<[Vec<Short>; 2]> {
    let tree = Tree::new(machine.root());
    let ours = Profile::read(&tree);
    let theirs = loader::load_below(&tree)?;
    Some([ours, theirs].map(|profile| {
        let mut found = machine.shorts(profile.rivals(&tree, &[Machine::sda()]));
        // TuneD runs a script twice if a later section adds none.
        found.sort();
        found.dedup();
        found
    }))
}

#[test]
fn our_reading_of_profiles_is_that_of_tuneds_loader() {
    const CASES: u32 = 60;
    // The same ones each time.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut settings = 0;
    for _ in 0..CASES {
        let mut draw = || profile().new_tree(&mut runner).unwrap().current();
        let texts = ["mine", "late", "base"].map(|name| (name, draw()));
        let files = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
        let machine = of_profiles(&files);
        machine.write(
            "usr/lib/tuned/profiles/base/tuned.conf",
            "[disk]\nelevator=mq-deadline\n",
        );
        machine.write("etc/tuned/post_loaded_profile", "late\n");
        let Some([ours, theirs]) = both(&machine) else {
            println!(
                "skipped: TuneD's modules are not there: install tuned, or run contrib/setup.sh test"
            );
            return;
        };
        settings += theirs.len();
        assert_eq!(ours, theirs, "{files:#?}");
    }
    assert!(settings > CASES as usize / 2, "only {settings} settings");
}
