//! Whether values keep a level: least squares over time, and the window of SNIA's test of solid state storage. Pure.

use serde::{Deserialize, Serialize};

use super::estimate::{self, ConfidenceInterval};
use super::least_squares::Fit;

/// A change from the beginning to the end, with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    pub change: f64,
    /// By Student's t; absent for fewer than three values.
    pub interval: Option<ConfidenceInterval>,
    /// Number of rounds, or of blocks, that it comes from.
    pub count: usize,
}

/// The values that SNIA's window has.
pub const SNIA_WINDOW: usize = 5;
/// Largest minus smallest value, as a share of the mean.
const SNIA_RANGE: f64 = 0.2;
/// The change over the window by its fitted line, as a share of the mean.
pub const SNIA_SLOPE: f64 = 0.1;

impl Trend {
    /// The mean of changes that were each found on its own.
    pub fn of_changes(changes: &[f64], alpha: f64) -> Option<Trend> {
        let is_enough = changes.len() > 2;
        Some(Trend {
            change: estimate::mean(changes)?,
            interval: is_enough
                .then(|| estimate::student_interval(changes, alpha))
                .flatten(),
            count: changes.len(),
        })
    }

    /// From the first place to the last, by the line through all.
    pub fn of_line(points: &[(f64, f64)], alpha: f64) -> Option<Trend> {
        let length = points.last()?.0 - points.first()?.0;
        let fit = line(points)?;
        let (slope, error) = fit.contrast(&[1.0]);
        let half = estimate::student_quantile(alpha / 2.0, fit.df)? * error * length;
        let change = slope * length;
        Some(Trend {
            change,
            interval: Some(ConfidenceInterval {
                lower: change - half,
                upper: change + half,
                attained_confidence: 1.0 - alpha,
            }),
            count: points.len(),
        })
    }

    /// Whether it is larger than SNIA's slope for a level, and not noise.
    pub fn is_no_level(&self) -> bool {
        let is_certain = self
            .interval
            .is_some_and(|interval| !interval.contains(0.0));
        is_certain && (self.change.exp() - 1.0).abs() > SNIA_SLOPE
    }
}

/// The change over equally long parts of a window, from its beginning to its end.
pub fn change_over(parts: &[f64]) -> Option<f64> {
    let places = (0..parts.len()).map(|part| part as f64);
    let points: Vec<(f64, f64)> = places.zip(parts.iter().copied()).collect();
    let slope = line(&points)?.contrast(&[1.0]).0;
    Some(slope * parts.len() as f64).filter(|change| change.is_finite())
}

/// Whether the last five are level by SNIA's definition; None with fewer.
pub fn is_level(values: &[f64]) -> Option<bool> {
    let last = values.last_chunk::<SNIA_WINDOW>()?;
    let mean = estimate::mean(last)?;
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    let most = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let places = (0..SNIA_WINDOW).map(|place| place as f64);
    let points: Vec<(f64, f64)> = places.zip(last.iter().copied()).collect();
    let over = line(&points)?.contrast(&[1.0]).0 * (SNIA_WINDOW - 1) as f64;
    Some(mean > 0.0 && most - least <= SNIA_RANGE * mean && over.abs() <= SNIA_SLOPE * mean)
}

fn line(points: &[(f64, f64)]) -> Option<Fit> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (mean_x, mean_y) = (estimate::mean(&x)?, estimate::mean(&y)?);
    let x: Vec<Vec<f64>> = x.into_iter().map(|x| vec![x - mean_x]).collect();
    let y: Vec<f64> = y.into_iter().map(|y| y - mean_y).collect();
    Fit::new(&x, &y, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_change() {
        let change = change_over(&[0.0, 0.1, 0.2, 0.3, 0.4]).expect("a line");
        assert!((change - 0.5).abs() < 1e-12, "{change}");
        assert_eq!(change_over(&[0.0, f64::NEG_INFINITY, 0.0]), None);
        assert_eq!(change_over(&[1.0, 2.0]), None);
    }

    /// Slope and error by Python's `statistics.linear_regression`, the quantile from a table.
    #[test]
    fn a_trend_has_the_interval_of_least_squares() {
        let y = [10.0, 11.5, 11.0, 13.0, 14.0, 13.5];
        let points: Vec<(f64, f64)> = (0..6).map(f64::from).zip(y).collect();
        let trend = Trend::of_line(&points, 0.05).expect("a line");
        let interval = trend.interval.expect("an interval");
        assert!((trend.change - 5.0 * 0.771_429).abs() < 1e-4, "{trend:?}");
        let half = 5.0 * 2.776_445 * 0.165_575;
        assert!(
            (interval.upper - trend.change - half).abs() < 1e-3,
            "{trend:?}"
        );
        assert!(trend.is_no_level());
    }

    #[test]
    fn few_rounds_have_no_interval_and_claim_nothing() {
        let trend = Trend::of_changes(&[0.5, 0.6], 0.05).expect("a mean");
        assert_eq!(trend.interval, None);
        assert!(!trend.is_no_level());
        assert_eq!(Trend::of_changes(&[], 0.05), None);
        let sure = Trend::of_changes(&[0.05, 0.051, 0.049], 0.05).expect("a mean");
        assert!(!sure.is_no_level(), "certain, and small: {sure:?}");
        let fall =
            |change: f64| Trend::of_changes(&[change; 3], 0.05).is_some_and(|it| it.is_no_level());
        // By 9 % and 11 %.
        assert!(
            !fall(0.91f64.ln()) && fall(0.89f64.ln()) && !fall(1.09f64.ln()) && fall(1.11f64.ln())
        );
    }

    #[test]
    fn snias_window_is_the_last_five() {
        assert_eq!(is_level(&[100.0; 4]), None);
        assert_eq!(is_level(&[100.0; 5]), Some(true));
        assert_eq!(
            is_level(&[900.0, 100.0, 104.0, 98.0, 101.0, 99.0]),
            Some(true)
        );
        // 25 % apart, without a slope; and 12 % along a slope.
        assert_eq!(is_level(&[100.0, 125.0, 100.0, 125.0, 100.0]), Some(false));
        assert_eq!(is_level(&[100.0, 97.0, 94.0, 91.0, 88.0]), Some(false));
        assert_eq!(is_level(&[0.0; 5]), Some(false));
    }
}
