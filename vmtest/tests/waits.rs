//! What a thread sleeps for before it gets its request: tags by pool, against the scheduler's own trace of what sleeps, and
//! writeback throttling. Profile `truth`.

use std::collections::HashMap;

use iosched_measure::probe::Detail;
use iosched_result::measured::snapshot::{OwnerNumbers, Waits};
use iosched_vmtest::{Disk, Fio, Ftrace, Watch, run};

/// How long the threads named fio slept uninterruptibly, and how often, from the events in which the kernel switches between
/// threads. The last sleep of each is none for a tag: it gives back its context for asynchronous I/O, for 10 to 24 ms here.
fn slept(trace: &str) -> (f64, usize) {
    let mut since: HashMap<u32, f64> = HashMap::new();
    let mut sleeps: HashMap<u32, Vec<f64>> = HashMap::new();
    for line in trace.lines().filter(|line| line.contains("sched_switch:")) {
        let (head, switch) = line.split_once(": sched_switch: ").expect("an event");
        let seconds: f64 = head
            .rsplit(' ')
            .next()
            .and_then(|at| at.parse().ok())
            .expect("a time");
        let (from, to) = switch.split_once(" ==> ").expect("two threads");
        let pid = |side: &str, key: &str| -> u32 {
            let (_, rest) = side.split_once(key).expect(key);
            let number = rest.split(' ').next().expect("a number");
            number.parse().expect("a number")
        };
        if from.contains("prev_comm=fio ") && from.contains("prev_state=D") {
            since.insert(pid(from, "prev_pid="), seconds);
        }
        let woken = pid(to, "next_pid=");
        if let Some(since) = since.remove(&woken) {
            sleeps
                .entry(woken)
                .or_default()
                .push((seconds - since) * 1e9);
        }
    }
    let for_tags = sleeps.values().flat_map(|all| &all[..all.len() - 1]);
    (for_tags.clone().sum(), for_tags.count())
}

/// Between Q and G are the instructions before and after a sleep, too: so much for each, where one takes 2 ns.
const AROUND_NS: f64 = 50_000.0;

fn has_tag_wait() -> bool {
    Ftrace::has("block/block_rq_tag_wait")
}

fn is_of(waits: &Waits, scheduler: &str) {
    assert_eq!(waits.is_inferred, !has_tag_wait());
    let (its, other) = match scheduler {
        "none" => (waits.driver_tag, waits.scheduler_tag),
        _ => (waits.scheduler_tag, waits.driver_tag),
    };
    assert_eq!((other.requests, other.ns), (0, 0), "{scheduler}: {waits:?}");
    let share = its.ns as f64 / waits.slept.ns as f64;
    assert!(share > 0.95, "{scheduler}: {waits:?}");
}

#[test]
fn a_thread_sleeps_as_long_for_tags_as_the_kernel_says_that_it_sleeps() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "4")]);
    let detail = Detail {
        i2d: true,
        ..Detail::default()
    };
    let mut watch = Watch::with(&disk, detail);
    let filter = "prev_comm == \"fio\" || next_comm == \"fio\"".to_owned();
    let ftrace = Ftrace::new(&[("sched/sched_switch", filter)]);
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        disk.set_scheduler(scheduler);
        let job = "--rw=randread --ioengine=libaio --iodepth=32 --number_ios=1500 --size=64m";
        let load = || Fio::start(&disk.node(), job).end();
        let (seen, (trace, (pid, _))) = watch.over(|| ftrace.over(load));
        let row: &OwnerNumbers = seen.process(pid);
        let (judged_ns, sleeps) = slept(&trace);
        let more_ns = row.waits.slept.ns as f64 - judged_ns;
        let each_ns = more_ns / sleeps as f64;
        println!(
            "{scheduler}: {:?}, the kernel says {judged_ns:.0} ns in {sleeps}: {:.2} %, {each_ns:.0} ns each more",
            row.waits,
            more_ns / judged_ns * 100.0
        );
        // Under bfq a thread that is woken may find no tag and sleep again for the same request.
        let requests = row.waits.slept.requests as usize;
        let is_each = requests == sleeps || scheduler == "bfq" && requests < sleeps;
        assert!(is_each, "{scheduler}: {requests} requests, {sleeps} sleeps");
        assert!(
            (0.0..AROUND_NS).contains(&each_ns),
            "{scheduler}: {each_ns}"
        );
        is_of(&row.waits, scheduler);
        is_of(&seen.device().waits, scheduler);
        // What is left of the queue wait is in the scheduler, and hardly anything in the plug.
        let waited_ns: u64 = row.ops.iter().map(|op| op.q2d_sum_ns).sum();
        let parts_ns = row.waits.q2g_ns + row.waits.plug_ns + row.waits.scheduler_ns;
        assert!(parts_ns <= waited_ns, "{scheduler}: {row:#?}");
        if scheduler != "none" {
            let share = parts_ns as f64 / waited_ns as f64;
            assert!(share > 0.99, "{scheduler}: {share} of {waited_ns}");
        }
    }
}

/// Tags abound, and writeback may have one request in flight.
#[test]
fn writeback_throttling_is_no_wait_for_a_tag() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "128")]);
    disk.set_scheduler("none");
    disk.set("queue/wbt_lat_usec", "1");
    let mut watch = Watch::on(&disk);
    let to = format!("of={}", disk.node());
    let write = || {
        run("dd", &["if=/dev/zero", &to, "bs=1M", "count=64"]);
        run("sync", &[]);
    };
    let (seen, ()) = watch.over(write);
    let waits = seen.device().waits;
    println!("{waits:?}");
    assert!(waits.slept.ns > 20_000_000, "{waits:?}");
    if has_tag_wait() {
        let share = waits.throttle_ns() as f64 / waits.slept.ns as f64;
        assert!(share > 0.95, "{waits:?}");
    } else {
        assert!(waits.is_inferred && waits.throttle_ns() == 0, "{waits:?}");
    }
}
