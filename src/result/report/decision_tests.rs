use super::in_words;
use crate::analysis::conclude::conclude;
use crate::decision::{Decision, decide};
use crate::report::fixture::{empty, play, sample};
use crate::statistics::stopping::Stopping;
use crate::statistics::verdict::{Comparison, Verdict};
use crate::types::goals::{Goals, Limit, Side};
use crate::types::result::{ArmComparison, ArmWaiting, Censored, Exclusion, ResultFile, Status};

/// `UPDATE=1 cargo test decision` writes it.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/report/decisions.txt");
const ARMS: [&str; 3] = ["none", "bfq", "mq-deadline"];
const METRICS: [&str; 2] = ["throughput", "read_total_p99"];

/// How an arm behaves: its factor on each metric, and how much that varies from block to block.
#[derive(Clone, Copy)]
struct Arm {
    factors: [f64; 2],
    noise: f64,
}

const SAME: Arm = Arm {
    factors: [1.0, 1.0],
    noise: 0.005,
};

fn arm(throughput: f64, p99: f64) -> Arm {
    Arm {
        factors: [throughput, p99],
        ..SAME
    }
}

fn noisy(noise: f64) -> Arm {
    Arm { noise, ..SAME }
}

/// Between -1 and 1, the same each time.
fn wobble(numbers: [usize; 3]) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for number in numbers {
        hash = (hash ^ number as u64).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    (hash % 2001) as f64 / 1000.0 - 1.0
}

fn run_of(arms: &[&str], metrics: &[&str], behaviours: &[Arm], blocks: usize) -> ResultFile {
    let mut result = empty(arms, Stopping::Fixed { blocks }, metrics);
    play(&mut result, |turn| {
        let of = behaviours[turn.planned.arm];
        let value = |(place, name): (usize, &&str)| {
            let level = [1e8, 2e6][place] * of.factors[place];
            let wobble = wobble([turn.planned.block, turn.planned.arm, place]);
            ((*name).to_owned(), level * (1.0 + of.noise * wobble))
        };
        Ok(metrics.iter().enumerate().map(value).collect())
    });
    result.rounds_took_s = Some(25.0 * result.rounds.len() as f64);
    result
}

/// `none`, `bfq` and `mq-deadline`.
fn three(bfq: Arm, mq_deadline: Arm) -> ResultFile {
    run_of(&ARMS, &METRICS, &[SAME, bfq, mq_deadline], 12)
}

fn two(bfq: Arm) -> ResultFile {
    run_of(&ARMS[..2], &METRICS, &[SAME, bfq], 12)
}

fn with_goals(mut result: ResultFile, prefer: &str, keep: &[&str]) -> ResultFile {
    result.design.goals = Some(Goals {
        prefer: Some(prefer.to_owned()),
        keep: keep.iter().map(|&name| name.to_owned()).collect(),
        limits: Vec::new(),
    });
    result
}

/// Throughput should get better, and p99, which is 2 ms under `none`, be at most so many ms.
fn limited(mut result: ResultFile, at_most_ms: f64) -> ResultFile {
    result.design.goals = Some(Goals {
        prefer: Some(METRICS[0].to_owned()),
        keep: Vec::new(),
        limits: vec![Limit {
            metric: METRICS[1].to_owned(),
            side: Side::AtMost,
            value: at_most_ms,
            unit: "ms".to_owned(),
        }],
    });
    conclude(&mut result);
    result
}

/// Rounds of an arm from a block on end without values.
fn censored(mut result: ResultFile, arm: &str, from: usize, why: Censored) -> ResultFile {
    for round in &mut result.rounds {
        if round.arm == arm && round.block >= from {
            round.censored = Some(why);
            round.metrics.clear();
        }
    }
    conclude(&mut result);
    result
}

fn waiting(mut result: ResultFile, share: f64) -> ResultFile {
    let of = |arm: &str| ArmWaiting {
        arm: arm.to_owned(),
        hardware_depth: Some(64),
        requests: 1000,
        threshold_ns: 50_000,
        share: Some(share),
        longest_ns: None,
        stalled_share: None,
        readers_stalled_share: None,
        writers_stalled_share: None,
        slept: Vec::new(),
    };
    result.waiting = ARMS.iter().map(|arm| of(arm)).collect();
    result
}

fn changed(mut result: ResultFile, change: impl FnOnce(&mut ResultFile)) -> ResultFile {
    change(&mut result);
    result
}

/// In a third of the blocks bfq stalls for most of the round; else it is faster.
fn stalls_now_and_then() -> ResultFile {
    let mut result = empty(&ARMS[..2], Stopping::Fixed { blocks: 12 }, &METRICS);
    play(&mut result, |turn| {
        let stalls = turn.planned.arm == 1 && turn.planned.block % 3 == 0;
        let (throughput, p99) = match (turn.planned.arm, stalls) {
            (0, _) => (1e8, 2e6),
            (_, true) => (1e6, 9e8),
            (_, false) => (1.1e8, 1.5e6),
        };
        let wobble = 1.0 + 0.01 * wobble([turn.planned.block, turn.planned.arm, 0]);
        let values = [
            (METRICS[0], throughput * wobble),
            (METRICS[1], p99 * wobble),
        ];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
    });
    result
}

/// Whatever runs after bfq is slower.
fn carry_over() -> ResultFile {
    let mut result = empty(&ARMS, Stopping::Fixed { blocks: 12 }, &METRICS[..1]);
    let mut before = 0;
    play(&mut result, |turn| {
        let left = if before == 1 { 0.7 } else { 1.0 };
        before = turn.planned.arm;
        let wobble = 1.0 + 0.01 * wobble([turn.planned.block, turn.planned.arm, 0]);
        Ok([(METRICS[0].to_owned(), 1e8 * left * wobble)].into())
    });
    result
}

#[allow(clippy::too_many_lines)] // a list
fn situations() -> Vec<(&'static str, ResultFile)> {
    let faster = arm(1.44, 1.0);
    let trade = arm(1.44, 20.0);
    vec![
        ("one arm is better", two(faster)),
        ("one arm is better in both", two(arm(1.44, 0.5))),
        ("better, and so is another", three(faster, arm(1.2, 1.0))),
        ("better, another is worse", three(faster, arm(0.5, 1.0))),
        ("better, another is open", three(faster, noisy(0.3))),
        ("better, another trades", three(faster, trade)),
        ("all equal", three(SAME, SAME)),
        (
            "all equal, and nothing waits",
            waiting(three(SAME, SAME), 0.001),
        ),
        ("better, and nothing waits", waiting(two(faster), 0.001)),
        ("better, and requests wait", waiting(two(faster), 0.5)),
        ("worse", two(arm(0.7, 1.0))),
        ("worse in both", two(arm(0.7, 3.0))),
        ("all worse", three(arm(0.7, 1.0), arm(1.0, 2.0))),
        ("a trade-off", two(trade)),
        ("two trade-offs", three(trade, arm(0.5, 0.1))),
        (
            "a trade-off, throughput preferred",
            with_goals(two(trade), METRICS[0], &[]),
        ),
        ("a trade-off, only throughput counts", {
            let mut result = two(trade);
            result.design.goals = Some(Goals {
                prefer: Some(METRICS[0].into()),
                keep: vec![METRICS[0].into()],
                limits: Vec::new(),
            });
            result
        }),
        (
            "a trade-off, p99 preferred",
            with_goals(two(trade), METRICS[1], &[]),
        ),
        (
            "only the kept metric is better",
            with_goals(two(arm(1.0, 0.5)), METRICS[0], &[METRICS[1]]),
        ),
        (
            "preferred better, kept the same",
            with_goals(two(faster), METRICS[0], &[METRICS[1]]),
        ),
        ("preferred better, kept is open", {
            let mut result = two(Arm {
                factors: [1.44, 1.0],
                noise: 0.15,
            });
            conclude(&mut result);
            with_goals(result, METRICS[0], &[METRICS[1]])
        }),
        (
            "better, and within a limit",
            limited(two(arm(1.44, 2.0)), 5.0),
        ),
        ("better, and beyond a limit", limited(two(trade), 5.0)),
        (
            "better, and near a limit",
            limited(two(arm(1.44, 2.0)), 4.0),
        ),
        ("equal, and both beyond a limit", limited(two(SAME), 1.0)),
        (
            "only one arm stays within a limit",
            limited(three(arm(1.0, 0.3), arm(0.7, 3.0)), 1.0),
        ),
        (
            "stalls in every round, with a limit",
            limited(censored(two(SAME), "bfq", 0, Censored::Starved), 5.0),
        ),
        ("nothing is decided", two(noisy(0.15))),
        (
            "nothing is decided of three",
            three(noisy(0.15), noisy(0.3)),
        ),
        (
            "too few blocks",
            run_of(&ARMS[..2], &METRICS, &[SAME, faster], 3),
        ),
        (
            "one block",
            run_of(&ARMS[..2], &METRICS, &[SAME, faster], 1),
        ),
        (
            "no power",
            run_of(&ARMS[..2], &METRICS, &[SAME, noisy(0.9)], 6),
        ),
        (
            "stopped by the user's rule",
            censored(two(faster), "bfq", 4, Censored::Stopped),
        ),
        (
            "stopped, and one arm is left",
            censored(three(arm(0.9, 1.0), faster), "bfq", 1, Censored::Stopped),
        ),
        (
            "stalls in every round",
            censored(two(SAME), "bfq", 0, Censored::Starved),
        ),
        ("stalls now and then", stalls_now_and_then()),
        (
            "the reference stalls",
            censored(two(SAME), "none", 0, Censored::Starved),
        ),
        ("carry-over", carry_over()),
        (
            "another load arrived",
            changed(two(faster), |it| {
                let mut row = it.comparisons[0].clone();
                (row.primary, row.arrivals) = (false, true);
                row.comparison.verdict = Verdict::Differs;
                it.comparisons.push(row);
            }),
        ),
        (
            "an arm against itself",
            changed(two(SAME), |it| it.design.is_placebo = true),
        ),
        (
            "interrupted",
            changed(two(faster), |it| it.status = Status::Interrupted),
        ),
        (
            "killed",
            changed(two(faster), |it| it.status = Status::Running),
        ),
        (
            "failed",
            changed(two(faster), |it| it.status = Status::Failed),
        ),
        ("invalid", {
            let mut result = empty(&ARMS[..2], Stopping::Fixed { blocks: 6 }, &METRICS);
            play(&mut result, |_| Err(Exclusion::ForeignIo));
            result
        }),
        (
            "no metric",
            changed(two(faster), |it| it.comparisons.clear()),
        ),
        ("every kind of verdict", sample()),
    ]
}

#[test]
fn decisions_are_those_of_the_golden_texts() {
    let made: Vec<String> = situations()
        .iter()
        .map(|(name, result)| format!("{name}\n    {}\n", in_words(result)))
        .collect();
    let made = made.concat();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(GOLDEN, &made).unwrap();
    }
    let kept = std::fs::read_to_string(GOLDEN).unwrap();
    assert!(kept == made, "{GOLDEN} differs:\n{made}");
}

#[test]
fn a_decision_is_never_better_than_the_table() {
    let mut used = 0;
    for (name, result) in situations() {
        let Decision::Use(best) = decide(&result).0 else {
            continue;
        };
        used += 1;
        let goals = result.design.goals.clone().unwrap_or_default();
        let rows = || result.primary().filter(|row| row.arm == best.arm);
        let counts = |row: &&ArmComparison| {
            let metric = &row.metric.name;
            goals.prefer.is_none() || goals.is_preferred(metric) || goals.is_kept(metric)
        };
        let is = |verdict: Verdict| {
            rows()
                .filter(counts)
                .any(move |row| row.comparison.verdict == verdict)
        };
        assert!(is(Verdict::Better) || !best.within.is_empty(), "{name}");
        assert!(!is(Verdict::Worse), "{name}");
        assert!(!result.is_stopped(best.arm), "{name}");
    }
    assert!(used > 5, "{used}");
}

const VERDICTS: [Verdict; 5] = [
    Verdict::Better,
    Verdict::Worse,
    Verdict::Differs,
    Verdict::Equivalent,
    Verdict::Inconclusive,
];

/// Whatever the verdicts of an arm are, and whatever counts.
#[test]
fn no_verdict_that_counts_is_hidden() {
    let withheld = [None, Some(Verdict::Worse), Some(Verdict::Better)];
    let goals = |prefer: Option<usize>, keep: &[usize]| Goals {
        prefer: prefer.map(|place| METRICS[place].to_owned()),
        keep: keep
            .iter()
            .map(|&place| METRICS[place].to_owned())
            .collect(),
        limits: Vec::new(),
    };
    let all_goals = [
        goals(None, &[]),
        goals(Some(0), &[]),
        goals(Some(0), &[1]),
        goals(Some(1), &[0]),
        goals(None, &[1]),
    ];
    let mut result = two(noisy(0.15));
    let primary: Vec<usize> = (0..result.comparisons.len())
        .filter(|&row| result.comparisons[row].primary)
        .collect();
    for (first, second) in VERDICTS
        .iter()
        .flat_map(|first| VERDICTS.iter().map(move |second| (*first, *second)))
    {
        for withheld in withheld {
            for goals in &all_goals {
                let rows = [(primary[0], first), (primary[1], second)];
                for (row, verdict) in rows {
                    let own = &mut result.comparisons[row].comparison;
                    own.verdict = verdict;
                    own.withheld = withheld.filter(|_| verdict == Verdict::Inconclusive);
                }
                result.design.goals = Some(goals.clone());
                let of = |place: usize| &result.comparisons[primary[place]].comparison;
                let text = in_words(&result);
                let case = format!("{first:?} {second:?} {withheld:?} {goals:?}: {text}");
                let counts = |place: usize| {
                    let name = METRICS[place];
                    goals.prefer.is_none() || goals.is_preferred(name) || goals.is_kept(name)
                };
                let counted: Vec<usize> = (0..2).filter(|&place| counts(place)).collect();
                if let Decision::Use(_) = decide(&result).0 {
                    let verdicts = || counted.iter().map(|&place| of(place));
                    assert!(
                        verdicts().any(|own| own.verdict == Verdict::Better),
                        "{case}"
                    );
                    assert!(
                        verdicts().all(|own| own.verdict != Verdict::Worse),
                        "{case}"
                    );
                    assert!(
                        verdicts().all(|own| own.withheld != Some(Verdict::Worse)),
                        "{case}"
                    );
                    for &place in counted
                        .iter()
                        .filter(|&&place| goals.is_kept(METRICS[place]))
                    {
                        let own = of(place);
                        let is_shown = matches!(own.verdict, Verdict::Better | Verdict::Equivalent);
                        assert!(is_shown || crate::gate::is_noninferior(own), "{case}");
                    }
                } else if text.contains("nothing is shown to be better") {
                    let is_settled = |own: &Comparison| {
                        matches!(
                            own.verdict,
                            Verdict::Equivalent | Verdict::Differs | Verdict::Better
                        ) || crate::gate::is_noninferior(own)
                    };
                    assert!(counted.iter().all(|&place| is_settled(of(place))), "{case}");
                }
            }
        }
    }
}
