//! Rounds that are added to a run after its end, in a copy or in its file, also after a kill in the middle of them.

use std::fs;

use serde_json::Value;

use super::*;

const COMMAND: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none; sleep 0.2; \
     echo \"speed $((IOSCHED_SEED % 100 + 100))\" >> $IOSCHED_METRICS",
];

fn rounds(result: &Value) -> &[Value] {
    result["rounds"].as_array().expect("rounds")
}

fn added(result: &Value) -> Value {
    result["design"]["extensions"].clone()
}

#[test]
#[ignore = "root"]
fn a_run_that_has_ended_gets_more_rounds() {
    let (disk, program) = (LoopDevice::in_memory(64 << 20), Program::new(BINARY));
    let before = scheduler::read(&disk.device).expect("its queue");
    let node = disk.node();
    let arms = ["--arm", "none", "--arm", "kyber", "--rounds", "2"];
    let how = ["--metric", "reported:speed", "-o", "result"];
    let ended = program.run(&[&["run", &node], &arms[..], &how, &COMMAND].concat());
    ended.ends(0, &[]);
    let first = program.result("result");
    let bytes = fs::read(program.file("result")).expect("a file");

    // What does not fit together changes nothing.
    let resume = ["run", "--resume", "result"];
    let refused = |code: i32, more: &[&str], says: &str| {
        program.run(&[&resume, more].concat()).ends(code, &[says]);
        assert_eq!(fs::read(program.file("result")).expect("a file"), bytes);
    };
    refused(
        2,
        &["--rounds", "12"],
        "how many rounds the run was to have",
    );
    refused(2, &["--rounds", "+0"], "from +1 to +1000");
    refused(2, &["--budget", "2h"], "is complete");
    refused(2, &["--rounds", "+2", "--budget", "2h"], "one of them");
    refused(2, &["--rounds", "++2"], "from +1 to +1000");
    refused(5, &["--rounds", "+2", "-o", "result"], "exists");

    // Into another file: the first stays.
    let copy = program.run(&[&resume[..], &["--rounds", "+2", "-o", "copy"]].concat());
    copy.ends(0, &["adds 2 blocks to the 2 so far"]);
    assert_eq!(fs::read(program.file("result")).expect("a file"), bytes);
    let copied = program.result("copy");
    assert_eq!(copied["status"], "complete");
    assert_eq!(rounds(&copied)[..4], *rounds(&first));
    let planned = copied["plan"]["rounds"].as_array().map(Vec::len);
    assert_eq!((rounds(&copied).len(), planned), (8, Some(8)));
    assert_eq!(
        added(&copied),
        serde_json::json!([{ "after_blocks": 2, "blocks": 2 }])
    );
    let report = program.run(&["report", "copy"]);
    assert!(
        report.stdout.contains("4 blocks, extended after 2"),
        "{}",
        report.stdout
    );

    // Killed in the middle, and continued. The run that has ended keeps its file and its verdict in any case.
    let more = [&resume[..], &["--rounds", "+4", "-o", "more"]].concat();
    let mut child = program.start(&more);
    child.until(Duration::from_secs(60), "a fifth round", || {
        let bytes = fs::read(program.file("more")).unwrap_or_default();
        serde_json::from_slice(&bytes).is_ok_and(|so_far: Value| rounds(&so_far).len() >= 5)
    });
    let pid = end(child, kill).pid;
    within(SOON, "all put back", || {
        Running::is_undone(&disk, &before, &program, pid)
    });
    assert_eq!(fs::read(program.file("result")).expect("a file"), bytes);
    assert_eq!(program.result("more")["status"], "running");
    let resume = ["run", "--resume", "more"];
    let again = program.run(&[&resume[..], &["--rounds", "+4", "-o", "again"]].concat());
    again.ends(2, &["has not ended"]);
    program.run(&resume).ends(0, &["continuing after"]);
    let result = program.result("more");
    assert_eq!(
        (&result["status"], rounds(&result).len()),
        (&"complete".into(), 12)
    );
    assert_eq!(
        added(&result),
        serde_json::json!([{ "after_blocks": 2, "blocks": 4 }])
    );
    let complete = program.run(&resume);
    complete.ends(2, &["is complete", "--rounds +12"]);
    assert!(Running::is_undone(&disk, &before, &program, pid));

    // Twice, into a file that iosched names.
    let twice = program.run(&[&resume[..], &["--rounds", "+1"]].concat());
    assert!(
        twice
            .stdout
            .contains("7 blocks, extended 2 times, after 2, 6"),
        "{twice:#?}"
    );
    let named = |name: &String| name.starts_with("iosched-ab-20");
    assert!(program.files().iter().any(named), "{:?}", program.files());
}
