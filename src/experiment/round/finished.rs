//! A round at its end, and what the result file says of it. Pure.

use iosched_result::analysis::exclusion::{self, Gap};
use iosched_result::analysis::values;
use iosched_result::measured::snapshot::Interval;
use iosched_result::types::arm::Arm;
use iosched_result::types::environment::Load;
use iosched_result::types::level::WindowPart;
use iosched_result::types::outcome::{CgroupRef, Outcome};
use iosched_result::types::participant::Participant;
use iosched_result::types::plan::Turn;
use iosched_result::types::queue::Applied;
use iosched_result::types::result::{Evidence, Exclusion, Member, Round, Spoilt};
use iosched_result::types::times::RoundTimes;
use iosched_result::why::RoundWhy;

/// Everything known about a round at its end.
pub struct Finished {
    /// RFC 3339.
    pub started: String,
    /// The state of the first disk if there are several.
    pub applied: Applied,
    /// One entry per disk if there are several.
    pub members: Vec<Member>,
    pub drifted: Vec<String>,
    /// The measured interval, with all disks as one.
    pub window: Interval,
    /// Why the window is empty.
    pub gap: Option<Gap>,
    /// From before the start of the workload until after its end, if it ends.
    pub whole: Option<Interval>,
    pub cgroups: Vec<CgroupRef>,
    pub participants: Vec<Participant>,
    pub outcome: Outcome,
    /// Whether the elapsed time of the workload is a metric.
    pub with_elapsed: bool,
    /// Why the round does not count, with precedence over other reasons.
    pub disturbed: Option<(Exclusion, String)>,
    pub load: Option<Load>,
    pub iops_before: Option<f64>,
    pub uevents: Vec<String>,
    /// With `--cold`, what the page cache held at the start of the workload.
    pub cached_bytes: Option<u64>,
    /// The parts of the window.
    pub parts: Vec<WindowPart>,
    pub times: Option<RoundTimes>,
    /// Who waited behind whom in the window, if that was asked for.
    pub why: Option<RoundWhy>,
}

impl Finished {
    /// Computes the values and whether the round counts.
    pub fn round(self, turn: &Turn, arm: &Arm) -> Round {
        let (window, cgroups, outcome) = (&self.window, &self.cgroups, &self.outcome);
        let with_elapsed = self.with_elapsed;
        let values = values::values(
            window,
            self.whole.as_ref(),
            cgroups,
            &self.participants,
            outcome,
            with_elapsed,
        );
        let foreign = exclusion::foreign(window, cgroups, &self.participants);
        let spoilt = match self.disturbed {
            // A pause does not excuse an arm that broke the condition.
            Some((exclusion, problem)) if self.gap != Some(Gap::Stopped) => {
                Some((Spoilt::Excluded(exclusion), problem))
            }
            _ => {
                let whole = self.whole.as_ref().unwrap_or(window);
                exclusion::spoilt(outcome, &self.drifted, window, whole, self.gap)
            }
        };
        let window_s = window.duration_s();
        let mut devices = self.window.devices;
        let evidence = Evidence {
            applied: self.applied,
            members: self.members,
            drifted: self.drifted,
            device: devices.swap_remove(0),
            owners: self.window.owners,
            cgroups: self.cgroups,
            participants: self.participants,
            outcome: self.outcome,
            foreign,
            load: self.load,
            iops_before: self.iops_before,
            uevents: self.uevents,
            cached_bytes: self.cached_bytes,
            parts: self.parts,
            times: self.times,
            why: self.why,
            insufficient_tail: values.insufficient_tail,
            fragile_percentile: values.fragile_percentile,
            doubtful: values.doubtful,
        };
        let metrics = values.metrics;
        Round::new(turn, arm, self.started, window_s, spoilt, metrics, evidence)
    }
}
