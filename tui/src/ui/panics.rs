//! What was changed is put back when the thread that changed it panics.

#[path = "../../../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iosched::journal::Journal;
use iosched::scheduler;
use support::LoopDevice;

use super::control::Control;
use super::sample::Report;
use super::sampler::{Sampler, Setup};
use super::update::Effect;

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
            devices: vec![disk.device.clone()],
            arms: vec![vec!["mq-deadline".parse().expect("an arm")]],
            interval: Duration::from_secs(1),
            asked: false,
            // As if another guardian watched: it is the unwinding alone that is to put back.
            control: Control::new(Journal::create().expect("a journal"), "/none".into(), true),
            labels: Vec::new(),
        },
        move |report| {
            if let Report::Flipped(_) = report {
                let active = scheduler::read(&device).expect("its queue").active;
                seen.store(active == "mq-deadline", Ordering::Relaxed);
                panic!("on purpose");
            }
        },
    );
    assert!(sampler.request(Effect::Flip {
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
