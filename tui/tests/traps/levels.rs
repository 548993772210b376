//! An I/O is counted once, at one level.

use crate::exact::{exactly, number};
use crate::support::program::Program;
use crate::support::{LoopDevice, Mounted, run};
use crate::work::Seen;
use crate::{BINARY, MIB};

#[test]
#[ignore = "root"]
fn a_partition_and_its_disk_are_counted_once() {
    let disk = LoopDevice::in_memory(64 * MIB);
    let (node, partition) = (disk.node(), disk.add_partition());
    let name = &disk.device.name;
    exactly(|| {
        let (seen, ()) = Seen::of(&partition, &[&node, name], || {
            for input in [&partition, &node] {
                let input = format!("if={input}");
                run(
                    "dd",
                    &[&input, "of=/dev/null", "bs=4k", "count=200", "iflag=direct"],
                );
            }
        });
        assert!(seen.notes.contains(&format!(
            "{name}p1 is a partition: its disk {name} is measured as a whole"
        )));
        let devices = seen.record["devices"].as_array().expect("a list");
        assert_eq!(devices.len(), 1, "{devices:#?}");
        let reads = seen.op("read").map_or(0, |op| number(op, "/ios"));
        let rows = seen
            .named("dd")
            .iter()
            .map(|row| number(row, "/reads"))
            .sum();
        let pairs = vec![("reads", 400, reads), ("reads of all dd", 400, rows)];
        (seen.device().clone(), pairs)
    });
}

/// A disk on a file on a disk: without a name it is measured at the lower level, with a note; by its name, at itself.
#[test]
#[ignore = "root"]
fn stacked_devices_are_counted_at_one_level() {
    let lower = LoopDevice::in_memory(64 * MIB);
    run("mkfs.ext4", &["-q", &lower.node()]);
    let mounted = Mounted::new(&lower.node());
    let image = mounted.path().join("upper.img");
    run(
        "dd",
        &[
            "if=/dev/zero",
            &format!("of={}", image.display()),
            "bs=1M",
            "count=16",
            "status=none",
        ],
    );
    let upper = LoopDevice::over(&image);
    let (above, below) = (&upper.device.name, &lower.device.name);

    let program = Program::new(BINARY);
    let ended = program.run(&["stat", "-n", "1", "-i", "0.1", "--output", "json"]);
    let ended = ended.ends(
        0,
        &[&format!(
            "{above} is built on {below}, which is shown instead; to see {above} itself, name it"
        )],
    );
    let record: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let names: Vec<&str> = record["devices"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|device| device["device"].as_str())
        .collect();
    assert!(
        names.contains(&below.as_str()) && !names.contains(&above.as_str()),
        "{names:?}"
    );

    let input = format!("if={}", upper.node());
    exactly(|| {
        let (seen, ()) = Seen::of(&upper.node(), &[], || {
            run(
                "dd",
                &[&input, "of=/dev/null", "bs=4k", "count=200", "iflag=direct"],
            );
        });
        let devices = seen.record["devices"].as_array().expect("a list");
        assert_eq!(devices.len(), 1, "{devices:#?}");
        let reads = seen.op("read").map_or(0, |op| number(op, "/ios"));
        (seen.device().clone(), vec![("reads", 200, reads)])
    });
    drop(upper);
}
