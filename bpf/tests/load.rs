//! The programs load and attach on the running kernel, and their verified size stays in bounds.

use iosched_bpf::{Config, Detail, NotPermitted, Target, Tracer};

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
            without_q2g: false,
            order: true,
            fairness: true,
            i2d: true,
            passthrough: true,
            writeback: true,
        },
    ]
}

#[test]
#[ignore = "root"]
fn loads_attaches_and_detaches() {
    for detail in details() {
        let tracer = Tracer::attach(Config { detail, ..config() }).unwrap_or_else(|error| {
            let log = error.downcast_ref::<NotPermitted>();
            panic!("{error:#}\n{}", log.map_or("", |refused| &refused.log))
        });
        println!("{detail:?}");
        println!("abilities: {:?}", tracer.abilities());
        println!("memory: {} bytes", tracer.memory_bytes());
        for (program, instructions) in tracer.verified_instructions().unwrap() {
            println!("{program}: {instructions} instructions verified");
            assert!(instructions < 30_000, "{program}: {instructions}");
        }
        let used = (0..tracer.owner_count()).filter(|&index| tracer.owner(index).key.kind != 0);
        assert_eq!(used.count(), 0, "no owner before any I/O");
    }
}
