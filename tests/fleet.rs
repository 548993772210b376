//! Results of several hosts: merged, gated on, asked by DuckDB; and evidence that is checked elsewhere. No root.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::program::Program;

const BINARY: &str = support::under_test!("iosched-ab");

/// The row that the hosts differ in.
const GATE: [&str; 6] = [
    "gate",
    "fleet.json",
    "--metric",
    "throughput",
    "--arm",
    "bfq",
];

/// The sample on another host, whose arm bfq has this many times its throughput.
fn of_host(host: &str, factor: f64) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report/result.json");
    let text = fs::read_to_string(path).expect("the sample");
    let mut result: Value = serde_json::from_str(&text).expect("JSON");
    result["environment"]["hostname"] = json!(host);
    result["started"] = json!(format!("2026-02-03T04:05:{:02}Z", factor as u64 % 60));
    for round in result["rounds"].as_array_mut().expect("rounds") {
        if round["arm"] == "bfq" {
            // A round that does not count has none.
            if let Some(value) = round["metrics"]["throughput"].as_f64() {
                round["metrics"]["throughput"] = json!(value * factor);
            }
        }
    }
    result
}

/// The arm fails in every round.
fn fail_always(result: &mut Value, arm: &str) {
    for round in result["rounds"].as_array_mut().expect("rounds") {
        if round["arm"] == arm {
            round["metrics"] = json!({});
            round["censored"] = json!("failed");
        }
    }
}

fn fleet(factors: &[f64]) -> (Program, Vec<String>) {
    let program = Program::new(BINARY);
    let hosts = factors.iter().enumerate().map(|(index, factor)| {
        let name = format!("db{index}.json");
        let result = of_host(&format!("db{index}"), *factor);
        fs::write(program.file(&name), result.to_string()).expect("a file");
        name
    });
    let hosts = hosts.collect();
    (program, hosts)
}

fn merge(program: &Program, hosts: &[String], more: &[&str]) -> support::program::Ended {
    let hosts = hosts.iter().map(String::as_str);
    let arguments: Vec<&str> = ["merge"]
        .into_iter()
        .chain(hosts)
        .chain(more.iter().copied())
        .collect();
    program.run(&arguments)
}

#[test]
fn hosts_are_merged_in_every_format_and_the_gate_takes_them() {
    let (program, hosts) = fleet(&[3.0, 3.1, 2.9, 3.05]);
    let text = merge(&program, &hosts, &[]).ends(0, &[]).stdout;
    assert!(
        text.contains("A disk, firmware 1.0, Linux 6.12 · 4 hosts, 4 runs"),
        "{text}"
    );
    merge(&program, &hosts, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    let merged: Value =
        serde_json::from_slice(&fs::read(program.file("fleet.json")).expect("a file"))
            .expect("JSON");
    let rows = merged["groups"][0]["rows"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|row| row["arm"] == "bfq" && row["metric"]["name"] == "throughput")
        .expect("the row");
    assert_eq!(row["verdict"], "better");
    // Half of the reference's, times three.
    let ratio = row["ratio"].as_f64().expect("a ratio");
    assert!((1.4..1.6).contains(&ratio), "{ratio}");
    for format in ["text", "html", "markdown", "json"] {
        let said = program.run(&["report", "fleet.json", "--format", format]);
        assert!(!said.ends(0, &[]).stdout.is_empty());
    }
    program
        .run(&["report", "fleet.json", "--format", "csv"])
        .ends(1, &["a merged file has none"]);
    program.run(&GATE).ends(0, &[]);
    for format in ["json", "junit", "markdown", "html"] {
        program
            .run(&[&GATE[..], &["--format", format]].concat())
            .ends(0, &[]);
    }
    program
        .run(&["gate", "fleet.json", "--baseline", "fleet.json"])
        .ends(2, &["no baselines"]);
}

/// On one host the arm has no value in any round: that the others like it must not pass.
#[test]
fn an_arm_that_fails_on_one_host_does_not_pass() {
    let (program, hosts) = fleet(&[3.0, 3.1, 2.9, 3.05]);
    let mut failing = of_host("db9", 3.0);
    fail_always(&mut failing, "bfq");
    fs::write(program.file("db9.json"), failing.to_string()).expect("a file");
    let hosts = [hosts, vec!["db9.json".to_owned()]].concat();
    let text = merge(&program, &hosts, &[]).ends(0, &[]).stdout;
    assert!(
        text.contains("throughput, bfq: cannot be judged on db9"),
        "{text}"
    );
    merge(&program, &hosts, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    program.run(&GATE).ends(4, &[]);
}

#[test]
fn what_was_asked_otherwise_is_refused_and_named() {
    let (program, hosts) = fleet(&[3.0, 3.1]);
    let mut other = of_host("db9", 3.0);
    other["workload"]["description"] = json!({ "kind": "other" });
    other["design"]["primary"][0]["unit"] = json!("io/s");
    fs::write(program.file("other.json"), other.to_string()).expect("a file");
    let hosts = [hosts, vec!["other.json".to_owned()]].concat();
    merge(&program, &hosts, &["-o", "all.txt"]).ends(
        5,
        &[
            "other.json: another workload",
            "throughput (bytes/s",
            "db0.json",
        ],
    );
    assert!(!std::path::Path::new(&program.file("all.txt")).exists());
    merge(&program, &["missing.json".to_owned()], &[]).ends(2, &["missing.json"]);
}

#[test]
fn evidence_is_checked_against_the_rounds() {
    let (program, _) = fleet(&[3.0]);
    let block = program.run(&["evidence", "db0.json"]).ends(0, &[]).stdout;
    assert!(block.lines().count() <= 40, "{block}");
    let quoted = format!("> {}\n", block.trim_end().replace('\n', "\n> "));
    fs::write(
        program.file("mail.txt"),
        format!("Hello\n\n{quoted}\nYours\n"),
    )
    .expect("a file");
    let check = ["evidence", "--check", "mail.txt", "db0.json"];
    program.run(&check).ends(0, &[]);
    // The mail says more than the result.
    let praised = quoted.replacen("better", "so good", 1);
    fs::write(program.file("mail.txt"), praised).expect("a file");
    program.run(&check).ends(3, &["1 of 1 blocks"]);
    // The result was edited, too: its digest is another one.
    fs::write(program.file("mail.txt"), &quoted).expect("a file");
    fs::write(program.file("db0.json"), of_host("db0", 4.0).to_string()).expect("a file");
    program.run(&check).ends(4, &["cannot be checked"]);
    fs::write(program.file("mail.txt"), "nothing").expect("a file");
    program.run(&check).ends(2, &["no block of evidence"]);
}

#[test]
fn the_rule_of_persist_carries_its_evidence() {
    let (program, _) = fleet(&[3.0]);
    let persist = [
        "persist",
        "db0.json",
        "--arm",
        "bfq",
        "--accept",
        "total_p99",
    ];
    for format in ["udev", "ansible", "nixos", "tmpfiles"] {
        let rule = program
            .run(&[&persist[..], &["--format", format]].concat())
            .ends(0, &[])
            .stdout;
        fs::write(program.file("rule"), &rule).expect("a file");
        let checked = program.run(&["evidence", "--check", "rule", "db0.json"]);
        checked.ends(0, &[]);
        let other = rule.replacen("throughput", "throughout", 1);
        fs::write(program.file("rule"), &other).expect("a file");
        program
            .run(&["evidence", "--check", "rule", "db0.json"])
            .ends(3, &[]);
    }
    program
        .run(&[&persist[..], &["--serial", "NO-SUCH-SERIAL-77"]].concat())
        .ends(
            5,
            &[
                "no disk of this machine has the ID_SERIAL",
                "--unchecked-serial",
            ],
        );
    // A disk without a model: what knows kernel names can say it, and nothing else.
    let mut nameless = of_host("db0", 3.0);
    nameless["device"]["model"] = Value::Null;
    fs::write(program.file("db0.json"), nameless.to_string()).expect("a file");
    program.run(&persist).ends(5, &["no model"]);
    program
        .run(&[&persist[..], &["--format", "tmpfiles"]].concat())
        .ends(0, &[]);
}

/// The queries of `contrib/duckdb`, by DuckDB itself.
#[test]
fn duckdb_reads_results_as_they_are() {
    let Some(python) = support::python() else {
        return;
    };
    let (program, _) = fleet(&[3.0, 3.1]);
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/duckdb");
    let script = "import duckdb, json, sys\n\
        rows = duckdb.sql(open(sys.argv[1]).read().rstrip().rstrip(';'))\n\
        names = rows.columns\n\
        print(json.dumps([dict(zip(names, row)) for row in rows.fetchall()]))";
    let ask = |query: &str| -> Vec<Value> {
        let mut command = std::process::Command::new(python.get_program());
        let query = format!("{place}/{query}.sql");
        command
            .args(["-c", script, &query])
            .current_dir(program.directory());
        let ended = command.output().expect("python");
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        serde_json::from_slice(&ended.stdout).expect("JSON")
    };
    let verdicts = ask("verdicts");
    // Two hosts, two arms, three metrics.
    assert_eq!(verdicts.len(), 12);
    let first = &verdicts[0];
    assert_eq!(
        (&first["host"], &first["model"]),
        (&json!("db0"), &json!("A disk"))
    );
    let kernels = ask("kernels");
    assert!(
        kernels
            .iter()
            .all(|row| row["kernel"] == "6.12" && row["hosts"] == 2),
        "{kernels:?}"
    );
    let excluded = ask("excluded");
    assert!(
        excluded.iter().any(|row| row["state"] == "foreign_io"),
        "{excluded:?}"
    );
}

/// Nothing of the help is wider than the terminal, and no column of it is one word wide.
#[test]
fn help_fits_80_columns() {
    let program = Program::new(BINARY);
    for command in [
        "run", "aa", "study", "tune", "merge", "evidence", "gate", "report", "persist", "demo",
        "scratch",
    ] {
        let mut asked = program.command(&[command, "--help"]);
        let help = asked
            .env("COLUMNS", "80")
            .output()
            .expect("the program")
            .stdout;
        let help = String::from_utf8(help).expect("UTF-8");
        for line in help.lines() {
            // An example, or the usage, is one line.
            let is_example = line.contains("iosched") || line.starts_with("    ");
            let width = line.chars().count();
            assert!(
                width <= 80 || (is_example && width <= 101),
                "{command}: {width}: {line}"
            );
            let text = line.trim_start();
            let indent = line.len() - text.len();
            assert!(indent < 50 || text.is_empty(), "{command}: {line}");
        }
    }
}

/// Bash completes what stands below a command, too.
#[test]
fn bash_completes_options_and_their_values() {
    let program = Program::new(BINARY);
    let script = program.run(&["completions", "bash"]).ends(0, &[]).stdout;
    fs::write(program.file("completions"), script).expect("a file");
    let complete = |words: &str, previous: &str, current: &str| {
        let count = words.split(' ').count() - 1;
        let ask = format!(
            ". ./completions; COMP_WORDS=({words}); COMP_CWORD={count}; f=$(complete -p iosched-ab | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
             $f iosched-ab '{current}' '{previous}'; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "-c", &ask])
            .current_dir(program.directory());
        let ended = bash.output().expect("bash");
        String::from_utf8(ended.stdout).expect("UTF-8")
    };
    let modes = complete("iosched-ab gate --mode ''", "--mode", "");
    assert!(modes.contains("noninferior"), "{modes:?}");
    let options = complete("iosched-ab run --", "run", "--");
    assert!(options.contains("--workload"), "{options:?}");
}

/// Hosts with disks of this model, written to files of their own.
fn hosts_of(program: &Program, model: &str, factors: &[f64]) -> Vec<String> {
    let hosts = factors.iter().enumerate().map(|(index, factor)| {
        let host = format!("{}{index}", model.to_lowercase().replace(' ', "-"));
        let mut result = of_host(&host, *factor);
        result["device"]["model"] = json!(model);
        let name = format!("{host}.json");
        fs::write(program.file(&name), result.to_string()).expect("a file");
        name
    });
    hosts.collect()
}

fn rules(text: &str) -> Vec<&str> {
    let is_rule = |line: &&str| line.contains("ATTR{queue/scheduler}=\"");
    text.lines().filter(is_rule).collect()
}

#[test]
fn each_model_that_all_hosts_speak_for_gets_a_rule() {
    let program = Program::new(BINARY);
    let all = [
        hosts_of(&program, "ONE 1", &[3.0, 3.1, 2.9, 3.05]),
        hosts_of(&program, "TWO 2", &[4.0, 4.1, 3.9]),
        // A further host may be worse off.
        hosts_of(&program, "RED 3", &[3.3, 6.0, 2.2]),
        hosts_of(&program, "ALONE 4", &[5.0]),
    ]
    .concat();
    merge(&program, &all, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    let ended = program.run(&["persist", "fleet.json"]).ends(
        0,
        &[
            "left out: disks of the model RED 3",
            "left out: disks of the model ALONE 4",
            "one host says nothing",
        ],
    );
    let text = &ended.stdout;
    let found = rules(text);
    assert_eq!(found.len(), 2, "{text}");
    for (rule, model) in found.iter().zip(["ONE 1", "TWO 2"]) {
        assert!(
            rule.contains(&format!("ATTRS{{model}}==\"{model}\"")),
            "{rule}"
        );
        assert!(rule.contains("=\"bfq\""), "{rule}");
    }
    assert!(
        text.contains("# Left out: disks of the model RED 3: "),
        "{text}"
    );
    assert!(
        text.contains("4 hosts, 4 runs") && text.contains("a further host:"),
        "{text}"
    );
    // What is proven of no host is no rule, in any format.
    for (format, code) in [
        ("hwdb", 0),
        ("tuned", 0),
        ("nixos", 0),
        ("ansible", 0),
        ("machineconfig", 0),
        ("tmpfiles", 5),
        ("gke", 5),
    ] {
        program
            .run(&["persist", "fleet.json", "--format", format])
            .ends(code, &[]);
    }
    program
        .run(&[
            "persist",
            "fleet.json",
            "--serial",
            "S123",
            "--unchecked-serial",
        ])
        .ends(2, &["goes by models of disks"]);
    program
        .run(&["persist", "fleet.json", "--arm", "kyber"])
        .ends(5, &["for none of them", "no arm kyber"]);
}

#[test]
fn several_results_give_a_rule_for_each_model() {
    let program = Program::new(BINARY);
    let files = [
        hosts_of(&program, "ONE 1", &[3.0, 3.1]),
        hosts_of(&program, "TWO 2", &[4.0]),
        // Worse there, so it speaks against the whole model.
        hosts_of(&program, "RED 3", &[3.3, 1.0]),
    ]
    .concat();
    let words: Vec<&str> = ["persist"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let ended = program
        .run(&words)
        .ends(0, &["left out: disks of the model RED 3: red-31.json:"]);
    assert_eq!(rules(&ended.stdout).len(), 2, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("iosched evidence 1").count(), 3);
    fs::write(program.file("all.rules"), &ended.stdout).expect("a file");
    let check: Vec<&str> = ["evidence", "--check", "all.rules"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    program.run(&check).ends(0, &[]);
    program
        .run(&[&words[..], &["--serial", "S123", "--unchecked-serial"]].concat())
        .ends(2, &["--serial is about one result, and 5 files are named"]);
}

#[test]
fn a_disk_without_a_model_is_known_by_what_there_is() {
    let program = Program::new(BINARY);
    let mut result = of_host("vm1", 3.0);
    result["device"]["model"] = Value::Null;
    let write = |result: &Value| {
        fs::write(program.file("vm1.json"), result.to_string()).expect("a file");
    };
    write(&result);
    program
        .run(&["persist", "vm1.json"])
        .ends(5, &["no model", "--alike"]);
    program
        .run(&["persist", "vm1.json", "--alike"])
        .ends(5, &["does not say the driver"]);
    result["device"]["driver"] = json!("sd");
    write(&result);
    program
        .run(&["persist", "vm1.json", "--alike"])
        .ends(5, &["disks of many kinds"]);
    result["device"]["driver"] = json!("virtio_blk");
    write(&result);
    let ended = program.run(&["persist", "vm1.json", "--alike"]).ends(
        0,
        &[
            "the rule is for all disks of the driver virtio_blk",
            "of which one was measured",
        ],
    );
    let expected =
        "DRIVERS==\"virtio_blk\", ATTR{queue/rotational}==\"0\", ATTR{size}==\"2147483648\",";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    result["device"]["model"] = json!("A disk");
    write(&result);
    program
        .run(&["persist", "vm1.json", "--alike"])
        .ends(5, &["has a model"]);
}

#[test]
fn several_runs_are_gated_together_and_reported_in_one_file() {
    let (program, hosts) = fleet(&[3.0, 3.1]);
    let files: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let run = |words: &[&str], more: &[&str]| program.run(&[words, &files[..], more].concat());
    let arm = ["--metric", "throughput", "--arm", "bfq"];
    let text = run(&["gate"], &arm).ends(0, &[]).stdout;
    assert!(
        text.contains("db0.json\n") && text.contains("db1.json\n"),
        "{text}"
    );
    assert!(text.contains("The 2 files share the level"), "{text}");
    // The level of each is half of it, so its interval is wider.
    let interval = |words: &[&str]| -> f64 {
        let more = [&arm[..], &["--format", "json"]].concat();
        let said = program.run(&[&["gate"], words, &more].concat()).stdout;
        let said: Value = serde_json::from_str(&said).expect("JSON");
        let first = if said.is_array() { &said[0] } else { &said };
        let check = &first["checks"][0]["ratio_interval"];
        check["upper"].as_f64().expect("a bound") - check["lower"].as_f64().expect("a bound")
    };
    assert!(interval(&files) >= interval(&files[..1]));
    let junit = run(&["gate"], &[&arm[..], &["--format", "junit"]].concat()).ends(0, &[]);
    assert_eq!(junit.stdout.matches("<testsuite ").count(), 2);
    for file in &files {
        let named = format!("<property name=\"file\" value=\"{file}\"/>");
        assert_eq!(junit.stdout.matches(&named).count(), 1, "{file}");
    }
    run(&["gate"], &["--format", "html"]).ends(2, &["a page is of one result"]);
    // One of them has an arm that is worse.
    fs::write(program.file("bad.json"), of_host("bad", 0.5).to_string()).expect("a file");
    let words = [&["gate"], &files[..], &["bad.json"], &arm[..]].concat();
    program.run(&words).ends(3, &["failed the gate: bad.json"]);

    for format in ["csv", "junit", "ktap", "benchfmt", "bmf", "openmetrics"] {
        let text = run(&["report"], &["--format", format]).ends(0, &[]).stdout;
        let names_hosts = format == "ktap" || (text.contains("db0") && text.contains("db1"));
        assert!(names_hosts, "{format}: {text}");
    }
    let csv = run(&["report"], &["--format", "csv"]).stdout;
    assert_eq!(
        csv.lines().filter(|line| line.starts_with("host,")).count(),
        1
    );
    let text = run(&["report"], &[]).ends(0, &[]).stdout;
    assert!(
        text.starts_with("db0.json\n") && text.contains("\ndb1.json\n"),
        "{text}"
    );
    for format in ["html", "json", "perfetto"] {
        run(&["report"], &["--format", format]).ends(2, &["is of one result", "iosched-ab merge"]);
    }
}

/// What keeps a gate on many hosts from an answer is named: more hosts would not help.
#[test]
fn a_gate_on_many_hosts_names_what_keeps_it() {
    let (program, mut hosts) = fleet(&[3.0, 3.1, 2.9, 3.05]);
    let mut failing = of_host("db9", 3.2);
    fail_always(&mut failing, "bfq");
    fs::write(program.file("db9.json"), failing.to_string()).expect("a file");
    hosts.push("db9.json".to_owned());
    merge(&program, &hosts, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    program.run(&GATE).ends(
        4,
        &["more hosts would not decide it", "cannot be judged on db9"],
    );
    program
        .run(&["persist", "fleet.json", "--arm", "bfq"])
        .ends(5, &["bfq cannot be judged"]);
}

/// What is not shown on one host is shown by no other.
#[test]
fn a_host_without_an_answer_keeps_its_kind_from_a_rule() {
    let program = Program::new(BINARY);
    let write = |name: &str, result: &Value| {
        fs::write(program.file(name), result.to_string()).expect("a file");
    };
    let good = hosts_of(&program, "ONE 1", &[3.0, 3.1, 2.9, 3.05]);
    let another = |factor: f64| {
        let mut result = of_host("crash", factor);
        result["device"]["model"] = json!("ONE 1");
        result
    };
    // Each arm in turn fails in every round; the run is not complete; its disk had errors under the arm.
    let mut failed = Vec::new();
    for (index, arm) in ["none", "bfq"].into_iter().enumerate() {
        let mut result = another(3.2 + index as f64 / 10.0);
        fail_always(&mut result, arm);
        failed.push(result);
    }
    let mut incomplete = another(3.4);
    incomplete["status"] = json!("running");
    failed.push(incomplete);
    let mut spoilt = another(3.5);
    for round in spoilt["rounds"].as_array_mut().expect("rounds") {
        round["exclusion"] = json!("device_errors");
    }
    failed.push(spoilt);
    for (index, result) in failed.iter().enumerate() {
        write("crash.json", result);
        let all = [good.clone(), vec!["crash.json".to_owned()]].concat();
        merge(
            &program,
            &all,
            &["--format", "json", "--force", "-o", "fleet.json"],
        )
        .ends(0, &[]);
        for arm in [&[][..], &["--arm", "none"], &["--arm", "bfq"]] {
            let words = [&["persist", "fleet.json"], arm].concat();
            let ended = program.run(&words);
            assert_eq!(ended.code, Some(5), "{index} {arm:?}: {ended:?}");
        }
        let gate = [&GATE[..], &["--mode", "noninferior"]].concat();
        let ended = program.run(&gate);
        assert_eq!(ended.code, Some(4), "{index}: {ended:?}");
        let text = merge(&program, &all, &[]).ends(0, &[]).stdout;
        assert!(text.contains("cannot be judged on crash"), "{text}");
    }
    // A later run of that host answers; an earlier one does not.
    let mut again = another(3.15);
    again["started"] = json!("2026-01-03T04:05:06Z");
    write("crash-again.json", &again);
    write("crash.json", &failed[2]);
    let all = [
        &good[..],
        &["crash.json".to_owned(), "crash-again.json".to_owned()],
    ]
    .concat();
    merge(
        &program,
        &all,
        &["--format", "json", "--force", "-o", "fleet.json"],
    )
    .ends(0, &[]);
    program.run(&["persist", "fleet.json"]).ends(5, &[]);
    again["started"] = json!("2026-03-03T04:05:06Z");
    write("crash-again.json", &again);
    write("crash.json", &failed[2]);
    let all = [
        &good[..],
        &["crash.json".to_owned(), "crash-again.json".to_owned()],
    ]
    .concat();
    let text = merge(
        &program,
        &all,
        &["--format", "json", "--force", "-o", "fleet.json"],
    );
    text.ends(0, &[]);
    program.run(&["persist", "fleet.json"]).ends(0, &[]);
    let text = merge(&program, &all, &[]).ends(0, &[]).stdout;
    assert!(text.contains("a later run of crash counts"), "{text}");
}

#[test]
fn patterns_and_kernel_names_that_tell_nothing_apart_get_no_rule() {
    let program = Program::new(BINARY);
    // The pattern of the second is ABC?1.
    let files = [
        hosts_of(&program, "ABC-1", &[3.0]),
        hosts_of(&program, "ABC#1", &[0.9]),
    ]
    .concat();
    let words = [
        "persist",
        &files[0],
        &files[1],
        "--accept",
        "throughput",
        "--arm",
    ];
    let both = program.run(&[&words[..], &["bfq"]].concat()).ends(0, &[]);
    assert_eq!(rules(&both.stdout).len(), 2, "the same for both");
    let mut result = of_host("x", 0.8);
    result["device"]["model"] = json!("ABC-1");
    result["status"] = json!("running");
    fs::write(program.file(&files[0]), result.to_string()).expect("a file");
    program
        .run(&[&words[..], &["bfq"]].concat())
        .ends(5, &["would match ABC-1, too"]);
    // Names of the kernel say nothing of several hosts.
    let files = hosts_of(&program, "ONE 1", &[3.0, 3.1]);
    program
        .run(&["persist", &files[0], &files[1], "--format", "tmpfiles"])
        .ends(5, &["differ from host to host"]);
    program
        .run(&["persist", &files[0], &files[0]])
        .ends(2, &["are the same run"]);
}

#[test]
fn company_makes_nothing_pass_and_no_series_twice() {
    let (program, hosts) = fleet(&[3.0, 3.1, 2.9]);
    let arm = ["--metric", "throughput", "--arm", "bfq"];
    // Worse by so little that a tenth of the level does not show it.
    let worse = (0..60)
        .map(|step| 2.0 - f64::from(step) / 100.0)
        .find(|factor| {
            fs::write(
                program.file("bad.json"),
                of_host("bad", *factor).to_string(),
            )
            .expect("a file");
            program
                .run(&[&["gate", "bad.json"], &arm[..]].concat())
                .code
                == Some(3)
        });
    assert!(worse.is_some(), "none is worse");
    let words = [
        &["gate", "bad.json"],
        &hosts.iter().map(String::as_str).collect::<Vec<_>>()[..],
        &arm[..],
    ]
    .concat();
    let ended = program.run(&words);
    assert!(matches!(ended.code, Some(3 | 4)), "{ended:?}");
    program
        .run(&["gate", "bad.json", "bad.json"])
        .ends(2, &["are the same run"]);

    // The next night of the same host.
    let night = of_host("db0", 2.7);
    fs::write(program.file("night.json"), night.to_string()).expect("a file");
    for format in ["openmetrics", "bmf", "github-benchmark"] {
        program
            .run(&[
                "report",
                "db0.json",
                "night.json",
                "--format",
                format,
                "-o",
                "x",
            ])
            .ends(2, &["one value of each series"]);
    }
    program
        .run(&["report", "db0.json", "night.json", "--format", "csv"])
        .ends(0, &[]);
}

/// A merged file may come from anybody: what does not fit together is not read.
#[test]
fn an_edited_merged_file_is_refused() {
    let (program, hosts) = fleet(&[3.0, 3.1, 2.9]);
    let mut failing = of_host("db9", 3.2);
    fail_always(&mut failing, "bfq");
    fs::write(program.file("db9.json"), failing.to_string()).expect("a file");
    let all = [hosts, vec!["db9.json".to_owned()]].concat();
    merge(&program, &all, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    let text = fs::read_to_string(program.file("fleet.json")).expect("a file");
    let merged: Value = serde_json::from_str(&text).expect("JSON");
    let changes: [fn(&mut Value); 5] = [
        |it| {
            for row in it["groups"][0]["rows"].as_array_mut().expect("rows") {
                row["unjudged"] = json!([]);
            }
        },
        |it| it["groups"][0]["hosts"][1]["name"] = json!("db0"),
        |it| it["groups"][0]["models"] = json!(["ANOTHER DISK"]),
        |it| it["question"]["alpha"] = json!(0.99),
        |it| {
            let arms = it["question"]["arms"].as_array_mut().expect("arms");
            arms.truncate(1);
        },
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut edited = merged.clone();
        change(&mut edited);
        fs::write(program.file("edited.json"), edited.to_string()).expect("a file");
        for command in ["persist", "gate"] {
            let ended = program.run(&[command, "edited.json"]);
            assert_eq!(ended.code, Some(2), "{index} {command}: {ended:?}");
        }
    }
}

/// Two hosts on which every round of every arm failed have the same values: none. They are two hosts all the same.
#[test]
fn runs_without_any_value_are_no_copies() {
    let program = Program::new(BINARY);
    let mut all = Vec::new();
    for (model, factors) in [("ONE 1", [3.0, 3.1, 2.9]), ("TWO 2", [4.0, 4.1, 3.9])] {
        all.extend(hosts_of(&program, model, &factors));
        let mut dead = of_host(&format!("dead {model}"), 3.3);
        dead["device"]["model"] = json!(model);
        for arm in ["none", "bfq", "mq-deadline,iosched/read_expire=100"] {
            fail_always(&mut dead, arm);
        }
        for round in dead["rounds"].as_array_mut().expect("rounds") {
            round["reported"] = json!({});
        }
        let name = format!("dead-{}.json", model.len() + all.len());
        fs::write(program.file(&name), dead.to_string()).expect("a file");
        all.push(name);
    }
    let text = merge(&program, &all, &[]).ends(0, &[]).stdout;
    for model in ["ONE 1", "TWO 2"] {
        assert!(
            text.contains(&format!("cannot be judged on dead {model}")),
            "{text}"
        );
    }
    merge(&program, &all, &["--format", "json", "-o", "fleet.json"]).ends(0, &[]);
    program
        .run(&["persist", "fleet.json"])
        .ends(5, &["for none of them"]);
}
