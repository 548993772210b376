//! What a thread sleeps for before it gets its request: tags by pool, against the scheduler's own trace of what sleeps, and
//! writeback throttling. Profile `truth`.

use std::collections::HashMap;

use iosched_measure::probe::Detail;
use iosched_result::measured::snapshot::{OwnerNumbers, Waits};
use iosched_vmtest::{Disk, Fio, Ftrace, Watch, run};

/// How long the threads named fio slept uninterruptibly, from the events in which the kernel switches between threads.
fn slept_ns(trace: &str) -> f64 {
    let mut asleep: HashMap<u32, f64> = HashMap::new();
    let mut sum = 0.0;
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
            asleep.insert(pid(from, "prev_pid="), seconds);
        }
        if let Some(since) = asleep.remove(&pid(to, "next_pid=")) {
            sum += (seconds - since) * 1e9;
        }
    }
    sum
}

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
        let judged_ns = slept_ns(&trace);
        let off = row.waits.slept.ns as f64 / judged_ns - 1.0;
        println!(
            "{scheduler}: {:?}, the kernel says {judged_ns} ns: {:.2} % off",
            row.waits,
            off * 100.0
        );
        // 6.1 has been seen 3.8 to 5.1 % below in one run, all others within 0.1 %.
        assert!(off.abs() < 0.07, "{scheduler}: {off}");
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
