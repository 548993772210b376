//! The example jobs that fio ships: `tests/data/fio/examples` says which give a result, and why the others are refused.
//! fio's files are not part of this repository: the package fio-examples has them, or contrib/setup.sh gets them.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iosched_experiment::workload::Target;
use iosched_experiment::workload::job_file::JobFile;
use serde_json::Value;

const PROGRAM: &str = support::under_test!("iosched-ab");
/// The engines of fio that do I/O on files and disks of one host, by fio's documentation. Without an `ioengine=`, fio
/// takes psync.
const OF_ONE_HOST: [&str; 10] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap",
    "splice",
];
/// The examples need no larger disk, except those that the table names.
const DISK_BYTES: u64 = 1 << 30;

/// Where the examples are; None, with a message, if nowhere.
fn directory() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [
        PathBuf::from("/usr/share/doc/fio/examples"),
        root.join("target/tools/fio-examples"),
    ];
    let found = places
        .into_iter()
        .find(|place| place.join("aio-read.fio").exists());
    if found.is_none() {
        println!("skipped: fio's examples are not there; contrib/setup.sh test gets them");
    }
    found
}

/// Name and text of each.
fn examples(directory: &Path) -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("the examples") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if let Some(name) = name.strip_suffix(".fio") {
            examples.insert(name.to_owned(), fs::read_to_string(&path).expect("text"));
        }
    }
    examples
}

/// The table's expectation of an example.
struct Expected {
    /// It gives a result, if this job alone is run.
    section: Option<&'static str>,
    /// It is refused, and the reason has these words.
    refused: Option<&'static str>,
}

fn table() -> BTreeMap<&'static str, Expected> {
    let lines = include_str!("data/fio/examples").lines();
    let rows = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|row| {
        let (name, expected) = row.split_once(": ").expect(row);
        let expected = expected.split(" #").next().expect(row);
        let expected = match expected.split_once(' ') {
            None if expected == "result" => Expected {
                section: None,
                refused: None,
            },
            Some(("section", section)) => Expected {
                section: Some(section),
                refused: None,
            },
            Some(("refused", words)) => Expected {
                section: None,
                refused: Some(words),
            },
            _ => panic!("{row}"),
        };
        (name, expected)
    })
    .collect()
}

/// Whether it does I/O on files and disks of one host, with engines that exist. The jobs for xnvme and nfs take their
/// engine from the command line or another option.
fn is_of_one_host(text: &str) -> bool {
    let others = ["xnvme", "nfs_url=", "/dev/null"];
    let engines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ioengine="));
    let mut engines = engines.map(str::trim).peekable();
    engines.all(|engine| OF_ONE_HOST.contains(&engine))
        && !others.iter().any(|other| text.contains(other))
}

/// Err is the reason.
fn is_accepted(name: &str, text: &str, section: Option<&str>) -> Result<(), String> {
    let chosen: Vec<String> = section.map(str::to_owned).into_iter().collect();
    let file = format!("{name}.fio");
    let target = Target {
        bytes: DISK_BYTES,
        is_file: false,
        disks: 1,
    };
    let jobs = JobFile::parse(&file, text, &chosen);
    let layout = jobs.and_then(|jobs| jobs.lay_out(&file, &target));
    layout.map(drop).map_err(|error| error.to_string())
}

#[test]
fn every_example_gives_a_result_or_is_refused_for_the_reason_in_the_table() {
    let Some(directory) = directory() else { return };
    let (table, examples) = (table(), examples(&directory));
    let (mut host, mut results, mut whole) = (0, 0, 0);
    let mut wrong = Vec::new();
    for (name, text) in &examples {
        let Some(expected) = table.get(name.as_str()) else {
            println!("skipped: {name} is not in the table");
            continue;
        };
        let accepted = is_accepted(name, text, expected.section);
        match (&accepted, expected.refused) {
            (Ok(()), None) => {}
            (Err(why), Some(words)) if why.contains(words) => {
                // Each reason names the line; several stand below each other.
                let begin = format!("{name}.fio:");
                let place = |line: &str| {
                    let rest = line.trim().strip_prefix(&begin)?;
                    rest.split(':').next()?.parse::<usize>().ok()
                };
                let (places, lines) = (why.lines().filter_map(place), text.lines().count());
                let places: Vec<usize> = places.collect();
                let are_there = places.iter().all(|line| (1..=lines).contains(line));
                assert!(!places.is_empty() && are_there, "{why}");
            }
            _ => wrong.push(format!("{name}: {accepted:?}")),
        }
        if expected.section.is_some() {
            let alone = is_accepted(name, text, None).expect_err(name);
            let reasons = ["--section", "depends on the environment"];
            assert!(reasons.iter().any(|words| alone.contains(words)), "{alone}");
        }
        if is_of_one_host(text) {
            host += 1;
            results += usize::from(accepted.is_ok());
            whole += usize::from(accepted.is_ok() && expected.section.is_none());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!(
        "{} examples, {host} of one host: {whole} run as they are, {results} with --section",
        examples.len()
    );
    assert!(
        host >= 25 && results * 20 >= host * 15,
        "{results} of {host}"
    );
}

/// The result of a short run on a simulated disk.
fn run(directory: &Path, name: &str, section: Option<&str>) -> (Value, String) {
    let job = directory.join(format!("{name}.fio"));
    let output = tempfile::tempdir().expect("a directory");
    let file = output.path().join("result.json");
    let mut program = Command::new(PROGRAM);
    program.args([
        "run",
        "scratch:ssd",
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
    ]);
    program.args([
        "--round-time",
        "1s",
        "--ramp",
        "300ms",
        "--rounds",
        "1",
        "--job",
    ]);
    program.arg(&job).arg("-o").arg(&file);
    if let Some(section) = section {
        program.args(["--section", section]);
    }
    let done = program.output().expect("iosched-ab");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{name}: {said}");
    let result: Value = serde_json::from_slice(&fs::read(&file).expect("a result")).expect("JSON");
    (result, said)
}

fn has_note(result: &Value, words: &str) -> bool {
    let notes = result["notes"].as_array().expect("notes");
    notes
        .iter()
        .any(|note| note.as_str().is_some_and(|note| note.contains(words)))
}

#[test]
#[ignore = "root"]
fn examples_give_results_on_a_simulated_disk() {
    let Some(directory) = directory() else { return };
    for (name, section, note) in [
        (
            "aio-read",
            None,
            "the 4 files of the jobs are parts of the device",
        ),
        (
            "butterfly",
            None,
            "filename=/tmp/testfile (line 5) only names a place",
        ),
        (
            "dedupe-global",
            None,
            "the 2 files of the jobs are parts of the device",
        ),
        (
            "fio-rand-read",
            None,
            "is more than the device has: [file1] uses 1024 MiB",
        ),
        ("jesd219", None, "filename=/dev/nvme0n1"),
        (
            "ssd-test",
            Some("rand-read"),
            "directory=/mount-point-of-ssd",
        ),
    ] {
        let (result, said) = run(&directory, name, section);
        assert!(has_note(&result, note), "{name}: {}", result["notes"]);
        assert!(said.contains(note), "{name}: {said}");
        let rounds = result["rounds"].as_array().expect("rounds");
        assert_eq!(rounds.len(), 2, "{name}");
        for round in rounds {
            assert!(round["problem"].is_null(), "{name}: {}", round["problem"]);
            let throughput = round["metrics"]["throughput"].as_f64();
            assert!(
                throughput.is_some_and(|value| value > 0.0),
                "{name}: {throughput:?}"
            );
        }
    }
}
