//! A request is charged to its submitter, whichever task issues or completes it.

use std::fs;
use std::path::PathBuf;

use iosched_host::system::cgroup::names::Names;
use serde_json::Value;

use crate::exact::{exactly, number};
use crate::support::fio::{Fio, pid_of_run};
use crate::support::{LoopDevice, run};
use crate::work::Seen;
use crate::{MIB, SCHEDULERS};

/// Buffered reads and writes: kernel workers issue some of them, how many depends on the scheduler.
#[test]
#[ignore = "root"]
fn owner_is_the_submitter_not_the_worker() {
    // The whole file is read, so readahead reads nothing else.
    let disk = LoopDevice::in_memory(16 * MIB);
    let (node, input) = (disk.node(), format!("if={}", disk.node()));
    let output = format!("of={}", disk.node());
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        exactly(|| {
            let (seen, (writer, reader)) = Seen::of(&node, &[], || {
                let zeros = ["if=/dev/zero", &output, "bs=1M", "count=16"];
                let writer = pid_of_run("dd", &[&zeros[..], &["conv=fsync,notrunc"]].concat());
                run("blockdev", &["--flushbufs", &node]);
                let reader = pid_of_run("dd", &[&input, "of=/dev/null", "bs=1M", "count=16"]);
                (writer, reader)
            });
            let rows = seen.rows().iter();
            let table: Vec<(&Value, u64)> = rows
                .map(|row| (&row["comm"], number(row, "/bytes")))
                .filter(|row| row.1 > 0)
                .collect();
            println!("{scheduler}: {table:?}");
            // Only these processes, so the table is the same under all schedulers.
            for (comm, _) in &table {
                assert_eq!(*comm, "dd", "{table:?}");
            }
            let pairs = vec![
                (
                    "sectors of the writer",
                    16 * MIB / 512,
                    seen.of_pid(writer, "bytes") / 512,
                ),
                (
                    "sectors of the reader",
                    16 * MIB / 512,
                    seen.of_pid(reader, "bytes") / 512,
                ),
            ];
            (seen.device().clone(), pairs)
        });
    }
}

#[test]
#[ignore = "root"]
fn two_processes_of_equal_name_are_two_rows() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    exactly(|| {
        let (seen, both) = Seen::of(&node, &[], || {
            let start = |reads| Fio::start(&node, &format!("--rw=randread --number_ios={reads}"));
            [start(300), start(700)].map(Fio::end)
        });
        assert_eq!(seen.named("fio").len(), 2, "{:#?}", seen.rows());
        let reads = |process: usize| seen.of_pid(both[process].0, "reads");
        let pairs = vec![
            ("of the first", 300, reads(0)),
            ("of the second", 700, reads(1)),
        ];
        (seen.device().clone(), pairs)
    });
}

/// Threads that the kernel or a library starts for the I/O belong to the process that submits it.
#[test]
#[ignore = "root"]
fn workers_of_asynchronous_io_are_their_process() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    for (engine, by_kernel) in [
        ("io_uring --force_async=1", true),
        ("io_uring --sqthread_poll=1", true),
        ("libaio", false),
        ("posixaio", false),
    ] {
        let job = format!("--ioengine={engine} --rw=randread --iodepth=8 --number_ios=1000");
        println!("{engine}");
        exactly(|| {
            let (seen, (pid, _)) = Seen::of(&node, &[], || Fio::run(&node, &job));
            let rows = seen.rows();
            assert_eq!(rows.len(), 1, "{engine}: {rows:#?}");
            assert_eq!(rows[0]["comm"], "fio");
            assert_eq!(rows[0]["kind"], "process");
            assert_eq!(rows[0]["has_io_workers"], by_kernel, "{engine}: {rows:#?}");
            let pairs = vec![("reads", 1000, seen.of_pid(pid, "reads"))];
            (seen.device().clone(), pairs)
        });
    }
}

/// A control group in the hierarchy that bios are charged to.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Group {
        let v1 = PathBuf::from("/sys/fs/cgroup/blkio");
        let root = if v1.is_dir() {
            v1
        } else {
            "/sys/fs/cgroup".into()
        };
        let path = root.join(name);
        fs::create_dir(&path).expect("a control group");
        Group(path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Completions run in other contexts; the current control group there is not the submitter's.
#[test]
#[ignore = "root"]
fn a_process_in_a_cgroup_is_found_by_its_path() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let node = disk.node();
    let name = format!("iosched-traps-{}", std::process::id());
    let group = Group::new(&name);
    let read = format!(
        "echo $$ >{}/cgroup.procs && exec dd if={node} of=/dev/null bs=4k count=500 iflag=direct",
        group.0.display()
    );
    let path = format!("/{name}");
    for scheduler in SCHEDULERS {
        disk.set("scheduler", scheduler);
        exactly(|| {
            let (seen, pid) = Seen::of(&node, &["--cgroup", &path], || {
                let others = format!("if={node}");
                run(
                    "dd",
                    &[
                        &others,
                        "of=/dev/null",
                        "bs=4k",
                        "count=100",
                        "iflag=direct",
                    ],
                );
                pid_of_run("sh", &["-c", &read])
            });
            assert_eq!(seen.rows().len(), 1, "{:#?}", seen.rows());
            assert_eq!(seen.rows()[0]["cgroup"], *path);
            let id = number(&seen.rows()[0], "/cgroup_id");
            assert_eq!(Names::default().path(id).as_deref(), Some(path.as_str()));
            let pairs = vec![
                ("reads of the group", 500, seen.of_pid(pid, "reads")),
                (
                    "reads of all",
                    600,
                    number(seen.op("read").expect("reads"), "/ios"),
                ),
            ];
            (seen.device().clone(), pairs)
        });
    }
}
