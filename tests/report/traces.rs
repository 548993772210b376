//! Output made of traces: the figure of the order of dispatch, Perfetto's format, blkparse's columns.

use std::collections::BTreeMap;
use std::fs;

use regex::Regex;
use serde_json::{Value, json};

use crate::support::program::{Ended, Program};
use crate::{BINARY, is_as_kept, path, support};

/// Sectors in the order of the starts, 1 ms apart, and their places in the order of the issues.
const REQUESTS: [(u64, i64); 5] = [
    (100_000, 1),
    (900_000, 3),
    (200_000, 2),
    (800_000, 4),
    (0, 0),
];

fn request(start: usize, (sector, place): (u64, i64)) -> Value {
    let queued_ns = start as i64 * 1_000_000 - 2_000_000;
    let issued_ns = 5_000_000 + place * 2_000_000;
    json!({
        "op": if start == 4 { "write_sync" } else { "read" }, "sector": sector, "bytes": 4096, "hardware_queue": 0,
        "owner": usize::from(start == 4), "queued_ns": queued_ns, "started_ns": queued_ns + 1000,
        "inserted_ns": queued_ns + 2000, "issued_ns": issued_ns,
        "completed_ns": if place == 4 { Value::Null } else { json!(issued_ns + 3_000_000) },
    })
}

/// In the order of their issues.
fn requests() -> Vec<Value> {
    let mut all: Vec<Value> = REQUESTS
        .into_iter()
        .enumerate()
        .map(|(start, of)| request(start, of))
        .collect();
    all.sort_by_key(|request| request["issued_ns"].as_i64());
    all
}

fn trace(arm: &str) -> Value {
    json!({
        "arm": arm, "started": "2026-02-03T05:05:06Z",
        "trace": {
            "time_s": 0.020, "requests": requests(),
            "owners": [
                { "name": "fio", "kind": "process", "pid": 41, "cgroup_id": 7, "part": "probe" },
                { "name": "<b>\u{202e}evil", "kind": "kernel_thread", "pid": 42, "cgroup_id": 1 },
            ],
            "left_out": 3, "lost_events": 0, "issued_before": 0, "unseen_ends": 0,
        },
    })
}

fn sample(arms: &[&str]) -> Value {
    let text = fs::read_to_string(path("result.json")).expect("the sample");
    let mut result: Value = serde_json::from_str(&text).expect("JSON");
    result["traces"] = arms.iter().map(|arm| trace(arm)).collect();
    result
}

fn report(program: &Program, result: &Value, more: &[&str]) -> Ended {
    fs::write(program.file("result.json"), result.to_string()).expect("a file");
    program.run(&[&["report", "result.json"], more].concat())
}

/// A value at a position, from the names of two ticks.
fn scale(figure: &str, side: &str) -> impl Fn(f64) -> f64 + use<> {
    let tick = Regex::new(&format!(r#"style="{side}:([\d.]+)%">([\d.]+)<"#)).expect("a pattern");
    let ticks: Vec<(f64, f64)> = tick
        .captures_iter(figure)
        .map(|found| {
            (
                found[1].parse().expect("a place"),
                found[2].parse().expect("a value"),
            )
        })
        .collect();
    let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
    let step = (last.1 - first.1) / (last.0 - first.0);
    move |percent| first.1 + (percent - first.0) * step
}

#[test]
fn the_order_of_dispatch_is_that_of_the_trace() {
    let program = Program::new(BINARY);
    let html = report(&program, &sample(&["bfq"]), &["--format", "html"]);
    let html = html.ends(0, &[]).stdout;
    let begin = html.find("<figure id=\"dispatch\"").expect("the figure");
    let figure = &html[begin..begin + html[begin..].find("</figure>").expect("its end")];
    let (ms, mb) = (scale(figure, "left"), scale(figure, "bottom"));
    let dot = Regex::new(r#"class="dot small" x1="([\d.]+)" x2="[\d.]+" y1="([\d.]+)""#);
    let shown: Vec<(f64, f64)> = dot
        .expect("a pattern")
        .captures_iter(figure)
        .map(|found| {
            let [x, y] = [1, 2].map(|of| found[of].parse::<f64>().expect("a place") / 10.0);
            (ms(x), mb(100.0 - y))
        })
        .collect();
    let expected = requests();
    assert_eq!(shown.len(), expected.len());
    for ((x, y), request) in shown.iter().zip(&expected) {
        let issued_ms = request["issued_ns"].as_f64().expect("a time") / 1e6;
        let megabytes = request["sector"].as_f64().expect("a sector") * 512.0 / 1e6;
        assert!((x - issued_ms).abs() < 0.05, "{x} is not {issued_ms} ms");
        assert!((y - megabytes).abs() < 1.0, "{y} is not {megabytes} MB");
    }
    // In 512-byte sectors with 8 for each request: 799992 + 700008 + 599992 + 800008 in the order of the starts, and
    // 99992 + 99992 + 699992 + 100008 in that of the issues.
    assert!(figure.contains("<bdi>2.90</bdi>"), "{figure}");
    assert!(figure.contains("too few requests"), "{figure}");
    assert!(figure.contains("of 8 requests the first 5 are shown"));
    // All others were issued after the last that started.
    assert!(figure.contains("80.0 %"), "{figure}");
    assert!(!html.contains("<b>"), "the name of an owner");
}

#[test]
fn a_result_without_traces_has_no_such_figure_and_no_such_formats() {
    let program = Program::new(BINARY);
    let html = report(&program, &sample(&[]), &["--format", "html"]);
    assert!(!html.ends(0, &[]).stdout.contains("id=\"dispatch\""));
    for format in ["perfetto", "blkparse"] {
        let ended = report(&program, &sample(&[]), &["--format", format]);
        ended.ends(2, &["has no trace", "--trace 1s"]);
    }
    let several = sample(&["none", "bfq"]);
    let ended = report(&program, &several, &["--format", "blkparse"]);
    ended.ends(2, &["several traces: none, bfq", "--arm LABEL"]);
    let ended = report(
        &program,
        &several,
        &["--format", "blkparse", "--arm", "kyber"],
    );
    ended.ends(2, &["no trace of kyber", "none, bfq"]);
}

#[test]
fn a_trace_that_contradicts_itself_is_refused() {
    let program = Program::new(BINARY);
    let mut result = sample(&["bfq"]);
    result["traces"][0]["trace"]["requests"][1]["owner"] = json!(2);
    report(&program, &result, &[]).ends(2, &["requests[1] of \"bfq\" is out of range"]);
    result = sample(&["bfq"]);
    result["traces"][0]["trace"]["requests"][2]["issued_ns"] = json!(i64::MIN);
    report(&program, &result, &[]).ends(2, &["requests[2] of \"bfq\" is out of range"]);
    result = sample(&["bfq"]);
    result["design"]["trace_s"] = json!(-1);
    report(&program, &result, &[]).ends(2, &["design.trace_s: -1"]);
    result = sample(&["bfq"]);
    result["traces"][0]["arm"] = json!("other");
    report(&program, &result, &[]).ends(2, &["arm \"other\" does not exist"]);
}

#[test]
fn blkparse_has_each_step_in_its_order() {
    let program = Program::new(BINARY);
    let ended = report(
        &program,
        &sample(&["none", "bfq"]),
        &["--format", "blkparse", "--arm", "bfq"],
    );
    let text = ended.ends(0, &[]).stdout;
    is_as_kept("trace.blkparse", &text);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut expected: Vec<(i64, &str, u64)> = Vec::new();
    for request in requests() {
        let sector = request["sector"].as_u64().expect("a sector");
        for (step, name) in [
            ("Q", "queued_ns"),
            ("G", "started_ns"),
            ("I", "inserted_ns"),
            ("D", "issued_ns"),
            ("C", "completed_ns"),
        ] {
            expected.extend(request[name].as_i64().map(|ns| (ns, step, sector)));
        }
    }
    expected.sort_by_key(|(ns, ..)| *ns);
    assert_eq!(lines.len(), expected.len());
    let first = expected[0].0;
    for (number, (line, (ns, step, sector))) in lines.iter().zip(expected).enumerate() {
        assert_eq!(line[2], (number + 1).to_string());
        let nanoseconds = line[3].replace('.', "");
        assert_eq!(nanoseconds.parse::<i64>().expect("a time"), ns - first);
        assert_eq!((line[5], line[7]), (step, sector.to_string().as_str()));
        let (pid, rwbs) = if sector == 0 {
            ("42", "WS")
        } else {
            ("41", "R")
        };
        assert_eq!(
            (line[4], line[6], &line[8..10]),
            (pid, rwbs, &["+", "8"][..])
        );
        let end = match (step, sector) {
            ("C", _) => "[-]",
            (_, 0) => "[<b>?evil]",
            _ => "[probe]",
        };
        assert_eq!(line[10], end);
    }
}

#[test]
fn the_perfetto_trace_is_as_it_was() {
    let program = Program::new(BINARY);
    let to_file = ["--format", "perfetto", "-o", "trace.perfetto"];
    report(&program, &sample(&["bfq"]), &to_file).ends(0, &[]);
    let bytes = fs::read(program.file("trace.perfetto")).expect("a trace");
    let lines = bytes.chunks(48).map(|line| {
        let digits = line.iter();
        digits.fold(String::new(), |text, byte| text + &format!("{byte:02x}")) + "\n"
    });
    is_as_kept("trace.perfetto.hex", &lines.collect::<String>());
}

/// Slices and values of counters, each with the names of its arm and group.
const SLICES: &str = "import json, sys\n\
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent\n\
    trace = Trace()\n\
    trace.ParseFromString(open(sys.argv[1], 'rb').read())\n\
    names, parents, open_, slices, counters = {}, {}, {}, [], []\n\
    for packet in trace.packet:\n\
    \x20   assert packet.trusted_packet_sequence_id == 1\n\
    \x20   if packet.HasField('track_descriptor'):\n\
    \x20       track = packet.track_descriptor\n\
    \x20       names[track.uuid], parents[track.uuid] = track.name, track.parent_uuid\n\
    \x20       continue\n\
    \x20   event = packet.track_event\n\
    \x20   group = parents[event.track_uuid]\n\
    \x20   place = [names[parents[group]], names[group]]\n\
    \x20   if event.type == TrackEvent.TYPE_SLICE_BEGIN:\n\
    \x20       assert event.track_uuid not in open_, 'two at once in a lane'\n\
    \x20       open_[event.track_uuid] = packet\n\
    \x20   elif event.type == TrackEvent.TYPE_SLICE_END:\n\
    \x20       begin = open_.pop(event.track_uuid)\n\
    \x20       notes = {n.name: n.string_value or n.uint_value for n in begin.track_event.debug_annotations}\n\
    \x20       slices.append(place + [begin.timestamp, packet.timestamp, begin.track_event.name, notes])\n\
    \x20   else:\n\
    \x20       counters.append(place + [packet.timestamp, event.counter_value])\n\
    assert not open_\n\
    print(json.dumps([slices, counters]))\n";

/// Read with the classes of the Python package.
#[test]
fn perfetto_has_each_request_as_two_slices() {
    let program = Program::new(BINARY);
    let result = sample(&["none", "bfq"]);
    let ended = report(
        &program,
        &result,
        &["--format", "perfetto", "-o", "trace.perfetto"],
    );
    ended.ends(0, &[]);
    let Some(mut python) = support::python() else {
        return;
    };
    let read = python
        .args(["-c", SLICES, &program.file("trace.perfetto")])
        .output();
    let read = read.expect("Python");
    let error = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{error}");
    let [slices, counters]: [Vec<Value>; 2] = serde_json::from_slice(&read.stdout).expect("JSON");

    let mut found: BTreeMap<(String, String, u64), &Value> = BTreeMap::new();
    for slice in &slices {
        let text = |index: usize| slice[index].as_str().expect("a name").to_owned();
        let sector = slice[5]["sector"].as_u64().unwrap_or(0);
        let is_new = found.insert((text(0), text(1), sector), slice).is_none();
        assert!(is_new, "{slice} twice");
    }
    assert_eq!(found.len(), 2 * 2 * REQUESTS.len());
    let origin = 1_000_000_000;
    for arm in ["none", "bfq"] {
        let title = format!("{arm} (of 8 requests the first 5 are shown)");
        for request in requests() {
            let sector = request["sector"].as_u64().expect("a sector");
            let time = |name: &str| request[name].as_i64();
            let end = time("completed_ns").unwrap_or(20_000_000);
            for (group, from, to) in [
                ("queued", time("queued_ns"), time("issued_ns")),
                ("device", time("issued_ns"), Some(end)),
            ] {
                let slice = found[&(title.clone(), group.to_owned(), sector)];
                let times = (slice[2].as_i64(), slice[3].as_i64());
                assert_eq!(
                    times,
                    (from.map(|ns| ns + origin), to.map(|ns| ns + origin))
                );
                let is_write = sector == 0;
                assert_eq!(
                    slice[4],
                    if is_write {
                        "sync write 4 KiB"
                    } else {
                        "read 4 KiB"
                    }
                );
                assert_eq!(slice[5]["pid"], if is_write { 42 } else { 41 });
                assert_eq!(slice[5]["part"] == "probe", !is_write);
                assert_eq!(
                    slice[5].get("completed").is_some(),
                    time("completed_ns").is_none()
                );
            }
        }
    }
    counters_count(&counters);
}

/// The counters say at each time what is queued, or on the device, then.
fn counters_count(counters: &[Value]) {
    let origin = 1_000_000_000;
    for counter in counters {
        let (group, ns) = (
            counter[1].as_str(),
            counter[2].as_i64().expect("a time") - origin,
        );
        let is_in = |request: &&Value| {
            let time = |name: &str| request[name].as_i64();
            let (from, to) = match group {
                Some("queued") => (time("queued_ns"), time("issued_ns")),
                _ => (time("issued_ns"), time("completed_ns").or(Some(20_000_000))),
            };
            from.is_some_and(|from| from <= ns) && to.is_some_and(|to| ns < to)
        };
        let count = requests().iter().filter(is_in).count();
        assert_eq!(counter[3], count, "{counter}");
    }
}
