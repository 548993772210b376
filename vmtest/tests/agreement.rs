//! blktrace, on the same run, is of the same opinion.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iosched::snapshot::{Op, Stage};
use iosched_vmtest::{Disk, Fio, SCHEDULERS, Watch, run};

/// blktrace while `work` is done, and btt's row of `stage` as (mean in seconds, count).
struct Traced {
    report: String,
}

impl Traced {
    fn over<T>(disk: &Disk, directory: &Path, work: impl FnOnce() -> T) -> (Traced, T) {
        let mut child = Command::new("blktrace")
            .args(["-d", &disk.node(), "-o", "trace", "-b", "512", "-n", "16"])
            .current_dir(directory)
            .stdout(Stdio::null())
            .spawn()
            .expect("blktrace");
        let ready = format!("/sys/kernel/debug/block/{}/trace0", disk.name());
        let deadline = Instant::now() + Duration::from_secs(10);
        while !Path::new(&ready).exists() {
            assert!(Instant::now() < deadline, "blktrace does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        let result = work();
        run("kill", &["-INT", &child.id().to_string()]);
        assert!(child.wait().expect("its end").success());
        let script = "blkparse -i trace -d trace.bin -O >/dev/null && btt -i trace.bin";
        let report = Command::new("sh")
            .args(["-c", script])
            .current_dir(directory)
            .output()
            .expect("btt");
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        (Traced { report }, result)
    }

    /// Of btt's first table: stage, min, mean, max, count.
    fn row(&self, stage: &str) -> (f64, u64) {
        let mut rows = self.report.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words
        });
        let row = rows.find(|words| words.first() == Some(&stage) && words.len() == 5);
        let row = row.unwrap_or_else(|| panic!("btt has no {stage}:\n{}", self.report));
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
        let directory = tempfile::tempdir().expect("a directory");
        // blktrace tells requests by their sector: never the same one twice in flight.
        let job = "--ioengine=psync --rw=read --offset_increment=64m --size=64m --number_ios=100 --numjobs=8";
        let (seen, (trace, _)) =
            watch.over(|| Traced::over(&disk, directory.path(), || Fio::run(&disk.node(), job)));
        seen.is_clean();
        let mean = |stage| seen.op(Op::Read).stage(stage).mean_ns().expect("reads");
        let (d2c, completed) = trace.row("D2C");
        assert_eq!(completed, seen.op(Op::Read).ios, "{scheduler}");
        agree(&format!("{scheduler} D2C"), d2c, mean(Stage::D2c));
        if watch.measures_q2g() {
            // btt has no row for Q2D, but its ends; by its number it takes null_blk for a device mapper's.
            let (q2c, total) = trace.row("Q2Cdm");
            assert_eq!(total, completed, "{scheduler}");
            agree(&format!("{scheduler} Q2D"), q2c - d2c, mean(Stage::Q2d));
        } else if scheduler != "none" {
            let (i2d, inserted) = trace.row("I2D");
            assert_eq!(inserted, completed, "{scheduler}");
            agree(&format!("{scheduler} I2D"), i2d, mean(Stage::G2d));
        }
    }
}
