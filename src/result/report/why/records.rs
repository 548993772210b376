//! The record of each arm of a result, as `iosched why FILE` prints it. Pure.

use super::arms::{OfArm, is_recorded, of_arms, rounds_of};
use super::{Keeps, MOST_SENTENCES, Sentence, WhyRecord, record};
use crate::report::traces;
use crate::types::result::ResultFile;
use crate::why::{DiskFacts, Stretch, WhyOwner};

/// A record for each arm, from its rounds; from its trace where no round has numbers. Empty without both. Owners that `keeps` refuses
/// are waited for, but are not told.
pub fn records(result: &ResultFile, keeps: &dyn Fn(&WhyOwner) -> bool) -> Vec<WhyRecord> {
    if result.design.why || is_recorded(result) {
        let mut known = of_arms(result);
        let arms = result.design.arms.iter();
        let of_rounds = arms.map(|arm| {
            let place = known.iter().position(|of| of.label == arm.label);
            of_rounds(
                result,
                &arm.label,
                place.map(|place| known.remove(place)),
                keeps,
            )
        });
        return of_rounds.collect();
    }
    let of_trace = |of: traces::Of<'_>| {
        let stretch = Stretch::of_trace(of.trace);
        let owner = |place: u32| of.trace.owners[place as usize].clone();
        let arm = result.arm_index(of.arm).map(|arm| &result.design.arms[arm]);
        let scheduler = arm.map(|arm| arm.scheduler.clone());
        let facts = traced_disks(result, scheduler.as_deref());
        let time = result.started.clone();
        let keeps = Keeps {
            rows: keeps,
            ..Keeps::ALL
        };
        WhyRecord {
            arm: Some(of.arm.to_owned()),
            ..super::why(&stretch, &facts, time, &owner, &keeps, None)
        }
    };
    let traces = traces::of_arms(result, None).into_iter();
    traces.map(of_trace).collect()
}

/// An arm of which nothing is known is told, too.
fn of_rounds(
    result: &ResultFile,
    label: &str,
    known: Option<OfArm<'_>>,
    keeps: &dyn Fn(&WhyOwner) -> bool,
) -> WhyRecord {
    let time = result.started.clone();
    let covered_share = known.as_ref().map(|of| of.covered);
    let is_known = known.is_some();
    let (devices, time_s) = known.map_or((Vec::new(), 0.0), |of| (of.why.devices, of.why.time_s));
    let mut record = WhyRecord {
        arm: Some(label.to_owned()),
        covered_share,
        ..record(devices, &[], time, time_s, keeps)
    };
    let (all, with_numbers) = rounds_of(result, label);
    if !is_known {
        record.sentences.clear();
    }
    if with_numbers < all || !is_known {
        let lacking = all - with_numbers;
        let text = format!(
            "{lacking} of {all} rounds have no values: they are not in this, and may be the worst."
        );
        record.sentences.truncate(MOST_SENTENCES - 1);
        record.sentences.insert(0, Sentence::new(None, text));
    }
    record
}

/// The disks of a run; what they take at once is in its rounds.
fn traced_disks(result: &ResultFile, scheduler: Option<&str>) -> Vec<DiskFacts> {
    let group = result.device.group.as_ref();
    let names = match group {
        Some(group) => group.members.iter().map(|of| &of.device.name).collect(),
        None => vec![&result.device.device.name],
    };
    let named = |name: &String| DiskFacts {
        name: name.clone(),
        scheduler: scheduler.map(str::to_owned),
        ..DiskFacts::default()
    };
    names.into_iter().map(named).collect()
}
