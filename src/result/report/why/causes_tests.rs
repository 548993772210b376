use super::super::{Keeps, WhyRecord, why};
use super::*;
use crate::measured::record::Record;
use crate::measured::snapshot::{DeviceNumbers, Op, OwnerKey, OwnerKind, Wait};
use crate::measured::trace::TracedOwner;
use crate::why::Stretch;

const SECOND: u64 = 1_000_000_000;
const BEGIN_NS: u64 = 5 * SECOND;
const IOS: u64 = 100;

/// In 10 s, writes of 20 ms each, of which `wait_ms` before the issue; the disk takes 8 at once.
fn stretch(wait_ms: u64) -> Stretch {
    stretch_of(writes(wait_ms))
}

fn stretch_of(records: impl IntoIterator<Item = Record>) -> Stretch {
    let time_ns = BEGIN_NS..BEGIN_NS + 10 * SECOND;
    Stretch::new(time_ns, records.into_iter().collect(), 0)
}

fn writes(wait_ms: u64) -> impl Iterator<Item = Record> {
    let write = move |number: u64| {
        let q_ns = BEGIN_NS + number * SECOND / 10;
        let d_ns = q_ns + wait_ms * 1_000_000;
        Record {
            q_ns,
            g_ns: d_ns,
            owner: 1,
            ..Record::issued(Op::WriteAsync, d_ns, q_ns + 20_000_000)
        }
    };
    (0..IOS).map(write)
}

/// The counts of these writes, changed by `change`.
fn interval(wait_ms: u64, change: &dyn Fn(&mut OwnerNumbers)) -> Interval {
    let key = OwnerKey {
        device: "sda".to_owned(),
        kind: OwnerKind::Process,
        tgid: 100,
        start_ms: 1,
        cgroup_id: 7,
        file: None,
    };
    let mut owner = OwnerNumbers::new(key, "db");
    let writes = &mut owner.ops[Op::WriteAsync as usize];
    (writes.ios, writes.waits) = (IOS, IOS);
    writes.q2d_sum_ns = IOS * wait_ms * 1_000_000;
    writes.d2c_sum_ns = IOS * (20 - wait_ms) * 1_000_000;
    change(&mut owner);
    Interval {
        start_ns: BEGIN_NS,
        end_ns: BEGIN_NS + 10 * SECOND,
        devices: vec![DeviceNumbers::new("sda")],
        owners: vec![owner],
    }
}

fn facts(scheduler: &str) -> DiskFacts {
    DiskFacts {
        name: "sda".to_owned(),
        scheduler: Some(scheduler.to_owned()),
        others: vec!["bfq".to_owned()],
        hardware_depth: Some(8),
        nr_requests: Some(4),
        wbt_lat_us: Some(2000),
    }
}

fn told_of(stretch: &Stretch, interval: &Interval, scheduler: &str) -> WhyRecord {
    let counted = Counted {
        interval,
        syncs: None,
        cgroup_path: &|_| Some("/db.slice".to_owned()),
    };
    let owner = |_| TracedOwner {
        name: "db".to_owned(),
        kind: OwnerKind::Process,
        pid: 100,
        cgroup_id: 7,
        part: None,
    };
    let disks = [facts(scheduler)];
    why(
        stretch,
        &disks,
        String::new(),
        &owner,
        &Keeps::ALL,
        Some(&counted),
    )
}

fn first(record: &WhyRecord) -> (&str, &str) {
    let first = &record.sentences[0];
    (&first.text, first.command.as_deref().unwrap_or_default())
}

fn slept(owner: &mut OwnerNumbers, cause: fn(&mut OwnerNumbers) -> &mut Wait) {
    let all = Wait {
        requests: IOS,
        ns: IOS * 15_000_000,
    };
    *cause(owner) = all;
    owner.waits.slept = all;
    owner.waits.q2g_ns = all.ns;
}

#[test]
fn a_limit_is_told_with_where_it_stands() {
    let limited = interval(0, &|owner| owner.throttled_ns = IOS * 60_000_000);
    let record = told_of(&stretch(0), &limited, "none");
    let (text, command) = first(&record);
    assert_eq!(
        text,
        "db (100): a limit of its control group (io.max) holds its I/Os on sda back, 60.0 ms of 80.0 ms per I/O, before the disk gets to know of them."
    );
    assert_eq!(command, "cat /sys/fs/cgroup/db.slice/io.max");
    assert_eq!(record.waits[0].causes[0].cause, Cause::Limit);
}

#[test]
fn few_requests_of_a_scheduler_are_told_before_those_that_have_them() {
    let few = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.scheduler_tag);
    });
    let record = told_of(&stretch(15), &few, "mq-deadline");
    let (text, command) = first(&record);
    assert!(text.contains("until one of the 4 requests of mq-deadline on sda is free (nr_requests), 15.0 ms of 20.0 ms per I/O"), "{text}");
    assert!(
        command.ends_with("--arm present --arm mq-deadline,nr_requests=256"),
        "{command}"
    );
    let inferred = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.scheduler_tag);
        owner.waits.is_inferred = true;
    });
    let record = told_of(&stretch(15), &inferred, "mq-deadline");
    assert!(
        first(&record)
            .0
            .contains("This kernel does not say which of the two"),
        "{record:#?}"
    );
}

#[test]
fn a_throttle_is_told_where_the_kernel_says_so_or_nothing_else_can_be() {
    let said = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.slept);
    });
    let record = told_of(&stretch(15), &said, "none");
    let (text, command) = first(&record);
    assert!(
        text.contains("though no tag is lacking: writeback throttling (wbt_lat_usec is 2000)"),
        "{text}"
    );
    assert!(command.ends_with("--arm none,wbt_lat_usec=0"), "{command}");
    let inferred = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.driver_tag);
        owner.waits.is_inferred = true;
    });
    let record = told_of(&stretch(15), &inferred, "none");
    assert!(
        first(&record).0.contains("So it is a throttle"),
        "{record:#?}"
    );
}

#[test]
fn writeback_throttling_holds_no_reads_back() {
    let reads = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.slept);
        owner.ops.swap(Op::Read as usize, Op::WriteAsync as usize);
    });
    let record = told_of(&stretch(15), &reads, "none");
    let (text, _) = first(&record);
    assert!(
        text.ends_with("no tag is lacking: io.latency or io.cost."),
        "{text}"
    );
}

/// Slots were free for none of the time: then the others that have them are the cause.
#[test]
fn a_full_device_is_not_told_as_a_lack_of_tags() {
    let full = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.scheduler_tag);
    });
    let hogs = (0..80).map(|number| {
        let d_ns = BEGIN_NS + number % 8;
        Record {
            owner: 2,
            ..Record::issued(Op::WriteAsync, d_ns, BEGIN_NS + 10 * SECOND - 1)
        }
    });
    let busy = stretch_of(writes(15).chain(hogs.take(8)));
    let record = told_of(&busy, &full, "mq-deadline");
    assert!(
        record
            .sentences
            .iter()
            .all(|of| !of.text.contains("nr_requests")),
        "{record:#?}"
    );
}

#[test]
fn a_device_that_answers_nothing_comes_first() {
    let stuck = Record {
        owner: 1,
        ..Record::issued(Op::Read, BEGIN_NS + 2 * SECOND, 0)
    };
    let hanging = stretch_of(writes(0).take(20).chain([stuck]));
    let record = told_of(&hanging, &interval(0, &|_| ()), "none");
    let (text, command) = first(&record);
    assert_eq!(
        text,
        "sda has ended no request for 8.00 s: 1 request is at it, the oldest for 8.00 s. It, or its driver, hangs."
    );
    assert_eq!(command, "dmesg --level=err,warn | tail");
}

#[test]
fn what_is_short_is_not_told() {
    let short = interval(0, &|owner| owner.throttled_ns = IOS * 1_000_000);
    let record = told_of(&stretch(0), &short, "none");
    assert!(
        record
            .sentences
            .iter()
            .all(|of| !of.text.contains("io.max")),
        "{record:#?}"
    );
}

#[test]
fn the_name_of_a_control_group_is_no_command() {
    let path = "/user.slice/$(reboot); x \"'`id`";
    let command = limits_of(path).expect("a command");
    let words = shlex::split(&command).expect("words");
    assert_eq!(words, ["cat", &format!("/sys/fs/cgroup{path}/io.max")]);
}

/// Its requests are among those of all others: nothing is known of what was free meanwhile.
#[test]
fn what_is_not_known_is_not_told_as_room() {
    let few = interval(15, &|owner| {
        slept(owner, |owner| &mut owner.waits.scheduler_tag);
    });
    let nobody = stretch_of([]);
    let record = told_of(&nobody, &few, "mq-deadline");
    let mut sentences = record.sentences.iter();
    assert!(
        sentences.all(|of| !of.text.contains("nr_requests")),
        "{record:#?}"
    );
}

/// A request waits 18 ms before its issue: 4 ms until the thread gets it, then bfq keeps it from the idle disk.
#[test]
fn a_cause_of_a_small_part_does_not_stand_for_the_rest() {
    let short = |owner: &mut OwnerNumbers| {
        let all = Wait {
            requests: IOS,
            ns: IOS * 4_000_000,
        };
        owner.waits.scheduler_tag = all;
        owner.waits.slept = all;
        owner.waits.q2g_ns = all.ns;
    };
    let text = |record: &WhyRecord| {
        let texts = record.sentences.iter().map(|of| of.text.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let little = text(&told_of(&stretch(18), &interval(18, &short), "bfq"));
    assert!(little.contains("bfq, which keeps the device"), "{little}");
    let long = |owner: &mut OwnerNumbers| slept(owner, |of| &mut of.waits.scheduler_tag);
    let most = text(&told_of(&stretch(18), &interval(18, &long), "bfq"));
    assert!(!most.contains("bfq, which keeps the device"), "{most}");
}
