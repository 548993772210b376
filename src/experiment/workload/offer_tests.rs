use std::ffi::OsString;

use super::*;
use crate::workload::catalogue;
use crate::workload::command::CommandLine;
use crate::workload::live::Live;
use iosched_result::metric::Origin;

fn built_in(name: &str) -> Offer {
    for_workload(&catalogue::find(name).unwrap(), Vec::new(), false, false)
}

fn command(words: &[&str], parse: Option<&str>) -> Offer {
    let argv = words.iter().map(OsString::from).collect();
    let command = CommandLine::new(argv, false, None).unwrap();
    let command = command.with_sources(parse, Vec::new()).unwrap();
    for_workload(&command, Vec::new(), false, false)
}

#[track_caller]
fn is_refused(offer: &Offer, text: &str, says: &str) {
    match offer.metric(text) {
        Ok(metric) => panic!("{text} was accepted: {metric:?}"),
        Err(why) => assert!(why.to_string().contains(says), "{text}: {why}"),
    }
}

#[test]
fn what_a_workload_never_does_is_refused() {
    let reads = built_in("randread");
    for text in [
        "read_iops",
        "read_throughput:3",
        "iops",
        "read_total_p99",
        "randread.iops",
        "read_asked_total_p99",
    ] {
        reads
            .metric(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    for text in [
        "write_iops",
        "write_throughput",
        "write_total_p99",
        "write_program_p99",
        "randread.write_clat_p99",
    ] {
        is_refused(&reads, text, "randread does not write");
    }
    is_refused(&reads, "discard_iops", "does not discard");
    is_refused(
        &reads,
        "randread.sync_lat_p99",
        "calls neither fsync nor fdatasync",
    );
    is_refused(&built_in("randwrite"), "read_iops", "does not read");
    is_refused(
        &built_in("readers"),
        "asked_total_p99",
        "libaio or io_uring",
    );
}

#[test]
fn a_part_that_is_not_there_is_refused() {
    let both = built_in("probe-hog");
    for text in ["hog.throughput", "probe.read_clat_p99", "hog.ios"] {
        both.metric(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    is_refused(&both, "prob.iops", "no part of the workload is called prob");
    is_refused(&both, "prob.iops", "hog, probe");
    // It runs beside the probe, and fio's window for it is another.
    is_refused(&both, "hog.write_clat_p99", "no job of fio is called hog");
    is_refused(
        &both,
        "probe.queue_wait_p99",
        "no --cgroup, --unit or --pid is called probe",
    );
    let with_server = Offer {
        participants: vec!["db".to_owned()],
        ..built_in("randread")
    };
    for text in ["db.iops", "db.read_queue_wait_p99", "write_iops"] {
        with_server
            .metric(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    is_refused(&with_server, "cpu_per_1000_ios", "ran before");
}

#[test]
fn what_needs_a_flag_says_which() {
    let two = built_in("probe-hog");
    is_refused(&two, "jain_device_time", "add --detail fairness");
    is_refused(&two, "seeks", "add --detail order");
    let with_detail = Offer {
        fairness: true,
        order: true,
        ..two
    };
    for text in ["jain_device_time", "seeks", "reordered"] {
        with_detail
            .metric(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    let live = for_workload(&Live::default(), Vec::new(), false, true);
    for text in ["jain_bytes", "jain_device_time"] {
        is_refused(&live, text, "--cgroup, --unit or --pid");
    }
    is_refused(&live, "program_p99", "no program");
    live.metric("write_iops").unwrap();
    for text in ["read_arrivals", "control_cpu", "queue_wait_max"] {
        is_refused(&live, text, "decides nothing");
    }
}

#[test]
fn a_benchmark_has_known_names() {
    let pgbench = command(&["pgbench", "-n"], None);
    for text in ["pgbench.tps", "pgbench.latency_p99", "iops", "command.iops"] {
        pgbench
            .metric(text)
            .unwrap_or_else(|why| panic!("{text}: {why}"));
    }
    is_refused(&pgbench, "pgbench.tsp", "did you mean pgbench.tps?");
    is_refused(&pgbench, "transactions", "reports no metric of that name");
    let script = command(&["./script"], Some("pgbench"));
    is_refused(&script, "pgbench.tsp", "did you mean pgbench.tps?");
    script
        .metric("transactions")
        .expect("a script may write it to $IOSCHED_METRICS");
    command(&["env", "X=1", "./script", "pgbench"], None)
        .metric("mine")
        .expect("the same");
    command(&["iozone"], None)
        .metric("iozone.write.1kB.4kB")
        .expect("not known");
    is_refused(
        &command(&["stress-ng"], None),
        "stress-ng.hdd",
        "it reports stress-ng.*.ops_per_s",
    );
}

#[test]
fn a_script_may_have_parts_of_its_own() {
    let script = command(&["./script"], None);
    let metric = script.metric("mine.iops:3").unwrap();
    assert_eq!(
        (metric.name.as_str(), metric.origin),
        ("reported:mine.iops", Origin::Reported)
    );
    assert!((metric.margin - 0.03).abs() < 1e-12);
    assert_eq!(
        script.metric("command.iops").unwrap().origin,
        Origin::Measured
    );
    assert_eq!(
        script.metric("reported:iops").unwrap().origin,
        Origin::Reported
    );
}
