//! Times against devices whose times are known. Profile `truth`: the clock is the number of instructions, so that the
//! bounds hold under any load of the host.

use iosched_measure::probe::Detail;
use iosched_result::measured::histogram::Histogram;
use iosched_result::measured::snapshot::{Op, OwnerNumbers, Stage};
use iosched_vmtest::{Disk, Fio, SCHEDULERS, Watch, dd_reads};

const MS: f64 = 1e6;

/// D2C of 200 reads, one at a time, is `delay_ns` under each scheduler.
fn device_time_is(disk: &Disk, delay_ns: f64) {
    let mut watch = Watch::on(disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        let (seen, _) = watch.over(|| dd_reads(disk, 200));
        let d2c = &seen.op(Op::Read).d2c;
        let quantile = |p| d2c.quantile_ns(p).expect("reads");
        let (first, p50, p90) = (quantile(0.001), quantile(0.5), quantile(0.9));
        println!("{scheduler}: D2C min {first} p50 {p50} p90 {p90} of {delay_ns}");
        assert_eq!(d2c.count(), 200);
        // A cell of the histogram is 1.6 % wide.
        assert!(first >= delay_ns * 0.984, "{scheduler}: {first}");
        assert!(p50 <= delay_ns * 1.02 + 10e3, "{scheduler}: {p50}");
        assert!(p90 <= delay_ns * 1.02 + 20e3, "{scheduler}: {p90}");
        // Nothing waits where one is in flight at a time.
        let wait = seen.op(Op::Read).g2d.mean_ns().expect("reads");
        assert!(wait < 50e3, "{scheduler}: {wait} ns of waiting");
    }
}

#[test]
fn the_device_time_is_that_of_null_blk() {
    for delay_us in [200, 1000, 10_000] {
        let disk = Disk::null_blk(delay_us * 1000, &[("hw_queue_depth", "64")]);
        device_time_is(&disk, delay_us as f64 * 1e3);
    }
}

#[test]
fn the_device_time_is_that_of_scsi_debug() {
    let disk = Disk::scsi_debug(&["delay=0", "ndelay=1000000", "max_queue=1"]);
    device_time_is(&disk, MS);
}

/// A disk that takes one request at a time, with 8 in flight: each waits for 7 others. Under `none` that wait is for a
/// tag, before the request exists.
#[test]
fn the_queue_wait_is_seven_delays() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "1")]);
    let stages = Detail {
        owner_stages: true,
        ..Detail::default()
    };
    let mut watch = Watch::with(&disk, stages);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        if scheduler != "none" {
            disk.set("queue/nr_requests", "32");
        }
        let is_seen = scheduler != "none" || watch.measures_q2g();
        if !is_seen {
            println!("skipped: the wait under none is Q2G, which this kernel does not show");
            continue;
        }
        // Threads, since a single one would wait for its tag before it submits the next.
        let job =
            "--ioengine=psync --rw=randread --numjobs=8 --time_based --runtime=1 --group_reporting";
        let (seen, (pid, fio)) = watch.over(|| Fio::run(&disk.node(), job));
        seen.is_clean();
        let wait_ms = seen.mean_wait_ns(Op::Read, watch.measures_q2g()) / MS;
        let process = seen.process_op(pid, Op::Read);
        let own_ms = process.q2d_sum_ns as f64 / process.waits as f64 / MS;
        println!("{scheduler}: mean queue wait {wait_ms:.3} ms, of the process {own_ms:.3} ms");
        assert_eq!(fio["read"]["total_ios"], seen.op(Op::Read).ios);
        assert!((6.65..7.35).contains(&wait_ms), "{scheduler}: {wait_ms}");
        assert!((6.65..7.35).contains(&own_ms), "{scheduler}: {own_ms}");
        if scheduler == "none" {
            let before = seen.op(Op::Read).q2g.mean_ns().expect("reads") / MS;
            assert!(before > 6.5, "under none it is Q2G, not {before} ms");
        }
        its_stages_add_up(scheduler, seen.process(pid), watch.measures_q2g());

        // fio's clock starts before ours and ends after it.
        if let Some(total_ns) = seen.op(Op::Read).stage(Stage::Q2c).mean_ns() {
            let clat_ms = fio["read"]["clat_ns"]["mean"].as_f64().expect("a mean") / MS;
            let total_ms = total_ns / MS;
            println!("{scheduler}: Q2C {total_ms:.3} ms, fio's clat {clat_ms:.3} ms");
            assert!(
                clat_ms > total_ms * 0.99,
                "{scheduler}: {clat_ms} {total_ms}"
            );
            assert!(
                clat_ms < total_ms * 1.05,
                "{scheduler}: {clat_ms} {total_ms}"
            );
        } else {
            assert!(!watch.measures_q2g(), "no Q2C where Q is seen");
        }
    }
}

/// The process that does the reads has 7 delays in Q2G under `none` and in G2D else, and 8 in all.
fn its_stages_add_up(scheduler: &str, process: &OwnerNumbers, measures_q2g: bool) {
    let stages = process.stages.as_ref().expect("they were asked for");
    let mean_ms = |pair: &[Histogram; 2]| pair[0].mean_ns().map(|ns| ns / MS);
    let [q2g, g2d, q2c] = [&stages.q2g, &stages.g2d, &stages.q2c].map(mean_ms);
    println!("{scheduler}: of the process Q2G {q2g:?} G2D {g2d:?} Q2C {q2c:?} ms");
    let g2d = g2d.expect("reads");
    if !measures_q2g {
        assert_eq!((q2g, q2c), (None, None), "no Q is seen");
        assert!((6.65..7.35).contains(&g2d), "{scheduler}: {g2d}");
        return;
    }
    let (q2g, q2c) = (q2g.expect("reads"), q2c.expect("reads"));
    let waited = if scheduler == "none" { q2g } else { g2d };
    assert!((6.5..7.35).contains(&waited), "{scheduler}: {waited}");
    assert!((6.65..7.35).contains(&(q2g + g2d)), "{scheduler}");
    assert!((7.6..8.4).contains(&q2c), "{scheduler}: {q2c}");
    assert_eq!(stages.q2c[0].count(), process.op(Op::Read).ios);
    assert!(stages.q2c[1].is_empty(), "nothing was written");
}
