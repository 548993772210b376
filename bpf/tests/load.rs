//! The programs load and attach on the running kernel, are removed completely, and their verified size stays in bounds.
#![allow(unsafe_code)] // to ask the kernel for what it holds

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use iosched_bpf::{Config, Detail, NotPermitted, SyncTracer, Target, Tracer};

/// Descriptors belong to the process, not to one test, so the tests take turns.
static DESCRIPTORS: Mutex<()> = Mutex::new(());

/// The kernel's limit is a million. 5.10 walks through the loop over a request's bios once per possible iteration.
const BUDGET: u32 = 40_000;

/// No disk has this number, so the programs count no I/O of other tests.
const MINOR: u32 = (1 << 20) - 1;

fn config() -> Config {
    Config {
        targets: vec![Target {
            major: 7,
            minor: MINOR,
            hardware_queues: 1,
            depth: 256,
            head: None,
        }],
        owners: 64,
        shards: 2,
        ring_records: 1024,
        detail: Detail::default(),
    }
}

/// No detail, each detail alone, and all of them.
fn details() -> Vec<Detail> {
    let none = Detail::default();
    vec![
        none,
        Detail {
            order: true,
            ..none
        },
        Detail {
            fairness: true,
            ..none
        },
        Detail {
            light: true,
            ..none
        },
        Detail { i2d: true, ..none },
        Detail {
            owner_stages: true,
            ..none
        },
        Detail {
            passthrough: true,
            ..none
        },
        Detail {
            writeback: true,
            ..none
        },
        Detail {
            files: true,
            ..none
        },
        Detail {
            without_q2g: true,
            ..none
        },
        Detail {
            asked: true,
            ..none
        },
        Detail {
            light: false,
            without_q2g: false,
            asked: true,
            order: true,
            fairness: true,
            i2d: true,
            owner_stages: true,
            passthrough: true,
            writeback: true,
            files: true,
        },
    ]
}

#[test]
#[ignore = "root"]
fn loads_attaches_and_detaches() {
    let _alone = DESCRIPTORS.lock();
    for detail in details() {
        println!("{detail:?}");
        attaches_and_detaches(|| attach(Config { detail, ..config() }));
    }
    attaches_and_detaches(|| SyncTracer::attach().expect("the programs of syncs"));
}

/// A kernel object, by its id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Object {
    Program(u32),
    Link(u32),
    Map(u32),
}

impl Object {
    fn exists(self) -> bool {
        use libbpf_rs::libbpf_sys::{
            bpf_link_get_fd_by_id, bpf_map_get_fd_by_id, bpf_prog_get_fd_by_id,
        };
        // SAFETY: they take a number and return a new descriptor or a negative error.
        let fd = unsafe {
            match self {
                Object::Program(id) => bpf_prog_get_fd_by_id(id),
                Object::Link(id) => bpf_link_get_fd_by_id(id),
                Object::Map(id) => bpf_map_get_fd_by_id(id),
            }
        };
        if fd < 0 {
            let error = io::Error::last_os_error();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{self:?}: {error}");
            return false;
        }
        // SAFETY: the kernel has just made it for us.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        true
    }
}

/// The BPF objects of this process, from its descriptors' fdinfo. Other processes may trace at the same time.
fn held() -> BTreeSet<Object> {
    let files = fs::read_dir("/proc/self/fdinfo").expect("descriptors");
    // The descriptor of this directory is closed again.
    let texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    let mut found = BTreeSet::new();
    for text in texts {
        for line in text.lines() {
            let Some((key, id)) = line.split_once(':') else {
                continue;
            };
            let object = match key {
                "prog_id" => Object::Program,
                "link_id" => Object::Link,
                "map_id" => Object::Map,
                _ => continue,
            };
            found.insert(object(id.trim().parse().expect("a number")));
        }
    }
    found
}

fn attaches_and_detaches<T>(attach: impl FnOnce() -> T) {
    assert_eq!(held(), BTreeSet::new(), "before the load");
    let tracer = attach();
    let held_then = held();
    println!("held: {held_then:?}");
    for wanted in [Object::Program(0), Object::Link(0), Object::Map(0)] {
        let is_kind = |it: &&Object| std::mem::discriminant(*it) == std::mem::discriminant(&wanted);
        assert!(held_then.iter().any(|it| is_kind(&it)), "{wanted:?}");
    }
    assert!(held_then.iter().all(|object| object.exists()));
    drop(tracer);
    assert_eq!(held(), BTreeSet::new(), "after the drop");
    // The kernel frees them with a delay, and a program only after its links.
    let deadline = Instant::now() + Duration::from_secs(30);
    for object in held_then {
        while object.exists() {
            assert!(Instant::now() < deadline, "{object:?} is left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn attach(config: Config) -> Tracer {
    let tracer = Tracer::attach(config).unwrap_or_else(|error| {
        let log = error.downcast_ref::<NotPermitted>();
        panic!("{error:#}\n{}", log.map_or("", |refused| &refused.log))
    });
    println!("abilities: {:?}", tracer.abilities());
    for note in tracer.abilities().notes() {
        println!("missing: {note}");
    }
    println!("memory: {} bytes", tracer.memory_bytes());
    let used = (0..tracer.owner_count()).filter(|&index| tracer.is_owner(index));
    assert_eq!(used.count(), 0, "no owner before any I/O");
    tracer
}

#[test]
#[ignore = "root"]
fn the_verifier_has_little_to_do() {
    let _alone = DESCRIPTORS.lock();
    let all = *details().last().unwrap();
    let config = Config {
        detail: all,
        ..config()
    };
    let programs = iosched_bpf::verified_instructions(&config).unwrap();
    for (program, instructions) in &programs {
        println!("{program}: {instructions} instructions verified");
        assert!(*instructions < BUDGET, "{program}: {instructions}");
    }
    let has = |name: &str| programs.iter().any(|(program, _)| program == name);
    assert!(
        has("block_rq_issue") && has("block_rq_complete") && has("sync_switch"),
        "{programs:?}"
    );
}
