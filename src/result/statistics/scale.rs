//! How two values of a metric are compared, and which is better. Pure.

use serde::{Deserialize, Serialize};

use super::estimate::ConfidenceInterval;
use super::signed_rank::Difference;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Compared by ratio; the margin is a fraction. For rates, times and sizes, which are not negative.
    Log,
    /// Compared by difference; the margin is in the metric's unit. For shares and indices, where 0 and 1 are valid.
    Identity,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    HigherIsBetter,
    LowerIsBetter,
    /// A difference is reported, but neither side is better.
    Neutral,
}

/// The smallest changes that matter, on the scale, both positive. A margin of 5 % means ratios of 0.95 and 1.05.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margins {
    pub down: f64,
    pub up: f64,
}

impl Margins {
    pub fn hold(self, interval: ConfidenceInterval) -> bool {
        -self.down < interval.lower && interval.upper < self.up
    }

    pub fn are_left_by(self, interval: ConfidenceInterval) -> bool {
        interval.lower > self.up || interval.upper < -self.down
    }
}

impl Scale {
    /// A value on this scale. None for negative values on the log scale.
    pub fn transformed(self, value: f64) -> Option<f64> {
        match self {
            Scale::Log if value >= 0.0 => Some(value.ln()),
            Scale::Log => None,
            Scale::Identity => Some(value),
        }
        .filter(|y| !y.is_nan())
    }

    /// Arm minus reference. None when one of them has no value on this scale.
    ///
    ///
    /// A zero on one side gives an infinite difference: no throughput at all is the worst possible value.
    pub fn difference(self, arm: f64, reference: f64) -> Option<Difference> {
        let (arm, reference) = (self.transformed(arm)?, self.transformed(reference)?);
        let d = arm - reference;
        // Zero under both arms: no difference.
        let d = if d.is_nan() && arm.total_cmp(&reference).is_eq() {
            0.0
        } else {
            d
        };
        (!d.is_nan()).then(|| Difference::exact(d))
    }

    /// With a margin of 1 or more, a decrease is taken as a division: a decrease by 100 % has no ratio.
    pub fn margins(self, margin: f64) -> Margins {
        match self {
            Scale::Log if margin < 1.0 => Margins {
                down: -(-margin).ln_1p(),
                up: margin.ln_1p(),
            },
            Scale::Log => Margins {
                down: margin.ln_1p(),
                up: margin.ln_1p(),
            },
            Scale::Identity => Margins {
                down: margin,
                up: margin,
            },
        }
    }

    /// The smaller of the two margins.
    pub fn of_margin(self, margin: f64) -> f64 {
        match self {
            Scale::Log => margin.ln_1p(),
            Scale::Identity => margin,
        }
    }

    pub fn to_margin(self, effect: f64) -> Option<f64> {
        let margin = match self {
            Scale::Log => effect.exp_m1(),
            Scale::Identity => effect,
        };
        Some(margin).filter(|margin| margin.is_finite())
    }

    pub fn ratio(self, estimate: Option<f64>) -> Option<f64> {
        let ratio = match self {
            Scale::Log => estimate?.exp(),
            Scale::Identity => return None,
        };
        Some(ratio).filter(|ratio| ratio.is_finite())
    }

    /// Infinite ends stay infinite: a lower end of 0 would look like a bound.
    pub fn ratio_interval(
        self,
        interval: Option<ConfidenceInterval>,
    ) -> Option<ConfidenceInterval> {
        let interval = interval.filter(|_| self == Scale::Log)?;
        let lower = match interval.lower {
            f64::NEG_INFINITY => f64::NEG_INFINITY,
            end => end.exp(),
        };
        let upper = interval.upper.exp();
        // Beyond every number on one side: there is no ratio.
        (upper > 0.0 && lower < f64::INFINITY).then_some(ConfidenceInterval {
            lower,
            upper,
            ..interval
        })
    }
}

impl Direction {
    /// The worst possible value: used for a block in which an arm did too little to be measured.
    pub fn worst(self) -> Option<f64> {
        match self {
            Direction::HigherIsBetter => Some(f64::NEG_INFINITY),
            Direction::LowerIsBetter => Some(f64::INFINITY),
            Direction::Neutral => None,
        }
    }

    /// The ends of an interval ordered from worse to better, with better above zero. Without a better direction, the
    /// end farther from zero is the worse.
    pub fn worst_and_best(self, interval: ConfidenceInterval) -> (f64, f64) {
        match self {
            Direction::HigherIsBetter => (interval.lower, interval.upper),
            Direction::LowerIsBetter => (-interval.upper, -interval.lower),
            Direction::Neutral if interval.contains(0.0) => {
                (-interval.lower.abs().max(interval.upper.abs()), 0.0)
            }
            Direction::Neutral => {
                let (one, other) = (interval.lower.abs(), interval.upper.abs());
                (-one.max(other), -one.min(other))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_as_printed() {
        let margins = Scale::Log.margins(0.2);
        assert!(
            (margins.up.exp() - 1.2).abs() < 1e-12 && ((-margins.down).exp() - 0.8).abs() < 1e-12
        );
        let large = Scale::Log.margins(1.0);
        assert!(((-large.down).exp() - 0.5).abs() < 1e-12);
        let shares = Scale::Identity.margins(0.02);
        assert_eq!((shares.down, shares.up), (0.02, 0.02));
    }

    #[test]
    fn nothing_is_infinitely_less_than_something() {
        let of = |arm, reference| Scale::Log.difference(arm, reference);
        assert_eq!(of(0.0, 5.0), Some(Difference::exact(f64::NEG_INFINITY)));
        assert_eq!(of(5.0, 0.0), Some(Difference::exact(f64::INFINITY)));
        assert_eq!(of(0.0, 0.0), Some(Difference::exact(0.0)));
        assert!((of(200.0, 100.0).unwrap().lower - 2f64.ln()).abs() < 1e-12);
        for (arm, reference) in [(-1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0)] {
            assert_eq!(of(arm, reference), None);
        }
        assert_eq!(
            Scale::Identity.difference(0.0, 1.0),
            Some(Difference::exact(-1.0))
        );
    }
}
