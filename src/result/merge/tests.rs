use super::*;
use crate::report::fixture::{empty, play, values};
use crate::statistics::stopping::Stopping;
use crate::types::result::{Censored, ResultFile, Status};

/// A run of a host whose arm has this ratio to the reference.
fn run(host: &str, model: &str, ratio: f64, seed: u64) -> ResultFile {
    let mut result = empty(
        &["none", "bfq"],
        Stopping::Fixed { blocks: 8 },
        &["throughput"],
    );
    result.environment.hostname = Some(host.to_owned());
    result.device.model = Some(model.to_owned());
    result.plan.seed = seed;
    play(&mut result, |turn| {
        let level = if turn.planned.arm == 1 { ratio } else { 1.0 };
        Ok(values(turn, &[("throughput", 1e8 * level)]))
    });
    result
}

fn merged(results: Vec<ResultFile>) -> Merged {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (index, result) in results.into_iter().enumerate() {
        match contribution(&format!("{index}.json"), result) {
            Ok(of) => kept.push(of),
            Err(why) => left_out.push(why),
        }
    }
    merge(kept, left_out).unwrap()
}

fn fleet(ratios: &[f64]) -> Vec<ResultFile> {
    let hosts = ratios.iter().enumerate();
    hosts
        .map(|(index, ratio)| run(&format!("db{index}"), "A", *ratio, 7))
        .collect()
}

#[test]
fn hosts_of_one_kind_have_one_answer_and_other_kinds_their_own() {
    let mut all = fleet(&[1.20, 1.22, 1.18, 1.21]);
    all.extend([
        run("x1", "B", 0.8, 7),
        run("x2", "B", 0.81, 7),
        run("x3", "B", 0.79, 7),
    ]);
    let merged = merged(all);
    assert_eq!(merged.groups.len(), 2);
    let [of_a, of_b] = [&merged.groups[0], &merged.groups[1]];
    assert_eq!((of_a.kind.model.as_str(), of_a.hosts.len()), ("A", 4));
    assert_eq!(of_a.rows[0].verdict, Verdict::Better);
    assert_eq!(of_b.rows[0].verdict, Verdict::Worse);
    let ratio = of_a.rows[0].ratio.unwrap();
    assert!((1.18..1.23).contains(&ratio), "{ratio}");
    let json = serde_json::to_vec(&merged).unwrap();
    assert_eq!(read::parse(&json).unwrap(), Some(merged));
}

#[test]
fn a_host_has_one_vote_however_many_runs_it_made() {
    // Nine runs of one host that gains must not outvote three hosts that lose.
    let mut all: Vec<ResultFile> = (0..9)
        .map(|seed| run("loud", "A", 1.5 + 0.001 * seed as f64, seed))
        .collect();
    all.extend([
        run("a", "A", 0.9, 7),
        run("b", "A", 0.91, 7),
        run("c", "A", 0.89, 7),
        run("d", "A", 0.895, 7),
        run("e", "A", 0.905, 7),
    ]);
    let merged = merged(all);
    let row = &merged.groups[0].rows[0];
    assert_eq!(row.hosts, 6);
    assert_ne!(row.verdict, Verdict::Better);
    let loud = row.votes.iter().find(|vote| vote.host == "loud").unwrap();
    assert_eq!((loud.runs, loud.blocks), (9, 72));
    assert_eq!(row.outliers, ["loud"]);
}

#[test]
fn a_copy_is_no_further_run_and_what_says_nothing_is_named() {
    let mut all = fleet(&[1.2, 1.21]);
    all.push(all[0].clone());
    let mut placebo = run("p", "A", 1.0, 7);
    placebo.design.is_placebo = true;
    let mut killed = run("k", "A", 1.0, 7);
    killed.status = Status::Interrupted;
    all.extend([placebo, killed]);
    let merged = merged(all);
    let why: Vec<&str> = merged.left_out.iter().map(|it| it.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "it compares an arm with itself",
            "the same run as 0.json",
            "the run is not complete; so nothing can be judged on k"
        ]
    );
    assert_eq!(merged.files, 5);
    let row = &merged.groups[0].rows[0];
    assert_eq!((row.votes.len(), row.hosts), (3, 2));
    assert_eq!(row.unjudged, ["k"]);
}

/// On one host the arm stalls in every round: the others, where it gains, are no evidence that it does well.
#[test]
fn an_arm_that_fails_on_one_host_is_not_better() {
    let mut all = fleet(&[1.2, 1.21, 1.19, 1.205, 1.195]);
    for round in &mut all[2].rounds {
        if round.arm == "bfq" {
            round.metrics.clear();
            round.censored = Some(Censored::Starved);
        }
    }
    let merged = merged(all);
    let row = &merged.groups[0].rows[0];
    assert_eq!(row.hosts, 4);
    assert_eq!(row.unjudged, ["db2"]);
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert_eq!(row.withheld, Some(Verdict::Better));
    assert!(crate::gate::cannot_be_judged(&row.comparison()));
}

/// A host without any answer is no host on which all is well.
#[test]
fn a_host_without_a_number_keeps_the_verdict_back() {
    let mut all = fleet(&[1.2, 1.21, 1.19, 1.205, 1.195]);
    for round in &mut all[3].rounds {
        round.metrics.clear();
    }
    let merged = merged(all);
    let row = &merged.groups[0].rows[0];
    assert_eq!((row.hosts, row.verdict), (4, Verdict::Inconclusive));
    assert_eq!(row.unjudged, ["db3"]);
}

/// The values tell a copy, whatever its file says of host and time.
#[test]
fn a_copy_with_another_name_is_no_further_host() {
    let mut all = fleet(&[1.2, 1.21]);
    let mut copy = all[0].clone();
    copy.environment.hostname = Some("other".into());
    copy.started = "2027-01-01T00:00:00Z".into();
    all.push(copy);
    let merged = merged(all);
    assert_eq!(merged.groups[0].hosts.len(), 2);
    assert_eq!(merged.left_out[0].why, "the same run as 0.json");
}

#[test]
fn what_was_asked_otherwise_is_not_mixed() {
    let first = run("a", "A", 1.0, 7);
    assert_eq!(other_question(&first, &run("b", "B", 1.1, 8)), [""; 0]);
    let mut other = first.clone();
    other.workload.description = serde_json::json!({ "kind": "other" });
    other.design.arms[1].settings = vec![("nr_requests".into(), "2".into())];
    other.design.primary[0].unit = "io/s".into();
    other.design.reference = 1;
    let found = other_question(&first, &other).join("; ");
    for what in [
        "another workload",
        "arms: bfq none ->",
        "metrics: throughput (bytes/s",
        "reference: ",
    ] {
        assert!(found.contains(what), "{what}: {found}");
    }
}

#[test]
fn one_host_says_nothing_of_others() {
    let merged = merged(fleet(&[2.0]));
    let row = &merged.groups[0].rows[0];
    assert_eq!(
        (row.verdict, row.estimate, row.prediction),
        (Verdict::Inconclusive, None, None)
    );
    assert_eq!(row.votes[0].verdicts, [Verdict::Better]);
}

#[test]
fn a_crafted_file_is_refused() {
    let merged = merged(fleet(&[1.2, 1.21, 1.19]));
    let good = serde_json::to_value(&merged).unwrap();
    let changed = |path: &str, value: serde_json::Value| {
        let mut json = good.clone();
        *json.pointer_mut(path).unwrap() = value;
        read::parse(&serde_json::to_vec(&json).unwrap())
    };
    for (path, value) in [
        ("/question/reference", 9.into()),
        ("/question/alpha", 2.into()),
        ("/groups/0/rows/0/arm", "other".into()),
        ("/groups/0/rows/0/hosts", 99.into()),
        ("/groups/0/rows/0/votes", serde_json::json!([])),
        ("/groups/0/rows/0/interval/lower", 9.into()),
        ("/groups/0/rows/0/verdict", "worse".into()),
        ("/groups/0/rows", serde_json::json!([])),
        ("/groups/0/rows/0/votes/0/standard_error", (-1).into()),
        ("/schema_version", 9.into()),
    ] {
        assert!(changed(path, value).is_err(), "{path}");
    }
    assert!(matches!(read::parse(b"{}"), Ok(None)));
    assert!(matches!(read::parse(b"nothing"), Ok(None)));
}
