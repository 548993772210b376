//! How many requests waited under each arm, and what their threads slept for. Pure.

use std::fmt::Write;

use super::units;
use crate::statistics::verdict::Reason;
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
    let is_left_out = |row: &ArmComparison| row.comparison.reasons.contains(&Reason::NotComparable);
    if result.comparisons.iter().any(is_left_out) {
        *text += "The queue waits and totals of stalled threads are therefore not comparable and get no verdict: use throughput and \
                  the program's own latency (program_p99).\n";
    }
    if result.can_tell_schedulers_apart() == Some(false) {
        *text += "HARDLY ANY REQUEST WAITED: this workload cannot show a difference between schedulers on this device. \
                  Keep more requests in flight than the hardware depth, or use a slower device.\n";
    }
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
