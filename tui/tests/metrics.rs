//! `iosched metrics`: its counts are those of the kernel's own statistics, Prometheus' Python classes and promtool read what it
//! prints, whatever processes are called, and clients that misbehave keep nobody else from it.
//! Root only: `cargo test -p iosched-tui --test metrics -- --ignored`.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iosched_host::system::device::Device;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::LoopDevice;
use support::program::Program;

const IOSCHED: &str = support::under_test!("iosched");
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0";
const SOON: Duration = Duration::from_secs(20);

struct Exporter {
    child: Child,
    /// `127.0.0.1:PORT`, or the path of a socket.
    place: String,
}

impl Exporter {
    fn start(device: &str, more: &[&str]) -> Exporter {
        let listen: &[&str] = if more.contains(&"--unix") {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let mut child = Command::new(IOSCHED)
            .args(["metrics", device])
            .args(listen)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("iosched");
        // Byte by byte, so that the pipe has a reader as long as the program runs.
        let errors = child.stderr.as_mut().expect("its errors");
        let mut line = String::new();
        let place = loop {
            let mut byte = [0];
            assert_eq!(
                errors.read(&mut byte).expect("a byte"),
                1,
                "it ended: {line}"
            );
            if byte[0] != b'\n' {
                line.push(char::from(byte[0]));
                continue;
            }
            if let Some((_, place)) = line.split_once("listening on ") {
                let place = place.strip_prefix("http://").unwrap_or(place);
                break place
                    .trim_end_matches("/metrics")
                    .trim_end_matches(" (a Unix socket)")
                    .to_owned();
            }
            line.clear();
        };
        Exporter { child, place }
    }

    fn ask(&self, request: &str) -> String {
        let answer = if self.place.starts_with('/') {
            asked(
                UnixStream::connect(&self.place).expect("a connection"),
                request,
            )
        } else {
            asked(
                TcpStream::connect(&self.place).expect("a connection"),
                request,
            )
        };
        String::from_utf8(answer).expect("text")
    }

    fn metrics(&self, accept: &str) -> String {
        let answer = self.ask(&format!(
            "GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n"
        ));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let length = format!("Content-Length: {}", body.len());
        assert!(head.contains(&length), "{head}");
        body.to_owned()
    }

    /// As Prometheus' own classes for Python read it: by name and labels.
    fn samples(&self) -> Option<BTreeMap<String, f64>> {
        // Who asks again within 0.1 s gets the same counts.
        std::thread::sleep(Duration::from_millis(150));
        read(&self.metrics(OPEN_METRICS))
    }

    fn end(&mut self) -> Option<i32> {
        let pid = i32::try_from(self.child.id()).expect("a PID");
        let pid = Pid::from_raw(pid).expect("a PID");
        kill_process(pid, Signal::TERM).expect("the exporter runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn asked(mut stream: impl Read + Write, request: &str) -> Vec<u8> {
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

/// None: the classes are not installed, which is said.
fn read(text: &str) -> Option<BTreeMap<String, f64>> {
    let program = "import json, sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n\
        found = {}\n\
        for family in read(sys.stdin.read()):\n\
        \x20   assert family.documentation, family.name\n\
        \x20   for it in family.samples:\n\
        \x20       name = it.name + ''.join(f' {key}={value}' for key, value in sorted(it.labels.items()))\n\
        \x20       assert name not in found, name\n\
        \x20       found[name] = it.value\n\
        print(json.dumps(found))\n";
    let mut python = support::python()?;
    let mut child = python
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("python ends");
    assert!(output.status.success(), "{text}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = found.as_object().expect("an object").iter();
    Some(
        found
            .map(|(name, value)| (name.clone(), value.as_f64().expect("a number")))
            .collect(),
    )
}

fn fio(device: &Device, how: &str) {
    let node = device.node();
    let name = format!("--filename={}", node.display());
    let status = Command::new("fio")
        .args([
            "--name=x",
            &name,
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=8",
        ])
        .args(how.split(' '))
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("fio").success());
}

/// Reads, their sectors, writes, their sectors.
fn statistics(device: &Device) -> [u64; 4] {
    let text = device.attribute("stat").expect("the statistics");
    let all: Vec<u64> = text
        .split_whitespace()
        .map(|it| it.parse().expect("a count"))
        .collect();
    [all[0], all[2], all[4], all[6]]
}

#[test]
#[ignore = "root"]
fn sums_are_those_of_the_kernel() {
    let disk = LoopDevice::in_memory(64 << 20);
    let name = &disk.device.name;
    let before = statistics(&disk.device);
    let mut exporter = Exporter::start(name, &[]);
    fio(
        &disk.device,
        "--rw=randrw --bs=4k --size=48m --number_ios=20000",
    );
    let Some(found) = exporter.samples() else {
        return;
    };
    let after = statistics(&disk.device);
    let moved: Vec<u64> = after
        .iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect();
    let of = |metric: &str, operations: &[&str]| -> u64 {
        let each = operations.iter().filter_map(|operation| {
            found.get(&format!("{metric} device={name} operation={operation}"))
        });
        each.sum::<f64>() as u64
    };
    let writes = ["write_sync", "write_async"];
    let counted = [
        of("iosched_ios_total", &["read"]),
        of("iosched_io_bytes_total", &["read"]) / 512,
        of("iosched_ios_total", &writes),
        of("iosched_io_bytes_total", &writes) / 512,
    ];
    let lost: f64 = found
        .iter()
        .filter(|(name, _)| name.starts_with("iosched_lost_total "))
        .map(|(_, count)| count)
        .sum();
    let lacks = (moved[0] + moved[2]) - (counted[0] + counted[2]);
    assert_eq!(lacks, lost as u64, "{counted:?} {moved:?}: {found:#?}");
    if lacks > 0 {
        println!("skipped: {lacks} of the requests were lost, and counted as lost");
        return;
    }
    assert_eq!(counted.to_vec(), moved);
    assert!(moved[0] > 1000 && moved[2] > 1000, "{moved:?}");
    // Each request is in the histograms, and the processes have done what the disk did.
    for stage in ["queue_wait", "device_time", "total_time"] {
        let count = of(&format!("iosched_{stage}_seconds_count"), &["read"]);
        assert_eq!(count, moved[0], "{stage}");
    }
    let of_processes: f64 = found
        .iter()
        .filter(|(name, _)| name.starts_with("iosched_process_ios_total "))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(of_processes as u64, moved[0] + moved[2]);
    let of_fio = found.iter().find(|(name, _)| {
        name.starts_with("iosched_process_ios_total ")
            && name.contains("process=fio")
            && name.contains("direction=read")
    });
    assert_eq!(of_fio.map(|(_, value)| *value as u64), Some(moved[0]));
    let sum =
        |stage: &str| found[&format!("iosched_{stage}_seconds_sum device={name} operation=read")];
    let parts = sum("queue_wait") + sum("device_time");
    assert!((parts / sum("total_time") - 1.0).abs() < 1e-6, "{parts}");
    // A second look counts on.
    fio(&disk.device, "--rw=read --bs=64k --size=16m");
    let later = exporter.samples().expect("read before");
    let reads = format!("iosched_ios_total device={name} operation=read");
    let read = statistics(&disk.device)[0] - after[0];
    assert_eq!((later[&reads] - found[&reads]) as u64, read);
    assert_eq!(exporter.end(), Some(0), "a signal is how a service ends");
}

#[test]
#[ignore = "root"]
fn names_stay_names_and_series_stay_few() {
    let disk = LoopDevice::in_memory(16 << 20);
    let node = disk.device.node();
    let exporter = Exporter::start(&disk.device.name, &["--top", "5"]);
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str| {
        let path = folder.path().join(name);
        fs::copy("/bin/dd", &path).expect("a copy");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        let status = Command::new(&path)
            .args([
                &format!("if={}", node.display()),
                "of=/dev/null",
                "bs=4k",
                "count=4",
            ])
            .args(["iflag=direct", "status=none"])
            .status();
        assert!(status.expect("dd").success());
    };
    for hostile in [
        "a\"} 1\n#x",
        "back\\slash",
        "c\u{1b}[2J\u{202e}",
        "{a=\"b\"}",
    ] {
        run(hostile);
    }
    let Some(found) = exporter.samples() else {
        return;
    };
    let process = |found: &BTreeMap<String, f64>| -> Vec<String> {
        let names = found.keys();
        let of_process = names.filter(|name| name.starts_with("iosched_process_ios_total "));
        of_process.cloned().collect()
    };
    assert_eq!(process(&found).len(), 2 * 5, "{found:#?}");
    assert!(found.keys().all(|name| !name.contains(char::is_control)));
    let quoted = process(&found)
        .iter()
        .any(|name| name.contains("process=a\"} 1?#x"));
    assert!(quoted, "{:#?}", process(&found));
    for number in 0..60 {
        run(&format!("p{number}"));
    }
    let found = exporter.samples().expect("read before");
    assert_eq!(process(&found).len(), 2 * (5 + 1));
    let reads: f64 = process(&found).iter().map(|name| found[name]).sum();
    assert_eq!(reads as u64, 4 * 64);
}

#[test]
#[ignore = "root"]
fn who_misbehaves_keeps_nobody_else_from_it() {
    let disk = LoopDevice::in_memory(16 << 20);
    let exporter = Exporter::start(&disk.device.name, &[]);
    // They say nothing, or never end.
    let silent: Vec<TcpStream> = (0..80)
        .map(|_| TcpStream::connect(&exporter.place).expect("a connection"))
        .collect();
    let mut slow = TcpStream::connect(&exporter.place).expect("a connection");
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: ")
        .expect("written");
    let begun = Instant::now();
    assert!(
        exporter
            .metrics("text/plain")
            .contains("iosched_build_info")
    );
    assert!(begun.elapsed() < Duration::from_secs(2), "they keep nobody");
    drop(silent);
    for (request, status) in [
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("GET /nothing HTTP/1.1\r\n\r\n", "404"),
        ("\u{16}\u{3}\u{1} TLS\r\n\r\n", "400"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
    ] {
        let answer = exporter.ask(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer}"
        );
    }
    let head = exporter.ask("HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.ends_with("\r\n\r\n") && head.contains("Content-Length: "),
        "{head}"
    );
    let long = format!(
        "GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(7 << 10)
    );
    assert!(exporter.ask(&long).contains("200 OK"));
    // Its reader may be gone before the end of it.
    let mut endless = TcpStream::connect(&exporter.place).expect("a connection");
    let _ = endless.write_all(&vec![b'x'; 64 << 10]);
    drop(endless);
    assert!(
        exporter
            .metrics("text/plain")
            .contains("iosched_build_info")
    );
}

#[test]
#[ignore = "root"]
fn it_is_written_printed_and_asked_at_a_socket() {
    let disk = LoopDevice::in_memory(16 << 20);
    let name = &disk.device.name;
    let program = Program::new(IOSCHED);
    program
        .run(&["metrics", name, "--listen", "0.0.0.0:9999"])
        .ends(2, &["not an address of the loopback interface", "proxy"]);
    let once = program
        .run(&["metrics", name, "--once", "-i", "0.2"])
        .ends(0, &[]);
    assert!(once.stdout.ends_with("# EOF\n"), "{}", once.stdout);
    if let Some(found) = read(&once.stdout) {
        assert!(
            found
                .keys()
                .any(|it| it.starts_with("iosched_scheduler_info ")),
            "{found:#?}"
        );
    }
    let socket = program.file("metrics.sock");
    let path = socket.as_str();
    let mut exporter = Exporter::start(name, &["--unix", path]);
    assert!(
        exporter
            .metrics("text/plain")
            .contains("iosched_build_info")
    );
    program
        .run(&["metrics", name, "--unix", path])
        .ends(2, &["cannot listen on", "another exporter"]);
    assert_eq!(exporter.end(), Some(0));
    assert!(!Path::new(&socket).exists());

    let file = program.file("iosched.prom");
    let mut child = Command::new(IOSCHED)
        .args(["metrics", name, "-i", "0.3", "--textfile"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .expect("iosched");
    let begun = Instant::now();
    let mut texts = Vec::new();
    while texts.len() < 2 {
        assert!(begun.elapsed() < SOON, "no second text");
        if let Ok(text) = fs::read_to_string(&file)
            && texts.last() != Some(&text)
        {
            let mode = fs::metadata(&file).map_or(0, |it| it.permissions().mode());
            assert_eq!(
                mode & 0o444,
                0o444,
                "node_exporter is another user: {mode:o}"
            );
            let mode = fs::metadata(&file).map_or(0, |it| it.permissions().mode());
            assert_eq!(
                mode & 0o444,
                0o444,
                "node_exporter is another user: {mode:o}"
            );
            texts.push(text);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a PID")).expect("a PID");
    kill_process(pid, Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    checked_by_promtool(&texts[1]);
    assert!(!Path::new(&file).exists(), "nobody counts on");
}

/// Prometheus itself scrapes it while the disk is busy, and evaluates every rule and every expression of the dashboard.
#[test]
#[ignore = "root"]
fn prometheus_and_its_rules_take_it() {
    let tools = support::tools().join("bin");
    let (prometheus, promtool) = (tools.join("prometheus"), tools.join("promtool"));
    if !prometheus.exists() || !promtool.exists() {
        println!("skipped: Prometheus is not there: run contrib/setup.sh test");
        return;
    }
    let Some(mut python) = support::python() else {
        return;
    };
    let disk = LoopDevice::in_memory(64 << 20);
    let exporter = Exporter::start(&disk.device.name, &[]);
    let node = disk.device.node();
    let mut load = Command::new("fio")
        .arg(format!("--filename={}", node.display()))
        .args([
            "--name=x",
            "--rw=randrw",
            "--bs=4k",
            "--size=48m",
            "--direct=1",
            "--ioengine=libaio",
        ])
        .args([
            "--iodepth=4",
            "--rate_iops=500",
            "--time_based",
            "--runtime=120",
        ])
        .stdout(Stdio::null())
        .spawn()
        .expect("fio");
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib/prometheus/check.py");
    let output = python
        .arg(check)
        .args([&prometheus, &promtool])
        .arg(format!("http://{}/metrics", exporter.place))
        .output()
        .expect("python");
    let _ = load.kill();
    let _ = load.wait();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("all is well"), "{said}");
}

/// What it finds fault with is printed.
fn checked_by_promtool(text: &str) {
    let promtool = support::tools().join("bin/promtool");
    if !Path::new(&promtool).exists() {
        println!("skipped: promtool is not there: run contrib/setup.sh test");
        return;
    }
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("promtool ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}");
}
