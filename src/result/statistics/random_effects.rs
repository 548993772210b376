//! One estimate from those of several hosts, whose true values differ: a random-effects meta-analysis. Pure.
//!
//! The variance between hosts is Paule and Mandel's (1982), the interval of the mean Hartung and Knapp's (2001), also by
//! Sidik and Jonkman (2002), and the interval for a new host that of Higgins, Thompson and Spiegelhalter (2009). Simulated
//! in `tests/verdicts/hosts.rs`, compared with metafor in the tests below.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

use super::estimate::{self, ConfidenceInterval};

/// What one host says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vote {
    pub estimate: f64,
    /// Square of its standard error, above zero.
    pub variance: f64,
}

/// What all of them say.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// The mean over hosts like these.
    pub estimate: f64,
    pub standard_error: f64,
    pub interval: ConfidenceInterval,
    /// Of no difference on the mean.
    pub p: f64,
    /// Standard deviation of the true values between hosts.
    pub tau: f64,
    /// The share of the variation that is not noise within hosts.
    pub i_squared: f64,
    /// Cochran's statistic, and its p: whether hosts differ at all.
    pub q: f64,
    pub q_p: f64,
    /// Where the true value of a new host lies; None with fewer than three hosts.
    pub prediction: Option<ConfidenceInterval>,
}

/// None with fewer than two hosts, or with numbers that are none.
pub fn pool(votes: &[Vote], alpha: f64) -> Option<Pooled> {
    let is_number =
        |vote: &Vote| vote.estimate.is_finite() && vote.variance.is_finite() && vote.variance > 0.0;
    let hosts = votes.len();
    if hosts < 2 || !votes.iter().all(is_number) {
        return None;
    }
    let df = (hosts - 1) as f64;
    let between = between_hosts(votes);
    let weights = weights(votes, between);
    let total: f64 = weights.iter().sum();
    let mean = weighted(votes, &weights);
    let squares = spread(votes, &weights, mean);
    let standard_error = (squares / df / total).sqrt();
    let half = estimate::student_quantile(alpha / 2.0, hosts - 1)? * standard_error;
    let fixed = self::weights(votes, 0.0);
    let q = spread(votes, &fixed, weighted(votes, &fixed));
    Some(Pooled {
        estimate: mean,
        standard_error,
        interval: around(mean, half, alpha),
        p: p_of(mean / standard_error, df)?,
        tau: between.sqrt(),
        i_squared: i_squared(&fixed, between, df),
        q,
        q_p: 1.0 - ChiSquared::new(df).ok()?.cdf(q),
        prediction: prediction(mean, standard_error, between, hosts, alpha),
    })
}

/// The hosts that do not fit to all others: outside of where those expect a new host, at a level that all hosts share. None of
/// fewer than four, of which no three others are left.
pub fn outliers(votes: &[Vote], alpha: f64) -> Vec<usize> {
    let hosts = votes.len();
    if hosts < 4 {
        return Vec::new();
    }
    let level = alpha / hosts as f64;
    let Some(quantile) = estimate::student_quantile(level / 2.0, hosts - 3) else {
        return Vec::new();
    };
    let sums = Sums::of(votes);
    let is_outlier = |index: &usize| {
        let own = votes[*index];
        let between = sums.without(own).between_hosts();
        let others = votes
            .iter()
            .enumerate()
            .filter(|(other, _)| other != index)
            .map(|(_, vote)| vote);
        let (mut total, mut sum) = (0.0, 0.0);
        for vote in others {
            let weight = 1.0 / (vote.variance + between);
            total += weight;
            sum += weight * vote.estimate;
        }
        let error = (between + 1.0 / total + own.variance).sqrt();
        (own.estimate - sum / total).abs() > quantile * error
    };
    (0..hosts).filter(is_outlier).collect()
}

fn weights(votes: &[Vote], between: f64) -> Vec<f64> {
    let weight = |vote: &Vote| 1.0 / (vote.variance + between);
    votes.iter().map(weight).collect()
}

fn weighted(votes: &[Vote], weights: &[f64]) -> f64 {
    let pairs = votes.iter().zip(weights);
    let sum: f64 = pairs.map(|(vote, weight)| weight * vote.estimate).sum();
    sum / weights.iter().sum::<f64>()
}

fn spread(votes: &[Vote], weights: &[f64], mean: f64) -> f64 {
    let pairs = votes.iter().zip(weights);
    pairs
        .map(|(vote, weight)| weight * (vote.estimate - mean).powi(2))
        .sum()
}

/// Paule and Mandel's variance between hosts: with it, the hosts vary as much as their weights say.
fn between_hosts(votes: &[Vote]) -> f64 {
    let df = (votes.len() - 1) as f64;
    let excess = |between: f64| {
        let weights = weights(votes, between);
        spread(votes, &weights, weighted(votes, &weights)) - df
    };
    if excess(0.0) <= 0.0 {
        return 0.0;
    }
    // It falls as the variance grows, and at this one it is below zero: no host is further from the mean than from another.
    let estimates = || votes.iter().map(|vote| vote.estimate);
    let widest =
        estimates().fold(f64::NEG_INFINITY, f64::max) - estimates().fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, widest * widest * votes.len() as f64);
    while high - low > 1e-12 * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// By the typical variance within hosts, as Higgins and Thompson have it (2002).
fn i_squared(fixed: &[f64], between: f64, df: f64) -> f64 {
    let total: f64 = fixed.iter().sum();
    let squares: f64 = fixed.iter().map(|weight| weight * weight).sum();
    let typical = df * total / (total * total - squares);
    between / (between + typical)
}

fn prediction(
    mean: f64,
    standard_error: f64,
    between: f64,
    hosts: usize,
    alpha: f64,
) -> Option<ConfidenceInterval> {
    let quantile = estimate::student_quantile(alpha / 2.0, hosts.checked_sub(2)?)?;
    let half = quantile * (between + standard_error * standard_error).sqrt();
    Some(around(mean, half, alpha))
}

fn around(mean: f64, half: f64, alpha: f64) -> ConfidenceInterval {
    ConfidenceInterval {
        lower: mean - half,
        upper: mean + half,
        attained_confidence: 1.0 - alpha,
    }
}

/// Hosts that all say exactly the same have no spread: zero over zero is no evidence.
fn p_of(t: f64, df: f64) -> Option<f64> {
    if t.is_nan() {
        return Some(1.0);
    }
    Some(2.0 * StudentsT::new(0.0, 1.0, df).ok()?.cdf(-t.abs()))
}

/// Sums from which one host can be taken away: all hosts are tried, and there may be thousands.
#[derive(Clone, Copy, Default)]
struct Sums {
    hosts: f64,
    estimate: f64,
    squared_estimate: f64,
    variance: f64,
}

impl Sums {
    fn of(votes: &[Vote]) -> Sums {
        let none = Sums::default();
        votes.iter().fold(none, |sums, vote| sums.plus(*vote, 1.0))
    }

    fn plus(self, vote: Vote, sign: f64) -> Sums {
        Sums {
            hosts: self.hosts + sign,
            estimate: self.estimate + sign * vote.estimate,
            squared_estimate: self.squared_estimate + sign * vote.estimate.powi(2),
            variance: self.variance + sign * vote.variance,
        }
    }

    fn without(self, vote: Vote) -> Sums {
        self.plus(vote, -1.0)
    }

    /// Hedges' variance between hosts (1983). It weighs all hosts alike, so one with hardly any noise does not decide for all.
    fn between_hosts(self) -> f64 {
        let squares = self.squared_estimate - self.estimate * self.estimate / self.hosts;
        (squares / (self.hosts - 1.0) - self.variance / self.hosts).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirteen trials of the BCG vaccine (Colditz and others, 1994), as logarithms of risk ratios and their variances: an
    /// example of metafor.
    const BCG: [(f64, f64); 13] = [
        (-0.889_311_333_920_205_4, 0.325_584_765_003_961_3),
        (-1.585_388_657_201_430_6, 0.194_581_121_398_143_85),
        (-1.348_073_148_299_693_3, 0.415_367_965_367_965_4),
        (-1.441_551_190_021_305_4, 0.020_010_031_902_247_57),
        (-0.217_547_322_211_295_6, 0.051_210_172_169_629_86),
        (-0.786_115_585_818_864, 0.006_905_618_455_908_76),
        (-1.620_898_223_598_391_8, 0.223_017_247_572_315_17),
        (0.011_952_333_523_840_5, 0.003_961_579_297_817_73),
        (-0.469_417_648_738_149_4, 0.056_434_210_463_248_97),
        (-1.371_344_803_472_784_4, 0.073_024_793_613_028_91),
        (-0.339_358_828_338_390_6, 0.012_412_213_971_559_72),
        (0.445_913_400_571_378_7, 0.532_505_845_200_152_8),
        (-0.017_313_948_216_879_8, 0.071_404_659_683_986_3),
    ];

    fn bcg() -> Vec<Vote> {
        let votes = BCG.iter();
        votes
            .map(|&(estimate, variance)| Vote { estimate, variance })
            .collect()
    }

    fn assert_near(found: f64, expected: f64) {
        let error = (found - expected).abs();
        assert!(
            error < 1e-6 * expected.abs().max(1e-3),
            "{found} is not {expected}"
        );
    }

    /// The figures of `rma(yi, vi, method = "PM", test = "knha")` of metafor 3.8, and the interval of its `pi.type = "HTS"`.
    #[test]
    fn metafor_says_the_same() {
        let found = pool(&bcg(), 0.05).unwrap();
        assert_near(found.estimate, -0.714_968_153_493);
        assert_near(found.standard_error, 0.180_892_191_538);
        assert_near(found.interval.lower, -1.109_098_381_2);
        assert_near(found.interval.upper, -0.320_837_925_785);
        assert_near(found.p, 0.001_919_271_831_28);
        assert_near(found.tau.powi(2), 0.318_068_452_205);
        assert_near(found.i_squared, 0.923_303_379_542);
        assert_near(found.q, 152.233_008_082);
        assert!(found.q_p < 1e-12);
        let prediction = found.prediction.unwrap();
        assert_near(prediction.lower, -2.018_558_054_18);
        assert_near(prediction.upper, 0.588_621_747_198);
    }

    /// `rma(yi[-i], vi[-i], method = "HE")` of metafor 3.8.
    #[test]
    fn one_host_is_taken_away_as_metafor_does() {
        let expected = [
            0.384_546_428_007,
            0.305_528_891_125,
            0.357_867_676_458,
            0.312_876_531_733,
            0.336_909_321_717,
            0.359_962_778_843,
            0.301_866_025_743,
            0.304_138_132_412,
            0.357_048_483_978,
            0.326_501_431_298,
            0.344_765_739_587,
            0.265_306_246_191,
            0.314_012_466_854,
        ];
        let votes = bcg();
        let sums = Sums::of(&votes);
        for (vote, expected) in votes.iter().zip(expected) {
            assert_near(sums.without(*vote).between_hosts(), expected);
        }
    }

    #[test]
    fn a_host_that_does_not_fit_is_named_and_the_others_are_not() {
        let vote = |estimate: f64| Vote {
            estimate,
            variance: 1e-4,
        };
        let mut votes: Vec<Vote> = (0..8)
            .map(|i| vote(0.1 + 0.01 * f64::from(i % 3)))
            .collect();
        assert_eq!(outliers(&votes, 0.05), [0; 0]);
        votes[5] = vote(-0.2);
        assert_eq!(outliers(&votes, 0.05), [5]);
        assert_eq!(
            outliers(&votes[4..7], 0.05),
            [0; 0],
            "of three, none is the odd one"
        );
    }

    #[test]
    fn few_hosts_and_odd_numbers() {
        let vote = |estimate: f64, variance: f64| Vote { estimate, variance };
        assert_eq!(pool(&[vote(0.1, 0.01)], 0.05), None);
        let two = pool(&[vote(0.1, 0.01), vote(0.2, 0.01)], 0.05).unwrap();
        assert_eq!(two.prediction, None);
        assert!(two.interval.lower < 0.0, "two hosts show little: {two:?}");
        for odd in [
            vote(f64::NAN, 0.01),
            vote(f64::INFINITY, 0.01),
            vote(0.1, 0.0),
            vote(0.1, f64::NAN),
        ] {
            assert_eq!(pool(&[vote(0.1, 0.01), odd, vote(0.2, 0.01)], 0.05), None);
        }
        let alike = pool(&[vote(0.0, 0.01); 5], 0.05).unwrap();
        assert_eq!((alike.estimate, alike.tau, alike.p), (0.0, 0.0, 1.0));
    }
}
