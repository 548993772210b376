//! One execution of the workload under each arm, in bins, from which the times of the rounds are chosen. It counts nowhere.

use std::time::Duration;

use anyhow::Result;
use iosched_result::analysis::times::{kept, weight_of};
use iosched_result::analysis::{drift, values};
use iosched_result::measured::snapshot::Interval;
use iosched_result::metric::Metric;
use iosched_result::types::outcome::{CgroupRef, Outcome};
use iosched_result::types::plan::PlannedRound;
use iosched_result::types::times::{PilotRound, PilotSeries};

use super::laps::Laps;
use super::live::Watch;
use super::waiting::{sleep_beside, wait_for_end};
use super::{RoundSetup, Started};
use crate::machine::Task;

/// How long each arm is watched: twice the longest ramp that may be chosen.
const PILOT: Duration = Duration::from_secs(10);
const BIN: Duration = Duration::from_millis(250);

impl RoundSetup<'_> {
    /// An arm that does no I/O, or not for long enough, has short series or none; as has one during which the machine was suspended.
    /// Beside it the change that another program made meanwhile.
    pub fn pilot(
        &mut self,
        planned: &PlannedRound,
        primary: &[Metric],
    ) -> Result<(PilotRound, Option<String>)> {
        let begin = self.machine.now();
        let applied = self.switch(planned, &mut Laps::begin(self.machine))?;
        if let Some(cold) = self.cold {
            self.machine.drop_pages(cold)?;
        }
        let fixed = self.workload.properties().fixed;
        let paused = planned.pause(fixed, self.ramp + self.time);
        let task = Task {
            planned,
            arm: &self.arms[planned.arm],
            ramp: Duration::ZERO,
            // It ends after the last bin.
            time: PILOT + BIN,
        };
        let mut started = self.start(&task)?;
        let Started {
            running,
            before,
            clock_watch,
            cgroups,
            ..
        } = &mut started;
        let gap = self.wait_until_begun(before, cgroups, &mut **running, clock_watch)?;
        let mut bins = Vec::new();
        let start = self.machine.now();
        let mut watch = Watch {
            guard: None,
            reference: task.arm,
            stopped: &mut None,
        };
        let machine = &mut *self.machine;
        let mut earlier = machine.snapshot_of_counters()?;
        while gap.is_none() && (bins.len() as u32 + 1) * BIN <= PILOT {
            let end = start + BIN * (bins.len() as u32 + 1);
            if sleep_beside(machine, &mut **running, end, clock_watch, &mut watch)?.is_some() {
                break;
            }
            let now = machine.snapshot_of_counters()?;
            bins.push(Interval::between(&earlier, &now)?);
            earlier = now;
        }
        wait_for_end(machine, &mut **running, clock_watch)?;
        let whole = Interval::between(before, &machine.snapshot()?)?;
        let now = machine.read_back()?;
        let rival = drift::rival(&self.disks.member_names(), &applied, &now, &whole);
        if clock_watch.problem(machine).is_some() {
            bins.clear();
        }
        let binned = BIN * bins.len() as u32;
        let took = machine.now().saturating_sub(begin);
        let round = PilotRound {
            arm: task.arm.label.clone(),
            bin_s: BIN.as_secs_f64(),
            around_s: took.saturating_sub(binned + paused).as_secs_f64(),
            series: self.series(&bins, cgroups, primary),
        };
        Ok((round, rival))
    }

    fn series(
        &mut self,
        bins: &[Interval],
        cgroups: &[CgroupRef],
        primary: &[Metric],
    ) -> Vec<PilotSeries> {
        let name = self.disks.name();
        let nothing = Outcome::default();
        let bins: Vec<_> = bins
            .iter()
            .map(|bin| {
                let participants = self.participants_of(bin);
                let all = bin.clone().together(&name);
                values::values(&all, None, cgroups, &participants, &nothing, false).metrics
            })
            .collect();
        let series = kept(primary).into_iter().map(|metric| {
            let of = |name: &str| bins.iter().map(|bin| bin.get(name).copied()).collect();
            let values: Vec<Option<f64>> = of(&metric);
            let weights: Option<Vec<Option<f64>>> = weight_of(&metric).map(|name| of(&name));
            let weights = weights.unwrap_or_default().into_iter();
            PilotSeries {
                values,
                weights: weights.map(Option::unwrap_or_default).collect(),
                metric,
            }
        });
        series
            .filter(|series| series.values.iter().any(Option::is_some))
            .collect()
    }
}
