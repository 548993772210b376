//! blktrace, on the same run, is of the same opinion.

use iosched_result::measured::snapshot::{Op, Stage};
use iosched_vmtest::{Blktrace, Disk, Fio, SCHEDULERS, Watch};

/// The report of btt on a trace.
struct Report(String);

impl Report {
    /// A row of btt's first table (stage, min, mean, max, count): the mean in nanoseconds and the count.
    fn row(&self, stage: &str) -> (f64, u64) {
        let mut rows = self.0.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words
        });
        let row = rows.find(|words| words.first() == Some(&stage) && words.len() == 5);
        let row = row.unwrap_or_else(|| panic!("btt has no {stage}:\n{}", self.0));
        let number = |place: usize| row[place].parse::<f64>().expect("a number");
        (number(2) * 1e9, number(4) as u64)
    }
}

fn agree(what: &str, theirs: f64, ours: f64) {
    println!("{what}: {theirs:.0} ns by blktrace, {ours:.0} ns here");
    assert!(
        (ours / theirs - 1.0).abs() < 0.03,
        "{what}: {theirs} {ours}"
    );
}

#[test]
fn blktrace_has_the_same_counts_and_means() {
    let disk = Disk::null_blk(1_000_000, &[("hw_queue_depth", "1")]);
    let mut watch = Watch::on(&disk);
    for scheduler in SCHEDULERS {
        disk.set_scheduler(scheduler);
        // blktrace tells requests by their sector: never the same one twice in flight.
        let job = "--ioengine=psync --rw=read --offset_increment=64m --size=64m --number_ios=100 --numjobs=8";
        let (seen, (trace, _)) =
            watch.over(|| Blktrace::over(&disk, || Fio::run(&disk.node(), job)));
        seen.is_clean();
        let report = Report(trace.btt());
        let mean = |stage| seen.op(Op::Read).stage(stage).mean_ns().expect("reads");
        let (d2c, completed) = report.row("D2C");
        assert_eq!(completed, seen.op(Op::Read).ios, "{scheduler}");
        agree(&format!("{scheduler} D2C"), d2c, mean(Stage::D2c));
        if watch.measures_q2g() {
            // btt has no row for Q2D, but its ends; by its number it takes null_blk for a device mapper's.
            let (q2c, total) = report.row("Q2Cdm");
            assert_eq!(total, completed, "{scheduler}");
            agree(&format!("{scheduler} Q2D"), q2c - d2c, mean(Stage::Q2d));
        } else if scheduler != "none" {
            let (i2d, inserted) = report.row("I2D");
            assert_eq!(inserted, completed, "{scheduler}");
            agree(&format!("{scheduler} I2D"), i2d, mean(Stage::G2d));
        }
    }
}
