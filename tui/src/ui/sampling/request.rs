//! The requests to the sampling thread.

use super::programs::Chosen;

#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Interval(f64),
    ByCgroup(bool),
    /// Data for the present screen.
    Read(Wanted),
    Flip {
        device: usize,
        arm: String,
        put_back: bool,
    },
    Rotate {
        device: usize,
        arms: Vec<String>,
        /// Index of the reference arm in `arms`.
        reference: usize,
        seconds: u64,
        programs: Vec<Chosen>,
    },
    /// Another metric, or another arm, by which the rounds of a rotation are compared.
    Compare {
        device: usize,
        metric: String,
        reference: usize,
    },
    /// Waits under the settings that were in force before, or goes on.
    PauseRotation,
    StopRotating,
    ExportComparison(usize),
}

/// The label of the settings in force, as an arm of a rotation. `none` has no settings of its own.
pub fn present_label(scheduler: &str) -> String {
    match scheduler {
        "none" => scheduler.to_owned(),
        _ => format!("{scheduler} (present)"),
    }
}

/// Data that is more expensive to read than counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent switches
pub struct Wanted {
    pub order: bool,
    /// Who waits behind whom.
    pub why: bool,
    /// The same of each arm of a rotation: while none runs, nothing is kept for it.
    pub why_of_arms: bool,
    pub owner_histograms: bool,
}
