//! Results of an A/A run: the smallest effect that this machine can show, and the time it takes. Pure.
//!
//!
//! It does not predict the gain of longer rounds. For that, the variance as a function of the round's length would have
//! to be known, from windows within the rounds or from rounds of two lengths. A result has one interval per round and
//! one length. fio reports the standard deviation of its samples but not their order; successive samples are correlated
//! on real disks, so the mean of a round converges more slowly than they suggest.

use std::collections::BTreeMap;

use super::table::Table;
use crate::metric::Metric;
use crate::statistics::components::Components;
use crate::statistics::power;
use crate::statistics::stopping::{Method, Stopping};
use crate::statistics::verdict::{Question, bonferroni};
use crate::types::noise::{Detectable, MetricNoise, Needed, Noise};
use crate::types::result::ResultFile;

const BLOCKS: [usize; 6] = [8, 12, 20, 40, 80, 160];
/// Effects, as multiples of the margin.
const EFFECTS: [f64; 2] = [1.0, 0.4];

/// `block_s`: duration of a block. None before two blocks count.
pub fn noise(result: &ResultFile, block_s: f64) -> Option<Noise> {
    let table = Table::new(result);
    let primary: Vec<_> = result.primary().collect();
    // A comparison in a real run with as many metrics as here.
    let alpha = bonferroni(result.design.alpha, primary.len());
    let level = Stopping::Fixed { blocks: 0 }.level(alpha);
    let metrics = primary.iter().filter_map(|row| {
        let (sd, blocks) = (row.comparison.sd?, row.comparison.blocks);
        let upper = power::upper_sd(sd, blocks)?;
        let effective = power::effective_sd(upper, false);
        let question = Question {
            alpha: level,
            alpha_of_few: level,
            method: Method::SignedRank,
            ..row.comparison.question
        };
        let components = Components::of(&pairs(&table, &row.metric));
        Some(MetricNoise {
            metric: row.metric.name.clone(),
            sd,
            sd_upper: Some(upper),
            round_sd: components.map(|of| of.rounds),
            block_sd: components.map(|of| of.blocks),
            detectable: detectable(question, effective, block_s),
            needed: EFFECTS
                .iter()
                .map(|share| needed(question, share * row.metric.margin, effective, block_s))
                .collect(),
        })
    });
    let metrics: Vec<MetricNoise> = metrics.collect();
    (!metrics.is_empty()).then_some(Noise { block_s, metrics })
}

fn detectable(question: Question, upper: f64, block_s: f64) -> Vec<Detectable> {
    let of = |&blocks: &usize| {
        let effect = power::reach_of(question, upper, blocks)?;
        Some(Detectable {
            blocks,
            seconds: blocks as f64 * block_s,
            effect: question.scale.to_margin(effect)?,
        })
    };
    BLOCKS.iter().filter_map(of).collect()
}

fn needed(question: Question, effect: f64, upper: f64, block_s: f64) -> Needed {
    let on_scale = question.scale.of_margin(effect);
    let blocks = power::blocks_for(question, upper, on_scale);
    Needed {
        effect,
        blocks,
        seconds: blocks.map(|blocks| blocks as f64 * block_s),
    }
}

/// The values of each block that has both.
fn pairs(table: &Table<'_>, metric: &Metric) -> Vec<(f64, f64)> {
    let mut blocks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for cell in table.cells(metric) {
        blocks.entry(cell.block).or_default().push(cell.y);
    }
    let whole = blocks.into_values().filter_map(|y| match y[..] {
        [one, other] => Some((one, other)),
        _ => None,
    });
    whole.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{empty, play, values};

    fn identical(primary: &[&str], spread: f64) -> ResultFile {
        let fixed = Stopping::Fixed { blocks: 12 };
        let mut result = empty(&["A=none", "B=none"], fixed, primary);
        play(&mut result, |turn| {
            let mut found = values(turn, &[("throughput", 1e6), ("total_p99", 1e6)]);
            for value in found.values_mut() {
                *value = 1e6 * (*value / 1e6).powf(spread);
            }
            Ok(found)
        });
        result
    }

    #[test]
    fn more_blocks_see_less_and_take_longer() {
        let fixed = Stopping::Fixed { blocks: 12 };
        let primary = ["throughput", "total_p99"];
        let nothing = empty(&["A=none", "B=none"], fixed, &primary);
        assert_eq!(noise(&nothing, 50.0), None);
        let result = identical(&primary, 1.0);
        let found = noise(&result, 50.0).unwrap();
        assert!((found.block_s - 50.0).abs() < 1e-9);
        assert_eq!(found.metrics.len(), 2);
        let of = &found.metrics[0].detectable;
        assert_eq!(of.len(), BLOCKS.len());
        assert!((of[1].seconds - 600.0).abs() < 1e-9);
        assert!(of.windows(2).all(|pair| pair[0].effect > pair[1].effect));
        // At 12 blocks this is the run's own minimum detectable effect.
        let own = result.comparisons[0].comparison.mde.unwrap();
        assert!((of[1].effect - own).abs() < 1e-12);
    }

    #[test]
    fn a_smaller_effect_needs_more_blocks() {
        let result = identical(&["throughput", "total_p99:4"], 10.0);
        let found = noise(&result, 50.0).unwrap();
        for metric in &found.metrics {
            assert!(metric.sd_upper.unwrap() > metric.sd);
            let of_rounds = metric.round_sd.unwrap() * 2f64.sqrt();
            assert!((of_rounds - metric.sd).abs() < 1e-9, "{metric:?}");
        }
        let [margin, less] = found.metrics[0].needed[..] else {
            panic!("{found:?}")
        };
        assert!((margin.effect - 0.05).abs() < 1e-12 && (less.effect - 0.02).abs() < 1e-12);
        let (few, many) = (margin.blocks.unwrap(), less.blocks.unwrap());
        assert!(few > 6 && many > 4 * few, "{few} and {many}");
        assert!((less.seconds.unwrap() - 50.0 * many as f64).abs() < 1e-9);
        // That many blocks show the effect; one block fewer does not.
        let shown = |blocks: usize| {
            let question = Question {
                alpha: 0.025,
                alpha_of_few: 0.025,
                ..result.comparisons[0].comparison.question
            };
            let found = &found.metrics[0];
            let sd = power::effective_sd(found.sd_upper.unwrap(), false);
            power::reach_of(question, sd, blocks).unwrap()
        };
        let wanted = 0.05f64.ln_1p();
        assert!(shown(few) <= wanted && shown(few - 1) > wanted);
        let hopeless = noise(&identical(&["throughput", "total_p99"], 200.0), 50.0).unwrap();
        let least = hopeless.metrics[0].needed[1];
        assert_eq!((least.blocks, least.seconds), (None, None));
    }
}
