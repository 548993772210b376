//! Switching schedulers on real devices, and what must never be lost or overwritten on the way.

mod support;

use iosched_host::safety::journal::Journal;
use iosched_host::safety::restorable::ensure_restorable;
use iosched_host::scheduler::{SavedQueue, apply, apply_onto, choice, doubts, read, restore};
use iosched_result::failure::{Kind, kind_of};
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::{DepthSource, HardwareDepth};
use support::LoopDevice;

const SIZE_BYTES: u64 = 64 << 20;

fn arm(text: &str) -> Arm {
    text.parse().expect(text)
}

#[test]
#[ignore = "root"]
fn every_scheduler_can_be_applied_and_is_verified() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let available = choice(&disk.device).expect("schedulers").available;
    assert!(available.len() > 1, "one scheduler only: {available:?}");
    for name in &available {
        let applied = apply(&disk.device, &arm(name)).expect(name);
        assert_eq!(&applied.effective.active, name);
        assert!(applied.switch_ns.is_some_and(|ns| ns > 0), "{name}");
        assert!(disk.get("scheduler").contains(&format!("[{name}]")));
    }
}

#[test]
#[ignore = "root"]
fn settings_of_an_arm_are_in_force_and_roundings_forgiven() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let wanted = arm("mq-deadline,iosched/read_expire=123,iosched/fifo_batch=1,nr_requests=32");
    let applied = apply(&disk.device, &wanted).expect("applied");
    assert_eq!(disk.get("iosched/fifo_batch"), "1");
    assert_eq!(disk.get("nr_requests"), "32");
    let read_expire: u32 = disk.get("iosched/read_expire").parse().expect("a number");
    assert!((123..134).contains(&read_expire), "{read_expire}");
    assert_eq!(applied.effective, read(&disk.device).expect("the state"));
}

#[test]
#[ignore = "root"]
fn what_was_set_by_hand_survives_a_trip() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "64");
    disk.set("iosched/read_expire", "333");
    let async_depth = async_depth(&disk);
    disk.set(async_depth, "7");
    disk.set("read_ahead_kb", "64");
    let before = read(&disk.device).expect("the state");
    let arms = [
        arm("kyber,read_ahead_kb=8"),
        arm("bfq,iosched/slice_idle=0"),
        arm("none"),
    ];
    let saved = SavedQueue::take(&disk.device, &arms).expect("saved");
    for arm in &arms {
        apply_onto(&disk.device, arm, &saved).expect("applied");
    }
    restore(&saved).expect("restored");
    assert_eq!(read(&disk.device).expect("the state"), before);
    assert_eq!(disk.get("nr_requests"), "64");
    assert_eq!(disk.get(async_depth), "7");
    let read_expire: u32 = disk.get("iosched/read_expire").parse().expect("a number");
    assert!((333..344).contains(&read_expire), "{read_expire}");
}

/// mq-deadline has the attribute before 7.0, and the queue since then.
fn async_depth(disk: &LoopDevice) -> &'static str {
    if disk.device.sysfs("queue/async_depth").exists() {
        "async_depth"
    } else {
        "iosched/async_depth"
    }
}

#[test]
#[ignore = "root"]
fn the_async_depth_of_one_arm_is_in_no_other() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    let few = arm(&format!("few=mq-deadline,{}=7", async_depth(&disk)));
    let others = [arm("none"), arm("kyber"), arm("mq-deadline"), arm("bfq")];
    let state = |arm: &Arm| apply(&disk.device, arm).expect("applied").effective;
    let alone: Vec<_> = others.iter().map(state).collect();
    disk.set("scheduler", "none");
    let all: Vec<Arm> = others.iter().chain([&few]).cloned().collect();
    let saved = SavedQueue::take(&disk.device, &all).expect("saved");
    let among = |arm: &Arm| {
        let applied = apply_onto(&disk.device, arm, &saved);
        applied.expect("applied").effective
    };
    for (other, alone) in others.iter().zip(&alone) {
        assert_eq!(among(&few).settings[async_depth(&disk)], "7");
        assert_eq!(&among(other), alone, "{other}");
    }
    restore(&saved).expect("restored");
}

#[test]
#[ignore = "root"]
fn an_arm_inherits_nothing_from_the_one_before() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("read_ahead_kb", "64");
    let arms = [
        arm("a=none,nr_requests=8,read_ahead_kb=4,nomerges=2"),
        arm("b=mq-deadline,nomerges=1"),
        arm("c=none"),
    ];
    let saved = SavedQueue::take(&disk.device, &arms).expect("saved");
    let alone = apply_onto(&disk.device, &arms[2], &saved)
        .expect("c")
        .effective;
    let a = apply_onto(&disk.device, &arms[0], &saved)
        .expect("a")
        .effective;
    assert_eq!(a.hardware_depth.expect("a depth").depth, 8);
    let b = apply_onto(&disk.device, &arms[1], &saved)
        .expect("b")
        .effective;
    assert_eq!(b.hardware_depth, alone.hardware_depth);
    assert_eq!(
        (&*b.settings["read_ahead_kb"], &*b.settings["nomerges"]),
        ("64", "1")
    );
    apply_onto(&disk.device, &arms[0], &saved).expect("a");
    assert_eq!(
        apply_onto(&disk.device, &arms[2], &saved)
            .expect("c")
            .effective,
        alone
    );
    restore(&saved).expect("restored");
}

#[test]
#[ignore = "root"]
fn a_hidden_hardware_depth_is_put_back_exactly() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    let shown = disk.get("nr_requests");
    disk.set("nr_requests", "8");
    disk.set("scheduler", "mq-deadline");
    disk.set("scheduler", "none");
    // The kernel shows the first number again, and the driver still takes 8.
    assert_eq!(disk.get("nr_requests"), shown);
    let before = read(&disk.device).expect("the state");
    let depth = before.hardware_depth.expect("a depth");
    assert_eq!((depth.depth, depth.source), (8, DepthSource::Debugfs));

    let arms = [arm("none,nr_requests=32"), arm("bfq")];
    let saved = SavedQueue::take(&disk.device, &arms).expect("saved");
    let resized = apply_onto(&disk.device, &arms[0], &saved).expect("resized");
    assert_eq!(resized.effective.hardware_depth.expect("a depth").depth, 32);
    assert!(
        resized.notes.iter().any(|note| note.contains("8 -> 32")),
        "{:?}",
        resized.notes
    );
    restore(&saved).expect("restored");
    assert_eq!(read(&disk.device).expect("the state"), before);

    // The number that is shown already: the kernel ignores it, the arm means it.
    let asked = arm(&format!("none,nr_requests={shown}"));
    let resized = apply(&disk.device, &asked).expect("resized");
    let depth = resized.effective.hardware_depth.expect("a depth").depth;
    assert_eq!(depth.to_string(), shown);
    restore(&saved).expect("restored");
    assert_eq!(read(&disk.device).expect("the state"), before);

    apply_onto(&disk.device, &arms[0], &saved).expect("resized");
    apply_onto(&disk.device, &arms[1], &saved).expect("bfq");
    restore(&saved).expect("restored");
    assert_eq!(read(&disk.device).expect("the state"), before);
}

#[test]
#[ignore = "root"]
fn nr_requests_set_by_hand_under_none_is_put_back() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    disk.set("nr_requests", "16");
    let before = read(&disk.device).expect("the state");
    assert_eq!(before.settings["nr_requests"], "16");
    for text in [
        "kyber",
        "none,nr_requests=4",
        "none",
        "mq-deadline,nr_requests=9",
    ] {
        let saved = SavedQueue::take(&disk.device, &[arm(text)]).expect("saved");
        apply_onto(&disk.device, &arm(text), &saved).expect(text);
        restore(&saved).expect("restored");
        assert_eq!(read(&disk.device).expect("the state"), before, "{text}");
    }
}

#[test]
#[ignore = "root"]
fn applying_the_active_scheduler_starts_it_afresh() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "bfq");
    let default = disk.get("iosched/low_latency");
    assert_eq!(default, "1");
    disk.set("iosched/low_latency", "0");
    disk.set("nr_requests", "64");
    disk.set("scheduler", "bfq");
    assert_eq!(
        disk.get("iosched/low_latency"),
        "0",
        "a plain write resets nothing"
    );
    let applied = apply(&disk.device, &arm("bfq")).expect("applied");
    assert_eq!(applied.effective.settings["iosched/low_latency"], default);
    assert_ne!(applied.effective.settings["nr_requests"], "64");
}

/// The table of what Linux's schedulers have, by the kernel itself.
#[test]
#[ignore = "root"]
fn no_setting_that_a_scheduler_has_is_doubted() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let available = choice(&disk.device).expect("schedulers").available;
    for active in &available {
        let settings = apply(&disk.device, &arm(active)).expect("applied");
        let own = settings.effective.settings.into_iter();
        for (name, value) in own.filter(|(name, _)| name.starts_with("iosched/")) {
            disk.set("scheduler", "none");
            let wanted = arm(&format!("{active},{name}={value}"));
            let doubts = doubts(&disk.device, &wanted).expect("an answer");
            let said: Vec<&String> = doubts.iter().map(|doubt| &doubt.what).collect();
            assert!(said.is_empty(), "{said:?}");
        }
    }
}

#[test]
#[ignore = "root"]
fn a_setting_that_no_scheduler_has_is_doubted_without_a_switch() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    for (text, is_certain, hint) in [
        (
            "bfq,low_latncy=0",
            true,
            "did you mean iosched/low_latency?",
        ),
        ("bfq,read_ahead=0", true, "did you mean read_ahead_kb?"),
        (
            "bfq,iosched/low_latncy=0",
            false,
            "did you mean iosched/low_latency?",
        ),
        (
            "kyber,iosched/read_expire=1",
            false,
            "available attributes: iosched/read_lat_nsec, iosched/write_lat_nsec",
        ),
        // Another kernel's scheduler: nothing is known of it.
        ("adios,iosched/anything=1", true, ""),
    ] {
        let found = doubts(&disk.device, &arm(text)).expect("an answer");
        let found: Vec<(bool, &str)> = found.iter().map(|it| (it.is_certain, &*it.hint)).collect();
        let wanted: &[(bool, &str)] = match hint {
            "" => &[],
            _ => &[(is_certain, hint)],
        };
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
#[ignore = "root"]
fn a_refused_arm_changes_nothing() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "mq-deadline");
    disk.set("nr_requests", "64");
    disk.set("iosched/read_expire", "400");
    let before = read(&disk.device).expect("the state");
    for (text, says) in [
        ("nosuch", "has no scheduler \"nosuch\"; it offers"),
        ("kyber,nosuch=1", "no attribute \"nosuch\""),
        // Attributes of the scheduler that is meant, whichever is active.
        ("kyber,nosuch=1", "iosched/read_lat_nsec"),
        ("bfq,low_latency=0", "did you mean iosched/low_latency?"),
        (
            "kyber,iosched/read_expire=1",
            "no attribute \"iosched/read_expire\"",
        ),
        (
            "mq-deadline,read_expire=1",
            "did you mean iosched/read_expire?",
        ),
        (
            "none,nr_requests=1000000",
            "rejected nr_requests=1000000 under",
        ),
        ("none,nr_requests=2", "nr_requests=2 reads back as 4"),
        (
            "bfq,iosched/low_latency=maybe",
            "rejected iosched/low_latency=maybe under",
        ),
        (
            "bfq,logical_block_size=4096",
            "rejected logical_block_size=4096 under",
        ),
    ] {
        let error = apply(&disk.device, &arm(text)).expect_err(text);
        assert!(format!("{error:#}").contains(says), "{text}: {error:#}");
        assert_eq!(kind_of(&error), Kind::Usage, "{text}");
        assert_eq!(read(&disk.device).expect("the state"), before, "{text}");
    }
}

/// The kernel sets `read_ahead_kb` anew when a limit of the queue is written: by each attribute that can be set, with the
/// value that it has.
#[test]
#[ignore = "root"]
fn a_setting_changes_nothing_else() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("read_ahead_kb", "256");
    let journal = Journal::create().expect("a journal");
    let plain = apply(&disk.device, &arm("none")).expect("applied");
    let plain = plain.effective.settings;
    for (name, own) in &plain {
        // The first follows the depth, the second is refused under none, the third is no longer adapted once it is written.
        let others = ["nr_requests", "async_depth", "wbt_lat_usec"];
        if own.contains(char::is_whitespace) || others.contains(&&**name) {
            continue;
        }
        let wanted = arm(&format!("none,{name}={own}"));
        let baseline =
            SavedQueue::take(&disk.device, std::slice::from_ref(&wanted)).expect("saved");
        if ensure_restorable(&journal, &disk.device, &baseline).is_err() {
            println!("{name}: {own:?} is refused");
            assert_ne!(name, "max_sectors_kb", "it can be written again");
        } else {
            let applied = apply(&disk.device, &wanted).expect(name);
            assert_eq!(applied.effective.settings, plain, "{name}");
        }
        assert_eq!(disk.get("read_ahead_kb"), "256", "{name}");
    }
    apply(
        &disk.device,
        &arm("none,max_sectors_kb=64,read_ahead_kb=32"),
    )
    .expect("applied");
    assert_eq!(
        (disk.get("max_sectors_kb"), disk.get("read_ahead_kb")),
        ("64".into(), "32".into())
    );
}

/// A loop device shows a `discard_max_bytes` that is no multiple of its granularity.
#[test]
#[ignore = "root"]
fn a_value_that_could_not_be_written_again_is_never_replaced() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let before = read(&disk.device).expect("the state");
    let own = disk.get("discard_max_bytes");
    if own.parse::<u64>().expect("a number") % 4096 == 0 {
        println!("skipped: the kernel takes {own} back");
        return;
    }
    let of = |text: &str| SavedQueue::take(&disk.device, &[arm(text)]).expect("saved");
    let refused = of("none,discard_max_bytes=16384,read_ahead_kb=64");
    let journal = Journal::create().expect("a journal");
    let error = ensure_restorable(&journal, &disk.device, &refused).expect_err("no way back");
    assert_eq!(kind_of(&error), Kind::Refused);
    let says = format!("the present discard_max_bytes {own:?} could not be restored");
    assert!(error.to_string().contains(&says), "{error}");
    let fine = of("bfq,read_ahead_kb=64,nr_requests=8,iosched/low_latency=0,wbt_lat_usec=0");
    ensure_restorable(&journal, &disk.device, &fine).expect("nothing in the way");
    assert_eq!(read(&disk.device).expect("the state"), before);
}

#[test]
#[ignore = "root"]
fn another_disk_with_the_same_name_is_left_alone() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    let mut saved = SavedQueue::take(&disk.device, &[]).expect("saved");
    disk.set("scheduler", "kyber");
    saved.diskseq = saved.diskseq.map(|seq| seq + 1);
    restore(&saved).expect("nothing to do");
    assert_eq!(choice(&disk.device).expect("schedulers").active, "kyber");
}

#[test]
#[ignore = "root"]
fn what_cannot_be_restored_is_listed() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    disk.set("read_ahead_kb", "64");
    let mut saved = SavedQueue::take(&disk.device, &[]).expect("saved");
    saved.settings.insert("nosuch".into(), "1".into());
    saved
        .settings
        .insert("rq_affinity".into(), "nonsense".into());
    disk.set("read_ahead_kb", "8");
    let error = restore(&saved).expect_err("two are impossible");
    let text = error.to_string();
    assert!(
        text.contains("nosuch") && text.contains("rq_affinity"),
        "{text}"
    );
    // The rest was put back all the same.
    assert_eq!(disk.get("read_ahead_kb"), "64");
}

/// As in a journal that was damaged.
#[test]
#[ignore = "root"]
fn a_number_of_requests_that_is_none_is_not_restored_in_silence() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    let mut saved = SavedQueue::take(&disk.device, &[]).expect("saved");
    for text in ["abc", "-1"] {
        saved.settings.insert("nr_requests".into(), text.into());
        let error = restore(&saved).expect_err(text);
        assert!(
            error.to_string().contains("no number of requests"),
            "{error}"
        );
    }
}

#[test]
#[ignore = "root"]
fn the_depth_is_put_back_where_only_sysfs_tells_of_it() {
    let disk = LoopDevice::new(SIZE_BYTES);
    disk.set("scheduler", "none");
    disk.set("nr_requests", "16");
    let before = read(&disk.device).expect("the state");
    let arms = [arm("none,nr_requests=8"), arm("mq-deadline")];
    let mut saved = SavedQueue::take(&disk.device, &arms).expect("saved");
    // As it is saved without debugfs.
    saved.hardware_depth = Some(HardwareDepth {
        depth: 16,
        source: DepthSource::NrTags,
    });
    apply_onto(&disk.device, &arms[0], &saved).expect("resized");
    let other = apply_onto(&disk.device, &arms[1], &saved).expect("mq-deadline");
    assert_eq!(other.effective.hardware_depth, before.hardware_depth);
    apply_onto(&disk.device, &arms[0], &saved).expect("resized");
    restore(&saved).expect("restored");
    assert_eq!(read(&disk.device).expect("the state"), before);
}
