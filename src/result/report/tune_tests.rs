use super::*;
use crate::report::fixture;
use crate::statistics::stopping::Stopping;
use crate::tune::read;
use crate::tune::{Candidate, Phase, SCHEMA, SCHEMA_VERSION, Stage};
use crate::types::goals::Goals;
use crate::types::plan::Plan;

fn candidate(text: &str, from: From, left_out: Option<&str>) -> Candidate {
    Candidate {
        arm: text.parse().unwrap(),
        from,
        left_out: left_out.map(str::to_owned),
    }
}

fn result(seed: u64, arms: &[&str], blocks: usize, gain: f64) -> ResultFile {
    let mut result = fixture::empty(arms, Stopping::Fixed { blocks }, &["iops"]);
    result.plan = Plan::new(seed, arms.len(), blocks);
    result.design.goals = Some(Goals {
        prefer: Some("iops".to_owned()),
        keep: Vec::new(),
        limits: Vec::new(),
    });
    fixture::play(&mut result, |turn| {
        let gain = if turn.planned.arm == 1 { gain } else { 1.0 };
        Ok(fixture::values(turn, &[("iops", 1000.0 * gain)]))
    });
    result
}

pub fn tuned() -> TuneResult {
    TuneResult {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        iosched_version: "0.1.0".to_owned(),
        status: Status::Complete,
        error: None,
        started: "2026-02-03T04:05:06Z".to_owned(),
        finished: None,
        seed: 7,
        space: Space::Ladder,
        budget_s: None,
        candidates: vec![
            candidate("present=none", From::Disk, None),
            candidate("kyber", From::Scheduler, None),
            candidate("bfq", From::Scheduler, Some("nvme0n1 offers no bfq\nmore")),
        ],
        skipped: vec!["write_expire: the workload does not write".to_owned()],
        stages: vec![Stage {
            phase: Phase::Space,
            result: result(8, &["present=none", "kyber"], 2, 1.3),
        }],
        referee: Some(result(9, &["present=none", "kyber"], 20, 1.1)),
    }
}

fn look(all: bool) -> Look {
    Look {
        all,
        ..Look::default()
    }
}

#[test]
fn the_answer_is_the_referees_and_the_ledger_says_what_became_of_each_arm() {
    let tune = tuned();
    let text = render(&tune, look(true));
    assert!(text.starts_with("Use kyber: "), "{text}");
    assert!(text.contains("claims nothing"), "{text}");
    let rows = ledger(&tune);
    let search = &rows[0].cells()[3];
    assert!(search.starts_with("+30."), "of the search: {search}");
    assert!(
        rows[0].end.starts_with("referee: better"),
        "{}",
        rows[0].end
    );
    assert_eq!(rows[1].end, "left out: nvme0n1 offers no bfq");
    assert!(text.contains("not tried: write_expire"), "{text}");
    assert!(markdown(&tune).contains("| kyber |"), "{}", markdown(&tune));
    let unfinished = TuneResult {
        referee: None,
        status: Status::Interrupted,
        ..tune
    };
    let text = render(&unfinished, look(false));
    assert!(text.starts_with("No answer yet"), "{text}");
    assert!(!text.contains("Use kyber"), "{text}");
    // Nor has one whose referee goes on.
    let mut going_on = tuned();
    let referee = going_on.referee.as_mut().unwrap();
    referee.status = Status::Running;
    going_on.status = Status::Interrupted;
    let text = render(&going_on, look(true)) + &markdown(&going_on);
    assert!(
        text.starts_with("No answer yet") && !text.contains("better ("),
        "{text}"
    );
}

type Change<'a> = &'a dyn Fn(&mut TuneResult);

fn referee(tune: &mut TuneResult) -> &mut ResultFile {
    tune.referee.as_mut().expect("a referee")
}

#[test]
fn what_was_taken_away_or_exchanged_is_noticed() {
    let parsed = |change: Change| {
        let mut tune = tuned();
        change(&mut tune);
        match read::parse(&serde_json::to_vec(&tune).unwrap()) {
            Ok(found) => Ok(found.unwrap()),
            Err(read::UnreadableTune::Inconsistent(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(parsed(&|_| {}), Ok(tuned()));
    let killed = |tune: &mut TuneResult| {
        tune.referee = None;
        tune.status = Status::Running;
    };
    assert!(parsed(&killed).is_ok());
    let refused: [(&str, Change); 7] = [
        ("has rounds left", &|tune| tune.referee = None),
        ("has rounds left", &|tune| referee(tune).rounds.truncate(4)),
        ("the seed of stage 1", &|tune| tune.stages.clear()),
        ("the seed of stage 2", &|tune| {
            let again = tune.stages.clone();
            tune.stages.extend(again);
        }),
        ("has not ended", &|tune| {
            tune.stages[0].result.status = Status::Running;
        }),
        ("no comparison", &|tune| {
            referee(tune).design.is_placebo = true;
        }),
        ("design.alpha", &|tune| referee(tune).design.alpha = 0.9),
    ];
    for (says, change) in refused {
        let why = parsed(change).unwrap_err();
        assert!(why.contains(says), "{says}: {why}");
    }
}
