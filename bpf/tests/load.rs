//! The programs load and attach on the running kernel, and their verified size stays in bounds.

use iosched_bpf::{Config, NotPermitted, Target, Tracer};

/// The kernel's own limit is a million.
const BUDGET: u32 = 20_000;

fn config() -> Config {
    Config {
        targets: vec![Target {
            major: 7,
            minor: 0,
            hardware_queues: 1,
            depth: 256,
        }],
        owners: 64,
        shards: 2,
    }
}

#[test]
#[ignore = "root"]
fn loads_attaches_and_detaches() {
    let tracer = Tracer::attach(config()).unwrap_or_else(|error| {
        let log = error.downcast_ref::<NotPermitted>();
        panic!("{error:#}\n{}", log.map_or("", |refused| &refused.log))
    });
    println!("abilities: {:?}", tracer.abilities());
    for note in tracer.abilities().notes() {
        println!("missing: {note}");
    }
    println!("memory: {} bytes", tracer.memory_bytes());
    assert_eq!(tracer.owners().count(), 1, "only `other` before any I/O");
}

#[test]
#[ignore = "root"]
fn the_verifier_has_little_to_do() {
    let programs = iosched_bpf::verified_instructions(&config()).unwrap();
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
