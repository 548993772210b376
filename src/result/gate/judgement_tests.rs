use super::*;
use crate::gate::Mode;
use crate::report::fixture::sample;
use crate::types::result::{ExcludedBlock, Exclusion, Status};

/// bfq has half the throughput of none, and is at least as good in all other metrics.
fn judged(result: &ResultFile, metrics: &[&str], arms: &[&str], rules: Rules) -> Judgement {
    let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|&n| n.into()).collect() };
    let selection = Selection::new(result, &owned(metrics), &owned(arms)).unwrap();
    judge(result, &[], rules, selection)
}

fn exit_code(result: &ResultFile) -> u8 {
    let judgement = judged(result, &[], &[], Rules::default());
    judgement.decision.kind().map_or(0, Kind::exit_code)
}

#[test]
fn each_decision_has_its_exit_code() {
    let good = sample();
    assert_eq!(exit_code(&good), 3);
    for status in [Status::Running, Status::Interrupted, Status::Failed] {
        let mut result = good.clone();
        result.status = status;
        assert_eq!(exit_code(&result), 4, "{status:?}");
        // Invalid takes precedence.
        result.excluded = vec![excluded(); 3];
        assert_eq!(exit_code(&result), 6, "{status:?}");
    }
    let mut result = good.clone();
    result.excluded = vec![excluded(); 2];
    assert_eq!(exit_code(&result), 3, "2 of 12 blocks are tolerated");
    result.comparisons.clear();
    assert_eq!(exit_code(&result), 4, "nothing was compared");
}

fn excluded() -> ExcludedBlock {
    ExcludedBlock {
        block: 0,
        attempt: 0,
        exclusion: Exclusion::ForeignIo,
        arm: "bfq".into(),
        problem: "other processes moved bytes".into(),
    }
}

#[test]
fn a_selection_judges_fewer_comparisons_by_the_same_intervals() {
    let result = sample();
    let all = judged(&result, &[], &[], Rules::default());
    assert_eq!((all.checks.len(), all.family), (6, 6));
    let latency = judged(&result, &["total_p99"], &["bfq"], Rules::default());
    assert_eq!(latency.decision, Decision::Passed);
    assert_eq!((latency.checks.len(), latency.family), (1, 6));
    let same = all.checks.iter().find(|check| {
        let row = &check.comparison;
        row.metric.name == "total_p99" && row.arm == "bfq"
    });
    assert_eq!(latency.checks[0].interval, same.unwrap().interval);
    let two = judged(
        &result,
        &["throughput", "jain_bytes"],
        &[],
        Rules::default(),
    );
    assert_eq!(two.decision, Decision::Failed);
    assert_eq!(two.checks.len(), 4);
}

/// The Bonferroni level stays that of the whole family, also against baselines.
#[test]
fn a_selection_leaves_the_level_against_baselines() {
    let result = sample();
    let baselines: Vec<_> = (0..5).map(|i| (format!("{i}"), sample())).collect();
    let of = |metrics: &[String]| {
        let selection = Selection::new(&result, metrics, &[]).unwrap();
        judge(&result, &baselines, Rules::default(), selection)
    };
    let (all, one) = (of(&[]), of(&["jain_bytes".to_owned()]));
    let confidence =
        |judgement: &Judgement| judgement.checks[0].interval.unwrap().attained_confidence;
    assert!((confidence(&all) - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
    assert!((confidence(&one) - confidence(&all)).abs() < 1e-12);
}

#[test]
fn names_that_no_primary_comparison_has_are_refused_with_those_that_it_has() {
    let result = sample();
    let of = |metric: &[&str], arm: &[&str]| {
        let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|&n| n.into()).collect() };
        Selection::new(&result, &owned(metric), &owned(arm)).unwrap_err()
    };
    // Measured, but not a primary metric.
    let unknown = of(&["read_total_mean"], &[]);
    assert_eq!(unknown.known, ["throughput", "total_p99", "jain_bytes"]);
    // The reference is not compared with anything.
    let unknown = of(&["throughput"], &["bfq", "none"]);
    assert_eq!((unknown.what, &*unknown.name), ("arm", "none"));
    assert_eq!(
        unknown.known,
        ["bfq", "mq-deadline,iosched/read_expire=100"]
    );
}

#[test]
fn what_is_not_selected_fails_nothing() {
    let rules = Rules {
        mode: Mode::Worse,
        require_verdict: true,
        other_kernel: false,
    };
    let result = sample();
    let undecided = judged(&result, &["total_p99"], &[], rules);
    assert_eq!(undecided.decision, Decision::Undecided);
    assert_eq!(undecided.count(GateOutcome::Undecided), 1);
    let decided = judged(&result, &["total_p99"], &["bfq"], rules);
    assert_eq!(decided.decision, Decision::Passed);
}
