//! The programs that a rotation compares: their names, and their processes in a window. Pure.

use std::collections::BTreeSet;

use iosched_experiment::rotation::{MOST_PROGRAMS, Program};
use iosched_result::measured::snapshot::{OwnerKind, OwnerNumbers};
use iosched_result::stat::{LiveProcess, Selection};
use iosched_result::types::participant::{self, Named, Participant};

use super::parts::PartName;

/// A program, or a control group, with its name among the metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    pub name: PartName,
    pub program: Program,
}

/// What has I/O in an interval, the busiest first: programs, or control groups where the rows are their sums.
pub fn candidates(processes: &[LiveProcess]) -> Vec<Chosen> {
    let mut found: Vec<(Chosen, u64)> = Vec::new();
    let are_processes = |process: &&LiveProcess| {
        process.kind == OwnerKind::Process && process.reads + process.writes > 0
    };
    for process in processes.iter().filter(are_processes) {
        let cgroup = process.cgroup.clone().unwrap_or_default();
        // The rows may be sums of control groups.
        let comm = process.pid.map(|_| process.comm.clone());
        if comm.is_none() && cgroup.is_empty() {
            continue;
        }
        let name = PartName { cgroup, comm };
        let at = found.iter().position(|(chosen, _)| chosen.name == name);
        let at = at.unwrap_or_else(|| {
            let program = Program {
                label: String::new(),
                reads: false,
                writes: false,
            };
            found.push((Chosen { name, program }, 0));
            found.len() - 1
        });
        let (chosen, ios) = &mut found[at];
        chosen.program.reads |= process.reads > 0;
        chosen.program.writes |= process.writes > 0;
        *ios += process.reads + process.writes;
    }
    found.sort_by_key(|(_, ios)| std::cmp::Reverse(*ios));
    let mut all: Vec<Chosen> = found.into_iter().map(|(chosen, _)| chosen).collect();
    name_them(&mut all);
    all
}

/// Those of these names, or the two busiest that are single programs.
pub fn choose(candidates: Vec<Chosen>, wanted: &[PartName]) -> Vec<Chosen> {
    let is_wanted = |chosen: &Chosen| wanted.contains(&chosen.name);
    if candidates.iter().any(is_wanted) {
        return candidates
            .into_iter()
            .filter(is_wanted)
            .take(MOST_PROGRAMS)
            .collect();
    }
    let mut two: Vec<Chosen> = candidates.into_iter().take(2).collect();
    // One alone is the disk's own load.
    two.truncate(if two.len() == 2 { 2 } else { 0 });
    two
}

/// By the control group if it has one of its own, else by the command; a number tells those of one name apart.
fn name_them(all: &mut [Chosen]) {
    let groups: Vec<String> = all.iter().map(|it| it.name.cgroup.clone()).collect();
    let mut taken = BTreeSet::new();
    for chosen in all {
        let group = &chosen.name.cgroup;
        let others = groups.iter().filter(|other| *other == group).count();
        let is_of_many = ["", "/"].contains(&group.as_str())
            || [".scope", ".slice"].iter().any(|end| group.ends_with(end));
        let comm = chosen.name.comm.as_ref();
        let base = match comm.filter(|_| is_of_many || others > 1) {
            Some(comm) => participant::label(&Named::Unit(comm.clone())),
            None => participant::label(&Named::Cgroup(group.clone())),
        };
        // The root has no name.
        let base = if base.is_empty() {
            "root".to_owned()
        } else {
            base
        };
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut labels = std::iter::once(base.clone()).chain(numbered);
        let label = labels.find(|label| !taken.contains(label)).unwrap_or(base);
        taken.insert(label.clone());
        chosen.program.label = label;
    }
}

/// The processes of each in a window.
pub fn participants(
    chosen: &[Chosen],
    owners: &[OwnerNumbers],
    names: &dyn Selection,
) -> Vec<Participant> {
    let of = |chosen: &Chosen| {
        let own = owners.iter().filter(|owner| {
            owner.ios() > 0
                && chosen
                    .name
                    .comm
                    .as_ref()
                    .is_none_or(|comm| *comm == owner.comm)
                && names.cgroup_path(owner.key.cgroup_id).unwrap_or_default() == chosen.name.cgroup
        });
        Participant::of_owners(&chosen.program.label, own.map(|owner| &owner.key))
    };
    chosen.iter().map(of).collect()
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
