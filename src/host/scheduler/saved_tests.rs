use super::*;

fn saved(active: &str, settings: &[(&str, &str)]) -> SavedQueue {
    SavedQueue {
        device: "no-such-disk".into(),
        diskseq: None,
        serial: None,
        active: active.into(),
        settings: settings
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        hardware_depth: None,
        of_groups: Vec::new(),
        set_by_arms: BTreeSet::new(),
        resized_by_arms: false,
    }
}

#[test]
fn a_disk_that_is_gone_needs_nothing() {
    restore(&saved("none", &[("nr_requests", "64")])).expect("nothing to do");
}

#[test]
fn only_what_differs_is_written_and_nr_requests_first() {
    let saved = saved(
        "mq-deadline",
        &[
            ("async_depth", "48"),
            ("iosched/read_expire", "333"),
            ("iosched/write_expire", "5000"),
            ("nr_requests", "64"),
            ("wbt_lat_usec", "2000"),
        ],
    );
    let mut now = saved.settings.clone();
    now.insert("async_depth".into(), "256".into());
    now.insert("nr_requests".into(), "256".into());
    now.insert("iosched/read_expire".into(), "500".into());
    assert_eq!(
        saved.differing(&now, None),
        [
            ("nr_requests", "64"),
            ("async_depth", "48"),
            ("iosched/read_expire", "333")
        ]
    );
    assert_eq!(saved.differing(&now, Some(NR_REQUESTS)).len(), 2);
    assert!(saved.differing(&saved.settings, None).is_empty());
}

#[test]
fn what_other_arms_set_goes_back_to_the_baseline() {
    let mut baseline = saved(
        "none",
        &[
            ("read_ahead_kb", "128"),
            ("nomerges", "0"),
            ("nr_requests", "128"),
        ],
    );
    baseline.set_by_arms = [
        "read_ahead_kb",
        "nomerges",
        "nr_requests",
        "wbt_lat_usec",
        "iosched/x",
    ]
    .map(String::from)
    .into();
    let arm: Arm = "kyber,nomerges=2".parse().expect("an arm");
    let left: Vec<_> = baseline.left_by_others(&arm).collect();
    assert_eq!(left, [("read_ahead_kb", &"128".to_owned())]);
}

#[test]
fn without_debugfs_nr_requests_of_none_is_the_depth() {
    let nr_tags = |depth| {
        Some(HardwareDepth {
            depth,
            source: DepthSource::NrTags,
        })
    };
    let mut under_none = saved("none", &[("nr_requests", "64")]);
    under_none.hardware_depth = nr_tags(127);
    under_none.trust_nr_requests_over_nr_tags(1);
    assert_eq!(under_none.hardware_depth, nr_tags(63));
    let mut under_bfq = saved("bfq", &[("nr_requests", "256")]);
    under_bfq.hardware_depth = nr_tags(127);
    under_bfq.trust_nr_requests_over_nr_tags(1);
    assert_eq!(under_bfq.hardware_depth, nr_tags(127));
}

#[test]
fn a_saved_queue_survives_the_journal() {
    let saved = saved("bfq", &[("iosched/low_latency", "0")]);
    let text = serde_json::to_string(&saved).expect("JSON");
    assert_eq!(
        serde_json::from_str::<SavedQueue>(&text).expect("the same"),
        saved
    );
}
