//! A run that was killed goes on where it ended: the finished rounds are kept, and the schedule is the planned one.

use std::fs;

use serde_json::Value;

use super::*;

/// Some tenths of a second, so that it can be killed in the middle.
const COMMAND: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none; sleep 0.2; \
     echo $IOSCHED_ROUND $IOSCHED_SEED >> log",
];

fn rounds(result: &Value) -> &Vec<Value> {
    result["rounds"].as_array().expect("rounds")
}

#[test]
#[ignore = "root"]
fn a_killed_run_goes_on_where_it_ended() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    disk.set("nr_requests", "64");
    let before = scheduler::read(&disk.device).expect("its queue");
    let node = disk.node();
    let arms = [
        "--arm",
        "none",
        "--arm",
        "deep=bfq,nr_requests=300",
        "--arm",
        "kyber",
    ];
    let how = ["--rounds", "6", "--seed", "5", "-o", "result"];
    let mut child = program.start(&[&["run", &node], &arms[..], &how, &COMMAND].concat());
    child.until(Duration::from_secs(60), "five rounds", || {
        Running::rounds(&program) >= 5
    });
    let pid = end(child, kill).pid;
    within(SOON, "all put back", || {
        Running::is_undone(&disk, &before, &program, pid)
    });
    let killed = program.result("result");
    assert_eq!(killed["status"], "running");
    let done = rounds(&killed).len();
    assert!((5..18).contains(&done));

    // Not on another machine.
    let elsewhere = fs::read_to_string(program.file("result")).expect("a file");
    let release = killed["environment"]["kernel_release"]
        .as_str()
        .expect("text");
    let elsewhere = elsewhere.replacen(release, "2.6.32", 1);
    fs::write(program.file("elsewhere"), elsewhere).expect("a file");
    let refused = program.run(&["run", "--resume", "elsewhere"]);
    refused.ends(5, &["2.6.32", "start a new run"]);
    let now = scheduler::read(&disk.device).expect("its queue");
    assert_eq!(differences(&before, &now), [""; 0]);

    fs::write(program.file(".result.1.tmp"), "{").expect("half a result");
    let says = [format!("continuing after {done} rounds")];
    let ended = program.run(&["run", "--resume", "result"]);
    ended.ends(0, &[&says[0]]);
    assert!(Running::is_undone(&disk, &before, &program, pid));
    let left = program
        .files()
        .into_iter()
        .find(|name| name.contains(".tmp"));
    assert_eq!(left, None);
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    assert_eq!(result["plan"], killed["plan"]);
    assert_eq!(rounds(&result)[..done], rounds(&killed)[..]);
    assert_eq!(result["resumed"][0]["after_rounds"], done);
    let planned = result["plan"]["rounds"].as_array().expect("a plan");
    assert_eq!(rounds(&result).len(), planned.len());
    for (planned, round) in planned.iter().zip(rounds(&result)) {
        for field in ["index", "block", "position", "workload_seed"] {
            assert_eq!(planned[field], round[field]);
        }
        let arm = planned["arm"].as_u64().expect("an index") as usize;
        assert_eq!(round["arm"], result["design"]["arms"][arm]["label"]);
        assert!(round["problem"].is_null(), "{round:#}");
    }
    // The round that was killed was run anew, with the same seed; no other was.
    let log = fs::read_to_string(program.file("log")).expect("a log");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.dedup();
    let expected = planned
        .iter()
        .map(|p| format!("{} {}", p["index"], p["workload_seed"]));
    assert_eq!(lines, expected.collect::<Vec<_>>());

    let again = program.run(&["run", "--resume", "result"]);
    again.ends(2, &["result is complete"]);
}

/// A result as the version before wrote it: the metrics lay beside the fields of a round.
fn of_schema_2(mut result: Value) -> Value {
    result["schema_version"] = 2.into();
    result["$schema"] = "ab-result-2.schema.json".into();
    for round in result["rounds"].as_array_mut().expect("rounds") {
        let fields = round.as_object_mut().expect("a round");
        for values in ["metrics", "reported"] {
            if let Some(Value::Object(values)) = fields.remove(values) {
                fields.extend(values);
            }
        }
    }
    result
}

#[test]
#[ignore = "root"]
fn a_run_of_the_version_before_goes_on() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    let node = disk.node();
    let arms = ["--arm", "none", "--arm", "kyber", "--rounds", "3"];
    let how = ["--metric-regex", "size=size ([0-9]+)", "-o", "result"];
    let command = [
        "--",
        "sh",
        "-c",
        "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none; sleep 0.2; echo size $IOSCHED_ROUND",
    ];
    let mut child = program.start(&[&["run", &node], &arms[..], &how, &command].concat());
    child.until(Duration::from_secs(60), "three rounds", || {
        Running::rounds(&program) >= 3
    });
    let _ = end(child, kill);
    let killed = program.result("result");
    let done = rounds(&killed).len();
    let old = serde_json::to_string(&of_schema_2(killed.clone())).expect("JSON");
    assert!(
        old.contains("\"schema_version\":2") && !old.contains("\"reported\":{"),
        "{old}"
    );
    within(SOON, "all put back", || program.journals().is_empty());
    fs::write(program.file("result"), old).expect("a file");
    program.run(&["run", "--resume", "result"]).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(
        (&result["schema_version"], &result["status"]),
        (&3.into(), &"complete".into())
    );
    assert_eq!(rounds(&result)[..done], rounds(&killed)[..]);
    assert_eq!(rounds(&result).len(), 6);
    for round in rounds(&result) {
        assert_eq!(
            round["reported"]["size"],
            round["index"].as_f64().expect("a number")
        );
    }
}

#[test]
#[ignore = "root"]
fn an_open_run_is_ended_by_hand_and_reports() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    let node = disk.node();
    let arms = ["--arm", "none", "--arm", "kyber", "--rounds", "open"];
    // A hundredth of a per cent is never decided.
    let how = ["--metric", "elapsed:0.01", "-o", "result"];
    let mut child = program.start(&[&["run", &node], &arms[..], &how, &COMMAND].concat());
    child.until(Duration::from_secs(60), "more than a stretch", || {
        Running::rounds(&program) >= 17
    });
    let ended = end(child, interrupt).ends(130, &["the completed rounds are in result"]);
    assert!(ended.stdout.contains("open-ended"), "{}", ended.stdout);
    let result = program.result("result");
    assert_eq!(result["plan"]["rounds"].as_array().map(Vec::len), Some(32));
    let comparison = &result["comparisons"][0];
    assert_eq!(comparison["question"]["method"], "always_valid");
    assert!(comparison["interval"]["lower"].is_number());
}
