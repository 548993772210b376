//! The I/O of each program and control group in the rounds of a rotation that count. Pure.

use std::collections::BTreeMap;

use iosched_result::measured::histogram::{Histogram, OWNER};
use iosched_result::measured::snapshot::{Op, OwnerNumbers};
use iosched_result::stat::Selection;

/// Number of programs that are told apart; the others are one.
const KEPT: usize = 1024;
/// Number of parts in a report, the busiest first.
const REPORTED: usize = 16;

/// All processes of this name in a control group; without a name, the whole group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartName {
    pub cgroup: String,
    pub comm: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub name: PartName,
    /// In the order of the design; None: it did no I/O under this arm, or is among the others.
    pub by_arm: Vec<Option<PartSums>>,
}

/// Each pair is reads and writes.
#[derive(Clone, Debug)]
pub struct PartSums {
    pub ios: [u64; 2],
    pub bytes: [u64; 2],
    pub wait: [Histogram; 2],
    pub device: [Histogram; 2],
    /// The table had no room for the histograms of one of its processes.
    pub lacks_histograms: bool,
}

type ByName = BTreeMap<PartName, PartSums>;

#[derive(Default)]
pub struct Parts {
    /// Sums of the blocks that are finished, by arm.
    finished: Vec<ByName>,
    /// Rounds of blocks that may still be excluded.
    open: Vec<OpenRound>,
}

struct OpenRound {
    place: Place,
    parts: ByName,
}

/// A round's place in the plan; `arm` is an index.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub block: usize,
    pub attempt: usize,
    pub arm: usize,
}

impl PartSums {
    fn new() -> Self {
        let empty = || [Histogram::new(OWNER), Histogram::new(OWNER)];
        PartSums {
            ios: [0; 2],
            bytes: [0; 2],
            wait: empty(),
            device: empty(),
            lacks_histograms: false,
        }
    }

    fn add_owner(&mut self, owner: &OwnerNumbers) {
        for (side, ops) in [&[Op::Read][..], &Op::WRITES].into_iter().enumerate() {
            for op in ops.iter().map(|op| owner.op(*op)) {
                self.ios[side] += op.ios;
                self.bytes[side] += op.bytes;
            }
            // The layouts are the same by construction.
            let _ = self.wait[side].merge(&owner.q2d[side]);
            let _ = self.device[side].merge(&owner.d2c[side]);
        }
        self.lacks_histograms |= owner.ios() > 0 && !owner.has_histograms;
    }

    fn add(&mut self, other: &PartSums) {
        for side in 0..2 {
            self.ios[side] += other.ios[side];
            self.bytes[side] += other.bytes[side];
            let _ = self.wait[side].merge(&other.wait[side]);
            let _ = self.device[side].merge(&other.device[side]);
        }
        self.lacks_histograms |= other.lacks_histograms;
    }
}

impl Parts {
    /// The owners of a round, which is in its place in the plan.
    pub fn add(&mut self, place: Place, owners: &[OwnerNumbers], names: &dyn Selection) {
        let mut parts = ByName::new();
        for owner in owners.iter().filter(|owner| owner.ios() > 0) {
            let name = PartName {
                cgroup: names.cgroup_path(owner.key.cgroup_id).unwrap_or_default(),
                comm: Some(owner.comm.clone()),
            };
            into(&mut parts, name).add_owner(owner);
        }
        self.finished
            .resize_with(self.finished.len().max(place.arm + 1), ByName::new);
        self.open.push(OpenRound { place, parts });
    }

    /// The busiest parts in the rounds that count. `is_out`: whether a block does not, in this attempt.
    pub fn report(&mut self, is_out: impl Fn(usize, usize) -> bool) -> Vec<Part> {
        let block = |round: &OpenRound| (round.place.block, round.place.attempt);
        let counts = |round: &&OpenRound| !is_out(round.place.block, round.place.attempt);
        // No other round of an earlier block comes.
        let last = self.open.last().map(block);
        let (open, ended): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|round| Some(block(round)) == last);
        for round in ended.iter().filter(counts) {
            merge(&mut self.finished[round.place.arm], &round.parts);
        }
        self.open = open;
        let mut all = self.finished.clone();
        for round in self.open.iter().filter(counts) {
            merge(&mut all[round.place.arm], &round.parts);
        }
        busiest(&with_groups(all))
    }
}

fn merge(into_parts: &mut ByName, parts: &ByName) {
    for (name, sums) in parts {
        into(into_parts, name.clone()).add(sums);
    }
}

fn into(parts: &mut ByName, name: PartName) -> &mut PartSums {
    let others = PartName {
        cgroup: String::new(),
        comm: Some("others".to_owned()),
    };
    let named = parts.len() - usize::from(parts.contains_key(&others));
    let has_room = named < KEPT || parts.contains_key(&name);
    let name = if has_room { name } else { others };
    parts.entry(name).or_insert_with(PartSums::new)
}

/// Adds the control groups that have more than one program.
fn with_groups(mut by_arm: Vec<ByName>) -> Vec<ByName> {
    let mut programs: BTreeMap<String, Vec<&Option<String>>> = BTreeMap::new();
    for name in by_arm.iter().flat_map(BTreeMap::keys) {
        let of_group = programs.entry(name.cgroup.clone()).or_default();
        if !of_group.contains(&&name.comm) {
            of_group.push(&name.comm);
        }
    }
    let several = programs
        .into_iter()
        .filter(|(cgroup, all)| !cgroup.is_empty() && all.len() > 1);
    let groups: Vec<String> = several.map(|(cgroup, _)| cgroup).collect();
    for parts in &mut by_arm {
        for cgroup in &groups {
            let own = parts.iter().filter(|(name, _)| name.cgroup == *cgroup);
            let mut sum = PartSums::new();
            own.for_each(|(_, sums)| sum.add(sums));
            let whole = PartName {
                cgroup: cgroup.clone(),
                comm: None,
            };
            parts.insert(whole, sum);
        }
    }
    by_arm
}

fn busiest(by_arm: &[ByName]) -> Vec<Part> {
    let mut bytes: BTreeMap<&PartName, u64> = BTreeMap::new();
    for (name, sums) in by_arm.iter().flatten() {
        *bytes.entry(name).or_default() += sums.bytes.iter().sum::<u64>();
    }
    let mut names: Vec<(&PartName, u64)> = bytes.into_iter().collect();
    names.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let names = names.into_iter().take(REPORTED);
    names
        .map(|(name, _)| Part {
            name: name.clone(),
            by_arm: by_arm
                .iter()
                .map(|parts| parts.get(name).cloned())
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use iosched_result::measured::snapshot::{OwnerKey, OwnerKind};

    use super::*;

    struct Groups;

    impl Selection for Groups {
        fn cgroup_path(&self, id: u64) -> Option<String> {
            (id > 0).then(|| format!("/group{id}"))
        }
    }

    fn owner(tgid: u32, comm: &str, cgroup_id: u64, reads: u64) -> OwnerNumbers {
        let key = OwnerKey {
            device: "sda".into(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 1,
            cgroup_id,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, comm);
        let op = &mut owner.ops[Op::Read as usize];
        (op.ios, op.bytes) = (reads, reads * 4096);
        owner.q2d[0].record_n(5000, reads);
        owner.has_histograms = true;
        owner
    }

    fn reads(parts: &[Part], comm: Option<&str>, cgroup: &str) -> Vec<Option<u64>> {
        let is_it = |part: &&Part| part.name.comm.as_deref() == comm && part.name.cgroup == cgroup;
        let part = parts.iter().find(is_it).expect("the part");
        part.by_arm
            .iter()
            .map(|sums| sums.as_ref().map(|sums| sums.ios[0]))
            .collect()
    }

    #[test]
    fn only_rounds_of_blocks_that_count_are_added_up() {
        let mut parts = Parts::default();
        let add = |parts: &mut Parts, block, attempt, arm, n| {
            let owners = [
                owner(1, "db", 1, n),
                owner(2, "db", 1, n),
                owner(3, "cp", 2, 1),
            ];
            let place = Place {
                block,
                attempt,
                arm,
            };
            parts.add(place, &owners, &Groups);
        };
        add(&mut parts, 0, 0, 0, 10);
        let found = parts.report(|_, _| false);
        assert_eq!(
            reads(&found, Some("db"), "/group1"),
            [Some(20)],
            "two processes"
        );
        add(&mut parts, 0, 0, 1, 100);
        // The second round spoils its block, and so the first round, too.
        let is_out = |block: usize, attempt: usize| (block, attempt) == (0, 0);
        assert!(parts.report(is_out).is_empty());
        add(&mut parts, 0, 1, 1, 200);
        add(&mut parts, 0, 1, 0, 30);
        add(&mut parts, 1, 0, 0, 1);
        let found = parts.report(is_out);
        assert_eq!(reads(&found, Some("db"), "/group1"), [Some(62), Some(400)]);
        assert_eq!(
            found[0].name.comm.as_deref(),
            Some("db"),
            "the busiest first"
        );
        let again = parts.report(is_out);
        assert_eq!(reads(&again, Some("db"), "/group1"), [Some(62), Some(400)]);
        let wait = &again[0].by_arm[1].as_ref().expect("sums").wait[0];
        assert_eq!(wait.count(), 400);
    }

    #[test]
    fn a_group_of_several_programs_is_a_part_and_too_many_are_one() {
        let mut parts = Parts::default();
        let owners = [
            owner(1, "db", 1, 5),
            owner(2, "wal", 1, 7),
            owner(3, "cp", 2, 1),
        ];
        let place = |arm| Place {
            block: 0,
            attempt: 0,
            arm,
        };
        parts.add(place(0), &owners, &Groups);
        parts.add(place(1), &owners[2..], &Groups);
        let found = parts.report(|_, _| false);
        assert_eq!(found.len(), 4);
        assert_eq!(reads(&found, None, "/group1")[0], Some(12));
        assert_eq!(reads(&found, Some("cp"), "/group2"), [Some(1), Some(1)]);
        assert_eq!(reads(&found, Some("wal"), "/group1"), [Some(7), None]);
        let many: Vec<OwnerNumbers> = (0..1100)
            .map(|n| owner(n, &format!("p{n}"), 0, u64::from(n) + 1))
            .collect();
        let mut parts = Parts::default();
        parts.add(place(0), &many, &Groups);
        let found = parts.report(|_, _| false);
        assert_eq!(found.len(), REPORTED);
        let others = (KEPT as u64 + 1..=1100).sum::<u64>();
        assert_eq!(reads(&found, Some("others"), ""), [Some(others)]);
    }
}
