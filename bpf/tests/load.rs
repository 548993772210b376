//! The programs load and attach on the running kernel, and their verified size stays in bounds.

use iosched_bpf::{Config, Detail, NotPermitted, Target, Tracer};

/// The kernel's own limit is a million. 5.10 walks through the loop over a request's bios as often as that may turn.
const BUDGET: u32 = 40_000;

fn config() -> Config {
    Config {
        targets: vec![Target {
            major: 7,
            minor: 0,
            hardware_queues: 1,
            depth: 256,
        }],
        owners: 64,
        owner_histograms: 64,
        shards: 2,
        coarse: false,
        detail: Detail::default(),
    }
}

/// Nothing asked for, each detail alone, and all of them.
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
            without_q2g: true,
            ..none
        },
        Detail {
            asked: true,
            ..none
        },
        Detail {
            without_q2g: false,
            asked: true,
            order: true,
            fairness: true,
            i2d: true,
            owner_stages: true,
            passthrough: true,
            writeback: true,
        },
    ]
}

#[test]
#[ignore = "root"]
fn loads_attaches_and_detaches() {
    for detail in details() {
        println!("{detail:?}");
        attach(Config { detail, ..config() });
    }
    attach(Config {
        coarse: true,
        ..config()
    });
}

fn attach(config: Config) {
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
}

#[test]
#[ignore = "root"]
fn the_verifier_has_little_to_do() {
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
        has("block_rq_issue") && has("block_rq_complete"),
        "{programs:?}"
    );
}
