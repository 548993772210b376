//! Since when a program waits (A2C), against fio's own latency of the same I/Os, on the simulated SSD with 4 tags and this
//! machine's kernel. vmtest/tests/asked.rs has all cells, percentiles, and other judges. Root only:
//! `cargo test --test asked -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::slice;

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{DeviceNumbers, Interval, Op};
use iosched_result::types::scratch::model::DiskModel;
use serde_json::Value;
use support::fio::Fio;

/// Both are of the same I/Os, so that their ratio does not depend on how fast this machine is. fio waits for a CPU before it
/// takes its answer, and A2C does not: noise makes fio's latency longer and never shorter, so that one run of these counts.
const RUNS: usize = 10;
const TOLERANCE: f64 = 0.03;
const IN_FLIGHT: u32 = 32;
/// fio takes the answers of the last that are in flight all at once: they are few.
const READS: u32 = 4000;

struct Bench {
    device: Device,
    probe: Probe,
    _scratch: Scratch,
}

impl Bench {
    /// None where the SSD cannot be simulated.
    fn new() -> Option<Bench> {
        let journal = Journal::create().expect("a journal");
        let scratch =
            Scratch::create(DiskModel::Ssd, 64 << 20, &journal).expect("a scratch device");
        if let Some(why) = scratch.fallback() {
            println!("skipped: {why}");
            return None;
        }
        let device = Device::resolve(scratch.device_name()).expect("it").device;
        // Two reads in one request would be one A2C.
        fs::write(device.sysfs("queue/nomerges"), "2").expect("its queue");
        let detail = Detail {
            asked: true,
            ..Detail::default()
        };
        let probe = Probe::attach(slice::from_ref(&device), 0, detail).expect("a probe");
        Some(Bench {
            device,
            probe,
            _scratch: scratch,
        })
    }

    fn run(&mut self, job: &str) -> (DeviceNumbers, Value) {
        let before = self.probe.snapshot().expect("a snapshot");
        let node = self.device.node().display().to_string();
        let (_, fio) = Fio::run(&node, &format!("{job} --rw=randread"));
        let after = self.probe.snapshot().expect("a snapshot");
        let interval = Interval::between(&before, &after).expect("an interval");
        (interval.devices[0].clone(), fio)
    }

    /// fio's mean latency over A2C's, and the share of the time that the submitter stood still.
    fn ratio(&mut self, job: &str) -> (f64, f64) {
        let (seen, fio) = self.run(job);
        let a2c = seen.asked(&Op::DATA).expect("it is asked for").a2c;
        let theirs = fio["read"]["lat_ns"]["mean"].as_f64().expect("a latency");
        let ratio = theirs / a2c.mean_ns().expect("reads");
        let ms = fio["job_runtime"].as_f64().expect("a time");
        let stalled = seen.stalled_ns as f64 / 1e6 / ms;
        println!(
            "{job}: fio {:.0} us, {ratio:.3} of A2C; stalled for {stalled:.3} of the time",
            theirs / 1e3
        );
        (ratio, stalled)
    }

    #[track_caller]
    fn is_fios_latency(&mut self, what: &str, job: &str) {
        for _ in 0..RUNS {
            let (ratio, stalled) = self.ratio(job);
            assert!(stalled < 0.01, "{what}: {stalled}");
            assert!(
                ratio > 1.0 - TOLERANCE,
                "{what}: A2C is longer than what the program waits"
            );
            if ratio < 1.0 + TOLERANCE {
                return;
            }
        }
        panic!("{what}: fio waited longer in each of {RUNS} runs");
    }
}

/// psync, libaio and io_uring under `none` and under a scheduler; libaio stands in its calls under `none`, and fio collects
/// nothing meanwhile.
#[test]
#[ignore = "root"]
fn it_is_fios_latency_but_where_libaio_stands_still() {
    let Some(mut bench) = Bench::new() else {
        return;
    };
    let each = READS / IN_FLIGHT;
    let threads = format!(
        "--ioengine=psync --numjobs={IN_FLIGHT} --group_reporting --number_ios={each} --size=2m --offset_increment=2m"
    );
    let asynchronous = |engine| {
        format!("--ioengine={engine} --iodepth={IN_FLIGHT} --number_ios={READS} --size=64m")
    };
    for scheduler in ["none", "mq-deadline"] {
        fs::write(bench.device.sysfs("queue/scheduler"), scheduler).expect("its scheduler");
        bench.run("--number_ios=1 --size=64m"); // of more, some would belong to neither side of the switch
        for (job, stands_still) in [
            (&threads, false),
            (&asynchronous("libaio"), scheduler == "none"),
            (&asynchronous("io_uring"), false),
        ] {
            if stands_still {
                let (ratio, stalled) = bench.ratio(job);
                assert!(ratio > 2.0 && stalled > 0.7, "{ratio} {stalled}");
            } else {
                bench.is_fios_latency(&format!("{job}, {scheduler}"), job);
            }
        }
    }
}
