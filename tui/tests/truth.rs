//! Compares the times of `iosched stat` with a device whose service time is known, with queueing theory, and with
//! fio's own measurement. Root only: `cargo test -p iosched-tui --test truth -- --ignored --test-threads=1`.

#[path = "watch/exact.rs"]
mod exact;
#[path = "../../tests/support/mod.rs"]
mod support;
mod watch;

use std::fs;
use std::time::{Duration, Instant};

use exact::missed;
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::{Punctuality, Scratch};
use iosched_host::system::environment::CpuTimes;
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;
use support::program::Program;
use support::run;
use watch::{record, stat};

const BINARY: &str = support::under_test!("iosched");
const BLOCK_BYTES: u64 = 4096;
/// With a larger share of late replies, the device did not follow its model.
const LATE_SHARE: f64 = 0.02;
/// The test alone keeps the CPUs busy for less than half of the time.
const BUSY_SHARE: f64 = 0.85;

/// The simulated SSD: four requests at a time, each with the same known service time.
struct Ssd {
    scratch: Scratch,
    node: String,
    service_ns: f64,
    servers: f64,
}

impl Ssd {
    /// None, and a message, if it cannot be simulated.
    fn new() -> Option<Self> {
        let journal = Journal::create().expect("a journal");
        let scratch =
            Scratch::create(DiskModel::Ssd, 64 << 20, &journal).expect("a scratch device");
        let Some(timing) = scratch.truth().timing.clone() else {
            println!("skipped: {:?}", scratch.fallback());
            return None;
        };
        Some(Ssd {
            node: format!("/dev/{}", scratch.device_name()),
            service_ns: timing.service_ns(BLOCK_BYTES) as f64,
            servers: f64::from(scratch.truth().hardware_depth),
            scratch,
        })
    }

    fn set_scheduler(&self, name: &str) {
        let path = format!("/sys/block/{}/queue/scheduler", self.scratch.device_name());
        fs::write(path, name).expect("a scheduler");
    }

    /// Three seconds of random reads by this many threads, as both tools measured them.
    fn read(&self, threads: u32) -> Seen {
        let program = Program::new(BINARY);
        let begin = Instant::now();
        let started = stat(&program, &self.node, 5, &["--output", "json"]);
        let threads = format!("--numjobs={threads}");
        let (file, output) = (
            format!("--filename={}", self.node),
            program.file("fio.json"),
        );
        let job = "--name=a --rw=randread --bs=4k --direct=1 --ioengine=psync --time_based --runtime=3 --thread \
            --norandommap --randrepeat=0 --group_reporting --output-format=json";
        let own = [threads.as_str(), &file, "--output", &output];
        let arguments: Vec<&str> = job.split_whitespace().chain(own).collect();
        run("fio", &arguments);
        let is_whole = begin.elapsed() < Duration::from_secs(5);
        let record = record(started);
        let fio: Value =
            serde_json::from_slice(&fs::read(&output).expect("fio's output")).expect("JSON");
        let rows = record["processes"].as_array().expect("a list");
        let reader = rows.iter().find(|row| row["comm"] == "fio");
        let reader = reader.expect("fio's row");
        let ops = record["devices"][0]["ops"].as_array().expect("a list");
        let reads = ops.iter().find(|op| op["op"] == "read").expect("reads");
        Seen {
            wait_mean_ns: number(reader, "/queue_wait/mean_ns"),
            device_mean_ns: number(reader, "/device_time/mean_ns"),
            device_p50_ns: number(reads, "/device/p50_ns"),
            total_mean_ns: number(reads, "/total/mean_ns"),
            fio_mean_ns: number(&fio, "/jobs/0/read/clat_ns/mean"),
            total_p50_ns: number(reads, "/total/p50_ns"),
            fio_p50_ns: number(&fio, "/jobs/0/read/clat_ns/percentile/50.000000"),
            reads: number(reader, "/reads"),
            merged: ["back", "front", "rq"]
                .map(|kind| number(reader, &format!("/merges/{kind}")))
                .iter()
                .sum(),
            device_bios: number(reads, "/bios"),
            fio_reads: number(&fio, "/jobs/0/read/total_ios"),
            missed: missed(&record["devices"][0]) as f64,
            is_whole,
        }
    }

    /// Repeats the measurement on a busy machine, which can only make times longer. Runs in which the device itself
    /// was late, or waited for a CPU, say nothing about the probe.
    #[track_caller]
    fn shows(&self, threads: u32, wrong: impl Fn(&Seen) -> Option<String>) {
        let (mut found, mut busy) = (Vec::new(), Vec::new());
        while found.len() < 3 && busy.len() < 6 {
            let (before, cpu) = (self.punctuality(), CpuTimes::read());
            let seen = self.read(threads);
            let load = cpu.and_then(|cpu| cpu.until(&CpuTimes::read()?));
            let busy_share = load.expect("the CPUs' times").busy_share;
            let now = self.punctuality();
            // Every probe misses a few completions, see `exactly`; but it reports them.
            let reads = seen.reads + seen.merged;
            assert!(reads <= seen.fio_reads, "{seen:?}");
            // A read whose beginning was hidden is the device's, and of no process.
            assert!(
                !seen.is_whole || seen.device_bios + seen.missed >= seen.fio_reads,
                "{seen:?}"
            );
            let Some(what) = wrong(&seen) else { return };
            let (late, replies) = (
                now.late_replies - before.late_replies,
                now.replies - before.replies,
            );
            let how = format!("{late} of {replies} replies late, CPUs busy {busy_share:.2}");
            let is_busy = late as f64 > LATE_SHARE * replies as f64 || busy_share > BUSY_SHARE;
            if is_busy || !seen.is_whole {
                busy.push(how);
            } else {
                found.push(format!("{what}: {seen:?}, {how}"));
            }
        }
        assert!(found.len() < 3, "{found:#?}, not counted {busy:?}");
        println!("skipped: too busy a machine for the simulated device: {busy:?}");
    }

    fn punctuality(&self) -> Punctuality {
        self.scratch.punctuality().expect("a simulated device")
    }
}

#[derive(Debug)]
struct Seen {
    wait_mean_ns: f64,
    device_mean_ns: f64,
    device_p50_ns: f64,
    total_mean_ns: f64,
    total_p50_ns: f64,
    fio_mean_ns: f64,
    fio_p50_ns: f64,
    reads: f64,
    /// Reads of neighbouring blocks, which happen by chance.
    merged: f64,
    /// In the device's reads, of whatever process.
    device_bios: f64,
    fio_reads: f64,
    missed: f64,
    /// fio ended before the watch.
    is_whole: bool,
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

fn off(what: &str, found: f64, expected: f64, tolerance: f64) -> Option<String> {
    let is_off = (found / expected - 1.0).abs() > tolerance;
    is_off.then(|| format!("{what} is {found}, not {expected}"))
}

#[test]
#[ignore = "root"]
fn without_a_queue_the_device_time_is_the_models() {
    let Some(ssd) = Ssd::new() else { return };
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        ssd.set_scheduler(scheduler);
        ssd.shows(1, |seen| {
            let median = off(
                "median device time",
                seen.device_p50_ns,
                ssd.service_ns,
                0.10,
            );
            let mean = off(
                "mean device time",
                seen.device_mean_ns,
                ssd.service_ns,
                0.10,
            );
            let waited = seen.wait_mean_ns > 0.05 * ssd.service_ns;
            median
                .or(mean)
                .or_else(|| waited.then(|| "nothing to wait for, and it waited".into()))
        });
    }
}

#[test]
#[ignore = "root"]
fn the_queue_wait_is_what_littles_law_says() {
    let Some(ssd) = Ssd::new() else { return };
    let threads = 16;
    let expected_ns = (f64::from(threads) - ssd.servers) / ssd.servers * ssd.service_ns;
    for scheduler in ["none", "mq-deadline", "kyber"] {
        ssd.set_scheduler(scheduler);
        ssd.shows(threads, |seen| {
            let sum_ns = seen.wait_mean_ns + seen.device_mean_ns;
            // The total comes from a histogram with cells of 1.6 %.
            off(
                &format!("queue wait under {scheduler}"),
                seen.wait_mean_ns,
                expected_ns,
                0.10,
            )
            .or_else(|| off("device time", seen.device_mean_ns, ssd.service_ns, 0.10))
            .or_else(|| off("total", seen.total_mean_ns, sum_ns, 0.02))
        });
    }
}

#[test]
#[ignore = "root"]
fn fio_measures_a_little_more_than_the_total() {
    let Some(ssd) = Ssd::new() else { return };
    for (scheduler, threads) in [
        ("none", 1),
        ("none", 16),
        ("mq-deadline", 1),
        ("mq-deadline", 16),
        ("kyber", 16),
    ] {
        ssd.set_scheduler(scheduler);
        ssd.shows(threads, |seen| {
            let total_ns = seen.wait_mean_ns + seen.device_mean_ns;
            if seen.fio_mean_ns < total_ns {
                return Some(format!(
                    "fio's {} is less than {total_ns}",
                    seen.fio_mean_ns
                ));
            }
            // fio's mean includes wake-up latencies, which are unbounded on a busy machine; its median has the usual
            // ones. The cells are 1.6 % wide here, 0.8 % in fio.
            off("fio's median", seen.fio_p50_ns, seen.total_p50_ns, 0.10).or_else(|| {
                (seen.fio_p50_ns < 0.975 * seen.total_p50_ns).then(|| "fio's median is less".into())
            })
        });
    }
}
