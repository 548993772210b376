//! Whole comparisons on a disk in memory: the plan is carried out to the letter, the result says what happened, and the
//! disk is afterwards as it was. Root only: `cargo test --test experiment -- --ignored --test-threads=1`.

#[path = "experiment/drift.rs"]
mod drift; // settings that others change meanwhile, and those of the user
mod support;

use std::fs;

use serde_json::Value;
use support::LoopDevice;
use support::program::{Ended, Program};
use support::traces::{processes_with, traces_of};

const BINARY: &str = support::under_test!("iosched-ab");
const SIZE_BYTES: u64 = 64 << 20;
/// Reads a little, so that there is something to measure.
const READ_A_LITTLE: &str =
    "dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none";

/// A comparison that is saved as `result`.
fn ab(program: &Program, disk: &LoopDevice, arguments: &[&[&str]]) -> Ended {
    let start = [
        "run",
        &disk.node(),
        "-o",
        "result",
        "--force",
        "--seed",
        "11",
    ];
    let ended = program.run(&[&start[..], &arguments.concat()].concat());
    assert_eq!(traces_of(ended.pid), [""; 0], "left on the machine");
    assert!(program.journals().is_empty(), "left in the journal");
    let left = processes_with(&disk.node());
    assert!(left.is_empty(), "processes {left:?} still use the disk");
    ended
}

fn arms<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().flat_map(|name| ["--arm", name]).collect()
}

fn list<'a>(value: &'a Value, path: &str) -> &'a Vec<Value> {
    let found = value.pointer(path).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no list at {path} in {value:#}"))
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

fn count(value: &Value, path: &str) -> u64 {
    let found = value.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no count at {path} in {value:#}"))
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let found = value.pointer(path).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {path} in {value:#}"))
}

/// Every planned round is there, in its order and under its arm; returns (block, label) of each.
fn follows_its_plan(result: &Value) -> Vec<(u64, String)> {
    let (planned, done) = (list(result, "/plan/rounds"), list(result, "/rounds"));
    assert_eq!(planned.len(), done.len());
    let arms = list(result, "/design/arms");
    let mut order = Vec::new();
    for (planned, done) in planned.iter().zip(done) {
        for field in ["index", "block", "position"] {
            assert_eq!(planned[field], done[field]);
        }
        let arm = &arms[planned["arm"].as_u64().expect("an index") as usize];
        assert_eq!(done["arm"], arm["label"]);
        assert_eq!(
            done["evidence"]["applied"]["effective"]["active"],
            arm["scheduler"]
        );
        order.push((
            done["block"].as_u64().expect("a block"),
            text(done, "/arm").to_owned(),
        ));
    }
    order
}

#[test]
#[ignore = "root"]
fn a_command_runs_once_per_arm_and_block_as_planned() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let script = format!(
        "{READ_A_LITTLE}; echo $IOSCHED_ROUND $IOSCHED_BLOCK $IOSCHED_ARM $IOSCHED_SEED \
        $(sed 's/.*\\[//; s/\\].*//' {}) >> log",
        disk.device.sysfs("queue/scheduler").display()
    );
    let three = arms(&["none", "busy=bfq", "mq-deadline"]);
    let command = ["--rounds", "4", "--", "sh", "-c", &script];
    let ended = ab(&program, &disk, &[&three, &command]).ends(0, &[]);
    assert!(ended.stdout.contains("Result file: result"), "{ended:#?}");
    assert_eq!(ended.stderr.matches("elapsed").count(), 12, "a line each");

    let result = program.result("result");
    let order = follows_its_plan(&result);
    for block in 0..4 {
        let of_block = order.iter().filter(|round| round.0 == block);
        let mut labels: Vec<&str> = of_block.map(|round| round.1.as_str()).collect();
        labels.sort_unstable();
        assert_eq!(labels, ["busy", "mq-deadline", "none"], "block {block}");
    }
    let log = fs::read_to_string(program.file("log")).expect("the command's log");
    let expected: Vec<String> = list(&result, "/plan/rounds")
        .iter()
        .zip(&order)
        .map(|(planned, (block, label))| {
            let scheduler = if label == "busy" { "bfq" } else { label };
            let (index, seed) = (&planned["index"], &planned["workload_seed"]);
            format!("{index} {block} {label} {seed} {scheduler}")
        })
        .collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    assert_eq!(text(&result, "/status"), "complete");
    for round in list(&result, "/rounds") {
        let wall_s = number(round, "/evidence/outcome/elapsed_ns") / 1e9;
        assert!((number(round, "/metrics/elapsed") - wall_s).abs() < 1e-9);
        assert_eq!(count(round, "/evidence/device/ops/0/ios"), 16, "{round:#}");
        assert_eq!(count(round, "/evidence/device/ops/0/bytes"), 65536);
    }
    assert_eq!(list(&result, "/comparisons")[0]["reference"], "none");
}

#[test]
#[ignore = "root"]
fn a_job_file_is_run_with_its_own_job_names() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let job = "[global]\nrw=randread\ndirect=1\nbs=8k\nrate_iops=2000\n[first]\n[second]\nbs=16k\n";
    fs::write(program.file("two.fio"), job).expect("a job file");
    let rounds = ["--rounds", "2", "--ramp", "0.2s", "--round-time", "0.6s"];
    let how = ["--job", "two.fio", "--metric", "second.iops:50"];
    let ended = ab(&program, &disk, &[&arms(&["none", "kyber"]), &rounds, &how]);
    ended.ends(0, &["second.iops"]);
    let result = program.result("result");
    follows_its_plan(&result);
    for round in list(&result, "/rounds") {
        assert_eq!(round["problem"], Value::Null);
        let jobs = list(round, "/evidence/outcome/jobs");
        let names: Vec<&str> = jobs.iter().map(|job| text(job, "/name")).collect();
        assert_eq!(names, ["first", "second"]);
        let size = |job: &Value| count(job, "/read/bytes") / count(job, "/read/ios");
        assert_eq!((size(&jobs[0]), size(&jobs[1])), (8192, 16384));
        assert!(number(round, "/metrics/second.iops") > 0.0);
    }
    let comparisons = list(&result, "/comparisons");
    let primary: Vec<&Value> = comparisons
        .iter()
        .filter(|c| c["primary"] == true)
        .collect();
    assert_eq!(primary.len(), 1);
    assert_eq!(text(primary[0], "/metric/name"), "second.iops");
    assert_eq!(primary[0]["metric"]["margin"], 0.5);
}

/// fio would report a latency of years for it.
#[test]
#[ignore = "root"]
fn a_job_without_latency_is_compared_by_throughput_and_says_so() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let job = "[a]\nrw=randread\ndirect=1\nbs=8k\ngtod_reduce=1\ndisable_lat=0\n";
    fs::write(program.file("a.fio"), job).expect("a job file");
    let rounds = ["--rounds", "2", "--ramp", "0.2s", "--round-time", "0.6s"];
    let how = ["--job", "a.fio"];
    let ended = ab(&program, &disk, &[&arms(&["none", "kyber"]), &rounds, &how]);
    ended.ends(
        0,
        &["[a] has gtod_reduce=1 in line 5", "not by program_p99"],
    );
    let result = program.result("result");
    let primary = list(&result, "/design/primary");
    assert_eq!(primary.len(), 1);
    assert_eq!(text(&primary[0], "/name"), "throughput");
    for round in list(&result, "/rounds") {
        assert_eq!(round["problem"], Value::Null);
        assert_eq!(round["metrics"]["program_mean"], Value::Null);
        assert!(number(round, "/metrics/throughput") > 0.0);
    }
}

#[test]
#[ignore = "root"]
fn the_probe_counts_what_fio_did() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let how = [
        "--workload",
        "randread",
        "--rounds",
        "3",
        "--ramp",
        "0.2s",
        "--round-time",
        "1s",
    ];
    ab(&program, &disk, &[&arms(&["none", "mq-deadline"]), &how]).ends(0, &[]);
    let result = program.result("result");
    follows_its_plan(&result);
    let (mut closest, mut closest_owners) = (f64::INFINITY, f64::INFINITY);
    for round in list(&result, "/rounds") {
        // Rates are compared: the window is a little shorter than fio's, and on a busy host they may be two.
        let probe = number(round, "/evidence/device/ops/0/ios");
        let rate = probe / number(round, "/window_s");
        let fio = number(round, "/evidence/outcome/jobs/0/read/iops");
        assert!(
            (0.5..2.0).contains(&(rate / fio)),
            "probe {rate}, fio {fio}"
        );
        closest = closest.min((rate / fio - 1.0).abs());
        let ios = count(round, "/evidence/device/ops/0/ios");
        // A snapshot under load may fall between the two counters.
        let bytes = count(round, "/evidence/device/ops/0/bytes");
        assert_eq!(bytes % 4096, 0);
        assert!(
            (bytes / 4096).abs_diff(ios) <= 1,
            "{bytes} bytes of {ios} reads"
        );
        assert_eq!(count(round, "/evidence/device/ops/1/ios"), 0, "no write");
        assert!(number(round, "/window_s") > 0.9);
        let owners: f64 = list(round, "/evidence/owners")
            .iter()
            .map(|owner| number(owner, "/ops/0/ios"))
            .sum();
        // The table of owners is copied right after the counters of the device, unless the machine is busy.
        assert!(
            (0.5..2.0).contains(&(owners / probe)),
            "probe {probe}, owners {owners}"
        );
        closest_owners = closest_owners.min((owners / probe - 1.0).abs());
        assert_eq!(round["problem"], Value::Null);
    }
    // A mistake in the counting is in every round.
    assert!(
        closest < 0.05 && closest_owners < 0.05,
        "{closest}, {closest_owners}"
    );
    is_complete(&result);
    // The report is a function of the file alone.
    let report = program.run(&["report", "result", "--all"]).ends(0, &[]);
    for word in [
        "throughput",
        "program_p99",
        "read_device_p50",
        "not decided",
    ] {
        assert!(report.stdout.contains(word), "{word}: {}", report.stdout);
    }
    let json = program
        .run(&["report", "result", "--format", "json"])
        .ends(0, &[]);
    let again: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(again, result);
}

/// Properties that the readers of a result rely on.
fn is_complete(result: &Value) {
    assert_eq!(text(result, "/status"), "complete");
    assert_eq!(result["error"], Value::Null);
    assert_eq!(count(result, "/plan/seed"), 11);
    assert_eq!(result["design"]["ramp_s"], 0.2);
    for waiting in list(result, "/waiting") {
        assert!((0.0..=1.0).contains(&number(waiting, "/share")));
        assert_eq!(count(waiting, "/hardware_depth"), 128);
        assert!(number(waiting, "/threshold_ns") >= 50_000.0);
    }
    no_integer_is_beyond_a_double(result, "");
    let comparisons = list(result, "/comparisons");
    let primary: Vec<&str> = comparisons
        .iter()
        .filter(|comparison| comparison["primary"] == true)
        .map(|comparison| text(comparison, "/metric/name"))
        .collect();
    assert_eq!(primary, ["throughput", "program_p99"]);
    for comparison in comparisons {
        assert_eq!(text(comparison, "/arm"), "mq-deadline");
        // A percentile is missing in rounds with too few I/Os beyond it.
        let (blocks, missing) = (
            count(comparison, "/blocks"),
            count(comparison, "/blocks_missing"),
        );
        assert_eq!(blocks + missing, 3);
        // Three blocks cannot decide anything at these levels, and it must not be said that they do.
        assert_eq!(text(comparison, "/verdict"), "inconclusive");
        assert!(!list(comparison, "/reasons").is_empty());
        assert_eq!(comparison["interval"], Value::Null);
    }
}

#[test]
#[ignore = "root"]
fn a_result_can_go_to_stdout() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let node = disk.node();
    let start = ["run", &node, "-o", "-", "--rounds", "1"];
    let command = ["--", "sh", "-c", READ_A_LITTLE];
    let two = arms(&["none", "kyber"]);
    let ended = program
        .run(&[&start[..], &two, &command].concat())
        .ends(0, &["elapsed"]);
    let result: Value = serde_json::from_str(&ended.stdout).expect("JSON and nothing else");
    assert_eq!(text(&result, "/status"), "complete");
    assert_eq!(program.files(), [""; 0]);
    let quiet = program.run(&[&start[..], &two, &["-q"], &command].concat());
    // The report alone goes to standard error, because the result is on standard output.
    let quiet = quiet.ends(0, &["elapsed"]);
    assert!(
        !quiet.stderr.contains("note:") && !quiet.stderr.contains("round 1/"),
        "{quiet:#?}"
    );
    let verbose = program.run(&[&start[..], &two, &["-v"], &command].concat());
    verbose.ends(0, &["each round runs sh -c", "round 1/2"]);
}

#[test]
#[ignore = "root"]
fn an_arm_against_itself_tells_what_can_be_seen_here() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "kyber");
    let node = disk.node();
    let start = ["aa", &node, "-o", "result", "--rounds", "3"];
    let command = ["--", "sh", "-c", READ_A_LITTLE];
    let ended = program.run(&[&start[..], &command].concat()).ends(0, &[]);
    assert!(ended.stdout.contains("ROUNDS PER ARM"), "{}", ended.stdout);
    let result = program.result("result");
    follows_its_plan(&result);
    assert_eq!(result["design"]["is_placebo"], true);
    for round in list(&result, "/rounds") {
        assert_eq!(text(round, "/scheduler"), "kyber", "the present one");
    }
    let noise = &list(&result, "/noise/metrics")[0];
    assert_eq!(text(noise, "/metric"), "elapsed");
    let effects: Vec<f64> = list(noise, "/detectable")
        .iter()
        .map(|d| number(d, "/effect"))
        .collect();
    assert!(effects.is_sorted_by(|a, b| a > b), "{effects:?}");
}

#[test]
#[ignore = "root"]
fn a_planted_slowdown_is_found_and_fails_the_gate() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let script =
        format!("{READ_A_LITTLE}; sleep 0.1; if [ $IOSCHED_ARM = slow ]; then sleep 0.7; fi");
    let both = arms(&["none", "slow=none"]);
    let reference = ["--reference", "none", "--", "sh", "-c", &script];
    let ended = ab(&program, &disk, &[&both, &reference]).ends(0, &[]);
    assert!(
        ended.stdout.contains("6 of at most 20 blocks"),
        "{}",
        ended.stdout
    );
    let result = program.result("result");
    let comparison = &list(&result, "/comparisons")[0];
    assert_eq!(text(comparison, "/verdict"), "worse");
    assert_eq!(comparison["beyond_margin"], true);
    assert_eq!(
        list(&result, "/rounds").len(),
        12,
        "the first look is enough"
    );
    for mode in ["worse", "beyond-margin", "noninferior"] {
        let gate = ["gate", "result", "--mode", mode];
        let ended = program.run(&gate).ends(3, &["1 of 1"]);
        assert!(ended.stdout.contains("FAIL"), "{}", ended.stdout);
    }
    // As it was the last time: nothing to complain of.
    let baseline = ["gate", "result", "--baseline", "result"];
    program.run(&baseline).ends(0, &[]);
    no_integer_is_beyond_a_double(&result, "");
}

/// The kernel keeps the latency while bfq has throttling off, and then ignores a write of the same one.
#[test]
#[ignore = "root"]
fn bfq_throttles_write_back_if_its_arm_asks_for_it() {
    let program = Program::new(BINARY);
    let short = ["--rounds", "1", "--round-time", "300ms", "--ramp", "0s"];
    let mut run = vec![
        "run",
        "scratch:ssd",
        "--workload",
        "randread",
        "-o",
        "result",
    ];
    run.extend([
        "--arm",
        "kyber,wbt_lat_usec=2000",
        "--arm",
        "bfq,wbt_lat_usec=2000",
    ]);
    run.extend(short);
    program.run(&run).ends(0, &[]);
    for round in list(&program.result("result"), "/rounds") {
        let settings = &round["evidence"]["applied"]["effective"]["settings"];
        assert_eq!(settings["wbt_lat_usec"], "2000", "{settings}");
    }
}

/// More is never on the device than it has tags, and mq-deadline sorts by address.
#[test]
#[ignore = "root"]
fn a_trace_shows_what_the_disk_was_given() {
    let program = Program::new(BINARY);
    let arms = ["--arm", "none", "--arm", "mq-deadline"];
    let short = ["--rounds", "1", "--round-time", "300ms", "--ramp", "300ms"];
    let workload = [
        "run",
        "scratch:hdd",
        "--workload",
        "readers",
        "--trace",
        "1s",
    ];
    let run = [&workload[..], &arms, &short, &["-o", "result"]].concat();
    program.run(&run).ends(0, &[]);
    let result = program.result("result");
    let depth = result["device"]["scratch"]["hardware_depth"]
        .as_u64()
        .expect("a depth");
    let mut seeks = std::collections::BTreeMap::new();
    for traced in list(&result, "/traces") {
        let trace = &traced["trace"];
        assert_eq!(
            (&trace["lost_events"], &trace["left_out"]),
            (&0.into(), &0.into())
        );
        let requests = trace["requests"].as_array().expect("requests");
        assert!(requests.len() > 20, "{traced}");
        let mut on_device: Vec<(i64, i64)> = Vec::new();
        for request in requests {
            assert_eq!(
                (&request["op"], &request["bytes"]),
                (&"read".into(), &4096.into())
            );
            let steps = [
                "queued_ns",
                "started_ns",
                "inserted_ns",
                "issued_ns",
                "completed_ns",
            ];
            let known: Vec<i64> = steps
                .iter()
                .filter_map(|step| request[step].as_i64())
                .collect();
            assert!(known.is_sorted(), "{request}");
            let issued_ns = request["issued_ns"].as_i64().expect("an issue");
            // The probe of a busy machine misses some ends; no request takes so long.
            if request["completed_ns"].is_null() && issued_ns < 900_000_000 {
                continue;
            }
            on_device.push((issued_ns, 1));
            on_device.extend(request["completed_ns"].as_i64().map(|ns| (ns, -1)));
        }
        on_device.sort_unstable();
        let mut count = 0;
        for (ns, change) in on_device {
            count += change;
            // Requests that were issued before the trace are not in it.
            assert!(count <= depth as i64, "{count} at {ns} ns, of {depth}");
        }
        let sectors: Vec<u64> = requests
            .iter()
            .filter_map(|request| request["sector"].as_u64())
            .collect();
        let distances = sectors.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        let mean = distances.sum::<u64>() / sectors.len() as u64;
        seeks.insert(traced["arm"].as_str().expect("a label").to_owned(), mean);
    }
    assert!(seeks["mq-deadline"] < seeks["none"] / 2, "{seeks:?}");
    let blkparse = ["report", "result", "--format", "blkparse", "--arm", "none"];
    let text = program.run(&blkparse).ends(0, &[]).stdout;
    let of_none = list(&result, "/traces")
        .iter()
        .find(|traced| traced["arm"] == "none");
    let requests = &of_none.expect("a trace")["trace"]["requests"];
    let issues = text.lines().filter(|line| line.contains("  D   R "));
    assert_eq!(issues.count(), requests.as_array().expect("requests").len());
}

/// The snapshots between the parts of a window leave its longest times what the kernel measured: of more than 1 ms, the end of a
/// histogram's cell is one below a multiple of 2^14 ns.
#[test]
#[ignore = "root"]
fn the_longest_times_of_a_round_are_no_ends_of_cells() {
    let program = Program::new(BINARY);
    let how = ["--workload", "randread", "--rounds", "3", "-o", "result"];
    let times = ["--ramp", "0.3s", "--round-time", "1.2s"];
    let start: &[&str] = &["run", "scratch:ssd"];
    let arms = arms(&["none", "mq-deadline"]);
    program
        .run(&[start, &arms, &how, &times].concat())
        .ends(0, &[]);
    let result = program.result("result");
    for round in list(&result, "/rounds") {
        assert_eq!(list(round, "/evidence/parts").len(), 5);
        let owners = list(round, "/evidence/owners").iter();
        let ops = owners.flat_map(|owner| list(owner, "/ops"));
        let longest: Vec<u64> = ops.filter_map(|op| op["d2c_max_ns"].as_u64()).collect();
        let longest = longest.into_iter().max().expect("a longest device time");
        assert!(longest > 1 << 20, "{longest}");
        assert!(
            !(longest + 1).is_multiple_of(1 << 14),
            "{longest} ends a cell"
        );
    }
}

/// A reader beside a greedy writer: who waits behind whom is in each round, and the reports add the rounds up.
#[test]
#[ignore = "root"]
fn each_round_says_who_waited_behind_whom() {
    let program = Program::new(BINARY);
    let run = [
        "run",
        "scratch:ssd",
        "--workload",
        "probe-hog",
        "--why",
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--rounds",
        "5",
        "--round-time",
        "500ms",
        "--ramp",
        "300ms",
        "-o",
        "result",
    ];
    let ended = program.run(&run).ends(0, &[]);
    let result = program.result("result");
    assert_eq!(result["design"]["why"], true);
    let mut waited_ns = std::collections::BTreeMap::new();
    for round in list(&result, "/rounds") {
        let why = &round["evidence"]["why"];
        let off =
            why["time_s"].as_f64().expect("a time") - round["window_s"].as_f64().expect("one");
        assert!(off.abs() < 0.1, "{why:#}");
        let [device] = &list(why, "/devices")[..] else {
            panic!("not one disk: {why:#}")
        };
        assert_eq!(device["scheduler"], round["scheduler"]);
        for owner in list(device, "/owners") {
            let number = |value: &Value| value.as_u64().expect("a number");
            let behind = list(owner, "/behind").iter();
            let parts: u64 = behind.map(|of| number(&of["ns"])).sum();
            let wait_ns = number(&owner["wait_ns"]);
            assert_eq!(
                parts + number(&owner["device_idle_ns"]),
                wait_ns,
                "{owner:#}"
            );
            let key = (round["arm"].to_string(), owner["part"].to_string());
            *waited_ns.entry(key).or_insert(0) += wait_ns;
        }
    }
    let of = |arm: &str, part: &str| waited_ns[&(format!("{arm:?}"), format!("{part:?}"))];
    assert!(
        of("mq-deadline", "probe") > 0 && of("none", "hog") > 0,
        "{waited_ns:?}"
    );
    // Both formats; the disk is gone, and the report needs none.
    let text = program.run(&["report", "result"]).ends(0, &[]).stdout;
    for shown in [&ended.stdout, &text] {
        assert!(shown.contains("Who waits behind whom on "), "{shown}");
        assert!(shown.contains("behind hog writes"), "{shown}");
    }
    let html = ["report", "result", "--format", "html", "-o", "page.html"];
    program.run(&html).ends(0, &[]);
    let page = fs::read_to_string(program.file("page.html")).expect("a page");
    assert!(page.contains("<figure id=\"why0\">"), "no heat table");
}

/// 2^53: above it JavaScript and jq lose digits.
fn no_integer_is_beyond_a_double(value: &Value, path: &str) {
    match value {
        Value::Number(number) => {
            let large = number.as_u64().is_some_and(|n| n >= 1 << 53);
            assert!(!large, "{path}: {number}");
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                no_integer_is_beyond_a_double(value, &format!("{path}/{index}"));
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                no_integer_is_beyond_a_double(value, &format!("{path}/{name}"));
            }
        }
        _ => {}
    }
}
