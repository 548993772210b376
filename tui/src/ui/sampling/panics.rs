//! A panic of the thread that switched must still restore the scheduler.

#[path = "../../../../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iosched_host::safety::journal::Journal;
use iosched_host::scheduler;
use support::LoopDevice;

use super::control::Control;
use super::request::Request;
use super::sample::SamplerReport;
use super::{Sampler, Setup};

#[test]
#[ignore = "root"]
fn a_panic_after_a_switch_puts_back() {
    let disk = LoopDevice::in_memory(16 << 20);
    disk.set("scheduler", "none");
    let before = scheduler::read(&disk.device).expect("its queue");
    let was_switched = Arc::new(AtomicBool::new(false));
    let (device, seen) = (disk.device.clone(), was_switched.clone());
    let sampler = Sampler::start(
        Setup {
            has_history: true,
            directory: std::env::temp_dir(),
            named_arms: Vec::new(),
            were_named: true,
            devices: vec![disk.device.clone()],
            arms: vec![vec!["mq-deadline".parse().expect("an arm")]],
            interval: Duration::from_secs(1),
            asked: false,
            // No guardian is started: only unwinding may restore the scheduler here.
            control: Control::new(Journal::create().expect("a journal"), "/none".into(), true),
            labels: Vec::new(),
        },
        move |report| {
            if let SamplerReport::Flipped(_) = report {
                let active = scheduler::read(&device).expect("its queue").active;
                seen.store(active == "mq-deadline", Ordering::Relaxed);
                panic!("on purpose");
            }
        },
    )
    .expect("a thread");
    assert!(sampler.request(Request::Flip {
        device: 0,
        arm: "mq-deadline".into(),
        put_back: true,
    }));
    let outcome = sampler.end();
    let error = outcome[0].as_ref().expect_err("a panic");
    assert!(error.to_string().contains("panicked"), "{error:#}");
    assert!(was_switched.load(Ordering::Relaxed));
    assert_eq!(scheduler::read(&disk.device).expect("its queue"), before);
}
