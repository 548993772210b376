//! Ordinary least squares with few regressors, and the covariance of the estimates. Pure.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

#[derive(Debug)]
pub struct Fit {
    pub coefficients: Vec<f64>,
    /// Row by row; already multiplied by the residual variance.
    covariance: Vec<Vec<f64>>,
    pub residual_squares: f64,
    /// Residual degrees of freedom.
    pub df: usize,
}

impl Fit {
    /// Regresses `y` on the columns of `x`. Both are already centred, which used `means` degrees of freedom. None when
    /// the regressors are collinear or no degrees of freedom remain.
    pub fn new(x: &[Vec<f64>], y: &[f64], means: usize) -> Option<Fit> {
        let k = x.first().map_or(0, Vec::len);
        let df = x.len().checked_sub(means + k).filter(|df| *df > 0)?;
        let sum = |f: &dyn Fn(usize) -> f64| (0..x.len()).map(f).sum::<f64>();
        // [X'X | I], reduced to [I | inverse of X'X].
        let mut rows: Vec<Vec<f64>> = (0..k)
            .map(|i| {
                let left = (0..k).map(|j| sum(&|n| x[n][i] * x[n][j]));
                left.chain((0..k).map(|j| f64::from(i == j))).collect()
            })
            .collect();
        invert(&mut rows)?;
        let xy: Vec<f64> = (0..k).map(|i| sum(&|n| x[n][i] * y[n])).collect();
        let coefficients: Vec<f64> = rows.iter().map(|row| dot(&row[k..], &xy)).collect();
        let residual_squares = sum(&|n| (y[n] - dot(&x[n], &coefficients)).powi(2));
        let variance = residual_squares / df as f64;
        let scaled = |row: &Vec<f64>| row[k..].iter().map(|v| v * variance).collect();
        Some(Fit {
            covariance: rows.iter().map(scaled).collect(),
            coefficients,
            residual_squares,
            df,
        })
    }

    /// Weighted sum of the coefficients, and its standard error.
    pub fn contrast(&self, weights: &[f64]) -> (f64, f64) {
        let variance: f64 = weights
            .iter()
            .zip(&self.covariance)
            .map(|(weight, row)| weight * dot(row, weights))
            .sum();
        (dot(weights, &self.coefficients), variance.max(0.0).sqrt())
    }

    pub fn p(&self, effect: (f64, f64)) -> f64 {
        p_of_t(effect, self.df)
    }

    /// F test: whether the regressors that this fit has in addition to those of `smaller` explain more than noise.
    pub fn p_beyond(&self, smaller: &Fit) -> f64 {
        let more = smaller.df.saturating_sub(self.df) as f64;
        let explained = (smaller.residual_squares - self.residual_squares).max(0.0);
        let f = (explained / more) / (self.residual_squares / self.df as f64);
        let distribution = FisherSnedecor::new(more, self.df as f64);
        distribution.map_or(1.0, |distribution| {
            if f.is_finite() {
                1.0 - distribution.cdf(f)
            } else {
                f64::from(f.is_nan())
            }
        })
    }
}

/// Two-sided p-value of an estimate and its standard error. Without noise it is 0, or 1 for an estimate of zero.
pub fn p_of_t((estimate, standard_error): (f64, f64), df: usize) -> f64 {
    let t = estimate / standard_error;
    let student = StudentsT::new(0.0, 1.0, df as f64);
    student.map_or(1.0, |student| {
        if t.is_nan() {
            1.0
        } else {
            2.0 * student.cdf(-t.abs())
        }
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gauss-Jordan elimination with pivoting.
fn invert(rows: &mut [Vec<f64>]) -> Option<()> {
    for column in 0..rows.len() {
        let of = |rows: &[Vec<f64>], row: usize| rows[row][column].abs();
        let pivot = (column..rows.len()).max_by(|&a, &b| of(rows, a).total_cmp(&of(rows, b)))?;
        rows.swap(column, pivot);
        let head = rows[column][column];
        if head.abs() < 1e-9 {
            return None;
        }
        rows[column].iter_mut().for_each(|value| *value /= head);
        let pivot_row = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != column) {
            let factor = row[column];
            let pairs = row.iter_mut().zip(&pivot_row);
            pairs.for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with statsmodels 0.14 (OLS without a constant on centred data, with one degree of freedom less for the
    /// mean).
    #[test]
    fn a_line_and_its_error() {
        let x: Vec<Vec<f64>> = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|x| vec![x]).to_vec();
        let y = [-3.9, -2.2, 0.1, 1.8, 4.2];
        let fit = Fit::new(&x, &y, 1).unwrap();
        let (slope, error) = fit.contrast(&[1.0]);
        assert!((slope - 2.02).abs() < 1e-12);
        // s^2 = 0.128 / 3 by hand: residuals 0.14, -0.18, 0.1, -0.22, 0.16.
        assert!((fit.residual_squares - 0.136).abs() < 1e-9);
        assert!((error - (0.136f64 / 3.0 / 10.0).sqrt()).abs() < 1e-12);
        assert!(fit.p((slope, error)) < 1e-3);
        let nothing = Fit::new(&vec![Vec::new(); 5], &y, 1).unwrap();
        // F(1, 3) of the slope equals the square of its t.
        assert!((fit.p_beyond(&nothing) - fit.p((slope, error))).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_told_apart_is_none() {
        let twice: Vec<Vec<f64>> = [-1.0, 0.0, 1.0, 2.0].map(|x| vec![x, 2.0 * x]).to_vec();
        assert!(Fit::new(&twice, &[1.0, 2.0, 3.0, 4.0], 1).is_none());
        assert!(Fit::new(&[vec![1.0]], &[1.0], 1).is_none());
        assert!(Fit::new(&[], &[], 0).is_none());
    }
}
