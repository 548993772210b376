//! How many requests waited under each arm, and what their threads slept for. Pure.

use std::fmt::Write;

use super::units;
use crate::analysis::early;
use crate::measured::snapshot::DeviceNumbers;
use crate::statistics::verdict::Reason;
use crate::study::joint::is_difference;
use crate::types::arm::Arm;
use crate::types::result::{ArmComparison, ArmWaiting, ResultFile};

pub fn add(text: &mut String, result: &ResultFile) {
    let shares: Vec<String> = result
        .waiting
        .iter()
        .filter_map(|arm| {
            let depth = arm
                .hardware_depth
                .map_or(String::new(), |depth| format!(" at hardware depth {depth}"));
            Some(format!("{} {:.1} %{depth}", arm.arm, arm.share? * 100.0))
        })
        .collect();
    if shares.is_empty() {
        return;
    }
    let threshold = result
        .waiting
        .iter()
        .map(|arm| arm.threshold_ns)
        .max()
        .unwrap_or(0);
    let _ = writeln!(
        text,
        "Requests with a queue wait above {}: {}.",
        units::time(Some(threshold as f64)),
        shares.join(", ")
    );
    let longest = result.waiting.iter().filter_map(|arm| {
        let ns = arm.longest_ns?;
        Some(format!("{} {}", arm.arm, units::time(Some(ns))))
    });
    let longest: Vec<String> = longest.collect();
    if !longest.is_empty() {
        let _ = writeln!(text, "Longest queue wait: {}.", longest.join(", "));
    }
    let stalls = result.waiting.iter().filter_map(|arm| {
        let share = arm.stalled_share.filter(|share| *share >= 0.001)?;
        let readers = match arm.readers_stalled_share {
            Some(readers) if readers < share / 2.0 => {
                format!(" (readers {})", units::share(Some(readers)))
            }
            _ => String::new(),
        };
        Some(format!(
            "{} {}{readers}",
            arm.arm,
            units::share(Some(share))
        ))
    });
    let stalls: Vec<String> = stalls.collect();
    if !stalls.is_empty() {
        let _ = writeln!(
            text,
            "Stalls: threads with I/O in flight were blocked waiting for another request for {} of the time. The I/O that \
             they could not submit meanwhile appears in no queue wait and no total.",
            stalls.join(", ")
        );
    }
    text.push_str(&slept(result));
    text.push_str(&held(result));
    let is_left_out = |row: &ArmComparison| row.comparison.reasons.contains(&Reason::NotComparable);
    if result.comparisons.iter().any(is_left_out) {
        *text += "The queue waits and totals of stalled threads are therefore not comparable and get no verdict: use throughput and \
                  the program's own latency (program_p99).\n";
    }
    if result.can_tell_schedulers_apart() == Some(false) {
        let what = if result.primary().any(is_difference) {
            "what differs is not the order of requests, but what a scheduler costs by itself, or something else than schedulers"
        } else {
            "this workload cannot show how schedulers order requests on this device"
        };
        let _ = writeln!(
            text,
            "HARDLY ANY REQUEST WAITED: {what}. To compare how they order requests, keep more in flight than the hardware depth, or use a \
             slower device."
        );
    }
}

/// A sentence for the decision where requests hardly waited.
pub fn idle(result: &ResultFile) -> Option<String> {
    let is_idle = result.can_tell_schedulers_apart() == Some(false);
    let what = if result.primary().any(is_difference) {
        "what differs is not how requests are ordered"
    } else {
        "a scheduler had nothing to do"
    };
    is_idle.then(|| format!("Hardly any request waited: {what}."))
}

/// The same where the workload left the disk alone in most rounds: then it is about something else than the disk.
pub fn without_io(result: &ResultFile) -> Option<String> {
    let (without, all) = early::rounds_without_io(result);
    (2 * without > all).then(|| {
        format!(
            "In {without} of {all} rounds the workload did no I/O on {}: does it use another disk, or the page cache?",
            result.device.name()
        )
    })
}

/// How many I/Os limits of control groups held back before there was a request, under each arm where these are more than a
/// thousandth, over all rounds that count.
fn held(result: &ResultFile) -> String {
    let of_arm = |arm: &Arm| {
        let rounds = result.rounds.iter();
        let own = || {
            rounds
                .clone()
                .filter(|round| round.arm == arm.label && round.exclusion.is_none())
        };
        let sum = |of: fn(&DeviceNumbers) -> u64| {
            let counts = own().map(|round| of(&round.evidence.device));
            counts.fold(0, u64::saturating_add)
        };
        let ios = sum(|device| {
            device
                .ops
                .iter()
                .fold(0, |sum: u64, op| sum.saturating_add(op.ios))
        });
        let known = sum(|device| device.edges.throttled);
        let count = known.saturating_add(sum(|device| device.edges.throttled_unknown));
        let ns = sum(|device| device.edges.throttled_ns);
        let mean = units::time(Some(ns as f64 / known.max(1) as f64));
        let time = match known {
            0 => "this kernel does not say for how long".to_owned(),
            known if known == count => format!("{mean} each"),
            known => format!(
                "{mean} each of the {} whose time is known",
                units::count(known as f64)
            ),
        };
        let count_in_words = units::count(count as f64);
        (count > ios / 1000).then(|| format!("{} {count_in_words} I/Os ({time})", arm.label))
    };
    let arms: Vec<String> = result.design.arms.iter().filter_map(of_arm).collect();
    if arms.is_empty() {
        return String::new();
    }
    format!(
        "Held back by a limit of their control group (io.max), before there was a request: {}.\n",
        arms.join(", ")
    )
}

/// For what threads slept until they had a request, under each arm where they did so for more than a thousandth of the time.
fn slept(result: &ResultFile) -> String {
    let of_arm = |arm: &ArmWaiting| {
        let large = arm.slept.iter().filter(|sleep| sleep.share >= 0.001);
        let said = large
            .map(|sleep| format!("{} {}", sleep.cause.name(), units::share(Some(sleep.share))));
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| format!("{} {}", arm.arm, said.join(", ")))
    };
    let arms: Vec<String> = result.waiting.iter().filter_map(of_arm).collect();
    if arms.is_empty() {
        return String::new();
    }
    format!(
        "Threads slept until their I/Os had a request, as shares of the time: {}.\n",
        arms.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn what_limits_hold_back_is_told_by_arm_with_how_long_if_that_is_known() {
        let mut result = fixture::sample();
        assert_eq!(held(&result), "");
        for round in &mut result.rounds {
            let edges = &mut round.evidence.device.edges;
            match round.arm.as_str() {
                "none" => (edges.throttled, edges.throttled_ns) = (10, 25_000_000),
                "bfq" => edges.throttled_unknown = 10,
                _ => {}
            }
        }
        let rounds = result.rounds.iter().filter(|round| round.arm == "none");
        let count = rounds.filter(|round| round.exclusion.is_none()).count() * 10;
        // A round of bfq does not count.
        assert_eq!(
            held(&result),
            format!(
                "Held back by a limit of their control group (io.max), before there was a request: none {count} I/Os \
                 (2.50 ms each), bfq {} I/Os (this kernel does not say for how long).\n",
                count - 10
            )
        );
        for round in &mut result.rounds {
            round.evidence.device.edges.throttled_unknown += 90;
        }
        let some = held(&result);
        assert!(
            some.contains("none 1300 I/Os (2.50 ms each of the 130 whose time is known)"),
            "{some}"
        );
        result.rounds[0].evidence.device.edges.throttled = u64::MAX;
        assert!(!held(&result).is_empty());
    }
}
