//! Scales of figures: where a value lies, and which values get a tick. Pure.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    Linear,
    Log,
    /// For probabilities: the distance to 1 is logarithmic, so that p90, p99 and p99.9 are equally far apart.
    Tail,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    spread: Spread,
    /// The ends, on the spread scale.
    low: f64,
    high: f64,
}

impl Axis {
    /// From the smallest to the largest value, with a little room; None without a value that the axis can show.
    pub fn around(spread: Spread, values: impl IntoIterator<Item = f64>) -> Option<Axis> {
        let placed = values
            .into_iter()
            .map(|value| spread.fraction(value))
            .filter(|at| at.is_finite());
        let (low, high) = placed.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        if low > high {
            return None;
        }
        let room = match high - low {
            0.0 if spread == Spread::Linear => low.abs().max(1.0) * 0.1,
            0.0 => 0.1,
            width => width * 0.04,
        };
        Some(Axis {
            spread,
            low: low - room,
            high: high + room,
        })
    }

    /// Exactly from `low` to `high`.
    pub fn between(spread: Spread, low: f64, high: f64) -> Axis {
        Axis {
            spread,
            low: spread.fraction(low),
            high: spread.fraction(high),
        }
    }

    /// 0 at the low end, 1 at the high end; values beyond an end lie at it.
    pub fn position(&self, value: f64) -> f64 {
        let at = self.spread.fraction(value);
        if at.is_nan() {
            return 0.0;
        }
        ((at - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The value at a position.
    pub fn value(&self, position: f64) -> f64 {
        let at = self.low + position * (self.high - self.low);
        match self.spread {
            Spread::Linear => at,
            Spread::Log => 10f64.powf(at),
            Spread::Tail => 1.0 - 10f64.powf(-at),
        }
    }

    /// At most `most` round values between the ends.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        match self.spread {
            Spread::Tail => [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
                .into_iter()
                .filter(|p| self.contains(*p))
                .collect(),
            Spread::Linear => self.linear_ticks(most),
            Spread::Log => self.log_ticks(most),
        }
    }

    fn contains(&self, value: f64) -> bool {
        let at = self.spread.fraction(value);
        (self.low - 1e-9..=self.high + 1e-9).contains(&at)
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let raw = (self.high - self.low) / most.max(2) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let count = (last - first).clamp(-1.0, 100.0) as i32;
        (0..=count).map(|i| (first + f64::from(i)) * step).collect()
    }

    /// Decades, with 2 and 5 between them where there is room; where there is less than a decade, linear ones.
    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = (self.low.floor() as i32, self.high.ceil() as i32);
        let of = |factors: &[f64], every: i32| -> Vec<f64> {
            (low..=high)
                .filter(|decade| decade.rem_euclid(every) == 0)
                .flat_map(|decade| {
                    factors
                        .iter()
                        .map(move |factor| factor * 10f64.powi(decade))
                })
                .filter(|value| self.contains(*value))
                .collect()
        };
        let fine = of(&[1.0, 2.0, 5.0], 1);
        if fine.len() < 3 {
            let linear = Axis {
                spread: Spread::Linear,
                low: 10f64.powf(self.low),
                high: 10f64.powf(self.high),
            };
            return linear.linear_ticks(most);
        }
        let coarser = [(&[1.0, 3.0][..], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 3)];
        let mut all = [fine]
            .into_iter()
            .chain(coarser.map(|(factors, every)| of(factors, every)));
        all.find(|ticks| ticks.len() <= most).unwrap_or_default()
    }
}

impl Spread {
    pub fn fraction(self, value: f64) -> f64 {
        match self {
            Spread::Linear => value,
            Spread::Log => value.log10(),
            Spread::Tail => -(1.0 - value).log10(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_where_their_spread_says() {
        let log = Axis::between(Spread::Log, 1.0, 100.0);
        let lies = |axis: &Axis, value, at: f64| (axis.position(value) - at).abs() < 1e-9;
        assert!(lies(&log, 1.0, 0.0) && lies(&log, 10.0, 0.5) && lies(&log, 100.0, 1.0));
        for spread in [Spread::Linear, Spread::Log, Spread::Tail] {
            let axis = Axis::between(spread, 0.1, 0.9);
            assert!((axis.value(axis.position(0.3)) - 0.3).abs() < 1e-9);
        }
        assert!(
            lies(&log, 0.0, 0.0) && lies(&log, f64::INFINITY, 1.0),
            "beyond an end"
        );
        let tail = Axis::between(Spread::Tail, 0.0, 0.999);
        assert!((tail.position(0.9) - 1.0 / 3.0).abs() < 1e-9);
        assert!((tail.position(0.99) - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_few_and_round() {
        let ticks = |low, high| Axis::between(Spread::Log, low, high).ticks(6);
        assert_eq!(ticks(0.9, 110.0), [1.0, 3.0, 10.0, 30.0, 100.0]);
        assert_eq!(ticks(1.0, 10.0), [1.0, 2.0, 5.0, 10.0]);
        let near = ticks(0.94, 1.13);
        assert!((3..=6).contains(&near.len()), "{near:?}");
        assert!(near.iter().all(|tick| (0.94..=1.13).contains(tick)));
        assert!(ticks(1e-3, 1e9).len() <= 6);
        let linear = Axis::between(Spread::Linear, 0.0, 7.3).ticks(5);
        assert_eq!(linear, [0.0, 2.0, 4.0, 6.0]);
        for power in -12..12 {
            let width = 10f64.powi(power);
            for spread in [Spread::Linear, Spread::Log] {
                let axis = Axis::around(spread, [1.0, 1.0 + width]).unwrap();
                assert!(
                    axis.ticks(6).len() <= 8,
                    "{spread:?} {width}: {:?}",
                    axis.ticks(6)
                );
            }
        }
    }

    #[test]
    fn an_axis_needs_a_value() {
        assert_eq!(
            Axis::around(Spread::Log, [0.0, f64::NAN, f64::INFINITY]),
            None
        );
        let one = Axis::around(Spread::Linear, [0.0]).unwrap();
        assert!((one.position(0.0) - 0.5).abs() < 1e-9);
    }
}
