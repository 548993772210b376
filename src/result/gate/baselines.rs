//! The change of a run against earlier ones, and its interval. Pure.

use crate::statistics::estimate::{self, ConfidenceInterval};
use crate::statistics::verdict::{Comparison, Reason};

/// Assumed standard deviation between runs of the difference to the reference, on the metric's scale: 10 % of a ratio.
/// Used with fewer than [`BASELINES`] baselines; the output says so.
pub const ASSUMED_RUN_SD: f64 = 0.1;
/// From this number of baselines on, their own variation is used.
pub const BASELINES: usize = 5;

/// A run's estimate for an arm against the reference.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub value: f64,
    pub standard_error: f64,
    pub blocks: usize,
    /// The interval within the run itself; None if it has too few blocks.
    pub interval: Option<ConfidenceInterval>,
}

impl Estimate {
    pub(super) fn of(found: &Comparison) -> Option<Estimate> {
        let is_censored = |reason: &Reason| matches!(reason, Reason::Censored { .. });
        let unbounded = found.reasons.iter().any(is_censored).then_some(UNBOUNDED);
        Some(Estimate {
            value: found.estimate?,
            standard_error: found.sd? / (found.blocks as f64).sqrt(),
            blocks: found.blocks,
            interval: found.interval.or(unbounded),
        })
    }
}

const UNBOUNDED: ConfidenceInterval = ConfidenceInterval {
    lower: f64::NEG_INFINITY,
    upper: f64::INFINITY,
    attained_confidence: 1.0,
};

/// The change of a new run against earlier runs, with its interval.
pub fn change(
    new: Estimate,
    earlier: &[Estimate],
    alpha: f64,
) -> Option<(f64, ConfidenceInterval)> {
    let values: Vec<f64> = earlier.iter().map(|estimate| estimate.value).collect();
    let change = new.value - estimate::mean(&values)?;
    let (half, ends) = if earlier.len() >= BASELINES {
        let half = half_of_prediction(new, earlier, alpha)?;
        // If censoring leaves the run's interval without a bound, the prediction has none either.
        let open = |end: f64| if end.is_finite() { change } else { end };
        let ends = new
            .interval
            .map_or((change, change), |i| (open(i.lower), open(i.upper)));
        (half, ends)
    } else {
        (half_assumed(new, earlier, alpha)?, apart(new, earlier))
    };
    let interval = ConfidenceInterval {
        lower: ends.0.min(change - half),
        upper: ends.1.max(change + half),
        attained_confidence: 1.0 - alpha,
    };
    Some((change, interval))
}

/// The earlier estimates vary by the variation between runs plus the error within a run. A less precise new run adds
/// the difference in its error. That error is itself estimated from the run's blocks, which costs degrees of freedom
/// (Satterthwaite).
fn half_of_prediction(new: Estimate, earlier: &[Estimate], alpha: f64) -> Option<f64> {
    let values: Vec<f64> = earlier.iter().map(|estimate| estimate.value).collect();
    let (n, freedom) = (values.len() as f64, values.len() - 1);
    let alike = estimate::sd(&values)?.powi(2) * (1.0 + 1.0 / n);
    let own = new.standard_error.powi(2);
    let more = own - squared_errors(earlier) / n;
    let (variance, freedom) = if more > 0.0 {
        let of_own = new.blocks.checked_sub(1)? as f64;
        let variance = alike + more;
        let both = variance.powi(2) / (alike.powi(2) / freedom as f64 + own.powi(2) / of_own);
        (variance, (both as usize).clamp(1, freedom))
    } else {
        (alike, freedom)
    };
    Some(estimate::student_quantile(alpha / 2.0, freedom)? * variance.sqrt())
}

/// With [`ASSUMED_RUN_SD`] or the standard deviation of the earlier runs, whichever is larger.
fn half_assumed(new: Estimate, earlier: &[Estimate], alpha: f64) -> Option<f64> {
    let values: Vec<f64> = earlier.iter().map(|estimate| estimate.value).collect();
    let n = values.len() as f64;
    let between = estimate::sd(&values).unwrap_or(0.0).max(ASSUMED_RUN_SD);
    let within = new.standard_error.powi(2) + squared_errors(earlier) / (n * n);
    let t = estimate::student_quantile(alpha / 2.0, new.blocks.checked_sub(1)?)?;
    Some(t * (within + between.powi(2) * (1.0 + 1.0 / n)).sqrt())
}

fn squared_errors(earlier: &[Estimate]) -> f64 {
    earlier.iter().map(|e| e.standard_error.powi(2)).sum()
}

/// All differences between the new run's interval and the hull of the earlier intervals. Excludes zero only when they
/// do not overlap.
fn apart(new: Estimate, earlier: &[Estimate]) -> (f64, f64) {
    let interval = |e: &Estimate| e.interval.unwrap_or(UNBOUNDED);
    let lowest = earlier.iter().map(|e| interval(e).lower);
    let highest = earlier.iter().map(|e| interval(e).upper);
    let own = interval(&new);
    (
        own.lower - highest.fold(f64::NEG_INFINITY, f64::max),
        own.upper - lowest.fold(f64::INFINITY, f64::min),
    )
}
