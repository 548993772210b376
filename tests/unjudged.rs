//! An arm that cannot be judged does not pass: whatever keeps its rounds from having a value, in every round, through
//! `run`, `gate` and `persist`. Root only: `cargo test --test unjudged -- --ignored --test-threads=1`.

mod support;

use std::fs;
use std::iter;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use support::LoopDevice;
use support::program::{Ended, Program};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 64 << 20;

/// Events in the rounds of an arm.
struct Case {
    name: &'static str,
    options: &'static [&'static str],
    /// By a shell, in the rounds of the reference and of the arm.
    reference: &'static str,
    arm: &'static str,
    /// The exit code of `gate`, in each of its modes.
    gate: i32,
    /// The row's words.
    says: &'static str,
}

const TPS: &str = "echo tps 1000 higher > $IOSCHED_METRICS";
const NO_OPTIONS: &[&str] = &[];

const CASES: [Case; 10] = [
    Case {
        name: "every round exceeds --limit",
        options: &["--limit", "1s"],
        reference: TPS,
        arm: "sleep 5",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "every round ends with an error",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "echo no space >&2; exit 1",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "every round is killed by its own timeout",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "exec timeout -s KILL 0.1 sleep 5",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "every round reports 0",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "echo tps 0 higher > $IOSCHED_METRICS",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "every round reports what is no value",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "echo tps -1 higher > $IOSCHED_METRICS",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "errors where there were none",
        options: NO_OPTIONS,
        reference: "echo errs 0 lower > $IOSCHED_METRICS",
        arm: "echo errs 5 lower > $IOSCHED_METRICS",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "the arm reports in no round",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "true",
        gate: 3,
        says: "worse",
    },
    Case {
        name: "the reference reports in no round",
        options: NO_OPTIONS,
        reference: "true",
        arm: TPS,
        gate: 4,
        says: "the reference reported it in no round",
    },
    Case {
        name: "one round in six fails, and the others are faster",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "[ $IOSCHED_BLOCK != 3 ] || exit 1; echo tps 1500 higher > $IOSCHED_METRICS",
        gate: 4,
        says: "not decided",
    },
    Case {
        name: "one round in six fails, and the others are alike",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "[ $IOSCHED_BLOCK != 3 ] || exit 1; echo tps 1000 higher > $IOSCHED_METRICS",
        gate: 4,
        says: "not decided",
    },
];

fn run(program: &Program, node: &str, rounds: &str, case: &Case) -> Ended {
    let script = program.file("script.sh");
    let reads = "dd if=\"$IOSCHED_DEVICE\" of=/dev/null bs=64k count=16 iflag=direct status=none";
    let (reference, arm) = (case.reference, case.arm);
    let text = format!(
        "#!/bin/sh\n{reads} || exit 1\nif [ $IOSCHED_ARM = none ]; then {reference}; else {arm}; fi\n"
    );
    fs::write(&script, text).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    let start = [
        "run",
        node,
        "--arm",
        "none",
        "--arm",
        "bfq",
        "--reference",
        "none",
        "--rounds",
        rounds,
        "--force",
        "-o",
        "result",
    ];
    program.run(&[&start[..], case.options, &["--", "./script.sh"]].concat())
}

/// The row of bfq with the reasons that stand below it.
fn row_of_bfq(text: &str) -> String {
    let mut lines = text
        .lines()
        .skip_while(|line| !(line.starts_with(' ') && line.contains("bfq")));
    let row = lines.next().unwrap_or_default();
    let reasons = lines.take_while(|line| line.starts_with("  "));
    iter::once(row).chain(reasons).collect()
}

#[test]
#[ignore = "root"]
fn an_arm_that_cannot_be_judged_does_not_pass() {
    for case in &CASES {
        println!("{}", case.name);
        let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
        let ended = run(&program, &disk.node(), "6", case).ends(0, &[]);
        assert!(row_of_bfq(&ended.stdout).contains(case.says), "{ended:#?}");
        for mode in ["worse", "beyond-margin", "noninferior"] {
            let gate = ["gate", "result", "--mode", mode];
            println!("  {mode}");
            program.run(&gate).ends(case.gate, &[]);
            program
                .run(&[&gate[..], &["--require-verdict"]].concat())
                .ends(case.gate, &[]);
        }
        let persist = ["persist", "result", "--arm", "bfq"];
        let ended = program.run(&persist);
        assert!(!ended.stdout.contains("queue/scheduler"), "{ended:#?}");
        let code = ended.code.expect("an exit code");
        assert!(code != 0, "{ended:#?}");
    }
}

/// Where no round of either arm can have a value, the run says so and ends.
#[test]
#[ignore = "root"]
fn a_run_without_any_value_ends_after_its_first_block() {
    let zero = "echo tps 0 higher > $IOSCHED_METRICS";
    for (reference, arm, options, code, says) in [
        (
            zero,
            zero,
            NO_OPTIONS,
            6,
            "tps is 0 in every round of the first block",
        ),
        (
            "true",
            "true",
            &["--metric", "tps"][..],
            6,
            "did not report tps in any round",
        ),
        (
            "exit 1",
            "exit 1",
            NO_OPTIONS,
            1,
            "the workload failed in every round of the first block",
        ),
    ] {
        let case = Case {
            name: says,
            options,
            reference,
            arm,
            gate: 4,
            says,
        };
        let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
        run(&program, &disk.node(), "6", &case).ends(code, &[says]);
        let result = program.result("result");
        assert_eq!(result["rounds"].as_array().map(Vec::len), Some(2), "{says}");
        assert_ne!(result["status"], Value::from("complete"));
        // It can be read and shown, and passes no gate.
        program.run(&["report", "result"]).ends(0, &[]);
        let gate = program.run(&["gate", "result"]);
        assert!(gate.code.is_some_and(|code| code >= 4), "{gate:#?}");
    }
}

#[test]
#[ignore = "root"]
fn a_run_that_decides_nothing_passes_no_gate() {
    let case = Case {
        name: "two rounds",
        options: NO_OPTIONS,
        reference: TPS,
        arm: "echo tps 500 higher > $IOSCHED_METRICS",
        gate: 4,
        says: "not decided",
    };
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let ended = run(&program, &disk.node(), "2", &case).ends(0, &[]);
    assert!(ended.stdout.contains(case.says), "{ended:#?}");
    let says = "this run could not have failed";
    program.run(&["gate", "result"]).ends(4, &[says]);
}
