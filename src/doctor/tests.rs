use super::facts::{Rival, effective};
use super::*;
use crate::probe::Tracepoint;

fn trouble<T>(what: &str) -> Result<T, Trouble> {
    Err(Trouble {
        what: what.to_owned(),
        hint: format!("mend {what}"),
    })
}

fn tracepoint(name: &'static str, is_there: bool) -> Tracepoint {
    Tracepoint {
        name,
        is_there,
        is_needed: name == "block_rq_issue",
    }
}

fn disk_with(name: &str, available: &[&str], switch: Result<Vec<String>, Trouble>) -> Disk {
    Disk {
        name: name.to_owned(),
        active: available[0].to_owned(),
        available: available.iter().map(|&name| name.to_owned()).collect(),
        switch,
    }
}

fn healthy() -> Facts {
    let ok = |text: &str| Ok(text.to_owned());
    Facts {
        kernel: "Linux 6.12".into(),
        tracepoints: Ok(vec![tracepoint("block_rq_issue", true)]),
        probe: Ok(Vec::new()),
        capabilities: Some(u64::MAX),
        lockdown: Some("[none] integrity confidentiality".into()),
        memlock_bytes: None,
        disks: vec![disk_with(
            "sda",
            &["none", "mq-deadline", "kyber", "bfq"],
            Ok(Vec::new()),
        )],
        modules: Some(Vec::new()),
        fio: ok("fio-3.33"),
        io_controller: ok("version 2"),
        scratch: ok(""),
        journal: ok(""),
        rivals: Vec::new(),
        writers: Vec::new(),
    }
}

fn state_of(facts: &Facts, name: &str) -> State {
    let diagnosis = diagnose(facts, false);
    let found = diagnosis.items.iter().find(|item| item.name == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {diagnosis:#?}"))
        .state
}

#[test]
fn a_healthy_machine_has_nothing_to_mend() {
    let diagnosis = diagnose(&healthy(), true);
    assert!(diagnosis.can_measure && diagnosis.can_switch);
    for item in &diagnosis.items {
        assert_eq!((item.state, &*item.remedy), (State::Ok, ""), "{item:?}");
    }
    assert!(render(&diagnosis).ends_with("measure: yes; switch schedulers: yes\n"));
}

#[test]
fn each_fault_shows_in_its_own_line_with_its_remedy() {
    type Fault = (&'static str, State, fn(&mut Facts));
    let faults: [Fault; 15] = [
        ("BTF", State::Missing, |f| f.tracepoints = trouble("btf")),
        ("tracepoint block_rq_issue", State::Missing, |f| {
            f.tracepoints = Ok(vec![tracepoint("block_rq_issue", false)]);
        }),
        ("tracepoint block_io_start", State::Missing, |f| {
            f.tracepoints = Ok(vec![tracepoint("block_io_start", false)]);
        }),
        ("probe", State::Missing, |f| {
            f.probe = trouble("not permitted");
        }),
        ("CAP_BPF", State::Missing, |f| {
            f.capabilities = Some(!(1 << 39));
        }),
        ("CAP_PERFMON", State::Missing, |f| {
            f.capabilities = Some(1 << 39);
        }),
        ("CAP_SYS_ADMIN", State::Unknown, |f| f.capabilities = None),
        ("lockdown", State::Missing, |f| {
            f.lockdown = Some("none integrity [confidentiality]".into());
        }),
        ("memlock", State::Missing, |f| {
            f.memlock_bytes = Some(64 << 10);
            f.probe = trouble("memory");
        }),
        ("disk sda", State::Missing, |f| {
            f.disks[0].switch = trouble("read-only sysfs");
        }),
        ("scheduler bfq", State::Missing, |f| {
            f.disks[0].available.pop();
            f.modules = Some(vec!["kernel/block/bfq.ko.zst".into()]);
        }),
        ("scheduler bfq", State::Unknown, |f| {
            f.disks[0].available.pop();
            f.modules = None;
        }),
        ("fio", State::Missing, |f| f.fio = trouble("fio")),
        ("journal", State::Missing, |f| {
            f.journal = trouble("left behind");
        }),
        ("other agents", State::Conflict, |f| {
            f.rivals = vec![Rival {
                file: "/etc/udev/rules.d/60.rules".into(),
                line: 3,
                text: "\u{1b}[2J".into(),
            }];
        }),
    ];
    for (name, state, break_it) in faults {
        let mut facts = healthy();
        break_it(&mut facts);
        assert_eq!(state_of(&facts, name), state, "{name}");
        let diagnosis = diagnose(&facts, false);
        for item in diagnosis
            .items
            .iter()
            .filter(|item| item.state != State::Ok)
        {
            assert!(
                !item.remedy.is_empty() && !item.found.is_empty(),
                "{item:?}"
            );
        }
        let text = render(&diagnosis);
        assert!(text.contains("to mend: "), "{text}");
        assert!(
            !text.contains(|c: char| c != '\n' && c.is_control()),
            "{text:?}"
        );
    }
}

#[test]
fn a_module_that_could_be_loaded_is_told_from_a_scheduler_that_is_not_there() {
    let mut facts = healthy();
    facts.disks[0].available = vec!["none".into()];
    facts.modules = Some(vec!["kernel/block/kyber-iosched.ko".into()]);
    let diagnosis = diagnose(&facts, false);
    let of = |name: &str| {
        let found = diagnosis.items.iter().find(|item| item.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    assert!(
        of("scheduler kyber")
            .remedy
            .contains("modprobe kyber-iosched")
    );
    assert_eq!(of("scheduler bfq").found, "not in this kernel");
}

#[test]
fn every_named_disk_must_switch_and_one_of_all_suffices() {
    let mut facts = healthy();
    facts
        .disks
        .push(disk_with("sdb", &["none"], trouble("no medium")));
    assert!(diagnose(&facts, false).can_switch);
    assert!(!diagnose(&facts, true).can_switch);
    facts.disks.clear();
    assert!(!diagnose(&facts, false).can_switch && !diagnose(&facts, true).can_switch);
}

#[test]
fn what_the_kernel_says_is_read() {
    assert_eq!(
        effective("Name:\tx\nCapEff:\t000000c000000000\n"),
        Some(3 << 38)
    );
    assert_eq!(effective("CapEff:\tx\n"), None);
}
