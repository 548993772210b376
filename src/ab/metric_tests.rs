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
