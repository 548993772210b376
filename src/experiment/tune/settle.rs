//! Finds which candidates the disks have: each is set once and read back. An arm that the kernel refuses, or makes the same as
//! another one, has no rounds.

use std::collections::BTreeMap;

use anyhow::Result;
use iosched_host::safety::panics;
use iosched_result::failure::{Kind, kind_of};
use iosched_result::types::arm::Arm;
use iosched_result::types::queue::State;

use super::{TuneObserver, TuneRun};
use crate::machine::Machine;
use crate::run::after_restoring;

impl TuneRun<'_> {
    /// `states`: of the candidates that were set so far.
    pub(super) fn settle(
        &mut self,
        machine: &mut dyn Machine,
        states: &mut BTreeMap<usize, Vec<State>>,
        observer: &mut dyn TuneObserver,
    ) -> Result<()> {
        let is_new = |(index, candidate): &(usize, &iosched_result::tune::Candidate)| {
            candidate.left_out.is_none() && !states.contains_key(index)
        };
        let all = self.tune.candidates.iter().enumerate();
        let new: Vec<(usize, Arm)> = all
            .filter(is_new)
            .map(|(index, it)| (index, it.arm.clone()))
            .collect();
        let mut why_not: BTreeMap<usize, String> = BTreeMap::new();
        let mut admitted = Vec::new();
        for (index, arm) in new {
            if arm.setting_elsewhere().is_none() {
                match lacks(machine.admit(&arm))? {
                    None => admitted.push((index, arm)),
                    Some(why) => _ = why_not.insert(index, why),
                }
            } else {
                admitted.push((index, arm));
            }
        }
        if !admitted.is_empty() {
            machine.record_settings()?;
            let tried = panics::caught(|| {
                for (index, arm) in &admitted {
                    machine.ensure_uninterrupted()?;
                    match lacks(machine.apply(arm).map(drop))? {
                        None => _ = states.insert(*index, machine.read_back()?),
                        Some(why) => _ = why_not.insert(*index, why),
                    }
                }
                Ok(())
            });
            after_restoring(tried, machine.put_back())?;
        }
        for (index, _) in &admitted {
            let Some(own) = states.get(index) else {
                continue;
            };
            let mut others = states.iter().take_while(|(other, _)| *other < index);
            if let Some((other, _)) = others.find(|(_, state)| *state == own) {
                let label = &self.tune.candidates[*other].arm.label;
                why_not.insert(*index, format!("reads back as {label}"));
            }
        }
        for (index, why) in why_not {
            let candidate = &mut self.tune.candidates[index];
            observer.leaves_out(&candidate.arm.label, &why);
            candidate.left_out = Some(why);
        }
        Ok(())
    }
}

/// Why the disks do not take an arm. Err: this program was interrupted, or has a fault.
fn lacks(tried: Result<()>) -> Result<Option<String>> {
    match tried {
        Ok(()) => Ok(None),
        Err(error) => match kind_of(&error) {
            Kind::Interrupted(_) => Err(error),
            _ => Ok(Some(format!("{error}"))),
        },
    }
}
