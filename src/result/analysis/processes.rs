//! Summaries of processes under each arm, over all rounds that count: plain numbers for people with jq. Pure.

use std::collections::BTreeMap;

use super::table::Table;
use crate::measured::histogram::{Histogram, OWNER};
use crate::measured::snapshot::{Op, OwnerKind, OwnerNumbers};
use crate::types::processes::{ProcessSummary, SideSummary};

/// How many names are kept for each arm: those with the most bytes.
const MOST: usize = 30;

pub fn summaries(table: &Table<'_>) -> Vec<ProcessSummary> {
    let arms = &table.result.design.arms;
    arms.iter()
        .flat_map(|arm| of_arm(table, &arm.label))
        .collect()
}

/// The sums of one name.
struct Sums {
    rounds: usize,
    last_round: usize,
    sides: [SideSums; 2],
    starvation_max_ns: Option<u64>,
    device_time_ns: Option<u64>,
}

struct SideSums {
    ios: u64,
    bytes: u64,
    waits: Histogram,
    device: Histogram,
    longest_ns: Option<u64>,
    has_histograms: bool,
}

fn of_arm(table: &Table<'_>, arm: &str) -> Vec<ProcessSummary> {
    let mut all: BTreeMap<(String, u8, bool), (OwnerKind, Sums)> = BTreeMap::new();
    let mut window_ns = 0.0;
    for round in table.rounds_of(arm) {
        window_ns += round.window_s * 1e9;
        for owner in round.evidence.owners.iter().filter(|owner| owner.ios() > 0) {
            let is_own = round.evidence.is_of_workload(owner);
            let key = (owner.label(), owner.key.kind as u8, is_own);
            let (_, sums) = all
                .entry(key)
                .or_insert_with(|| (owner.key.kind, Sums::new()));
            sums.add(owner, round.index);
        }
    }
    let mut found: Vec<ProcessSummary> = all
        .into_iter()
        .map(|((name, _, is_of_workload), (kind, sums))| ProcessSummary {
            arm: arm.to_owned(),
            name,
            kind,
            is_of_workload,
            rounds: sums.rounds,
            read: sums.sides[0].summary(),
            write: sums.sides[1].summary(),
            starvation_max_ns: sums.starvation_max_ns,
            device_time_share: sums
                .device_time_ns
                .filter(|_| window_ns > 0.0)
                .map(|ns| ns as f64 / window_ns),
        })
        .collect();
    found.sort_by_key(|process| std::cmp::Reverse(process.read.bytes + process.write.bytes));
    found.truncate(MOST);
    found
}

impl Sums {
    fn new() -> Sums {
        Sums {
            rounds: 0,
            last_round: usize::MAX,
            sides: [(); 2].map(|()| SideSums {
                ios: 0,
                bytes: 0,
                waits: Histogram::new(OWNER),
                device: Histogram::new(OWNER),
                longest_ns: None,
                has_histograms: true,
            }),
            starvation_max_ns: None,
            device_time_ns: None,
        }
    }

    fn add(&mut self, owner: &OwnerNumbers, round: usize) {
        self.rounds += usize::from(self.last_round != round);
        self.last_round = round;
        let sides: [&[Op]; 2] = [&[Op::Read], &Op::WRITES];
        for (index, (side, ops)) in self.sides.iter_mut().zip(sides).enumerate() {
            for op in ops.iter().map(|op| owner.op(*op)) {
                side.ios += op.ios;
                side.bytes += op.bytes;
                side.longest_ns = side.longest_ns.max(op.q2d_max_ns);
            }
            side.has_histograms &= owner.has_histograms;
            // The layouts are the same by construction.
            let _ = side.waits.merge(&owner.q2d[index]);
            let _ = side.device.merge(&owner.d2c[index]);
        }
        if let Some(fairness) = &owner.fairness {
            self.starvation_max_ns = self.starvation_max_ns.max(fairness.starvation_max_ns);
            *self.device_time_ns.get_or_insert(0) += fairness.device_time_ns;
        }
    }
}

impl SideSums {
    fn summary(&self) -> SideSummary {
        let quantile = |histogram: &Histogram, p| {
            let found = histogram.supported_quantile_ns(p);
            found.filter(|_| self.has_histograms)
        };
        SideSummary {
            ios: self.ios,
            bytes: self.bytes,
            queue_wait_p50_ns: quantile(&self.waits, 0.5),
            queue_wait_p99_ns: quantile(&self.waits, 0.99),
            queue_wait_max_ns: self.longest_ns.filter(|_| self.ios > 0),
            device_p50_ns: quantile(&self.device, 0.5),
            device_p99_ns: quantile(&self.device, 0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::snapshot::{OwnerKey, OwnerOp};
    use crate::report::fixture::{empty, play, values};
    use crate::statistics::stopping::Stopping;

    fn owner(name: &str, tgid: u32, reads: u64, wait_ns: u64) -> OwnerNumbers {
        let key = OwnerKey {
            device: "nvme0n1".into(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 1,
            cgroup_id: 1,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, name);
        owner.has_histograms = true;
        owner.ops[Op::Read as usize] = OwnerOp {
            ios: reads,
            bytes: reads * 4096,
            q2d_max_ns: Some(wait_ns),
            ..OwnerOp::default()
        };
        owner.q2d[0].record_n(wait_ns, reads);
        owner
    }

    #[test]
    fn processes_of_a_name_are_pooled_by_arm() {
        let mut result = empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks: 2 },
            &["throughput"],
        );
        play(&mut result, |turn| Ok(values(turn, &[("throughput", 1e8)])));
        for round in &mut result.rounds {
            let wait = if round.arm == "bfq" { 9_000_000 } else { 1000 };
            round.evidence.owners = vec![
                owner("db", 5, 400, wait),
                owner("db", 6, 400, wait),
                owner("cron", 7, 1, 50),
            ];
        }
        let found = summaries(&Table::new(&result));
        let names: Vec<_> = found
            .iter()
            .map(|it| (it.arm.as_str(), it.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("none", "db"),
                ("none", "cron"),
                ("bfq", "db"),
                ("bfq", "cron")
            ]
        );
        let of_bfq = &found[2];
        assert_eq!(
            (
                of_bfq.rounds,
                of_bfq.read.ios,
                of_bfq.read.queue_wait_max_ns
            ),
            (2, 1600, Some(9_000_000))
        );
        let p50 = of_bfq.read.queue_wait_p50_ns.unwrap();
        assert!((p50 / 9e6 - 1.0).abs() < 0.07, "{p50}");
        assert_eq!(of_bfq.read.queue_wait_p99_ns, None, "16 I/Os are beyond it");
        assert_eq!(
            (of_bfq.write.ios, of_bfq.write.queue_wait_max_ns),
            (0, None)
        );
        assert_eq!(found[3].read.queue_wait_p50_ns, None);
    }
}
