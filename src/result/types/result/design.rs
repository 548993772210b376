//! The design of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::statistics::stopping::{Extension, Schedule, Stopping};
use crate::types::arm::Arm;
use crate::types::cold::Cold;
use crate::types::goals::Goals;
use crate::types::live::LiveDesign;
use crate::types::times::AutoTimes;
use crate::types::washout::Washout;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools)] // they are what the user chose
pub struct Design {
    pub arms: Vec<Arm>,
    /// Index of the reference arm in `arms`.
    pub reference: usize,
    /// When the run stops; the plan contains the blocks that were drawn for it.
    pub stopping: Stopping,
    /// Blocks that were added after its end. Their verdicts are of all blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// The time that pilot and rounds may take: no blocks are drawn that would not end within it, as long as those before took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    pub ramp_s: f64,
    /// How long the reference runs before each round, discarded; 0 for not at all.
    #[serde(default)]
    pub washout_s: f64,
    /// Before the first round, the workload ran under the reference until the disks kept their level; see `preconditions`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub precondition: bool,
    /// The wash-out begins after the first blocks, if they show that arms leave something behind; see `pilot`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub washout_is_auto: bool,
    /// Ramp and round time that a pilot chooses; until then they are 0. See `times`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_times: Option<AutoTimes>,
    /// Disk that no arm touches, read before and after each round.
    #[serde(default)]
    pub control_disk: Option<String>,
    /// Caches that are written back and dropped before each round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    pub round_time_s: f64,
    /// Declared before the first round. All their intervals hold simultaneously with 95 % confidence.
    pub primary: Vec<Metric>,
    /// The primary metric that should get better, and those that must not get worse. Absent: the run keeps all and prefers none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Goals>,
    /// The user named `elapsed`, and so says that the work is the same in every round. Absent: yes, as in results that were
    /// written before the rounds had to show it.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub elapsed_is_named: bool,
    pub alpha: f64,
    /// Both arms are identical: every difference is noise.
    pub is_placebo: bool,
    /// Whether the dispatch order was measured, and each process's share of the device time.
    #[serde(default)]
    pub order: bool,
    #[serde(default)]
    pub fairness: bool,
    /// Whether each round says who waited behind whom.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub why: bool,
    /// How long each arm was traced after the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_s: Option<f64>,
    /// Only for a run on whatever load there is, without one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveDesign>,
}

fn yes() -> bool {
    true
}

impl Design {
    /// Family-wise error rate of the primary metrics.
    pub const ALPHA: f64 = 0.05;

    /// A design with rounds that take no time, and with nothing that must be asked for.
    pub fn new(
        arms: Vec<Arm>,
        reference: usize,
        stopping: Stopping,
        primary: Vec<Metric>,
    ) -> Design {
        Design {
            arms,
            reference,
            stopping,
            extensions: Vec::new(),
            budget_s: None,
            ramp_s: 0.0,
            washout_s: 0.0,
            precondition: false,
            washout_is_auto: false,
            auto_times: None,
            control_disk: None,
            cold: None,
            round_time_s: 0.0,
            elapsed_is_named: primary.iter().any(|metric| metric.name == "elapsed"),
            primary,
            goals: None,
            alpha: Design::ALPHA,
            is_placebo: false,
            order: false,
            fairness: false,
            why: false,
            trace_s: None,
            live: None,
        }
    }

    #[must_use]
    pub fn timed(self, ramp: Duration, time: Duration) -> Design {
        Design {
            ramp_s: ramp.as_secs_f64(),
            round_time_s: time.as_secs_f64(),
            ..self
        }
    }

    #[must_use]
    pub fn washed_out(self, washout: Washout) -> Design {
        Design {
            washout_s: washout.at_first().as_secs_f64(),
            washout_is_auto: washout == Washout::Auto,
            ..self
        }
    }

    /// When the run ends.
    pub fn schedule(&self) -> Schedule<'_> {
        Schedule {
            stopping: self.stopping,
            extensions: &self.extensions,
        }
    }

    pub fn ramp(&self) -> Duration {
        duration(self.ramp_s)
    }

    /// Length of a round's window.
    pub fn time(&self) -> Duration {
        duration(self.round_time_s)
    }

    /// How long each arm is traced, if it is.
    pub fn trace(&self) -> Option<Duration> {
        self.trace_s.map(duration)
    }

    /// The reference and how long it runs before each round.
    pub fn washout(&self) -> Option<(usize, Duration)> {
        let time = duration(self.washout_s);
        (!time.is_zero()).then_some((self.reference, time))
    }
}

/// Zero for what is no duration.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
