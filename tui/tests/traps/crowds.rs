//! More processes than the table holds, and more I/O than can be read one by one.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::time::Duration;

use serde_json::Value;

use crate::exact::{missed, number};
use crate::support::fio::{Fio, pid_of_run};
use crate::support::program::{Program, Started};
use crate::support::{LoopDevice, run};
use crate::watch::{attached, stat};
use crate::work::Seen;
use crate::{BINARY, MIB};

/// Starts this many processes, two at a time, that read one block each: different blocks, and never the first one,
/// for which the kernel reads ahead.
const CROWD: &str = r"
    my ($file, $count) = @ARGV;
    for my $place (0 .. $count - 1) {
        if ($place > 1) {
            wait;
            die if $?;
        }
        next if fork // die;
        open my $disk, '<:raw', $file or die;
        sysseek $disk, ($place + 1) * 8192, 0 or die;
        sysread($disk, my $block, 4096) == 4096 or die;
        exit;
    }
    for (1 .. 2) {
        wait;
        die if $?;
    }";

/// More than the 16,384 entries of the table.
const MANY: u64 = 17_000;

/// The records until the end of the watch.
fn every_interval(mut started: Started, work: impl FnOnce()) -> Vec<Value> {
    let mut output = started.child().stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).expect("UTF-8");
        text
    });
    work();
    std::thread::sleep(Duration::from_millis(100));
    run("kill", &["-INT", &started.id().to_string()]);
    started.end().ends(130, &[]);
    let text = reader.join().expect("its lines");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a Value>, field: &str) -> u64 {
    rows.into_iter().map(|row| number(row, field)).sum()
}

/// Including the I/O that every probe misses, see `exactly`.
fn are_all(reads: u64, missed: u64) {
    assert!(reads <= MANY, "{reads}");
    assert!(reads + missed >= MANY, "{reads} and {missed} missed");
}

/// If the numbers are read regularly, entries of ended processes are reused, and there is room for all. Within a
/// single interval the entries run out, and the number of I/Os without one is reported.
#[test]
#[ignore = "root"]
fn owners_that_exit_are_recycled_and_a_full_table_is_counted() {
    let disk = LoopDevice::in_memory(256 * MIB);
    let (node, program) = (disk.node(), Program::new(BINARY));
    let now_and_then = ["stat", &node, "-i", "1", "--output", "json"];
    let mut records = Vec::new();
    let (seen, ()) = Seen::of(&node, &[], || {
        let started = attached(program.start(&now_and_then));
        records = every_interval(started, || {
            pid_of_run("perl", &["-e", CROWD, &node, &MANY.to_string()]);
        });
    });

    let devices = || records.iter().map(|record| &record["devices"][0]);
    assert_eq!(sum(devices(), "/quality/owner_overflow"), 0);
    let rows = records
        .iter()
        .flat_map(|record| record["processes"].as_array().expect("a list"))
        .filter(|row| row["comm"] == "perl");
    let reads = sum(rows.clone(), "/reads");
    let processes: BTreeSet<u64> = rows.map(|row| number(row, "/pid")).collect();
    println!("{} intervals, {} processes", records.len(), processes.len());
    assert_eq!(processes.len() as u64, reads, "one block each");
    let last = missed(devices().next_back().expect("an interval"));
    are_all(reads, sum(devices(), "/quality/evicted") + last);

    let overflow = number(seen.device(), "/quality/owner_overflow");
    println!("in one: {} rows, {overflow} too many", seen.rows().len());
    let missed = missed(seen.device());
    let least = MANY - 16_383 - missed;
    assert!((least..least + 384).contains(&overflow), "{overflow}");
    let other = || seen.named("other");
    assert_eq!(sum(other(), "/ios"), overflow);
    assert_eq!(sum(other(), "/bytes"), overflow * 4096);
    let reads = sum(seen.rows(), "/reads");
    assert_eq!(reads, number(seen.op("read").expect("reads"), "/ios"));
    are_all(reads, missed);
}

/// It sleeps while the kernel records, and wakes a few times a second whatever happens.
#[test]
#[ignore = "root"]
fn nothing_is_told_one_by_one() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let (program, node) = (Program::new(BINARY), disk.node());
    let watching = stat(
        &program,
        &node,
        3600,
        &["--detail", "order,fairness,stages"],
    );
    let wake_ups = || -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", watching.id())).expect("its threads");
        let threads: Vec<_> = threads.map(|thread| thread.expect("one").path()).collect();
        assert!(threads.len() > 1, "{threads:?}");
        let texts = threads
            .iter()
            .map(|thread| fs::read_to_string(thread.join("status")).expect("its status"));
        let switches = |text: String| -> u64 {
            let lines = text.lines().filter(|line| line.contains("ctxt_switches"));
            let numbers =
                lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
            numbers.sum()
        };
        texts.map(switches).sum()
    };
    let before = wake_ups();
    let (_, fio) = Fio::run(
        &node,
        "--rw=randread --iodepth=32 --number_ios=50000 --norandommap",
    );
    let (woken, ios) = (wake_ups() - before, number(&fio, "/read/total_ios"));
    println!("woken {woken} times in {ios} reads");
    assert!(ios >= 16_384 && woken < ios / 50, "{woken} of {ios}");
}
