//! What an arm against itself tells: how small an effect this machine can show, and how long that takes. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stopping::Stopping;
use super::verdict::bonferroni;
use crate::report::result::ResultFile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// A block, with its switches and ramps.
    pub block_s: f64,
    pub metrics: Vec<MetricNoise>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricNoise {
    pub metric: String,
    /// Of the differences between the two halves of a block, on the metric's scale.
    pub sd: f64,
    pub detectable: Vec<Detectable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detectable {
    pub blocks: usize,
    pub seconds: f64,
    /// Shown by four of five such runs of fixed length with this family; a fraction on the log scale.
    pub effect: f64,
}

const BLOCKS: [usize; 6] = [8, 12, 20, 40, 80, 160];

/// `block_s`: how long a block took. None before there are two blocks that count.
pub fn noise(result: &ResultFile, block_s: f64) -> Option<Noise> {
    let primary: Vec<_> = result.comparisons.iter().filter(|c| c.primary).collect();
    // Of arm against reference in a real run: as many comparisons as here.
    let alpha = bonferroni(result.design.alpha, primary.len());
    let level = Stopping::Fixed { blocks: 0 }.level(alpha);
    let metrics = primary.iter().filter_map(|row| {
        let sd = row.comparison.sd?;
        let mut question = row.comparison.question;
        question.alpha = level;
        let detectable = BLOCKS.iter().filter_map(|&blocks| {
            Some(Detectable {
                blocks,
                seconds: blocks as f64 * block_s,
                effect: question.scale.to_margin(question.detectable(sd, blocks)?)?,
            })
        });
        Some(MetricNoise {
            metric: row.metric.name.clone(),
            sd,
            detectable: detectable.collect(),
        })
    });
    let metrics: Vec<MetricNoise> = metrics.collect();
    (!metrics.is_empty()).then_some(Noise { block_s, metrics })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{carry_out, empty, values};

    #[test]
    fn more_blocks_see_less_and_take_longer() {
        let fixed = Stopping::Fixed { blocks: 12 };
        let mut result = empty(&["A=none", "B=none"], fixed, &["throughput", "total_p99"]);
        assert_eq!(noise(&result, 50.0), None);
        carry_out(&mut result, |turn| {
            Ok(values(turn, &[("throughput", 1e6), ("total_p99", 1e6)]))
        });
        let found = noise(&result, 50.0).unwrap();
        assert!((found.block_s - 50.0).abs() < 1e-9);
        assert_eq!(found.metrics.len(), 2);
        let of = &found.metrics[0].detectable;
        assert_eq!(of.len(), BLOCKS.len());
        assert!((of[1].seconds - 600.0).abs() < 1e-9);
        assert!(of.windows(2).all(|pair| pair[0].effect > pair[1].effect));
        // At 12 blocks what the run itself says.
        let own = result.comparisons[0].comparison.mde.unwrap();
        assert!((of[1].effect - own).abs() < 1e-12);
    }
}
