use super::*;
use crate::failure::{Kind, kind_of};

fn arm(text: &str) -> Arm {
    text.parse().expect(text)
}

#[test]
fn the_text_is_the_label_unless_one_is_given() {
    let plain = arm("mq-deadline,iosched/read_expire=200,nr_requests=128");
    assert_eq!(
        plain.label,
        "mq-deadline,iosched/read_expire=200,nr_requests=128"
    );
    assert_eq!(plain.scheduler, "mq-deadline");
    assert_eq!(plain.setting("iosched/read_expire"), Some("200"));
    assert_eq!(plain.setting("nr_requests"), Some("128"));
    let labelled = arm("tight=kyber,iosched/read_lat_nsec=1000000");
    assert_eq!(labelled.label, "tight");
    assert_eq!(labelled.scheduler, "kyber");
    assert_eq!(
        labelled.settings,
        [("iosched/read_lat_nsec".to_owned(), "1000000".to_owned())]
    );
}

#[test]
fn a_setting_is_never_taken_for_a_label() {
    // The `=` comes after the first comma: there is no label here.
    let arm = arm("kyber,iosched/read_lat_nsec=1000000");
    assert_eq!(arm.scheduler, "kyber");
    assert_eq!(arm.label, "kyber,iosched/read_lat_nsec=1000000");
}

#[test]
fn values_may_hold_what_out_of_tree_schedulers_want() {
    let arm = arm("adios,iosched/lat_model_read=100 20,iosched/x=a=b");
    assert_eq!(arm.setting("iosched/lat_model_read"), Some("100 20"));
    assert_eq!(arm.setting("iosched/x"), Some("a=b"));
}

#[test]
fn legacy_names_are_mapped_with_a_note_or_refused() {
    let noop = arm("noop");
    assert_eq!(
        (&*noop.scheduler, &*noop.requested, &*noop.label),
        ("none", "noop", "noop")
    );
    assert_eq!(noop.notes.len(), 1);
    assert_eq!(arm("old=deadline").scheduler, "mq-deadline");
    assert!(arm("mq-deadline").notes.is_empty());
    for (name, text) in [
        ("cfq", "removed in Linux 5.0; bfq pursues the same goals"),
        ("a=cfq", "removed in Linux 5.0"),
        ("anticipatory", "removed in Linux 2.6.33, no successor"),
        ("as,nr_requests=4", "removed in Linux 2.6.33, no successor"),
    ] {
        let error = name.parse::<Arm>().expect_err(name);
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(kind_of(&error), Kind::Usage);
    }
}

#[test]
fn what_cannot_be_an_arm_is_a_usage_failure() {
    for text in [
        "",
        "=none",
        "a=",
        "a=b=none",
        "none,",
        "none,nr_requests",
        "none,nr_requests=",
        "none,=4",
        "none,../../x=1",
        "none,iosched/../scheduler=bfq",
        "none,./scheduler=bfq",
        "none,/etc/passwd=1",
        "none,scheduler=bfq",
        "none,queue/nr_requests=4",
        "none,nr_requests=4,nr_requests=8",
        "mq-deadline:fifo_batch=1",
        "no ne",
        "../x",
    ] {
        let error = text.parse::<Arm>().expect_err(text);
        assert_eq!(kind_of(&error), Kind::Usage, "{text}");
    }
}

#[test]
fn an_arm_from_a_file_passes_the_same_checks() {
    for text in ["noop", "tight=kyber,iosched/read_lat_nsec=1000000", "x=bfq"] {
        let original = arm(text);
        let json = serde_json::to_value(&original).expect("JSON");
        let again: Arm = serde_json::from_value(json.clone()).expect("the same arm");
        assert_eq!(again, original);
        for (place, wrong) in [
            ("label", serde_json::json!("")),
            ("label", serde_json::json!("a\nb")),
            ("label", serde_json::json!("a\u{202e}b")),
            ("scheduler", serde_json::json!("../../x")),
            ("scheduler", serde_json::json!("mq-deadline")),
            ("requested", serde_json::json!("/etc/passwd")),
            ("settings", serde_json::json!([["/etc/passwd", "x"]])),
            ("settings", serde_json::json!([["iosched/../../../x", "x"]])),
            ("settings", serde_json::json!([["scheduler", "bfq"]])),
            ("settings", serde_json::json!([["nomerges", "1\n2"]])),
            ("settings", serde_json::json!([["a", "1"], ["a", "2"]])),
        ] {
            let mut json = json.clone();
            json[place] = wrong;
            let refused = serde_json::from_value::<Arm>(json.clone());
            assert!(refused.is_err(), "{json}");
        }
    }
}

#[test]
fn settings_elsewhere_are_told_from_those_of_the_disk() {
    let text = "bfq,nr_requests=64,cgroup:/db.slice/io.bfq.weight=300,vm.dirty_bytes=1048576,\
        exec:./load 'a b',undo:./unload";
    let arm = arm(text);
    assert_eq!(arm.to_string(), text);
    let queue: Vec<_> = arm.queue_settings().collect();
    assert_eq!(queue, [("nr_requests", "64")]);
    assert_eq!(
        arm.setting_elsewhere(),
        Some("cgroup:/db.slice/io.bfq.weight")
    );
    for (text, why) in [
        ("none,cgroup:/a/io.bfq.weight=300", "only bfq acts on it"),
        (
            "none,cgroup:/a/io.max=iops=3",
            "of: rbps, wbps, riops, wiops",
        ),
        ("none,cgroup:/a/memory.max=3", "io.max, io.latency"),
        ("none,vm.dirty_bytes=x", "must be a number"),
        ("none,vm.overcommit_memory=1", "vm.dirty_bytes"),
        (
            "none,vm.dirty_bytes=8192,vm.dirty_ratio=5",
            "only one of them",
        ),
        ("none,exec:./load", "undo:COMMAND"),
        ("none,undo:./unload", "exec:COMMAND"),
        ("none,exec:it's,undo:./unload", "quotes in pairs"),
        ("none,exec:,undo:x", "has no value"),
    ] {
        let error = text.parse::<Arm>().expect_err(text);
        assert_eq!(kind_of(&error), Kind::Usage, "{text}");
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn labels_are_unique() {
    let error = refuse_duplicate_labels(&[arm("none"), arm("none")]).expect_err("same label");
    assert_eq!(kind_of(&error), Kind::Usage);
    refuse_duplicate_labels(&[arm("a=none"), arm("b=none"), arm("none")]).expect("distinct");
}

proptest::proptest! {
    #[test]
    fn printing_and_parsing_agree(
        scheduler in "[a-z][a-z-]{2,8}x",
        settings in proptest::collection::btree_map("iosched/[a-z_]{1,12}", "[a-z0-9=.][a-z0-9 ]{0,6}", 0..4),
    ) {
        let text = settings.iter().fold(scheduler.clone(), |text, (name, value)| format!("{text},{name}={value}"));
        let arm: Arm = text.parse().expect("well-formed");
        proptest::prop_assert_eq!(&arm.to_string(), &text);
        proptest::prop_assert_eq!(arm.scheduler, scheduler);
        proptest::prop_assert_eq!(arm.settings.len(), settings.len());
    }
}
