//! Our counts per process show what schedulers are known to give to whom, and what we make of them is what the
//! counts say. Profile `truth`.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use iosched_measure::probe::Detail;
use iosched_result::measured::fairness::Fairness;
use iosched_result::measured::snapshot::{Op, OwnerFairness};
use iosched_result::stat::{DeviceState, record};
use iosched_vmtest::{Disk, Fio, Seen, Watch};

fn watch(disk: &Disk) -> Watch {
    let detail = Detail {
        fairness: true,
        ..Detail::default()
    };
    Watch::with(disk, detail)
}

/// Shares of two processes, in the order in which they were started.
struct Two {
    seen: Seen,
    pids: [u32; 2],
    reads: [f64; 2],
}

impl Two {
    fn fairness_of(&self, which: usize) -> OwnerFairness {
        let owner = self.seen.process(self.pids[which]);
        owner.fairness.clone().expect("it was asked for")
    }

    fn fairness(&self) -> Fairness {
        let states = [DeviceState::default()];
        let live = record(&self.seen.0, String::new(), false, &states, &());
        let mut devices = live.devices.into_iter();
        let device = devices.next().expect("a device");
        device.fairness.expect("it was asked for")
    }
}

/// Two processes that read 4 KiB at a time, until they are dropped, from a disk that takes one at a time, for 1 ms each.
struct Readers<'a> {
    disk: &'a Disk,
    watch: Watch,
    both: [Fio; 2],
}

impl Readers<'_> {
    fn start<'a>(disk: &'a Disk, jobs: [&str; 2]) -> Readers<'a> {
        let watch = watch(disk);
        let start = |job| {
            let job = format!("--rw=randread --time_based --runtime=1h {job}");
            Fio::start(&disk.node(), &job)
        };
        let both = jobs.map(start);
        Readers { disk, watch, both }
    }

    /// The reads that they get done in so many seconds under a scheduler.
    fn under(&mut self, scheduler: &str, seconds: u64) -> Two {
        // The switch waits for what is in flight: what is read after it is read under this scheduler.
        self.disk.set_scheduler(scheduler);
        if scheduler != "none" {
            self.disk.set("queue/nr_requests", "64");
        }
        if scheduler == "bfq" {
            // It would raise the weight of one that it takes for interactive, for seconds.
            self.disk.set("queue/iosched/low_latency", "0");
        }
        let pids = self.both.each_ref().map(Fio::pid);
        // Neither alone at the start or the end.
        self.watch.until_all_read(pids);
        let (seen, ()) = self.watch.over(|| sleep(Duration::from_secs(seconds)));
        let reads = pids.map(|pid| {
            let rows = seen.0.owners.iter().filter(|owner| owner.key.tgid == pid);
            let reads: u64 = rows.map(|owner| owner.ops[Op::Read as usize].ios).sum();
            reads as f64
        });
        let sum = reads[0] + reads[1];
        // The disk's counters are copied some milliseconds before those of the processes.
        let all = seen.op(Op::Read).ios as f64;
        assert!((all - sum).abs() <= 5.0, "{all} reads, {sum} of these two");
        let window_s = seen.0.duration_s();
        // One that was under way at the start may end in it.
        let share = (sum - 1.0) / (window_s * 1000.0);
        assert!(
            (0.8..1.0).contains(&share),
            "{scheduler}: {sum} reads of 1 ms in {window_s} s"
        );
        Two { seen, pids, reads }
    }
}

fn disk() -> Disk {
    Disk::null_blk(1_000_000, &[("hw_queue_depth", "1")])
}

#[test]
fn only_bfq_makes_idle_priority_wait() {
    let disk = disk();
    let jobs = [
        "--iodepth=8 --prioclass=2 --prio=4",
        "--iodepth=8 --prioclass=3",
    ];
    let mut readers = Readers::start(&disk, jobs);
    for scheduler in ["none", "kyber", "bfq"] {
        let [best_effort, idle] = readers.under(scheduler, 1).reads;
        println!("{scheduler}: best effort {best_effort}, idle {idle}");
        if scheduler == "bfq" {
            assert!(best_effort > 10.0 * idle, "{best_effort} {idle}");
        } else {
            let ratio = best_effort / idle;
            assert!((0.9..1.1).contains(&ratio), "{scheduler}: {ratio}");
        }
    }
}

#[test]
fn under_kyber_the_deeper_queue_gets_more() {
    let disk = disk();
    let mut readers = Readers::start(&disk, ["--iodepth=16", "--iodepth=1"]);
    let [deep, shallow] = readers.under("kyber", 2).reads;
    println!("kyber: 16 in flight {deep}, 1 in flight {shallow}");
    assert!(
        (15.04..16.96).contains(&(deep / shallow)),
        "{deep} {shallow}"
    );
}

#[test]
fn two_equal_processes_get_the_same() {
    let disk = disk();
    let mut readers = Readers::start(&disk, ["--iodepth=4", "--iodepth=4"]);
    // bfq serves them in turns of many requests each: only over several turns they are equal.
    for (scheduler, seconds, least) in [
        ("none", 1, 0.99),
        ("mq-deadline", 1, 0.99),
        ("kyber", 1, 0.99),
        ("bfq", 4, 0.95),
    ] {
        let two = readers.under(scheduler, seconds);
        let [a, b] = two.reads;
        let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
        println!("{scheduler}: {a} and {b}, Jain's index {jain:.4}");
        assert!(jain > least, "{scheduler}: {jain}");
        the_index_is_what_the_counts_say(&two, jain);
    }
}

/// Each read takes the disk 1 ms, whoever's it is.
fn the_index_is_what_the_counts_say(two: &Two, of_the_counts: f64) {
    let ours = two.fairness();
    println!("{ours:?}");
    assert_eq!((ours.flows, ours.left_out), (2, 0));
    for jain in [ours.jain_ios, ours.jain_bytes, ours.jain_device_time] {
        let off = (jain.expect("two flows") - of_the_counts).abs();
        assert!(off < 0.01, "{ours:?}, {of_the_counts} by the counts");
    }
    let device_ns = [0, 1].map(|which| two.fairness_of(which).device_time_ns);
    let per_read_ms = (device_ns[0] + device_ns[1]) as f64 / 1e6 / (two.reads[0] + two.reads[1]);
    assert!((0.98..1.05).contains(&per_read_ms), "{device_ns:?}");
}

/// The idle one always has requests that wait: its gaps are the time to its first read and those between its reads. Its
/// threads read one at a time, since bfq lets a single one wait for a tag while its reads are done.
#[test]
fn the_starved_waits_as_long_as_fio_says() {
    let disk = disk();
    disk.set_scheduler("bfq");
    disk.set("queue/nr_requests", "64");
    let logs = tempfile::tempdir().expect("a directory");
    let log = logs.path().join("idle");
    let fed = "--rw=randread --time_based --runtime=4 --iodepth=8 --prioclass=2 --prio=4";
    let idle = format!(
        "--rw=randread --time_based --runtime=3 --ioengine=psync --numjobs=8 --group_reporting --prioclass=3 \
        --per_job_logs=0 --write_lat_log={}",
        log.display()
    );
    let (seen, pids) = watch(&disk).over(|| {
        [fed, &idle]
            .map(|job| Fio::start(&disk.node(), job))
            .map(|fio| fio.end().0)
    });
    let [fed_ms, ours_ms] = pids.map(|pid| {
        let fairness = seen.process(pid).fairness.clone();
        let longest = fairness.expect("it was asked for").starvation_max_ns;
        longest.expect("it waited") as f64 / 1e6
    });
    let text = fs::read_to_string(logs.path().join("idle_clat.log")).expect("fio's log");
    let mut reads: Vec<(f64, f64)> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(',').map(|field| field.trim().parse().ok());
            Some((fields.next()??, fields.next()??))
        })
        .collect();
    reads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let first_ms = reads[0].1 / 1e6;
    let gaps_ms = reads.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let by_fio_ms = gaps_ms.fold(first_ms, f64::max);
    println!("longest without a read: {ours_ms} ms, {by_fio_ms} by fio; of the other {fed_ms} ms");
    assert!(by_fio_ms > 50.0, "{by_fio_ms}");
    assert!((ours_ms - by_fio_ms).abs() < 3.0 + 0.02 * by_fio_ms);
    assert!(ours_ms > 5.0 * fed_ms, "{ours_ms} {fed_ms}");
}
