//! Settings that are known to change what a scheduler does, and values worth a try. What the disk makes of a value is found by
//! writing it. Pure.

use super::{Candidate, From};
use crate::metric::profile::Does;
use crate::types::arm::Arm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Anything,
    Reads,
    Writes,
    Both,
    /// Reads through the page cache.
    Buffered,
}

/// A scheduler, or none for those that every queue has; one of its settings; values other than the kernel's default; and the I/O
/// without which it does nothing.
type Rung = (
    Option<&'static str>,
    &'static str,
    &'static [&'static str],
    Needs,
);

const MQ_DEADLINE: Option<&str> = Some("mq-deadline");
const KYBER: Option<&str> = Some("kyber");
const BFQ: Option<&str> = Some("bfq");

/// The more likely to matter, the earlier: a budget takes the first ones.
const LADDER: &[Rung] = &[
    (BFQ, "iosched/slice_idle", &["0", "2"], Needs::Anything),
    (BFQ, "iosched/low_latency", &["0"], Needs::Anything),
    (
        KYBER,
        "iosched/read_lat_nsec",
        &["1000000", "500000", "8000000"],
        Needs::Reads,
    ),
    (
        KYBER,
        "iosched/write_lat_nsec",
        &["2000000", "40000000"],
        Needs::Writes,
    ),
    (
        MQ_DEADLINE,
        "iosched/fifo_batch",
        &["1", "64", "4"],
        Needs::Anything,
    ),
    (
        MQ_DEADLINE,
        "iosched/writes_starved",
        &["8", "1", "4"],
        Needs::Both,
    ),
    (
        MQ_DEADLINE,
        "iosched/read_expire",
        &["50", "150", "1500"],
        Needs::Reads,
    ),
    (
        MQ_DEADLINE,
        "iosched/write_expire",
        &["1000", "15000"],
        Needs::Writes,
    ),
    (None, "nr_requests", &["32", "256", "1024"], Needs::Anything),
    (
        None,
        "read_ahead_kb",
        &["0", "32", "512", "2048"],
        Needs::Buffered,
    ),
    (MQ_DEADLINE, "iosched/front_merges", &["0"], Needs::Anything),
    (BFQ, "iosched/strict_guarantees", &["1"], Needs::Anything),
    (BFQ, "iosched/timeout_sync", &["60"], Needs::Anything),
    (
        BFQ,
        "iosched/fifo_expire_sync",
        &["60", "500"],
        Needs::Reads,
    ),
    (
        BFQ,
        "iosched/fifo_expire_async",
        &["125", "1000"],
        Needs::Writes,
    ),
    (None, "rq_affinity", &["2", "0"], Needs::Anything),
    (None, "nomerges", &["2"], Needs::Anything),
    (None, "max_sectors_kb", &["128"], Needs::Anything),
];

/// What is to be tried, in the order in which a budget takes it, and what is not, and why.
#[derive(Debug, Default, PartialEq)]
pub struct Ladder {
    pub candidates: Vec<Candidate>,
    pub skipped: Vec<String>,
}

/// `default`: what the disk has. `schedulers`: those that all disks offer. `does`: what the workload does, if that is known.
pub fn ladder(
    default: &Arm,
    schedulers: &[String],
    does: Option<Does>,
    is_buffered: bool,
) -> Ladder {
    let mut found = Ladder::default();
    let mut add = |text: String, from: From| {
        if let Ok(arm) = text.parse::<Arm>() {
            found.candidates.push(Candidate {
                arm,
                from,
                left_out: None,
            });
        }
    };
    for name in schedulers {
        add(name.clone(), From::Scheduler);
    }
    // Where nothing is queued, nr_requests resizes what the driver has: a queue with a scheduler is the place to try it.
    let on = |setting: &str| {
        let is_none = default.scheduler == "none" && setting == "nr_requests";
        let other = schedulers.iter().find(|name| *name != "none");
        match other.filter(|_| is_none) {
            Some(other) => other.clone(),
            None => default.scheduler.clone(),
        }
    };
    // The first value of each setting before the second of any.
    let longest = LADDER.iter().map(|(_, _, values, _)| values.len()).max();
    for step in 0..longest.unwrap_or(0) {
        for (of, setting, values, needs) in LADDER {
            let scheduler = of.map_or_else(|| on(setting), str::to_owned);
            let is_there = schedulers.contains(&scheduler);
            if let Some(value) = values
                .get(step)
                .filter(|_| is_there && !inert(*needs, does, is_buffered))
            {
                add(format!("{scheduler},{setting}={value}"), From::Ladder);
            }
        }
    }
    let is_of_there = |of: Option<&str>| of.is_none_or(|of| schedulers.iter().any(|it| it == of));
    for (_, setting, _, needs) in LADDER.iter().filter(|(of, ..)| is_of_there(*of)) {
        if inert(*needs, does, is_buffered) {
            found.skipped.push(format!("{setting}: {}", why(*needs)));
        }
    }
    found.skipped.push(
        "wbt_lat_usec: all arms or none of a comparison set it; name arms with it in a file, --space FILE".to_owned(),
    );
    found
}

fn inert(needs: Needs, does: Option<Does>, is_buffered: bool) -> bool {
    if needs == Needs::Buffered {
        return !is_buffered;
    }
    let Some(does) = does else {
        return false;
    };
    match needs {
        Needs::Anything | Needs::Buffered => false,
        Needs::Reads => !does.reads,
        Needs::Writes => !does.writes,
        Needs::Both => !(does.reads && does.writes),
    }
}

fn why(needs: Needs) -> &'static str {
    match needs {
        Needs::Anything => "",
        Needs::Reads => "the workload does not read",
        Needs::Writes => "the workload does not write",
        Needs::Both => "the workload does not both read and write",
        Needs::Buffered => "the workload does not read through the page cache",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_do_nothing_are_not_tried() {
        let schedulers = ["none", "mq-deadline", "kyber"].map(str::to_owned);
        let default: Arm = "none".parse().unwrap();
        let reads = Does {
            reads: true,
            ..Does::default()
        };
        let found = ladder(&default, &schedulers, Some(reads), false);
        let texts: Vec<String> = found
            .candidates
            .iter()
            .map(|it| it.arm.to_string())
            .collect();
        assert_eq!(texts[..3], ["none", "mq-deadline", "kyber"]);
        assert_eq!(texts[3], "kyber,iosched/read_lat_nsec=1000000");
        assert!(
            texts.contains(&"mq-deadline,nr_requests=32".to_owned()),
            "{texts:?}"
        );
        assert!(texts.contains(&"none,rq_affinity=2".to_owned()));
        let has = |what: &str| texts.iter().any(|text| text.contains(what));
        for inert in [
            "write_lat",
            "writes_starved",
            "write_expire",
            "read_ahead",
            "bfq",
            "wbt",
        ] {
            assert!(!has(inert), "{inert}");
        }
        let skipped = found.skipped.join("\n");
        assert!(
            skipped.contains("write_lat_nsec: the workload does not write"),
            "{skipped}"
        );
        assert!(!skipped.contains("slice_idle"), "no scheduler of it");
        // Of what nobody knows, everything is tried.
        let all = ladder(&default, &schedulers, None, true);
        assert!(all.candidates.len() > found.candidates.len() + 4);
    }
}
