use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::analysis::conclude::conclude;
use crate::gate::{Decision, Rules, Selection, judge, redrawn};
use crate::random::below;
use crate::report::fixture::{empty, play};
use crate::statistics::stopping::Stopping;
use crate::types::goals::{Goals, Side};
use crate::types::result::{Censored, ResultFile};

const P99: &str = "read_total_p99";

/// `level`: of the arms' logarithms, against the limit of 10 ms.
fn run(levels: &[f64], noise: f64, seed: u64, stopping: Stopping) -> ResultFile {
    let arms = ["none", "bfq", "mq-deadline"];
    let mut result = empty(&arms[..levels.len()], stopping, &[P99, "iops"]);
    result.design.goals = Some(Goals {
        prefer: Some("iops".to_owned()),
        keep: Vec::new(),
        limits: vec![Limit {
            metric: P99.to_owned(),
            side: Side::AtMost,
            value: 10.0,
            unit: "ms".to_owned(),
        }],
    });
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut unit = move || below(&mut random, 1 << 32) as f64 / (1_u64 << 32) as f64;
    let mut normal = move || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
    play(&mut result, |turn| {
        let level = levels[turn.planned.arm] + noise * normal();
        let iops = 1000.0_f64 * f64::exp(0.01 * normal());
        Ok([
            (P99.to_owned(), 10e6 * level.exp()),
            ("iops".to_owned(), iops),
        ]
        .into())
    });
    result
}

fn holds(result: &ResultFile) -> Vec<Option<bool>> {
    result.limits.iter().map(|row| row.holds).collect()
}

#[test]
fn each_arm_is_held_to_the_limit_by_its_own_values() {
    let fixed = Stopping::Fixed { blocks: 8 };
    let result = run(&[0.3, -0.3, 0.0], 0.02, 1, fixed);
    assert_eq!(holds(&result), [Some(false), Some(true), None]);
    let row = &result.limits[1];
    assert!((row.limit - 10e6).abs() < 1.0, "{row:?}");
    let value = row.value.expect("a value");
    assert!((value / 10e6 - (-0.3_f64).exp()).abs() < 0.02, "{value}");
    let interval = row.interval.expect("an interval");
    assert!(interval.lower < value && value < interval.upper);
}

#[test]
fn an_arm_without_values_is_beyond_in_every_round_and_never_within() {
    for blocks in [0, 4] {
        let mut result = run(&[-0.3, -0.3], 0.02, 2, Stopping::Fixed { blocks: 8 });
        for round in &mut result.rounds {
            if round.arm == "bfq" && round.block >= blocks {
                round.censored = Some(Censored::Starved);
                round.metrics.clear();
            }
        }
        conclude(&mut result);
        assert_eq!(result.limits[0].holds, Some(true));
        assert_ne!(result.limits[1].holds, Some(true), "from block {blocks}");
    }
}

#[test]
fn a_gate_goes_by_the_limit() {
    let outcome = |levels: &[f64]| {
        let result = run(levels, 0.02, 3, Stopping::Fixed { blocks: 8 });
        let again = redrawn(&result, 1);
        judge(&again, &[], Rules::default(), Selection::default()).decision
    };
    assert_eq!(outcome(&[0.0, 0.3]), Decision::Failed);
    // Twice as long as under the reference, and within.
    assert_eq!(outcome(&[-0.9, -0.2]), Decision::Passed);
    assert_eq!(outcome(&[-0.9, 0.0]), Decision::Undecided);
}

/// The typical value of both arms is exactly the limit, so "within" and "beyond" are both false: at most 5 % of the runs say one.
#[test]
fn limits_are_wrong_as_often_as_they_say() {
    for stopping in [Stopping::Fixed { blocks: 12 }, Stopping::LOOKS] {
        let runs = 200;
        let wrong = (0..runs)
            .map(|seed| run(&[0.0, 0.0], 0.1, 1000 + seed, stopping))
            .filter(|result| holds(result).iter().any(Option::is_some))
            .count();
        // 5 % of 200, and three standard errors.
        assert!(wrong <= 19, "{stopping:?}: {wrong} of {runs}");
    }
}

/// A file that iosched wrote is read again, whatever the arms did: values that no number holds are among them.
#[test]
fn a_result_with_limits_can_be_read_again() {
    for (kept, blocks) in [(0, 1), (0, 8), (0, 20), (4, 20), (20, 20)] {
        let mut result = run(&[-0.3, 0.3], 0.02, 4, Stopping::Fixed { blocks });
        for round in &mut result.rounds {
            if round.arm == "bfq" && round.block >= kept {
                round.censored = Some(Censored::Starved);
                round.metrics.clear();
            }
        }
        conclude(&mut result);
        let text = serde_json::to_vec(&result).expect("JSON");
        let again = crate::read::parse(&text).expect("its own file");
        assert_eq!(holds(&again), holds(&result), "{kept} of {blocks}");
        assert_ne!(result.limits[1].holds, Some(true));
        let beyond = result.limits[1].blocks_beyond;
        assert_eq!(beyond, blocks, "{kept} of {blocks}");
    }
}

#[test]
fn an_edited_limit_is_refused() {
    let result = run(&[-0.3, 0.3], 0.02, 5, Stopping::Fixed { blocks: 12 });
    let json = serde_json::to_value(&result).expect("JSON");
    for (path, odd) in [
        ("/limits/1/holds", serde_json::json!(true)),
        ("/limits/1/limit", serde_json::json!(9e9)),
        ("/limits/1/value", serde_json::json!(1.0)),
        ("/limits/1/interval/upper", serde_json::json!(1e6)),
        ("/limits/1/arm", serde_json::json!("nobody")),
        ("/limits/1/metric/unit", serde_json::json!("s")),
        ("/limits/1/side", serde_json::json!("at_least")),
        ("/design/goals/limits/0/side", serde_json::json!("at_least")),
        ("/design/goals/limits/0/value", serde_json::json!(-1.0)),
    ] {
        let mut edited = json.clone();
        *edited.pointer_mut(path).expect(path) = odd;
        assert!(
            crate::read::parse(edited.to_string().as_bytes()).is_err(),
            "{path}"
        );
    }
}

/// Nothing at all is within a limit of what should be low, in every block.
#[test]
fn zero_is_within_at_most() {
    let mut result = run(&[-0.3, -0.3], 0.02, 6, Stopping::Fixed { blocks: 12 });
    for round in &mut result.rounds {
        if round.arm == "bfq" {
            round.metrics.insert(P99.to_owned(), 0.0);
        }
    }
    conclude(&mut result);
    assert_eq!(holds(&result), [Some(true), Some(true)]);
}
