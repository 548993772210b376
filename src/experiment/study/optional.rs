//! Arms that are compared only where the disks have their schedulers and settings: kernels differ in both.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::machine::Machine;
use iosched_host::scheduler;
use iosched_host::system::cgroup::group_file;
use iosched_host::system::device::Device;
use iosched_result::failure::{Kind, kind_of};
use iosched_result::study::times::LeftOut;
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;

/// An optional arm, and what the disks lack for it. None: nothing that is known so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub arm: Arm,
    pub lacks: Option<String>,
}

/// Candidates, as known before anything is switched: a scheduler's own settings are only there while it is active.
pub fn candidates(arms: &[Arm], disks: &[Device]) -> Result<Vec<Candidate>> {
    let candidate = |arm: &Arm| {
        let lacking = disks.iter().map(|disk| scheduler::lacks(disk, arm));
        let lacking = lacking.collect::<Result<Vec<_>>>()?;
        let elsewhere = group_file::lacks(arm)?.map(|lack| lack.what);
        Ok(Candidate {
            arm: arm.clone(),
            lacks: lacking.into_iter().flatten().next().or(elsewhere),
        })
    };
    arms.iter().map(candidate).collect()
}

/// `always`, and the candidates that nothing speaks against so far.
pub fn may_come(always: &[Arm], candidates: &[Candidate]) -> Vec<Arm> {
    let possible = candidates.iter().filter(|it| it.lacks.is_none());
    let possible = possible.map(|candidate| &candidate.arm);
    always.iter().chain(possible).cloned().collect()
}

/// Whether `try_out` is needed to know more.
pub fn needs_a_try(candidates: &[Candidate]) -> bool {
    candidates.iter().any(is_unknown)
}

fn is_unknown(candidate: &Candidate) -> bool {
    let arm = &candidate.arm;
    candidate.lacks.is_none() && (own_settings(arm).next().is_some() || sets_own_groups(arm))
}

fn sets_own_groups(arm: &Arm) -> bool {
    arm.of_own_groups().next().is_some()
}

fn own_settings(arm: &Arm) -> impl Iterator<Item = &str> {
    let names = arm.settings.iter().map(|(name, _)| name.as_str());
    names.filter(|name| scheduler::is_of_scheduler(name))
}

/// Switches to each of their schedulers once and looks at its settings. The caller puts the disks back.
pub fn try_out(candidates: &mut [Candidate], machine: &mut dyn Machine) -> Result<()> {
    let mut seen: BTreeMap<String, Vec<State>> = BTreeMap::new();
    for candidate in candidates.iter_mut().filter(|it| is_unknown(it)) {
        let arm = &candidate.arm;
        if !seen.contains_key(&arm.scheduler) {
            machine.ensure_uninterrupted()?;
            machine.apply(&Arm {
                settings: Vec::new(),
                ..arm.clone()
            })?;
            seen.insert(arm.scheduler.clone(), machine.read_back()?);
        }
        candidate.lacks = missing(arm, &seen[&arm.scheduler]);
        if candidate.lacks.is_none() && sets_own_groups(arm) {
            candidate.lacks = without_group_file(machine.apply(arm))?;
        }
    }
    Ok(())
}

/// `states`: of the disks under the arm's scheduler.
fn missing(arm: &Arm, states: &[State]) -> Option<String> {
    let is_missing = |name: &&str| {
        let mut states = states.iter();
        states.any(|state| !state.settings.contains_key(*name))
    };
    let name = own_settings(arm).find(is_missing)?;
    Some(format!("{} has no setting {name} here", arm.scheduler))
}

/// What the control groups of this machine do not have for an arm that was set.
fn without_group_file<T>(applied: Result<T>) -> Result<Option<String>> {
    match applied {
        Ok(_) => Ok(None),
        Err(error) if kind_of(&error) == Kind::Lacking => {
            // The second line is for somebody who can do something now.
            let why = error.root_cause().to_string();
            Ok(why.lines().next().map(str::to_owned))
        }
        Err(error) => Err(error),
    }
}

/// The arms to compare, the first that fits of each label, and those labels of which none fits.
pub fn settle(candidates: Vec<Candidate>) -> (Vec<Arm>, Vec<LeftOut>) {
    let mut chosen: Vec<Arm> = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for Candidate { arm, lacks } in candidates {
        let is_chosen = |chosen: &[Arm]| chosen.iter().any(|it| it.label == arm.label);
        match lacks {
            None if !is_chosen(&chosen) => chosen.push(arm),
            None => {}
            Some(why) => match left_out.iter_mut().find(|it| it.arm == arm.label) {
                Some(earlier) => earlier.why = format!("{}; {why}", earlier.why),
                None => left_out.push(LeftOut {
                    arm: arm.label,
                    why,
                }),
            },
        }
    }
    let labels: BTreeSet<&str> = chosen.iter().map(|arm| arm.label.as_str()).collect();
    left_out.retain(|it| !labels.contains(it.arm.as_str()));
    (chosen, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(arm: &str, lacks: Option<&str>) -> Candidate {
        Candidate {
            arm: arm.parse().expect("an arm"),
            lacks: lacks.map(str::to_owned),
        }
    }

    #[test]
    fn the_first_that_fits_of_a_label_is_compared() {
        let (arms, left_out) = settle(vec![
            candidate("bfq", Some("loop0 offers none")),
            candidate("deep=mq-deadline,iosched/async_depth=8", Some("no setting")),
            candidate("deep=mq-deadline,async_depth=8", None),
            candidate("deep=mq-deadline,nr_requests=8", None),
            candidate("odd=kyber,iosched/a=1", Some("no a")),
            candidate("odd=kyber,b=1", Some("no b")),
        ]);
        let arms: Vec<String> = arms.iter().map(ToString::to_string).collect();
        assert_eq!(arms, ["mq-deadline,async_depth=8"]);
        let left_out: Vec<(&str, &str)> = left_out.iter().map(|it| (&*it.arm, &*it.why)).collect();
        assert_eq!(
            left_out,
            [("bfq", "loop0 offers none"), ("odd", "no a; no b")]
        );
    }

    #[test]
    fn only_settings_of_schedulers_need_a_try() {
        assert!(!needs_a_try(&[
            candidate("bfq", None),
            candidate("mq-deadline,nr_requests=8", None),
            candidate("kyber,iosched/a=1", Some("loop0 offers none")),
        ]));
        assert!(needs_a_try(&[candidate("kyber,iosched/a=1", None)]));
    }
}
