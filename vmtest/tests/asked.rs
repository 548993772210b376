//! Since when a program waits (A2C), against fio's own latency: fio takes its clock before it asks and after it has its
//! answer. And against a reconstruction of each I/O from ftrace's events, which judges also where fio cannot, and what a
//! submitter that stands still hides. `cells.rs` has what is run, and why fio cannot judge a cell.
//!
//! All cells, and not those that have each pair: `vmtest/run -p truth -a VMTEST_CELLS=all vmtest/tests/asked.rs`.
//! VMTEST_TAGS=4 for some of them; each kernel of the matrix has its own, see kernels.txt.

#[path = "asked/cells.rs"]
mod cells; // what is run, and why fio cannot judge it
#[path = "asked/judge.rs"]
mod judge; // what is tolerated
#[path = "asked/parse.rs"]
mod parse; // ftrace's text
#[path = "asked/rebuild.rs"]
mod rebuild; // each I/O from it

use cells::{Cell, Engine, cells};
use iosched_measure::probe::Detail;
use iosched_result::measured::snapshot::{Op, Stage};
use iosched_vmtest::{Disk, Fio, Ftrace, Seen, Watch, dd_reads};
use judge::{BY_FIO, Judge, MEAN, Theirs};
use rebuild::{Io, Rebuilt};
use serde_json::Value;

/// Much longer than what fio takes to hand in 64 and to answer them, on one emulated CPU. It passes at once there, but where
/// a thread polls.
const DELAY_NS: u64 = 100_000_000;
const DELAY_OF_POLLING_NS: u64 = 10_000_000;

/// How many requests the device takes at a time: fewer than the submitters have, and more.
const TAGS: [u32; 2] = [4, 128];

#[test]
fn of_reads_it_is_what_fio_and_ftrace_say() {
    let all = std::env::var("VMTEST_CELLS").is_ok_and(|cells| cells == "all");
    let wanted = std::env::var("VMTEST_TAGS").ok();
    let is_wanted = |tags: &u32| wanted.as_ref().is_none_or(|it| *it == tags.to_string());
    let tags: Vec<u32> = TAGS.into_iter().filter(is_wanted).collect();
    assert!(!tags.is_empty(), "VMTEST_TAGS is one of {TAGS:?}");
    let mut judge = Judge::default();
    for tags in tags {
        let (polling, others): (Vec<Cell>, Vec<Cell>) = cells(tags, all)
            .into_iter()
            .partition(|cell| cell.engine == Engine::Sqpoll);
        for (cells, delay_ns) in [(others, DELAY_NS), (polling, DELAY_OF_POLLING_NS)] {
            let bench = Bench::new(tags, delay_ns);
            hold_on(bench, &cells, &mut judge);
        }
    }
    judge.is_satisfied();
}

fn hold_on(mut bench: Bench, cells: &[Cell], judge: &mut Judge) {
    for cell in cells {
        bench.switch(cell.scheduler);
        match bench.run(&cell.job()) {
            Some(run) => compare(judge, cell, &run),
            None => println!("skipped: {cell}: the kernel skipped programs in every run"),
        }
    }
}

struct Bench {
    watch: Watch,
    trace: Ftrace,
    disk: Disk,
}

/// Three accounts of the same I/Os.
struct Run {
    seen: Seen,
    rebuilt: Rebuilt,
    pid: u32,
    fio: Value,
}

impl Bench {
    fn new(tags: u32, delay_ns: u64) -> Bench {
        let disk = Disk::null_blk(delay_ns, &[("hw_queue_depth", &tags.to_string())]);
        disk.set("queue/nomerges", "2"); // else neighbours that are in flight together would be one request
        let detail = Detail {
            asked: true,
            owner_stages: true,
            ..Detail::default()
        };
        Bench {
            watch: Watch::with(&disk, detail),
            trace: parse::trace(&disk),
            disk,
        }
    }

    /// Some of several requests at once that are the first ones after a switch would belong to neither side.
    fn switch(&self, scheduler: &str) {
        self.disk.set_scheduler(scheduler);
        if scheduler != "none" {
            // Else twice the disk's.
            self.disk.set("queue/nr_requests", "128");
        }
        dd_reads(&self.disk, 1);
    }

    /// On 7.x the kernel skips programs; what then went unseen is no matter of this test.
    fn run(&mut self, job: &str) -> Option<Run> {
        const TRIES: usize = 5;
        (0..TRIES).find_map(|_| {
            let fio = || Fio::run(&self.disk.node(), job);
            let (seen, (text, (pid, fio))) = self.watch.over(|| self.trace.over(fio));
            let run = Run {
                seen,
                rebuilt: rebuild::rebuild(&parse::events(&text)),
                pid,
                fio,
            };
            (run.seen.device().quality.skipped == 0).then_some(run)
        })
    }
}

impl Run {
    /// From when they were asked for.
    fn times(&self, until: impl Fn(&Io) -> u64) -> Theirs {
        let ios = self.rebuilt.ios.iter();
        let mut times_ns: Vec<u64> = ios.map(|io| until(io) - io.asked_ns).collect();
        times_ns.sort_unstable();
        Theirs {
            by: "ftrace",
            times_ns,
        }
    }

    /// In its own latency, of all I/Os.
    fn fio_ns(&self, path: &str) -> f64 {
        let found = self.fio["read"]["lat_ns"].pointer(path);
        found.and_then(Value::as_f64).expect("a latency")
    }
}

fn compare(judge: &mut Judge, cell: &Cell, run: &Run) {
    judge.begin(cell.to_string());
    let ours = run.seen.device().asked(&Op::DATA);
    let ours = ours.expect("it is asked for");
    let reads = run.seen.op(Op::Read);
    judge.equal("reads", reads.ios, cell.reads());
    judge.equal("bios", reads.bios, cell.reads());
    judge.equal("queue waits", reads.waits, cell.reads());
    let (a2c, a2q) = (
        run.times(|io| io.completed_ns),
        run.times(|io| io.queued_ns),
    );
    judge.same("A2C", &ours.a2c, &a2c);
    judge.same("A2Q", &ours.a2q, &a2q);
    let ours_ns = ours.a2c.mean_ns().expect("reads");
    println!(
        "{cell}: mean of A2C {:.0} us here, {:.0} by ftrace, {:.0} by fio; of A2Q {:.0} us",
        ours_ns / 1e3,
        a2c.mean() / 1e3,
        run.fio_ns("/mean") / 1e3,
        a2q.mean() / 1e3
    );
    match cell.is_beyond_fio() {
        None => equals_fio(judge, cell, ours_ns, run),
        Some(why) => {
            println!("{cell}: not judged by fio: {why}");
            let fio_ns = run.fio_ns("/mean");
            judge.expect(ours_ns <= fio_ns * (1.0 + MEAN), || {
                format!("A2C is {ours_ns:.0} ns, and fio waits {fio_ns:.0}")
            });
            if cell.is_libaio() {
                is_collected(judge, run);
            }
        }
    }
    stalls(judge, cell, run);
    if cell.is_io_uring() && cell.runs_out_of_requests() {
        asks_again(judge, cell, run);
    }
}

/// When fio has asked for the last, it takes the answers of those in flight all at once: their latencies are longer by what
/// they lie there. That is no part of A2C; how long it is, ftrace says.
fn equals_fio(judge: &mut Judge, cell: &Cell, ours_ns: f64, run: &Run) {
    let completed = run.times(|io| io.completed_ns);
    let answered = |io: &Io| match cell.engine {
        Engine::Psync => (io.completed_ns, io.completed_ns),
        _ => run.rebuilt.answered_ns(io),
    };
    let (least, most) = (
        run.times(|io| answered(io).0),
        run.times(|io| answered(io).1),
    );
    let lie_there = f64::midpoint(least.mean(), most.mean()) - completed.mean();
    let fio_ns = run.fio_ns("/mean") - lie_there;
    judge.near("mean by fio", ours_ns, fio_ns, BY_FIO);
    for (p, path) in [
        (0.5, "/percentile/50.000000"),
        (0.99, "/percentile/99.000000"),
    ] {
        judge.percentile_of_fio(p, run.fio_ns(path), &least, &most);
    }
}

/// Answers lay there uncollected for as long as fio waits besides A2C.
fn is_collected(judge: &mut Judge, run: &Run) {
    let collected = run.times(|io| io.collected_ns.expect("fio has all"));
    let fio_ns = run.fio_ns("/mean");
    judge.near(
        "mean of what is collected, by fio",
        collected.mean(),
        fio_ns,
        BY_FIO,
    );
}

/// Who waits longer for a request has slept.
const SLEPT_NS: u64 = 1_000_000;

/// The time in which a thread stood still with I/O under way: none, but for libaio where requests run out.
fn stalls(judge: &mut Judge, cell: &Cell, run: &Run) {
    let device = run.seen.device().stalled_ns;
    let process = run.seen.process(run.pid).stalled_ns;
    judge.equal("stalled, of its process", process, device);
    if !cell.stands_still() {
        judge.equal("stalled", device, 0);
        return;
    }
    let stalls = &run.rebuilt.stalls_ns;
    let stalls = stalls.iter().filter(|&&ns| ns > SLEPT_NS);
    let stalled_ns = stalls.sum::<u64>() as f64;
    judge.near("stalled", device as f64, stalled_ns, MEAN);
    let ms = run.fio["job_runtime"].as_f64().expect("a time");
    let share = stalled_ns / 1e6 / ms;
    println!("{cell}: stalled for {share:.3} of the time");
    judge.expect(share > 0.7, || {
        format!("stalled for {share} of the time only")
    });
}

/// All that io_uring asked for again has its first Q: the wait for a tag is in Q2G, and nothing is counted twice.
fn asks_again(judge: &mut Judge, cell: &Cell, run: &Run) {
    let again = run.rebuilt.ios.iter().filter(|io| io.attempts > 1).count() as u64;
    let edges = run.seen.device().edges;
    println!("{cell}: {again} of {} asked for again", cell.reads());
    judge.equal("asked for again", edges.nowait_retries, again);
    // When the first are in flight that have a tag, all others fail.
    let fewest = cell.in_flight - u64::from(cell.tags);
    judge.expect(again >= fewest, || format!("{again} asked for again"));
    let q2c = run
        .seen
        .op(Op::Read)
        .stage(Stage::Q2c)
        .mean_ns()
        .expect("reads");
    let since_queued = run.times(|io| io.asked_ns + io.completed_ns - io.queued_ns);
    judge.near("Q2C", q2c, since_queued.mean(), MEAN);
}
