//! Every built-in study is run for real: one block of one or two of its cells, in short rounds, on the simulated disk that it
//! asks for. Root only: `cargo test --test each_study -- --ignored --test-threads=1`.

#[path = "support/short_study.rs"]
mod short_study;
mod support;

use iosched::study::builtin;
use short_study::run;

const BINARY: &str = env!("CARGO_BIN_EXE_iosched-ab");

const CELLS: [(&str, &[&str]); 13] = [
    ("record-size", &["rewrite-32k-qd1", "read-128k-qd8"]),
    ("oltp-web", &["randread-4"]),
    ("read-buffer", &["read-128K-random"]),
    ("fsync", &["fdatasync", "open-sync"]),
    ("oltp-dss", &["dss", "together-10"]),
    ("interference", &["writers-1"]),
    ("startup", &["idle"]),
    ("fairness", &["equals"]),
    ("fill", &["half-writer"]),
    ("wbt", &["reader-beside-cached-writer"]),
    ("nvme-era", &["depth-8"]),
    ("isolation", &["small-beside-large", "priority-io-max"]),
    ("etcd", &["alone"]),
];

#[test]
fn none_is_left_out() {
    let mut built_in: Vec<String> = builtin::all()
        .expect("studies")
        .into_iter()
        .map(|study| study.name)
        .collect();
    let mut ran = CELLS.map(|(name, _)| name.to_owned()).to_vec();
    built_in.sort();
    ran.sort();
    assert_eq!(built_in, ran);
}

#[test]
#[ignore = "root"]
fn each_runs_on_the_disk_that_it_asks_for() {
    for (name, cells) in CELLS {
        println!("{name}");
        run(BINARY, name, cells);
    }
}
