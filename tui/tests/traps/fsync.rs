//! The parts of an fsync, compared with fio's fsync latency.

use serde_json::Value;

use crate::MIB;
use crate::support::fio::Fio;
use crate::support::{Mounted, run};
use crate::work::{Seen, Ssd};

fn float(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

/// Sum of a stage of an operation.
fn sum_ns(seen: &Seen, op: &str, stage: &str) -> f64 {
    let Some(stage) = seen.op(op).map(|op| &op[stage]) else {
        return 0.0;
    };
    float(stage, "/count") * stage["mean_ns"].as_f64().unwrap_or(0.0)
}

/// The parts follow each other: the data, then the journal, with a flush before its last block and one after it.
#[allow(clippy::struct_field_names)] // the unit
#[derive(Debug)]
struct Split {
    data_ns: f64,
    journal_ns: f64,
    wait_ns: f64,
    flush_ns: f64,
}

impl Split {
    fn of(seen: &Seen) -> Split {
        let flushes = |field: &str| float(seen.device(), &format!("/flushes/{field}"));
        let journal_ns = flushes("journal_ns");
        Split {
            data_ns: float(seen.device(), "/data_write_ns"),
            journal_ns,
            wait_ns: float(seen.device(), "/sync_write_wait_ns"),
            flush_ns: flushes("before_data_ns")
                + flushes("after_data_ns")
                + sum_ns(seen, "flush", "total"),
        }
    }

    fn sum_ns(&self) -> f64 {
        self.data_ns + self.journal_ns + self.wait_ns + self.flush_ns
    }
}

/// On a file system with a journal, and on a simulated disk whose times are long compared with wake-ups: most of
/// fio's latency is accounted for, and no time is counted twice.
#[test]
#[ignore = "root"]
fn an_fsync_is_split_into_its_parts() {
    let Some(disk) = Ssd::new(128 * MIB) else {
        return;
    };
    let node = disk.node();
    let mounted = Mounted::ext4(&node);
    // No periodic commit comes in between.
    let path = mounted.path().display().to_string();
    run("mount", &["-o", "remount,commit=600", &path]);
    let file = mounted.path().join("file").display().to_string();
    let output = format!("of={file}");
    let zeros = ["if=/dev/zero", &output, "bs=1M", "count=8", "conv=fsync"];
    run("dd", &zeros);
    for how in ["fsync", "fdatasync"] {
        let job = format!(
            "--direct=0 --ioengine=psync --rw=randwrite --size=8m --number_ios=100 --{how}=1"
        );
        // On a busy machine fio wakes up late, which is no part of the fsync.
        let mut shares = Vec::new();
        while shares.len() < 3 && shares.last().is_none_or(|share| *share < 0.6) {
            shares.push(share_of_fio(&node, &file, &job));
        }
        assert!(shares.last() >= Some(&0.6), "{how}: {shares:?}");
    }
}

fn share_of_fio(node: &str, file: &str, job: &str) -> f64 {
    let (seen, (_, fio)) = Seen::of(node, &["--detail", "stages"], || Fio::run(file, job));
    let split = Split::of(&seen);
    let fio_ns = float(&fio, "/sync/lat_ns/N") * float(&fio, "/sync/lat_ns/mean");
    let share = split.sum_ns() / fio_ns;
    println!("{job}: {split:?} are {share:.3} of fio's {fio_ns}");
    // The mean from a histogram's cells has an error of at most 0.8 %.
    assert!(share <= 1.008, "{share} {split:?} {:#}", seen.device());
    assert!(
        split.data_ns > 0.0 && split.flush_ns > 0.0,
        "{split:?} {:#}",
        seen.device()
    );
    // fdatasync of existing blocks changes no metadata.
    let has_journal = job.contains("--fsync=1");
    let is_much = split.journal_ns > 0.1 * split.sum_ns();
    assert_eq!(is_much, has_journal, "{split:?}");
    share
}
