//! The pilot before the first round, if ramp or window are not named.

use anyhow::Result;
use iosched_host::system::page_cache;
use iosched_result::analysis::times::{self, Floor};
use iosched_result::types::arm::Arm;
use iosched_result::types::result::ResultFile;

use super::turns::ensure_alone;
use super::{Experiment, Observer};
use crate::machine::Machine;
use crate::round::RoundSetup;
use crate::workload::properties::Properties;

/// bfq favours new processes for at least this long (`bfq_wr_duration` in block/bfq-iosched.c).
const RAISED_S: f64 = 3.0;
/// mq-deadline's default `write_expire`, and that of bfq's `fifo_expire_async`, are below it.
const EXPIRES_S: f64 = 5.0;
/// As long as a window is chosen.
const LONGEST_S: f64 = 20.0;

impl Experiment<'_> {
    /// Chooses the times of the rounds, on a machine that other experiments share.
    pub fn pilot(
        &mut self,
        machine: &mut dyn Machine,
        result: &mut ResultFile,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        choose(&mut self.bench(machine, result)?, result, observer)
    }
}

/// Watches the workload under each arm once, and sets the times of the rounds.
pub(super) fn choose(
    bench: &mut RoundSetup<'_>,
    result: &mut ResultFile,
    observer: &mut dyn Observer,
) -> Result<()> {
    if !times::is_due(result) {
        return Ok(());
    }
    let first: Vec<_> = result
        .plan
        .rounds
        .iter()
        .filter(|round| round.block == 0)
        .copied()
        .collect();
    let mut pilot = Vec::new();
    for mut planned in first {
        bench.machine.ensure_uninterrupted()?;
        observer.pilot_begins(&bench.arms[planned.arm]);
        // Not the I/O of a round that counts.
        planned.workload_seed = !planned.workload_seed % (1 << 32);
        let (round, rival) = bench.pilot(&planned, &result.design.primary)?;
        ensure_alone(rival.as_deref())?;
        pilot.push(round);
    }
    let floors = floors(bench.arms, &bench.workload.properties());
    times::decide(result, pilot, &floors);
    bench.ramp = result.design.ramp();
    bench.time = result.design.time();
    observer.times_chosen(result);
    Ok(())
}

/// What a scheduler or the page cache does only after a while.
fn floors(arms: &[Arm], properties: &Properties) -> Vec<Floor> {
    let does = properties.profile.does.unwrap_or_default();
    let mut floors = Vec::new();
    let raises = |arm: &&Arm| {
        arm.scheduler == "bfq"
            && arm
                .setting("iosched/low_latency")
                .is_none_or(|value| value != "0")
    };
    if let Some(arm) = arms.iter().find(raises) {
        floors.push(Floor {
            ramp_s: RAISED_S,
            round_time_s: 0.0,
            because: format!(
                "{} favours new processes for 3 s or more (low_latency)",
                arm.label
            ),
        });
    }
    let expires = |arm: &&Arm| arm.scheduler == "mq-deadline" && does.reads && does.writes;
    floors.extend(arms.iter().filter(expires).map(|arm| {
        let named = arm
            .setting("iosched/write_expire")
            .and_then(|text| text.parse().ok());
        let expires_s = named.map_or(EXPIRES_S, |ms: f64| ms / 1e3);
        let label = &arm.label;
        Floor {
            ramp_s: 0.0,
            round_time_s: expires_s.clamp(0.0, LONGEST_S),
            because: if expires_s > LONGEST_S {
                format!("writes expire only after {expires_s} s under {label} (write_expire)")
            } else {
                format!("writes expire after {expires_s} s under {label} (write_expire)")
            },
        }
    }));
    if properties.through_page_cache.is_some() && does.writes {
        floors.extend(page_cache::writeback_period_s().map(|seconds| {
            Floor {
                ramp_s: 0.0,
                round_time_s: seconds.clamp(0.0, LONGEST_S),
                because:
                    "the page cache is written back in this period (dirty_writeback_centisecs)"
                        .to_owned(),
            }
        }));
    }
    floors
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::metric::profile::{Does, Profile};
    use iosched_result::types::outcome::Fixed;

    fn found(arms: &[&str], does: Does) -> Vec<(f64, f64)> {
        let arms: Vec<Arm> = arms.iter().map(|text| text.parse().unwrap()).collect();
        let properties = Properties {
            profile: Profile {
                does: Some(does),
                ..Profile::default()
            },
            ..Properties::new(Fixed::Time)
        };
        let floors = floors(&arms, &properties).into_iter();
        floors
            .map(|floor| (floor.ramp_s, floor.round_time_s))
            .collect()
    }

    #[test]
    fn what_a_scheduler_does_after_a_while_is_waited_for() {
        let reads = Does {
            reads: true,
            ..Does::default()
        };
        let both = Does {
            writes: true,
            ..reads
        };
        assert_eq!(found(&["none", "kyber", "mq-deadline"], reads), []);
        assert_eq!(found(&["none", "mq-deadline"], both), [(0.0, 5.0)]);
        assert_eq!(
            found(&["mq-deadline,iosched/write_expire=500"], both),
            [(0.0, 0.5)]
        );
        let two = ["a=mq-deadline,iosched/write_expire=500", "b=mq-deadline"];
        assert_eq!(found(&two, both), [(0.0, 0.5), (0.0, 5.0)]);
        assert_eq!(found(&["bfq"], reads), [(3.0, 0.0)]);
        assert_eq!(found(&["bfq,iosched/low_latency=0"], reads), []);
    }
}
