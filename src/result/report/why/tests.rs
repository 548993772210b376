use super::*;
use crate::measured::record::Record;
use crate::measured::snapshot::{Op, OwnerKind};
use crate::why::Does;

const US: u64 = 1000;
const BEGIN_NS: u64 = 1_000_000;

fn owner(row: u32) -> TracedOwner {
    TracedOwner {
        name: ["reader", "hog", "[kworker]"][row as usize % 3].to_owned(),
        kind: if row == 2 {
            OwnerKind::KernelThread
        } else {
            OwnerKind::Process
        },
        pid: if row == 2 { 0 } else { 100 + row },
        cgroup_id: u64::from(row),
        part: None,
    }
}

/// Times in microseconds since the beginning.
fn record(row: u32, op: Op, q_us: u64, d_us: u64, c_us: u64) -> Record {
    let at = |us: u64| BEGIN_NS + us * US;
    Record {
        q_ns: at(q_us),
        g_ns: at(q_us),
        owner: row,
        ..Record::issued(op, at(d_us), at(c_us))
    }
}

fn stretch(requests: Vec<Record>) -> Stretch {
    let time_ns = BEGIN_NS..BEGIN_NS + 1_000_000 * US;
    Stretch::new(time_ns, requests.into_iter().collect(), 0)
}

fn facts(scheduler: &str) -> DiskFacts {
    DiskFacts {
        name: "sda".to_owned(),
        scheduler: Some(scheduler.to_owned()),
        others: vec!["none".to_owned(), "kyber".to_owned()],
        hardware_depth: Some(1),
        ..DiskFacts::default()
    }
}

fn told(stretch: &Stretch, scheduler: &str) -> WhyRecord {
    let time = String::new();
    why(
        stretch,
        &[facts(scheduler)],
        time,
        &owner,
        &Keeps::ALL,
        None,
    )
}

fn text(record: &WhyRecord) -> String {
    let lines = record.sentences.iter().map(|sentence| {
        let command = sentence
            .command
            .iter()
            .map(|command| format!("\n$ {command}"));
        format!("{}{}", sentence.text, command.collect::<String>())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A reader behind the writes of another, with one slot.
fn behind_a_hog(rounds: u64) -> Stretch {
    let round = |at: u64| {
        let at = at * 5000;
        [
            record(1, Op::WriteAsync, at, at, at + 900),
            record(0, Op::Read, at + 100, at + 900, at + 1000),
        ]
    };
    stretch((0..rounds).flat_map(round).collect())
}

#[test]
fn who_waits_behind_whom_is_said_with_its_error_and_a_command() {
    let record = told(&behind_a_hog(150), "mq-deadline");
    assert_eq!(
        text(&record),
        "reader (100): its reads on sda wait 800 us of 900 us each before the device gets them. They wait behind writes \
         of hog (101) for 100 % of the time.\n\
         The only slot of sda was taken then: more is asked for than it takes at once.\n\
         This load under other schedulers, in turns, restored afterwards:\n\
         $ iosched-ab run sda --allow-mounted --workload live --arm present --arm none --arm kyber"
    );
    let [waits, serves] = &record.devices[0].owners[..] else {
        panic!("{record:#?}")
    };
    assert_eq!((waits.waits, waits.wait_ns), (150, 150 * 800 * US));
    assert_eq!(
        (waits.behind[0].pid, waits.behind[0].ns),
        (101, waits.wait_ns)
    );
    assert_eq!(waits.behind[0].error, Some(0.0));
    assert_eq!(
        (serves.ios, serves.service_ns, serves.wait_ns),
        (150, 150 * 900 * US, 0)
    );
    assert_eq!(record.devices[0].busy_periods, 150);
}

#[test]
fn a_few_waits_are_told_as_few() {
    let found = text(&told(&behind_a_hog(20), "none"));
    assert!(
        found.contains("Only 20 waited: too few to be sure."),
        "{found}"
    );
}

#[test]
fn an_idle_device_is_told_with_who_held_back() {
    let round = |at: u64| {
        let at = at * 5000;
        [
            record(1, Op::Read, at, at, at + 100),
            record(0, Op::WriteAsync, at + 50, at + 1050, at + 1100),
        ]
    };
    let all = stretch((0..150).flat_map(round).collect());
    let found = text(&told(&all, "bfq"));
    let wanted = "While reader (100)'s writes waited, sda was idle 95 % of the time: bfq, which keeps the device for the next \
                  request of another (slice_idle), or a throttle held them back, not other requests.";
    assert!(found.contains(wanted), "{found}");
    let device = &told(&all, "bfq").devices[0];
    assert_eq!(device.owners[0].device_idle_ns, 150 * 950 * US);
    assert!(text(&told(&all, "none")).contains("a throttle or a plug held them back"));
}

#[test]
fn where_nothing_waits_it_says_so() {
    let all = (0..200).map(|at| record(0, Op::Read, at * 100, at * 100, at * 100 + 50));
    let found = text(&told(&stretch(all.collect()), "none"));
    assert_eq!(
        found,
        "Hardly anything waits: of 200 requests to sda in 1.00 s each was issued after 0 ns on average, and took 50.0 us at the device. A scheduler \
         has nothing to decide here."
    );
    assert_eq!(
        text(&told(&stretch(Vec::new()), "none")),
        "Nobody used sda in these 1.00 s."
    );
}

/// Waits that began before the stretch count from its beginning, those that go on count until its end, and so do those whom they
/// wait for.
#[test]
fn the_stretch_cuts_what_is_longer() {
    let before = Record {
        q_ns: BEGIN_NS - 500 * US,
        g_ns: BEGIN_NS - 500 * US,
        owner: 0,
        ..Record::issued(Op::Read, BEGIN_NS + 300 * US, BEGIN_NS + 400 * US)
    };
    let in_service = Record {
        q_ns: BEGIN_NS - 900 * US,
        g_ns: BEGIN_NS - 900 * US,
        owner: 1,
        ..Record::issued(Op::WriteSync, BEGIN_NS - 800 * US, BEGIN_NS + 300 * US)
    };
    let over = Record::issued(Op::Read, BEGIN_NS - 900 * US, BEGIN_NS - 850 * US);
    let still = Record {
        q_ns: BEGIN_NS + 999_000 * US,
        g_ns: BEGIN_NS + 999_000 * US,
        owner: 0,
        ..Record::issued(Op::Read, 0, 0)
    };
    let found = told(&stretch(vec![before, in_service, over, still]), "none");
    let waits = &found.devices[0].owners[0];
    assert_eq!((waits.waits, waits.wait_ns), (2, (300 + 1000) * US));
    assert_eq!((waits.behind[0].pid, waits.behind[0].ns), (101, 300 * US));
    assert_eq!(waits.device_idle_ns, 1000 * US);
}

#[test]
fn flushes_are_waited_for_and_do_not_wait() {
    let command = Record {
        is_flush_command: true,
        ..Record::issued(Op::Flush, BEGIN_NS + 10 * US, BEGIN_NS + 700 * US)
    };
    let asked = Record {
        q_ns: BEGIN_NS + 5 * US,
        g_ns: BEGIN_NS + 5 * US,
        owner: 0,
        ..Record::issued(Op::Flush, 0, BEGIN_NS + 700 * US)
    };
    let after = Record {
        is_preflush: true,
        ..record(0, Op::WriteSync, 20, 700, 800)
    };
    let waits = record(1, Op::Read, 20, 700, 900);
    let found = told(&stretch(vec![command, asked, after, waits]), "none");
    let [first, rest @ ..] = &found.devices[0].owners[..] else {
        panic!("{found:#?}")
    };
    assert_eq!((first.pid, first.wait_ns), (101, 680 * US));
    assert_eq!(
        (first.behind[0].name.as_str(), first.behind[0].does),
        ("[flush]", Does::Flushes)
    );
    assert!(rest.iter().all(|owner| owner.wait_ns == 0), "{rest:#?}");
}

#[test]
fn losses_are_told_and_only_those_who_are_asked_for() {
    let mut lossy = behind_a_hog(150);
    lossy.missing = 7;
    let found = text(&told(&lossy, "none"));
    assert!(
        found.contains("7 requests are missing from this"),
        "{found}"
    );
    let time = String::new();
    let keeps = |owner: &WhyOwner| owner.pid == 101;
    let keeps = Keeps {
        rows: &keeps,
        ..Keeps::ALL
    };
    let found = why(&lossy, &[facts("none")], time, &owner, &keeps, None);
    assert_eq!(found.devices[0].owners.len(), 1);
    let found = text(&found);
    let its = found.split_once('\n').expect("two sentences").1;
    assert!(
        its.starts_with("Hardly anything waits: of 150 requests"),
        "{found}"
    );
    assert!(!found.contains("nothing to decide"), "others wait: {found}");
    let time = String::new();
    let nobody = Keeps {
        rows: &|_| false,
        ..Keeps::ALL
    };
    let nobody = why(
        &behind_a_hog(150),
        &[facts("none")],
        time,
        &owner,
        &nobody,
        None,
    );
    assert!(text(&nobody).starts_with("Whoever was asked for did not use sda"));
}

/// Thousands of processes are one party but for those with the most requests.
#[test]
fn those_with_the_most_requests_are_kept_apart() {
    let all = (0..6000_u64).map(|at| {
        let row = if at % 2 == 0 { 0 } else { at as u32 };
        record(row, Op::Read, at * 10, at * 10 + 50, at * 10 + 60)
    });
    let found = told(&stretch(all.collect()), "none");
    let owners = &found.devices[0].owners;
    assert!((200..=256).contains(&owners.len()), "{}", owners.len());
    let rest = owners.iter().find(|of| of.name == "all others").unwrap();
    assert_eq!(owners.iter().map(|of| of.ios).sum::<u64>(), 6000);
    assert!(
        rest.ios > 2000 && rest.wait_ns == rest.waits * 50 * US,
        "{rest:?}"
    );
}

/// At most eight, however much there is to say.
#[test]
fn there_are_at_most_eight_sentences() {
    let all = (0..3000).map(|at: u64| {
        let row = at as u32 % 30;
        record(row, Op::Read, at * 10, at * 30, at * 30 + 30)
    });
    let mut all = stretch(all.collect());
    all.missing = 1;
    let found = told(&all, "kyber");
    assert!(found.sentences.len() <= MOST_SENTENCES, "{}", text(&found));
    assert!(found.sentences.last().unwrap().command.is_some());
    assert!(text(&found).contains("more wait"), "{}", text(&found));
}
