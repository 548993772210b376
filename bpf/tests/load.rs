//! The programs load and attach on the running kernel, and their verified size stays in bounds.

use iosched_bpf::{Config, NotPermitted, Target, Tracer};

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
    println!("memory: {} bytes", tracer.memory_bytes());
    for (program, instructions) in tracer.verified_instructions().unwrap() {
        println!("{program}: {instructions} instructions verified");
        assert!(instructions < 20_000, "{program}: {instructions}");
    }
    assert_eq!(tracer.owners().count(), 1, "only `other` before any I/O");
}
