//! The fate of a kernel when two programs switch one disk at the same moment. Not in `tests.txt`: where the hazard is
//! there the kernel does not survive it. docs/kernels.md has what came out:
//! `vmtest/run -k 7.2 -p stress vmtest/tests/rivals.rs`.

use std::time::{Duration, Instant};

use iosched_vmtest::{Disk, run};

const TIME: Duration = Duration::from_secs(30);

#[test]
fn two_writers_at_the_same_moment() {
    let disk = Disk::null_blk(200_000, &[("submit_queues", "2")]);
    let path = disk.device.sysfs("queue/scheduler");
    let end = Instant::now() + TIME;
    let writers: Vec<_> = [["mq-deadline", "bfq"], ["kyber", "mq-deadline"]]
        .into_iter()
        .map(|names| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut writes = 0_u64;
                while Instant::now() < end {
                    for name in names {
                        // One may find the other at it.
                        let _ = std::fs::write(&path, name);
                        writes += 1;
                    }
                }
                writes
            })
        })
        .collect();
    // One that hangs in the kernel never comes back.
    while Instant::now() < end + Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(200));
    }
    let hang = writers
        .iter()
        .filter(|writer| !writer.is_finished())
        .count();
    let said = run("dmesg", &[]);
    let words = ["BUG:", "Oops", "WARNING:", "refcount_t", "blocked for more"];
    let trouble: Vec<&str> = said
        .lines()
        .filter(|line| words.iter().any(|word| line.contains(word)))
        .collect();
    println!("hang: {hang} of 2 writers; the kernel says {trouble:#?}");
    assert!(hang == 0 && trouble.is_empty(), "{said}");
}
