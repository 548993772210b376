//! Output of `iosched-ab persist` is read by the programs it is for: udev, systemd-hwdb, systemd-tmpfiles, TuneD,
//! Ansible and GKE. The udev test needs root: `cargo test --test persist -- --ignored`.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use iosched_host::scheduler;
use iosched_host::system::device::Device;
use serde_json::Value;
use support::LoopDevice;
use support::program::Program;

const BINARY: &str = support::under_test!("iosched-ab");

/// The sample, in which bfq has a shorter p99 and less throughput, with a setting for bfq.
fn sample() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report/result.json");
    let text = fs::read_to_string(path).expect("the sample");
    let mut result: Value = serde_json::from_str(&text).expect("JSON");
    result["design"]["arms"][1]["settings"] =
        serde_json::json!([["iosched/low_latency", "0"], ["read_ahead_kb", "256"]]);
    result
}

fn persist(result: &Value, more: &[&str]) -> support::program::Ended {
    let program = Program::new(BINARY);
    fs::write(program.file("result.json"), result.to_string()).expect("a file");
    let arguments = [
        "persist",
        "result.json",
        "--arm",
        "bfq",
        "--accept",
        "throughput",
    ];
    program.run(&[&arguments[..], more].concat())
}

fn printed(more: &[&str]) -> String {
    persist(&sample(), more).ends(0, &[]).stdout
}

/// A study of two such cells, or of the first alone.
fn study(started: &str, cells: &[&str]) -> Value {
    let cell = |name: &&str| {
        serde_json::json!({
            "name": name, "expect": "", "is_placebo": false, "hopeless": null, "result": sample()
        })
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    serde_json::json!({
        "$schema": "study-2.schema.json", "schema_version": 2, "iosched_version": "0.1.0",
        "study": "sample", "title": "", "file": "", "quick": false,
        "times": { "blocks": 12, "round_s": 20.0, "ramp_s": 5.0 },
        "status": "complete", "error": null, "started": started, "finished": started,
        "seed": 7, "arms": ["none", "bfq"], "cells": cells,
    })
}

#[test]
fn a_study_is_confirmed_by_a_later_one_of_its_cells() {
    let program = Program::new(BINARY);
    let write = |name: &str, value: &Value| {
        fs::write(program.file(name), value.to_string()).expect("a file");
    };
    write(
        "study.json",
        &study("2026-02-03T04:05:06Z", &["first", "second"]),
    );
    write("confirm.json", &study("2026-02-04T04:05:06Z", &["first"]));
    write("run.json", &sample());
    let run = |words: &[&str]| {
        let arguments = ["--arm", "bfq", "--accept", "throughput"];
        program.run(&[&["persist"], words, &arguments[..]].concat())
    };
    let alone = run(&["study.json"]).ends(0, &[]).stdout;
    assert!(
        alone.contains("over all 2 cells together: total_p99"),
        "{alone}"
    );
    let confirmed = run(&["study.json", "--confirm", "confirm.json"]).ends(0, &[]);
    let text = confirmed.stdout;
    assert!(
        text.contains("confirmed by fresh rounds: total_p99"),
        "{text}"
    );
    run(&["confirm.json", "--confirm", "study.json"])
        .ends(5, &["began before", "name first the study"]);
    run(&["study.json", "--confirm", "run.json"]).ends(2, &["not the result of a study"]);
    run(&["run.json", "--confirm", "confirm.json"])
        .ends(2, &["--confirm is for the result of a study"]);
    let others = fs::Permissions::from_mode(0o666);
    fs::set_permissions(program.file("confirm.json"), others).expect("its mode");
    run(&["study.json", "--confirm", "confirm.json"]).ends(
        5,
        &["another user could have written confirm.json", "--trust"],
    );
}

/// None, and said, where the program is not installed.
fn output(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!(
                "skipped: {} cannot be run: {error}",
                command.get_program().display()
            );
            None
        }
    }
}

#[test]
fn nothing_is_printed_that_the_result_does_not_support() {
    let program = Program::new(BINARY);
    fs::write(program.file("result.json"), sample().to_string()).expect("a file");
    let refused = program
        .run(&["persist", "result.json"])
        .ends(5, &["supports no arm", "--accept"]);
    assert_eq!(refused.stdout, "");
    let refused = program.run(&["persist", "result.json", "--arm", "bfq"]);
    refused.ends(5, &["bfq is worse: throughput", "--accept throughput"]);
    persist(&sample(), &["--format", "tuned"])
        .ends(5, &["cannot set iosched/low_latency", "--format udev"]);
}

#[test]
fn a_file_that_others_could_have_written_is_not_believed() {
    let program = Program::new(BINARY);
    let file = program.file("result.json");
    fs::write(&file, sample().to_string()).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("its mode");
    let arguments = [
        "persist",
        "result.json",
        "--arm",
        "bfq",
        "--accept",
        "throughput",
    ];
    let refused = program
        .run(&arguments)
        .ends(5, &["another user could have written", "--trust"]);
    assert_eq!(refused.stdout, "");
    let trusted = program.run(&[&arguments[..], &["--trust"]].concat());
    assert!(trusted.ends(0, &[]).stdout.contains("ACTION"));
}

#[test]
fn a_model_cannot_leave_its_place() {
    let mut result = sample();
    result["workload"]["name"] =
        "x\u{2028}    - name: pwned\u{2028}      ansible.builtin.command: id".into();
    result["device"]["model"] =
        "{{lookup('pipe','id')}} Evil\"\nRUN+=\"/bin/sh\" $(id) %c\u{202e} ''${x}".into();
    for format in ["udev", "hwdb", "tmpfiles", "nixos", "ansible"] {
        let text = persist(&result, &["--format", format]).ends(0, &[]).stdout;
        let lines = text
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.starts_with('#'));
        for line in lines {
            for bad in ["RUN+=\"", "$(", "\u{202e}", "''$", "%c"] {
                assert!(!line.contains(bad), "{bad} in {line}");
            }
        }
        assert!(!text.contains(['\u{202e}', '\u{2028}']));
        assert!(!text.contains("{{") && !text.contains("{%"), "{text}");
    }
}

#[test]
fn systemd_hwdb_finds_the_scheduler_of_the_model() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().join("etc/udev/hwdb.d");
    fs::create_dir_all(&directory).expect("a directory");
    let text = printed(&["--format", "hwdb"]);
    let entry = text.split("# The second:").next().expect("a first file");
    fs::write(directory.join("61-iosched.hwdb"), entry).expect("a file");
    let hwdb = |arguments: &[&str]| {
        let mut command = Command::new("systemd-hwdb");
        output(
            command
                .arg("--root")
                .arg(root.path())
                .arg("--strict")
                .args(arguments),
        )
    };
    let Some(updated) = hwdb(&["update"]) else {
        return;
    };
    assert!(updated.status.success(), "{updated:?}");
    let found = |key: &str| {
        let queried = hwdb(&["query", key]).expect("it ran before");
        String::from_utf8_lossy(&queried.stdout).into_owned()
    };
    let expected =
        "IOSCHED_SCHEDULER=bfq\nIOSCHED_SET_IOSCHED_LOW_LATENCY=0\nIOSCHED_SET_READ_AHEAD_KB=256\n";
    assert_eq!(found("iosched:model:A disk:"), expected);
    assert_eq!(found("iosched:model:Another disk:"), "");
}

#[test]
fn systemd_tmpfiles_writes_the_attributes_in_their_order() {
    let root = tempfile::tempdir().expect("a directory");
    let queue = root.path().join("sys/block/nvme0n1/queue");
    fs::create_dir_all(queue.join("iosched")).expect("a directory");
    for attribute in ["scheduler", "iosched/low_latency", "read_ahead_kb"] {
        fs::write(queue.join(attribute), "").expect("a file");
    }
    let file = root.path().join("iosched.conf");
    fs::write(&file, printed(&["--format", "tmpfiles"])).expect("a file");
    let mut command = Command::new("systemd-tmpfiles");
    let Some(created) = output(
        command
            .arg("--root")
            .arg(root.path())
            .arg("--create")
            .arg(&file),
    ) else {
        return;
    };
    assert!(
        created.status.success() && created.stderr.is_empty(),
        "{created:?}"
    );
    let read = |attribute: &str| fs::read_to_string(queue.join(attribute)).expect("a file");
    assert_eq!(read("scheduler").trim(), "bfq");
    assert_eq!(read("iosched/low_latency").trim(), "0");
    assert_eq!(read("read_ahead_kb").trim(), "256");
}

#[test]
fn ansible_would_install_the_rule() {
    let root = tempfile::tempdir().expect("a directory");
    let playbook = root.path().join("playbook.yml");
    // On this machine, without becoming root.
    let text = printed(&["--format", "ansible"]).replace("become: true", "become: false");
    fs::write(&playbook, text).expect("a file");
    let mut command = Command::new("ansible-playbook");
    command.args([
        "--check",
        "--diff",
        "--inventory",
        "localhost,",
        "--connection",
        "local",
    ]);
    let Some(checked) = output(command.arg(&playbook).env("ANSIBLE_HOME", root.path())) else {
        return;
    };
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{checked:?}");
    for line in printed(&[])
        .lines()
        .filter(|line| line.starts_with("ACTION"))
    {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn tuned_reads_the_profile() {
    let mut result = sample();
    result["design"]["arms"][1]["settings"] = serde_json::json!([["read_ahead_kb", "256"]]);
    let text = persist(&result, &["--format", "tuned"]).ends(0, &[]).stdout;
    tuned_reads(&text, "disk ^ID_MODEL=A.disk$ bfq 256\n");

    // Each of several models has a section.
    let program = Program::new(BINARY);
    for (name, model) in [("one.json", "A disk"), ("two.json", "Another")] {
        result["device"]["model"] = model.into();
        result["rounds"][0]["metrics"]["iops"] = serde_json::json!(name.len() + model.len());
        fs::write(program.file(name), result.to_string()).expect("a file");
    }
    let words = [
        "persist",
        "one.json",
        "two.json",
        "--arm",
        "bfq",
        "--accept",
        "throughput",
    ];
    let ended = program.run(&[&words[..], &["--format", "tuned"]].concat());
    let expected = "disk_1 ^ID_MODEL=A.disk$ bfq 256\ndisk_2 ^ID_MODEL=Another$ bfq 256\n";
    tuned_reads(&ended.ends(0, &[]).stdout, expected);
}

fn tuned_reads(text: &str, expected: &str) {
    let root = tempfile::tempdir().expect("a directory");
    let profile = root.path().join("iosched");
    fs::create_dir(&profile).expect("a directory");
    fs::write(profile.join("tuned.conf"), text).expect("a file");
    fs::write(root.path().join("tuned-main.conf"), "").expect("a file");
    let program = "import sys\n\
        from tuned.profiles.loader import Loader\n\
        from tuned.profiles.locator import Locator\n\
        from tuned.profiles.merger import Merger\n\
        from tuned.profiles.factory import Factory\n\
        from tuned.profiles.variables import Variables\n\
        from tuned.utils.global_config import GlobalConfig\n\
        loader = Loader(Locator([sys.argv[1]]), Factory(), Merger(), GlobalConfig(sys.argv[1] + '/tuned-main.conf'), Variables())\n\
        units = loader.load(['iosched']).units\n\
        for name, unit in sorted(units.items()):\n\
        \x20   if unit.type != 'disk': continue\n\
        \x20   options = dict(unit.options)\n\
        \x20   print(name, unit.devices_udev_regex, options['elevator'], options.get('readahead'))\n";
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/tuned");
    if !tools.exists() {
        println!("skipped: TuneD's parser is not there: run contrib/setup.sh test");
        return;
    }
    let mut python = Command::new("python3");
    let Some(read) = output(
        python
            .args(["-c", program])
            .arg(root.path())
            .env("PYTHONPATH", tools),
    ) else {
        return;
    };
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&read.stdout), expected);
}

/// The file in a MachineConfig is the udev rule itself.
#[test]
fn a_machineconfig_has_the_rule() {
    let text = printed(&["--format", "machineconfig"]);
    let program = "import base64, sys, yaml\n\
        it = yaml.safe_load(sys.stdin)\n\
        assert it['apiVersion'] == 'machineconfiguration.openshift.io/v1' and it['kind'] == 'MachineConfig', it\n\
        assert it['metadata']['labels'] == {'machineconfiguration.openshift.io/role': 'worker'}, it\n\
        config = it['spec']['config']\n\
        assert config['ignition'] == {'version': '3.2.0'}, config\n\
        [file] = config['storage']['files']\n\
        assert file['mode'] == 0o644 and file['overwrite'] is True, file\n\
        kind, text = file['contents']['source'].split(',')\n\
        assert kind == 'data:text/plain;charset=utf-8;base64', kind\n\
        text = base64.b64decode(text, validate=True).decode()\n\
        assert text.startswith('# ' + file['path'] + chr(10)), text\n\
        print(text, end='')\n";
    let Some(mut python) = support::python() else {
        println!("skipped: PyYAML is not there: run contrib/setup.sh test");
        return;
    };
    let mut child = python
        .args(["-c", program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("python");
    std::io::Write::write_all(&mut child.stdin.take().expect("its input"), text.as_bytes())
        .expect("written");
    let read = child.wait_with_output().expect("python ends");
    assert!(read.status.success());
    assert_eq!(String::from_utf8_lossy(&read.stdout), printed(&[]));
}

#[test]
fn the_client_library_of_gke_takes_the_node_configuration() {
    persist(&sample(), &["--format", "gke"]).ends(
        5,
        &[
            "GKE node configuration cannot set iosched/low_latency",
            "--format udev",
        ],
    );
    let mut result = sample();
    result["design"]["arms"][1]["settings"] = serde_json::json!([]);
    let text = persist(&result, &["--format", "gke"]).ends(0, &[]).stdout;
    let program = "import json, sys, yaml\n\
        from google.cloud import container_v1\n\
        request = json.dumps(yaml.safe_load(sys.argv[1]))\n\
        print(container_v1.types.UpdateNodePoolRequest.from_json(request))\n";
    let Some(mut python) = support::python() else {
        return;
    };
    let read = python.args(["-c", program, &text]).output();
    let read = read.expect("Python");
    assert_eq!(
        String::from_utf8_lossy(&read.stdout)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "linux_node_config { disk_io_scheduler { node_attached_disk_io_scheduler: \"bfq\" } }",
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
}

/// Rules that are removed again.
struct Rules(Vec<std::path::PathBuf>);

impl Rules {
    fn add(&mut self, name: &str, text: &str) {
        let path = Path::new("/run/udev/rules.d").join(name);
        fs::create_dir_all("/run/udev/rules.d").expect("a directory");
        fs::write(&path, text).expect("a rule");
        self.0.push(path);
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

#[test]
#[ignore = "root"]
fn udev_applies_the_rule_to_the_disk_and_to_no_other() {
    let (disk, other) = (LoopDevice::new(64 << 20), LoopDevice::new(64 << 20));
    let serial = format!("iosched-test-{}", std::process::id());
    let name = |kind: &str| format!("{kind}-{serial}.rules");
    let mut rules = Rules(Vec::new());
    // As the rules of the distribution would find it.
    let is_disk = format!(
        "KERNEL==\"{}\", ENV{{ID_SERIAL}}=\"{serial}\"\n",
        disk.device.name
    );
    rules.add(&name("60-a"), &is_disk);
    rules.add(
        &name("61-b"),
        &printed(&["--serial", &serial, "--unchecked-serial"]),
    );
    let event = |device: &Device| {
        let mut command = Command::new("udevadm");
        let path = format!("/sys/block/{}", device.name);
        output(command.args(["test", "--action=change", &path]))
    };
    let Some(found) = event(&disk.device) else {
        return;
    };
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&found.stdout),
        String::from_utf8_lossy(&found.stderr)
    );
    assert!(found.status.success(), "{said}");
    // udev names the file in every complaint about it.
    let about: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(&name("61-b")))
        .collect();
    let complaints = ["nvalid", "nknown", "ailed", "gnoring", "rror"];
    let is_complaint = |line: &&&str| complaints.iter().any(|word| line.contains(word));
    assert!(
        !about.is_empty() && !about.iter().any(|line| is_complaint(&line)),
        "{about:#?}"
    );
    // Since systemd 256 it only says what it would write.
    if said.contains("skipping writing") {
        let would = |attribute: &str, value: &str| {
            let mut lines = said
                .lines()
                .filter(|line| line.contains("skipping writing"));
            lines.any(|line| line.contains(attribute) && line.contains(&format!("\"{value}\"")))
        };
        assert!(
            would("queue/scheduler", "bfq") && would("queue/iosched/low_latency", "0"),
            "{said}"
        );
        assert!(would("queue/read_ahead_kb", "256"), "{said}");
    } else {
        let state = scheduler::read(&disk.device).expect("its queue");
        assert_eq!(state.active, "bfq", "{said}");
        assert_eq!(state.settings["iosched/low_latency"], "0");
        assert_eq!(state.settings["read_ahead_kb"], "256");
    }
    let before = scheduler::read(&other.device).expect("its queue");
    event(&other.device);
    assert_eq!(scheduler::read(&other.device).expect("its queue"), before);
}
