use super::*;

#[test]
fn names_say_unit_direction_and_margin() {
    let p99 = Metric::parse("read_total_p99", false).unwrap();
    assert_eq!(
        (p99.unit.as_str(), p99.direction, p99.margin),
        ("ns", Direction::LowerIsBetter, 0.10)
    );
    let hog = Metric::parse("hog.throughput:8", false).unwrap();
    assert_eq!(
        (hog.direction, hog.margin),
        (Direction::HigherIsBetter, 0.08)
    );
    assert!(Metric::named("probe.read_clat_p99.9").is_some());
    assert!(Metric::named("log.sync_lat_p99").is_some());
    assert!(Metric::named("sync_lat_p99").is_none(), "of which job?");
    assert!(Metric::named("elapsed").is_some());
}

#[test]
fn unknown_names_and_margins_are_refused() {
    for text in [
        "latency",
        "p99",
        "total_p98",
        "iopsx",
        "x.elapsed",
        "iops:0",
        "iops:abc",
        "iops:100",
        "",
    ] {
        assert!(Metric::parse(text, false).is_err(), "{text}");
    }
}

#[test]
fn shares_are_on_their_own_scale() {
    let merges = Metric::parse("merge_ratio:3", false).unwrap();
    assert_eq!((merges.scale, merges.unit.as_str()), (Scale::Identity, "1"));
    assert!((merges.margin - 0.03).abs() < 1e-12);
    assert!((Metric::named("jain_bytes").unwrap().margin - 0.02).abs() < 1e-12);
    let error = Metric::parse("queue_wait_max", false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("a single I/O per round"), "{error}");
    assert!(Metric::named("x.merge_ratio").is_none());
}

#[test]
fn a_prefix_names_what_the_command_reports() {
    let of = |text: &str| {
        let metric = Metric::parse(text, true).unwrap_or_else(|why| panic!("{text}: {why}"));
        (metric.name, metric.origin, metric.margin)
    };
    let reported = |name: &str, margin: f64| (name.to_owned(), Origin::Reported, margin);
    assert_eq!(of("iops"), ("iops".to_owned(), Origin::Measured, 0.05));
    assert_eq!(of("reported:iops"), reported("reported:iops", 0.0));
    assert_eq!(of("reported:iops:8"), reported("reported:iops", 0.08));
    assert_eq!(
        of("reported:queue_wait_max"),
        reported("reported:queue_wait_max", 0.0)
    );
    assert_eq!(of("reported:x.iops"), reported("reported:x.iops", 0.0));
    assert_eq!(
        of("reported:tps"),
        reported("tps", 0.0),
        "there is no other"
    );
    assert_eq!(of("tps:8"), reported("tps", 0.08));
    assert_eq!(
        of("reported:8"),
        reported("reported", 0.08),
        "a metric of that name"
    );
    assert!(Metric::parse("reported:iops", false).is_err());
    assert!(Metric::parse("reported:", true).is_err());
    for (name, expected) in [
        ("iops", "iops"),
        ("reported:iops", "reported:iops"),
        ("reported:tps", "tps"),
    ] {
        assert_eq!(name_in_result(name), expected);
    }
    for name in ["reported:total_p99", "reported:x.queue_wait_p99"] {
        assert!(!starts_in_kernel(name), "{name}");
    }
}
