//! Buffered writes are charged to the control group that wrote them, though a kernel thread writes them back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use iosched_result::measured::snapshot::{Op, OwnerKind};
use iosched_vmtest::{Disk, Seen, Watch, run};

const MIB: u64 = 1 << 20;

struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Group {
        let path = PathBuf::from("/sys/fs/cgroup").join(name);
        fs::create_dir(&path).expect("a control group");
        Group(path)
    }

    fn id(&self) -> u64 {
        fs::metadata(&self.0).expect("a directory").ino()
    }

    fn write(&self, file: &str, mib: u64) {
        let procs = self.0.join("cgroup.procs");
        let script = format!(
            "echo $$ >{} && exec dd if=/dev/zero of={file} bs=1M count={mib} 2>/dev/null",
            procs.display()
        );
        run("sh", &["-c", &script]);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Bytes written for the group: by kernel threads, and by others.
fn written(seen: &Seen, group: &Group) -> (u64, u64) {
    let of = |is_kernel_thread: bool| -> u64 {
        let rows = seen.0.owners.iter().filter(|owner| {
            let is_process = owner.key.kind == OwnerKind::Process;
            owner.key.cgroup_id == group.id() && is_process != is_kernel_thread
        });
        rows.flat_map(|owner| Op::WRITES.map(|op| owner.op(op).bytes))
            .sum()
    };
    (of(true), of(false))
}

const TRIES: usize = 4;

/// Writes that were seen: 12 MiB of the first group and 6 MiB of the second. A kernel that interrupts one of the programs
/// with itself skips it, which is counted: then there is another try.
fn writes_of(disk: &Disk, at: &str, groups: [&Group; 2]) -> Seen {
    let mut watch = Watch::on(disk);
    for attempt in 1..=TRIES {
        let (seen, ()) = watch.over(|| {
            for (group, mib) in groups.into_iter().zip([12, 6]) {
                group.write(&format!("{at}/{mib}-{attempt}"), mib);
            }
            run("sync", &[]);
        });
        if seen.device().quality.lost_events() == 0 {
            return seen;
        }
        println!("try {attempt}: {:?}", seen.device().quality);
    }
    panic!("something was lost in each of {TRIES} tries");
}

#[test]
fn buffered_writes_are_charged_to_the_byte() {
    let disk = Disk::null_blk(10_000, &[("memory_backed", "1"), ("size", "256")]);
    run("mkfs.ext4", &["-q", &disk.node()]);
    let mount = tempfile::tempdir().expect("a directory");
    let at = mount.path().to_str().expect("UTF-8");
    run("mount", &["-t", "ext4", &disk.node(), at]);
    let (a, b) = (Group::new("a"), Group::new("b"));
    let seen = writes_of(&disk, at, [&a, &b]);
    run("umount", &[at]);
    for owner in &seen.0.owners {
        println!(
            "{} in {}: {} bytes",
            owner.comm,
            owner.key.cgroup_id,
            owner.bytes()
        );
    }
    assert_eq!(written(&seen, &a), (12 * MIB, 0));
    assert_eq!(written(&seen, &b), (6 * MIB, 0));
}
