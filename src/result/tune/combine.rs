//! The best settings together. Pure.

use super::score::{Standing, standings};
use super::{Candidate, From, TuneResult};
use crate::types::arm::Arm;
use crate::types::arm::place::Place;

/// So many settings at most.
const MOST: usize = 3;

/// One setting of an arm, and how much better than its scheduler alone it is.
#[derive(Clone, Debug)]
struct Gain {
    setting: (String, String),
    gain: f64,
}

/// Pairs and all of the best settings, under the scheduler of the best arm. None that is a candidate already.
pub fn combinations(tune: &TuneResult) -> Vec<Candidate> {
    let all: Vec<usize> = (0..tune.candidates.len()).collect();
    let found = standings(tune, &all);
    let Some(best) = found.first() else {
        return Vec::new();
    };
    let scheduler = &tune.candidates[best.index].arm.scheduler;
    let gains = gains(tune, &found, scheduler);
    let texts = subsets(&gains).into_iter().map(|settings| {
        let settings = settings
            .iter()
            .map(|(name, value)| format!(",{name}={value}"));
        format!("{scheduler}{}", settings.collect::<String>())
    });
    let arms = texts.filter_map(|text| text.parse::<Arm>().ok());
    arms.filter(|arm| tune.index(&arm.label).is_none())
        .map(|arm| Candidate {
            arm,
            from: From::Combination,
            left_out: None,
        })
        .collect()
}

/// The best value of each setting that is better than its scheduler alone and breaks nothing, the best first.
fn gains(tune: &TuneResult, found: &[Standing], scheduler: &str) -> Vec<Gain> {
    let plain = |name: &str| {
        let mut plain = found.iter().filter(|it| {
            let arm = &tune.candidates[it.index].arm;
            arm.scheduler == name && arm.settings.is_empty()
        });
        plain.next().map(|it| it.score)
    };
    let mut gains: Vec<Gain> = Vec::new();
    for standing in found.iter().filter(|it| it.violation == 0.0) {
        let arm = &tune.candidates[standing.index].arm;
        let [(name, value)] = arm.settings.as_slice() else {
            continue;
        };
        let is_of_queue = arm.placed().all(|(place, ..)| place == Place::Queue);
        let fits = arm.scheduler == scheduler || !name.starts_with("iosched/");
        let Some(base) = plain(&arm.scheduler).filter(|_| is_of_queue && fits) else {
            continue;
        };
        let gain = standing.score - base;
        // A better value of the same setting comes before.
        if gain > 0.0
            && !gains
                .iter()
                .any(|it| it.setting.0 == *name && it.gain >= gain)
        {
            gains.retain(|it| it.setting.0 != *name);
            gains.push(Gain {
                setting: (name.clone(), value.clone()),
                gain,
            });
        }
    }
    gains.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    gains.truncate(MOST);
    gains
}

/// Those of two or more.
fn subsets(gains: &[Gain]) -> Vec<Vec<&(String, String)>> {
    let masks = (0..1_u32 << gains.len()).filter(|mask| mask.count_ones() >= 2);
    let of = |mask: u32| {
        let chosen = gains.iter().enumerate();
        let chosen = chosen.filter(move |(index, _)| mask & (1 << index) != 0);
        chosen.map(|(_, gain)| &gain.setting).collect()
    };
    masks.map(of).collect()
}
