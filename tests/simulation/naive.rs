//! Methods of the usual scripts: all rounds of one arm, then all of the other, then an unpaired test; or look until
//! something turns up; or the same order in each block.

use iosched_result::statistics::estimate;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Welch's t-test of the first half of the rounds against the second.
pub fn welch_finds(rounds: &[f64], alpha: f64) -> bool {
    let (a, b) = rounds.split_at(rounds.len() / 2);
    let n = a.len() as f64;
    let part = |x| {
        (
            estimate::mean(x).expect("rounds"),
            estimate::sd(x).expect("rounds").powi(2) / n,
        )
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (part(a), part(b));
    let t = (mean_a - mean_b).abs() / (error_a + error_b).sqrt();
    let df = (error_a + error_b).powi(2) * (n - 1.0) / (error_a.powi(2) + error_b.powi(2));
    let student = StudentsT::new(0.0, 1.0, df).expect("degrees of freedom");
    2.0 * student.cdf(-t) <= alpha
}

/// The Mann-Whitney U test of the first half against the second, normal approximation with continuity correction.
pub fn mann_whitney_finds(rounds: &[f64], alpha: f64) -> bool {
    let (a, b) = rounds.split_at(rounds.len() / 2);
    let wins = |x: &f64| -> f64 {
        let against = |y: &f64| {
            if x > y {
                1.0
            } else if x < y {
                0.0
            } else {
                0.5
            }
        };
        b.iter().map(against).sum()
    };
    let u: f64 = a.iter().map(wins).sum();
    let n = a.len() as f64;
    let sd = (n * n * (2.0 * n + 1.0) / 12.0).sqrt();
    let z = ((u - n * n / 2.0).abs() - 0.5) / sd;
    2.0 * Normal::standard().cdf(-z) <= alpha
}

/// A t-interval after each block from the fifth on, and a stop at the first that leaves zero out (a false alarm when
/// there is nothing) or lies inside the margin.
pub fn peeking_finds(d: &[f64], margin: f64, alpha: f64) -> bool {
    for n in 5..=d.len() {
        let i = estimate::student_interval(&d[..n], alpha).expect("five blocks");
        if -margin < i.lower && i.upper < margin {
            return false;
        }
        if !i.contains(0.0) {
            return true;
        }
    }
    false
}
