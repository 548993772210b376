use super::*;
use crate::measured::record::Record;
use crate::measured::snapshot::{Op, OwnerKind};

const MS: u64 = 1_000_000;
const BEGIN_NS: u64 = 1 << 40;

fn who(name: &str, pid: u32, part: Option<&str>) -> TracedOwner {
    TracedOwner {
        name: name.to_owned(),
        kind: OwnerKind::Process,
        pid,
        cgroup_id: u64::from(pid),
        part: part.map(str::to_owned),
    }
}

fn request(owner: u32, times_ms: [u64; 3]) -> Record {
    let [q_ns, d_ns, c_ns] = times_ms.map(|ms| BEGIN_NS + ms * MS);
    Record {
        q_ns,
        g_ns: q_ns,
        owner,
        ..Record::issued(Op::Read, d_ns, c_ns)
    }
}

fn disk() -> DiskFacts {
    DiskFacts {
        name: "sda".to_owned(),
        scheduler: Some("bfq".to_owned()),
        others: Vec::new(),
        hardware_depth: Some(1),
        ..DiskFacts::default()
    }
}

/// The second half of the requests is the victim's, each waits `wait_ms` behind one of the first.
fn round(owners: &[TracedOwner], pairs: u64, wait_ms: u64) -> RoundWhy {
    let half = owners.len() as u32 / 2;
    let requests = (0..pairs).flat_map(|pair| {
        let begin = pair * 100;
        let owner = pair as u32 % half;
        [
            request(owner, [begin, begin, begin + wait_ms]),
            request(half + owner, [begin, begin + wait_ms, begin + wait_ms + 1]),
        ]
    });
    let time_ns = BEGIN_NS..BEGIN_NS + pairs * 100 * MS;
    let stretch = Stretch::new(time_ns, requests.collect(), 1);
    of_round(stretch, &[disk()], &|row| owners[row as usize].clone())
}

#[test]
fn processes_of_a_part_are_one_and_others_of_its_name_are_not() {
    let owners = [
        who("fio", 1, Some("hog")),
        who("hog", 2, None),
        who("fio", 3, Some("probe")),
        who("fio", 4, Some("probe")),
    ];
    let round = round(&owners, 4, 10);
    let owners = &round.devices[0].owners;
    let probe = owners.iter().find(|of| of.label() == "probe").expect("it");
    assert_eq!((probe.pid, probe.waits, probe.wait_ns), (0, 4, 40 * MS));
    let behind: Vec<_> = probe
        .behind
        .iter()
        .map(|of| (of.part.as_deref(), of.name.as_str(), of.pid, of.ns))
        .collect();
    assert_eq!(
        behind,
        [(Some("hog"), "fio", 1, 20 * MS), (None, "hog", 2, 20 * MS)]
    );
    assert_eq!((round.time_s, round.devices[0].missing), (0.4, 1));
}

#[test]
fn rounds_add_up_by_name() {
    let of = |pid: u32| [who("hog", pid, None), who("reader", pid + 1, None)];
    let rounds: Vec<RoundWhy> = (0..6)
        .map(|of_round| round(&of(10 * of_round), 40, 5))
        .collect();
    let all: Vec<&RoundWhy> = rounds.iter().collect();
    let arm = of_arm(&all).expect("rounds");
    let device = &arm.devices[0];
    assert_eq!((device.rounds, device.missing), (Some(6), 6));
    assert_eq!(device.scheduler.as_deref(), Some("bfq"));
    let reader = &device.owners[0];
    assert_eq!((reader.name.as_str(), reader.pid), ("reader", 0));
    assert_eq!((reader.waits, reader.wait_ns), (240, 6 * 200 * MS));
    assert_eq!(reader.behind.len(), 1);
    assert_eq!(
        (reader.behind[0].ns, reader.behind[0].error),
        (reader.wait_ns, Some(0.0))
    );
    assert!((arm.time_s - 24.0).abs() < 1e-9);
    assert!(of_arm(&[]).is_none());
    // Fewer rounds have no error.
    let few = of_arm(&all[..4]).expect("rounds");
    assert_eq!(few.devices[0].owners[0].behind[0].error, None);
}

/// The error is that of a ratio of sums, as survey statistics have it: here by its formula.
#[test]
fn the_error_is_that_between_rounds() {
    let waits = [3.0, 5.0, 8.0, 2.0, 9.0, 4.0];
    let idle = [1.0, 2.0, 2.0, 2.0, 6.0, 0.0];
    let rounds: Vec<RoundWhy> = (0..6)
        .map(|place| {
            let mut round = round(&[who("hog", 1, None), who("reader", 2, None)], 40, 5);
            let device = &mut round.devices[0];
            device.owners.retain(|of| of.name == "reader");
            let reader = &mut device.owners[0];
            reader.wait_ns = (waits[place] * 1e9) as u64;
            reader.device_idle_ns = (idle[place] * 1e9) as u64;
            reader.behind[0].ns = reader.wait_ns - reader.device_idle_ns;
            round
        })
        .collect();
    let arm = of_arm(&rounds.iter().collect::<Vec<_>>()).expect("rounds");
    let reader = &arm.devices[0].owners[0];
    let (sum, part): (f64, f64) = (waits.iter().sum(), idle.iter().sum());
    let ratio = part / sum;
    let squares: f64 = waits
        .iter()
        .zip(idle)
        .map(|(wait, idle)| (idle - ratio * wait).powi(2))
        .sum();
    let expected = (6.0 / 5.0 * squares).sqrt() / sum;
    let error = reader.device_idle_error.expect("an error");
    assert!((error / expected - 1.0).abs() < 1e-9, "{error} {expected}");
    // The parts of a whole are as sure as each other.
    assert!((reader.behind[0].error.expect("it") / expected - 1.0).abs() < 1e-9);
}

/// A round in which an owner did nothing is in no sum, and a disk that left stays in those that it had.
#[test]
fn rounds_need_not_have_the_same() {
    let mut rounds = vec![
        round(&[who("hog", 1, None), who("reader", 2, None)], 40, 5),
        round(&[who("other", 1, None), who("reader", 2, None)], 40, 5),
    ];
    rounds[1].devices[0].scheduler = None;
    rounds[1].devices[0].hardware_depth = Some(2);
    rounds.push(RoundWhy {
        time_s: 1.0,
        devices: Vec::new(),
    });
    let arm = of_arm(&rounds.iter().collect::<Vec<_>>()).expect("rounds");
    let device = &arm.devices[0];
    assert_eq!((device.rounds, device.hardware_depth), (Some(2), None));
    assert_eq!(device.scheduler, None);
    let reader = device
        .owners
        .iter()
        .find(|of| of.name == "reader")
        .expect("it");
    let behind: Vec<_> = reader.behind.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(behind, ["hog", "other"]);
}

/// Who is one of many in some rounds is one of them in the sum: otherwise its sums would lack these rounds.
#[test]
fn who_is_not_apart_in_all_rounds_is_apart_in_none() {
    let apart = round(&[who("hog", 1, None), who("reader", 2, None)], 40, 5);
    let mut with_others = apart.clone();
    for owner in &mut with_others.devices[0].owners {
        if owner.name == "hog" {
            owner.name = REST.to_owned();
        }
        for behind in &mut owner.behind {
            behind.name = REST.to_owned();
        }
    }
    let mut also = with_others.clone();
    also.devices[0]
        .owners
        .extend(apart.devices[0].owners[1..].to_vec());
    let arm = of_arm(&[&apart, &with_others, &also]).expect("rounds");
    let names: Vec<&str> = arm.devices[0]
        .owners
        .iter()
        .map(|of| of.name.as_str())
        .collect();
    assert_eq!(names, ["reader", REST]);
    let reader = &arm.devices[0].owners[0];
    assert_eq!(
        (reader.behind.len(), reader.behind[0].name.as_str()),
        (1, REST)
    );
    assert_eq!(reader.behind[0].ns, reader.wait_ns);
    assert_eq!(arm.devices[0].owners[1].ios, 160);
}
