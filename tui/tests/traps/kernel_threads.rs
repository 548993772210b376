//! Kernel threads that work for processes are named after their work, and writeback after the process that dirtied
//! the pages.

use std::path::Path;

use serde_json::Value;

use crate::MIB;
use crate::exact::{exactly, number};
use crate::support::fio::{Fio, pid_of_run};
use crate::support::{LoopDevice, Mounted, run};
use crate::work::Seen;

fn dirty(path: &Path, mib: u64) -> u32 {
    let (output, count) = (format!("of={}", path.display()), format!("count={mib}"));
    pid_of_run("dd", &["if=/dev/zero", &output, "bs=1M", &count])
}

/// Two processes with the same name dirty pages; the kernel writes both back.
#[test]
#[ignore = "root"]
fn writeback_of_a_process_is_its_own_row() {
    let disk = LoopDevice::in_memory(256 * MIB);
    let mounted = Mounted::ext4(&disk.node());
    let files = ["a", "b"].map(|name| mounted.path().join(name));
    let write = || {
        let both = [dirty(&files[0], 12), dirty(&files[1], 6)];
        run("sync", &["-f", files[0].to_str().expect("UTF-8")]);
        both
    };
    let writeback = |seen: &Seen, pid: u32| -> u64 {
        let rows = seen.named("writeback of dd");
        let own = rows.iter().filter(|row| row["pid"] == pid);
        own.map(|row| number(row, "/bytes")).sum()
    };
    exactly(|| {
        let (seen, [a, b]) = Seen::of(&disk.node(), &["--writeback-owner"], write);
        for row in seen.rows() {
            println!("{} {}: {} bytes", row["comm"], row["pid"], row["bytes"]);
        }
        // Separate from the process's own I/O.
        let own = seen.named("dd");
        assert!(own.iter().all(|row| row["kind"] == "process"), "{own:#?}");
        for row in seen.named("writeback of dd") {
            assert_eq!(row["kind"], "writeback");
        }
        let pairs = vec![
            ("sectors of one", 12 * MIB / 512, writeback(&seen, a) / 512),
            (
                "sectors of the other",
                6 * MIB / 512,
                writeback(&seen, b) / 512,
            ),
        ];
        (seen.device().clone(), pairs)
    });

    for file in &files {
        std::fs::remove_file(file).expect("a file");
    }
    let (seen, _) = Seen::of(&disk.node(), &[], write);
    let flusher = format!("[flush-7:{}]", disk.device.minor);
    let bytes = seen
        .named(&flusher)
        .iter()
        .map(|row| number(row, "/bytes"))
        .sum::<u64>();
    // See `exactly` for what may be missing.
    assert!(bytes >= 15 * MIB, "{flusher}: {bytes}: {:#?}", seen.rows());
    assert!(seen.named("writeback of dd").is_empty());
}

/// Many small files with a commit each: the data belongs to the writer, and the commits to the journal.
#[test]
#[ignore = "root"]
fn a_journals_commits_stay_the_journals() {
    const FILES: u64 = 20;
    let disk = LoopDevice::in_memory(256 * MIB);
    let mounted = Mounted::ext4(&disk.node());
    let files = || {
        for file in 0..FILES {
            let output = format!("of={}", mounted.path().join(file.to_string()).display());
            pid_of_run(
                "dd",
                &["if=/dev/zero", &output, "bs=4k", "count=2", "conv=fsync"],
            );
        }
    };
    let (seen, ()) = Seen::of(&disk.node(), &["--writeback-owner"], files);
    let sum = |comm: &str, field: &str| -> u64 {
        let rows = seen.named(comm);
        rows.iter().map(|row| number(row, field)).sum()
    };
    for row in seen.rows() {
        println!(
            "{} {}: {} writes, {} async",
            row["comm"], row["pid"], row["writes"], row["async_writes"]
        );
    }
    let journal = format!("[jbd2/{}-8]", disk.device.name);
    // Each commit writes a descriptor block and a commit block, which may share a request.
    assert!(sum(&journal, "/writes") >= FILES, "{:#?}", seen.rows());
    let of_files = sum("dd", "/writes") + sum("writeback of dd", "/writes");
    assert_eq!(of_files, FILES, "{:#?}", seen.rows());
}

/// A file system with a journal, which holds the file of another loop device.
#[test]
#[ignore = "root"]
fn workers_are_named_by_their_work() {
    let disk = LoopDevice::in_memory(256 * MIB);
    let mounted = Mounted::ext4(&disk.node());
    let image = mounted.path().join("upper.img");
    dirty(&image, 32);
    run("sync", &["-f", image.to_str().expect("UTF-8")]);
    let upper = LoopDevice::over(&image);
    let (seen, ()) = Seen::of(&disk.node(), &[], || {
        Fio::run(
            &upper.node(),
            "--rw=randwrite --size=32m --number_ios=500 --iodepth=8 --fsync=50",
        );
        run("sync", &["-f", image.to_str().expect("UTF-8")]);
    });
    let name = &disk.device.name;
    for row in seen.rows() {
        println!(
            "{} {} {}: {} bytes",
            row["kind"], row["comm"], row["pid"], row["bytes"]
        );
    }
    let kind = |comm: &str| -> Vec<Value> {
        seen.named(comm)
            .iter()
            .map(|row| row["kind"].clone())
            .collect()
    };
    let journal = kind(&format!("[jbd2/{name}-8]"));
    assert!(
        !journal.is_empty() && journal.iter().all(|kind| kind == "kernel_thread"),
        "{:#?}",
        seen.rows()
    );
    let worker = kind(&format!("[{}]", upper.device.name));
    assert!(
        !worker.is_empty() && worker.iter().all(|kind| kind == "workqueue"),
        "{:#?}",
        seen.rows()
    );
    // No row has the name of a worker.
    for row in seen.rows() {
        let comm = row["comm"].as_str().expect("a name");
        assert!(
            !comm.contains("kworker") && !comm.contains("swapper"),
            "{row:#}"
        );
    }
    assert!(
        seen.named("fio").is_empty(),
        "fio submits to the upper device"
    );
    drop(upper);
}
