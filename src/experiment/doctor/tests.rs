use std::collections::BTreeMap;

use super::facts::effective;
use super::*;
use iosched_host::preflight::rivals::engine::Source;
use iosched_host::preflight::rivals::tree::Unread;
use iosched_host::preflight::rivals::{Agent, Rival, Rule, Survey};
use iosched_host::system::cgroup::requests::{Class, Requests, Throttle};
use iosched_host::system::cgroup::weights::{Reader, Weight, Weights};
use iosched_measure::probe::Tracepoint;

fn trouble<T>(what: &str) -> Result<T, Trouble> {
    Err(Trouble {
        what: what.to_owned(),
        hint: format!("fix {what}"),
    })
}

fn tracepoint(name: &'static str, is_there: bool) -> Tracepoint {
    Tracepoint {
        name,
        is_there,
        is_needed: name == "block_rq_issue",
    }
}

fn disk_with(name: &str, available: &[&str], switch: Result<Vec<String>, Trouble>) -> DiskFacts {
    DiskFacts {
        name: name.to_owned(),
        number: "8:0".to_owned(),
        model: Some("A disk".to_owned()),
        driver: Some("virtio_blk".to_owned()),
        size_bytes: Some(10 << 30),
        rotational: Some(false),
        firmware: Some("1.0".to_owned()),
        serial: Some("S1".to_owned()),
        active: available[0].to_owned(),
        available: available.iter().map(|&name| name.to_owned()).collect(),
        settings: BTreeMap::new(),
        switch,
    }
}

fn healthy() -> Facts {
    let ok = |text: &str| Ok(text.to_owned());
    Facts {
        kernel: "Linux 6.12".into(),
        release: "6.12.43-amd64".into(),
        now: "2026-03-01T00:00:00Z".parse().unwrap(),
        kept: Vec::new(),
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
        can_record: true,
        survey: Ok(Survey {
            sources: asked(),
            ..Survey::default()
        }),
        writers: Vec::new(),
        weights: Weights::default(),
        requests: Requests::default(),
    }
}

fn rival(text: &str, line: usize, value: Option<&str>) -> Rival {
    let file = format!("/etc/udev/rules.d/{line}-x.rules");
    Rival {
        agent: Agent::Udev,
        file: file.clone(),
        line,
        text: text.to_owned(),
        value: value.map(str::to_owned),
        disk: "sda".into(),
        is_certain: true,
        rule: Some(Rule {
            file,
            line,
            is_run: false,
            is_of_partition: false,
        }),
    }
}

fn asked() -> Vec<(&'static str, Source)> {
    let udevadm = Source::Asked("`udevadm test` of version 257".into());
    let systemctl = Source::Reading("there is no systemctl".into());
    vec![("udev's rules", udevadm), ("units", systemctl)]
}

fn survey(rivals: &[Rival]) -> Survey {
    Survey {
        rivals: rivals.to_vec(),
        ..Survey::default()
    }
}

fn state_of(facts: &Facts, name: &str) -> ItemState {
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
        assert_eq!((item.state, &*item.remedy), (ItemState::Ok, ""), "{item:?}");
    }
    assert!(render(&diagnosis, None).ends_with("measure: yes; switch schedulers: yes\n"));
}

#[test]
fn each_fault_shows_in_its_own_line_with_its_remedy() {
    type Fault = (&'static str, ItemState, fn(&mut Facts));
    let faults: [Fault; 15] = [
        ("BTF", ItemState::Missing, |f| {
            f.tracepoints = trouble("btf");
        }),
        ("tracepoint block_rq_issue", ItemState::Missing, |f| {
            f.tracepoints = Ok(vec![tracepoint("block_rq_issue", false)]);
        }),
        ("tracepoint block_io_start", ItemState::Missing, |f| {
            f.tracepoints = Ok(vec![tracepoint("block_io_start", false)]);
        }),
        ("probe", ItemState::Missing, |f| {
            f.probe = trouble("not permitted");
        }),
        ("CAP_BPF", ItemState::Missing, |f| {
            f.capabilities = Some(!(1 << 39));
        }),
        ("CAP_PERFMON", ItemState::Missing, |f| {
            f.capabilities = Some(1 << 39);
        }),
        ("CAP_SYS_ADMIN", ItemState::Unknown, |f| {
            f.capabilities = None;
        }),
        ("lockdown", ItemState::Missing, |f| {
            f.lockdown = Some("none integrity [confidentiality]".into());
        }),
        ("memlock", ItemState::Missing, |f| {
            f.memlock_bytes = Some(64 << 10);
            f.probe = trouble("memory");
        }),
        ("disk sda", ItemState::Missing, |f| {
            f.disks[0].switch = trouble("read-only sysfs");
        }),
        ("scheduler bfq", ItemState::Missing, |f| {
            f.disks[0].available.pop();
            f.modules = Some(vec!["kernel/block/bfq.ko.zst".into()]);
        }),
        ("scheduler bfq", ItemState::Unknown, |f| {
            f.disks[0].available.pop();
            f.modules = None;
        }),
        ("fio", ItemState::Missing, |f| f.fio = trouble("fio")),
        ("journal", ItemState::Missing, |f| {
            f.journal = trouble("left behind");
        }),
        ("other agents", ItemState::Conflict, |f| {
            f.survey = Ok(survey(&[rival("\u{1b}[2J", 3, None)]));
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
            .filter(|item| item.state != ItemState::Ok)
        {
            assert!(
                !item.remedy.is_empty() && !item.found.is_empty(),
                "{item:?}"
            );
        }
        let text = render(&diagnosis, None);
        assert!(text.contains("fix: "), "{text}");
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

/// No change is made that cannot be recorded first.
#[test]
fn without_a_journal_nothing_can_be_switched() {
    let mut facts = healthy();
    facts.can_record = false;
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

#[test]
fn a_weight_counts_only_where_something_reads_it() {
    let weight = |of: &str, readers: &[Reader]| Weight {
        of: of.to_owned(),
        device: None,
        weight: 500.0,
        readers: readers.to_vec(),
    };
    let with = |active: &str, readers: &[Reader], cost_model: &[&str]| {
        let mut facts = healthy();
        facts.disks[0].active = active.to_owned();
        facts.weights = Weights {
            weights: vec![weight("/db", readers)],
            cost_model: cost_model.iter().map(|&number| number.to_owned()).collect(),
        };
        facts
    };
    for (active, readers, cost_model, state) in [
        ("bfq", &[Reader::Bfq][..], &[][..], ItemState::Ok),
        ("bfq", &[Reader::CostModel], &[], ItemState::Missing),
        ("none", &[Reader::Bfq], &[], ItemState::Missing),
        ("none", &[Reader::CostModel], &["8:0"], ItemState::Ok),
        ("none", &[Reader::CostModel], &["8:16"], ItemState::Missing),
        ("bfq", &[], &["8:0"], ItemState::Missing),
    ] {
        let facts = with(active, readers, cost_model);
        assert_eq!(state_of(&facts, "weights"), state, "{active} {readers:?}");
    }
    let diagnosis = diagnose(&with("kyber", &[Reader::Bfq], &[]), false);
    let text = render(&diagnosis, None);
    assert!(
        text.contains("sda: kyber ignores the weight of /db (500)"),
        "{text}"
    );
}

#[test]
fn an_error_without_a_hint_of_its_own_has_a_remedy_too() {
    for error in [
        anyhow::anyhow!("opening /dev/sda: Operation not permitted"),
        iosched_result::failure::Failure::runtime("a failure", ""),
    ] {
        assert_ne!(Trouble::from(error).hint, "");
    }
}

type Change = fn(&mut Facts);

fn of_persist(facts: &Facts) -> Vec<Item> {
    persistent::items(&persistent::settings(facts))
}

#[test]
fn a_persistent_setting_is_doubted_when_its_evidence_no_longer_holds() {
    let evidence = iosched_result::persist::Evidence {
        measured: "2026-02-03T04:05:06Z".into(),
        seed: 7,
        kernel: "6.12.1-test".into(),
        model: Some("A disk".into()),
        firmware: Some("1.0".into()),
        serial: None,
        driver: None,
        size_bytes: None,
        rotational: None,
        workload: "randread".into(),
        scheduler: "none".into(),
        settings: BTreeMap::new(),
        iosched_version: "0.1.0".into(),
    };
    let mut facts = healthy();
    let file = "/etc/udev/rules.d/61-iosched-a-disk.rules".to_owned();
    facts.kept = vec![persistent::Lasting {
        file,
        place: persistent::Place::Other,
        evidence,
    }];
    let found = |facts: &Facts| {
        let items = of_persist(facts);
        (items[0].state, items[0].found.clone())
    };
    assert_eq!(found(&facts).0, ItemState::Ok);
    let changes: [(Change, &str); 4] = [
        (
            |facts| facts.release = "7.2.1-amd64".into(),
            "measured on Linux 6.12.1-test, this is 7.2.1-amd64",
        ),
        (
            |facts| facts.disks[0].firmware = Some("2.0".into()),
            "measured with firmware 1.0, the disk has 2.0",
        ),
        (
            |facts| facts.now = "2027-03-01T00:00:00Z".parse().unwrap(),
            "measured 390 days ago",
        ),
        (
            |facts| facts.disks[0].active = "bfq".into(),
            "bfq is in force; no line of the file applies to this disk now",
        ),
    ];
    for (change, doubt) in changes {
        let mut facts = facts.clone();
        change(&mut facts);
        let (state, text) = found(&facts);
        assert_eq!(state, ItemState::Conflict);
        assert!(text.ends_with(doubt), "{text}");
    }
    facts.disks[0].model = Some("Another".into());
    assert!(
        found(&facts)
            .1
            .contains("no disk here is of the model A disk")
    );
    facts.kept[0].evidence.serial = Some("S2".into());
    assert!(found(&facts).1.contains("no disk here has the serial S2"));
    facts.kept[0].evidence.serial = Some("S1".into());
    assert!(
        found(&facts).1.contains("on sda by"),
        "its serial decides, whatever the model"
    );
}

fn lines(facts: &Facts, name: &str) -> Vec<(ItemState, String, String)> {
    let items = diagnose(facts, false).items.into_iter();
    items
        .filter(|item| item.name == name)
        .map(|item| (item.state, item.found, item.remedy))
        .collect()
}

#[test]
fn the_last_to_act_comes_first_and_what_does_nothing_says_so() {
    let mut facts = healthy();
    facts.survey = Ok(survey(&[
        rival("", 60, Some("bfq")),
        rival("", 61, Some("noop")),
        rival("", 62, Some("kyber")),
        rival("", 63, Some("cfq")),
    ]));
    let found: Vec<(ItemState, String)> = lines(&facts, "other agents")
        .into_iter()
        .map(|(state, found, _)| (state, found))
        .collect();
    let expected = [
        (
            ItemState::Ok,
            "/etc/udev/rules.d/63-x.rules:63: does nothing, this kernel has no cfq for sda",
        ),
        (
            ItemState::Conflict,
            "/etc/udev/rules.d/62-x.rules:62: sets kyber on sda",
        ),
        (
            ItemState::Ok,
            "/etc/udev/rules.d/61-x.rules:61: does nothing, this kernel has no noop for sda",
        ),
        (
            ItemState::Conflict,
            "/etc/udev/rules.d/60-x.rules:60: sets bfq on sda; /etc/udev/rules.d/62-x.rules:62 overrides it",
        ),
    ];
    assert_eq!(
        found,
        expected.map(|(state, found)| (state, found.to_owned()))
    );
}

#[test]
fn what_was_searched_and_what_was_not_read_is_said() {
    let mut facts = healthy();
    assert!(
        lines(&facts, "other agents")[0]
            .1
            .starts_with("found no rule")
    );
    let found = lines(&facts, "searched");
    let begins = [
        "udev's rules, as `udevadm test` of version 257 says",
        "units, by iosched's own reading: there is no systemctl",
        "TLP, sysfs.conf",
    ];
    assert_eq!(found.len(), begins.len());
    for (line, begin) in found.iter().zip(begins) {
        assert!(line.1.starts_with(begin), "{found:?}");
    }
    let unread = Unread {
        file: "/etc/udev/rules.d/60-pipe.rules".into(),
        why: "it is a pipe".into(),
    };
    let of_pipe = Survey {
        unread: vec![unread],
        ..Survey::default()
    };
    facts.survey = Ok(of_pipe);
    let (state, found, _) = &lines(&facts, "other agents")[0];
    assert_eq!(*state, ItemState::Unknown);
    assert!(found.ends_with("but could not read 1 of the files"));
    let found = lines(&facts, "searched");
    assert_eq!(found[1].0, ItemState::Unknown);
    assert_eq!(
        found[1].1,
        "/etc/udev/rules.d/60-pipe.rules was not read: it is a pipe"
    );
    facts.survey = trouble("interrupted");
    assert_eq!(lines(&facts, "other agents")[0].0, ItemState::Unknown);
    let mut facts = healthy();
    let many: Vec<Rival> = (0..30)
        .map(|line| rival("", 1000 + line, Some("bfq")))
        .collect();
    facts.survey = Ok(survey(&many));
    let found = lines(&facts, "other agents");
    assert_eq!(found.len(), 21);
    assert!(found[20].1.starts_with("10 more lines"));
}

/// A rule that sets kyber on the disk, which has bfq; and its line.
fn with_a_rule_for_kyber() -> (Facts, Rival) {
    let mut facts = healthy();
    facts.disks[0].active = "bfq".into();
    let evidence = iosched_result::persist::Evidence {
        measured: "2026-02-03T04:05:06Z".into(),
        seed: 7,
        kernel: "6.12.1-test".into(),
        model: None,
        firmware: Some("1.0".into()),
        serial: Some("S1".into()),
        driver: None,
        size_bytes: None,
        rotational: None,
        workload: "randread".into(),
        scheduler: "kyber".into(),
        settings: BTreeMap::new(),
        iosched_version: "0.1.0".into(),
    };
    let own = rival("", 61, Some("kyber"));
    facts.kept = vec![persistent::Lasting {
        file: own.file.clone(),
        place: persistent::Place::Other,
        evidence,
    }];
    (facts, own)
}

#[test]
fn a_persistent_setting_that_is_overridden_gets_a_later_name() {
    let (mut facts, own) = with_a_rule_for_kyber();
    facts.survey = Ok(survey(&[own.clone(), rival("", 90, Some("bfq"))]));
    let found = &lines(&facts, "persistent setting")[0];
    assert_eq!(found.0, ItemState::Conflict);
    assert!(
        found
            .1
            .ends_with("overridden by /etc/udev/rules.d/90-x.rules:90 (bfq)"),
        "{found:?}"
    );
    assert_eq!(
        found.2,
        "give it a name that sorts after 90-x.rules: mv /etc/udev/rules.d/61-x.rules /etc/udev/rules.d/91-x.rules"
    );
    let of_json = &diagnose(&facts, false).persistent[0];
    assert_eq!(of_json.device.as_deref(), Some("sda"));
    assert_eq!(of_json.is_in_force, Some(false));
    assert_eq!(of_json.active.as_deref(), Some("bfq"));
    let agents = lines(&facts, "other agents");
    assert_eq!(agents[0].0, ItemState::Conflict);
    // The user's own is no conflict.
    assert_eq!(agents[1].0, ItemState::Ok);
    assert!(
        agents[1]
            .1
            .contains("sets kyber on sda, a setting of iosched-ab persist; "),
        "{agents:?}"
    );
    let tuned = Rival {
        agent: Agent::Tuned,
        rule: None,
        ..rival("", 5, Some("bfq"))
    };
    facts.survey = Ok(survey(&[own.clone(), tuned]));
    let found = &lines(&facts, "persistent setting")[0];
    assert!(found.2.contains("--format tuned"), "{found:?}");
    facts.survey = Ok(survey(&[own]));
    let found = &lines(&facts, "persistent setting")[0];
    assert!(
        found
            .1
            .ends_with("nothing was found that sets it after this file")
            && found.2.contains("udevadm trigger"),
        "{found:?}"
    );
    facts.kept[0].place = persistent::Place::NotRead;
    facts.kept[0].file = "/etc/tuned/iosched-x/tuned.conf".into();
    let found = &lines(&facts, "persistent setting")[0];
    assert_eq!(
        found.2,
        "move it to /etc/tuned/profiles/iosched-x/tuned.conf"
    );
}

#[test]
fn classes_and_weights_count_only_where_the_scheduler_of_the_disk_reads_them() {
    let mut facts = healthy();
    facts.requests.classes = vec![Class {
        of: "backup.service".into(),
        class: "idle".into(),
    }];
    for (active, state) in [
        ("bfq", ItemState::Ok),
        ("mq-deadline", ItemState::Ok),
        ("none", ItemState::Missing),
        ("kyber", ItemState::Missing),
    ] {
        facts.disks[0].active = active.to_owned();
        assert_eq!(state_of(&facts, "I/O classes"), state, "{active}");
    }
    facts.weights.weights = vec![Weight {
        of: "/db".into(),
        device: Some("8:16".into()),
        weight: 500.0,
        readers: vec![Reader::Bfq],
    }];
    assert_eq!(
        state_of(&facts, "weights"),
        ItemState::Ok,
        "it is for another disk"
    );
    facts.weights.weights[0].device = Some("8:0".into());
    assert_eq!(state_of(&facts, "weights"), ItemState::Missing);
}

#[test]
fn a_throttle_is_a_conflict_only_where_iosched_runs() {
    let mut facts = healthy();
    let throttle = |device: &str| Throttle {
        of: "/batch".into(),
        device: device.into(),
        limits: "rbps=1000".into(),
    };
    facts.requests.throttles = vec![throttle("8:16")];
    assert!(
        lines(&facts, "throttles")[0]
            .1
            .starts_with("no control group limits")
    );
    facts.requests.throttles = vec![throttle("8:0")];
    assert_eq!(
        lines(&facts, "throttles")[0].1,
        "/batch limits its I/O on sda: rbps=1000"
    );
    facts.requests.own = Some("/batch/shell".into());
    assert_eq!(lines(&facts, "throttles")[0].0, ItemState::Conflict);
}

#[test]
fn a_persistent_rule_is_in_force_with_its_settings() {
    let (mut facts, own) = with_a_rule_for_kyber();
    facts.survey = Ok(survey(&[own]));
    facts.disks[0].active = "kyber".into();
    let of_rule = [("nr_requests", "128"), ("iosched/read_lat_nsec", "2000000")];
    facts.kept[0].evidence.settings = of_rule
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    facts.disks[0].settings = facts.kept[0].evidence.settings.clone();
    assert_eq!(
        diagnose(&facts, false).persistent[0].is_in_force,
        Some(true)
    );
    let depth = facts.disks[0].settings.get_mut("nr_requests");
    "64".clone_into(depth.expect("a setting"));
    let found = &lines(&facts, "persistent setting")[0];
    assert_eq!(found.0, ItemState::Conflict);
    assert!(
        found.1.ends_with("nr_requests is 64, not 128") && found.2.contains("udevadm trigger"),
        "{found:?}"
    );
    facts.disks[0].settings.remove("nr_requests");
    let of_json = &diagnose(&facts, false).persistent[0];
    assert_eq!(of_json.is_in_force, Some(false));
    assert_eq!(of_json.differing.get("nr_requests"), Some(&None));
}

/// Hosts of two kernels speak for one rule: the evidence that fits this machine counts.
#[test]
fn evidence_of_another_kernel_beside_that_of_this_one_is_no_doubt() {
    let evidence = |kernel: &str| iosched_result::persist::Evidence {
        measured: "2026-02-03T04:05:06Z".into(),
        seed: 7,
        kernel: kernel.into(),
        model: Some("A disk".into()),
        firmware: Some("1.0".into()),
        serial: None,
        driver: None,
        size_bytes: None,
        rotational: None,
        workload: "randread".into(),
        scheduler: "none".into(),
        settings: BTreeMap::new(),
        iosched_version: "0.1.0".into(),
    };
    let kept = |evidence| persistent::Lasting {
        file: "/etc/udev/rules.d/61-iosched.rules".to_owned(),
        place: persistent::Place::Other,
        evidence,
    };
    let mut facts = healthy();
    let states = |facts: &Facts| -> Vec<ItemState> {
        let items = of_persist(facts).into_iter();
        items.map(|item| item.state).collect()
    };
    let other = kept(evidence("6.1.0-9"));
    facts.kept = vec![other.clone(), kept(evidence("6.12.9"))];
    assert_eq!(states(&facts), [ItemState::Ok]);
    facts.kept = vec![other.clone(), other];
    assert_eq!(states(&facts), [ItemState::Conflict]);

    // By what there is of a disk without a model.
    let mut alike = evidence("6.12.9");
    alike.model = None;
    alike.driver = Some("virtio_blk".into());
    alike.size_bytes = Some(10 << 30);
    alike.rotational = Some(false);
    let says = |facts: &Facts| of_persist(facts)[0].found.clone();
    facts.kept = vec![kept(alike.clone())];
    assert!(says(&facts).contains("still holds"), "{}", says(&facts));
    alike.size_bytes = Some(11 << 30);
    facts.kept = vec![kept(alike)];
    assert!(
        says(&facts).contains("no disk here of the driver virtio_blk"),
        "{}",
        says(&facts)
    );
}
