//! What each round does: the load, how long it runs, and the metrics that decide. It follows from the arguments alone.

use anyhow::Result;
use iosched_experiment::workload::Workload;
use iosched_result::metric::Metric;
use iosched_result::types::goals::Goals;
use iosched_result::types::live::LiveDesign;

use crate::cli::Conditions;
use crate::load;
use crate::primary::Primary;
use crate::times::{Times, round_times};

pub struct Rounds {
    pub workload: Box<dyn Workload>,
    pub primary: Vec<Metric>,
    /// What the user wants of them.
    pub goals: Option<Goals>,
    /// Why a default metric is not among them.
    pub left_out: Option<String>,
    /// Settings of a live run; None for every other workload.
    pub live: Option<LiveDesign>,
    pub times: Times,
}

impl Rounds {
    /// `is_ours`: they run on a disk that is made for them.
    pub fn wanted(conditions: &Conditions, is_ours: bool) -> Result<Rounds> {
        let workload = load::wanted(conditions, is_ours)?;
        let Primary {
            metrics: primary,
            goals,
            left_out,
        } = Primary::wanted(conditions, &*workload)?;
        let (live, times) = round_times(conditions, &*workload)?;
        Ok(Rounds {
            workload,
            primary,
            goals,
            left_out,
            live,
            times,
        })
    }
}
