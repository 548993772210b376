//! Every built-in study is run for real: one block of one or two of its cells, in short rounds, on the simulated disk that it
//! asks for. Root only: `cargo test --test each_study -- --ignored --test-threads=1`.

#[path = "support/short_study.rs"]
mod short_study;
mod support;

use iosched_experiment::study::builtin;
use short_study::{TIMES, run};

const BINARY: &str = support::under_test!("iosched-ab");

/// A test for each study: its name, and the cells that are run.
macro_rules! studies {
    ($($test:ident: $name:literal, $cells:expr;)*) => {
        const NAMES: &[&str] = &[$($name),*];
        $(
            #[test]
            #[ignore = "root"]
            fn $test() {
                run(BINARY, $name, &$cells, TIMES);
            }
        )*
    };
}

studies! {
    record_size: "record-size", ["rewrite-32k-qd1", "read-128k-qd8"];
    oltp_web: "oltp-web", ["randread-4"];
    read_buffer: "read-buffer", ["read-128K-random"];
    fsync: "fsync", ["fdatasync", "open-datasync-checkpointer"];
    oltp_dss: "oltp-dss", ["dss", "together-10"];
    interference: "interference", ["writers-1"];
    fairness: "fairness", ["equals"];
    fill: "fill", ["half-writer"];
    wbt: "wbt", ["log-beside-cached-writer"];
    nvme_era: "nvme-era", ["depth-8"];
    device_ladder: "device-ladder", ["devices-2"];
    kyber_targets: "kyber-targets", ["reads-1-writes-256"];
    isolation: "isolation", ["small-beside-large", "priority-io-max"];
    etcd: "etcd", ["alone", "beside-extraction"];
    blame: "blame", ["few-requests", "log-beside-writer"];
}

/// Its rounds are longer: within one second, bfq with weights may give the neighbour no I/O at all.
#[test]
#[ignore = "root"]
fn cgroup() {
    let times = "ramp_s = 1\nround_s = 5\nblocks = 1";
    run(BINARY, "cgroup", &["beside-readers"], times);
}

#[test]
fn none_is_left_out() {
    let mut built_in: Vec<String> = builtin::all()
        .expect("studies")
        .into_iter()
        .map(|study| study.name)
        .collect();
    let mut ran: Vec<&str> = NAMES.to_vec();
    // They drop the caches and set the dirty limits of the whole machine: see tests/page_cache.rs.
    ran.extend(["startup", "dirty"]);
    ran.push("cgroup");
    built_in.sort();
    ran.sort_unstable();
    assert_eq!(built_in, ran);
}
