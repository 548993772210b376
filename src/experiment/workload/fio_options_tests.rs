//! Tests the table by itself and against the installed fio.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::*;
use crate::workload::job_file::{JobFile, Window};

/// The table covers the options of fio up to this version.
const NEWEST: (u32, u32) = (3, 42);

#[test]
fn every_name_stands_in_the_table_once() {
    let names = all().flat_map(|(names, _)| names.split('='));
    let mut names: Vec<&str> = names.collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count > 250, "{count}");
    for name in names {
        let (first, rule) = find(name).expect(name);
        assert_eq!(find(first), Some((first, rule)));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        assert!(name.chars().all(is_plain), "{name}");
    }
}

#[test]
fn other_names_lead_to_the_first() {
    for (other, first) in [
        ("readwrite", "rw"),
        ("blocksize", "bs"),
        ("iomem", "mem"),
        ("timeout", "runtime"),
        ("wait_for_previous", "stonewall"),
        ("fill_fs", "fill_device"),
        ("fileoffset", "offset"),
    ] {
        assert_eq!(find(other).map(|(name, _)| name), Some(first));
    }
    assert_eq!(find("bs=blocksize"), None);
    assert_eq!(find(""), None);
    assert_eq!(find("BS"), None);
}

/// fio's output; None, with a message, if fio is missing or newer than the table.
fn fio(arguments: &[&str]) -> Option<String> {
    let output = Command::new("fio").args(arguments).output();
    let Ok(output) = output else {
        println!("skipped: fio is not installed");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_known_fio() -> bool {
    let Some(version) = fio(&["--version"]) else {
        return false;
    };
    let mut numbers = version.trim().trim_start_matches("fio-").split(['.', '-']);
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    let is_known =
        matches!((next(), next()), (Some(major), Some(minor)) if (major, minor) <= NEWEST);
    if !is_known {
        println!("skipped: {} is newer than the table", version.trim());
    }
    is_known
}

/// The names in fio's lists, which precede a colon.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    let before_colon = |line| str::split_once(line, ':').map(|(name, _)| name.trim());
    text.lines()
        .filter_map(before_colon)
        .filter(|name| !name.is_empty() && !name.contains(' '))
}

#[test]
fn every_option_of_the_installed_fio_is_decided() {
    if !is_known_fio() {
        return;
    }
    let mut texts = vec![fio(&["--cmdhelp=all"]).expect("fio")];
    let engines = ENGINES.iter();
    texts.extend(engines.filter_map(|name| fio(&[&format!("--enghelp={name}")])));
    let names: Vec<&str> = texts.iter().flat_map(|text| listed(text)).collect();
    assert!(names.len() > 150, "{names:?}");
    let undecided: Vec<&&str> = names.iter().filter(|name| find(name).is_none()).collect();
    assert!(undecided.is_empty(), "{undecided:?}");
}

#[test]
fn the_other_names_are_those_of_the_installed_fio() {
    if !is_known_fio() {
        return;
    }
    let mut confirmed = 0;
    for (first, other) in all().filter_map(|(names, _)| names.split_once('=')) {
        let text = fio(&[&format!("--cmdhelp={first}")]).expect("fio");
        let mut lines = text.lines().map(str::trim);
        let is_there = lines.any(|line| line.starts_with(&format!("{first}:")));
        // A later version may have added the alias.
        let alias = lines.find_map(|line| line.strip_prefix("alias: "));
        if let Some(alias) = alias.filter(|_| is_there) {
            assert_eq!(alias, other, "{first}");
            confirmed += 1;
        }
    }
    assert!(confirmed >= 20, "{confirmed}");
}

/// A directory with a target file, and one for fio to work in.
struct Bench {
    directory: tempfile::TempDir,
    target: PathBuf,
    work: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (target, work) = (
            directory.path().join("target"),
            directory.path().join("work"),
        );
        fs::write(&target, vec![0; 1 << 20]).unwrap();
        fs::create_dir(&work).unwrap();
        Bench {
            directory,
            target,
            work,
        }
    }

    /// Runs the jobs as a round would; None without fio.
    fn run(&self, text: &str) -> Option<Output> {
        let round = JobFile::parse("a.fio", text, &[])
            .unwrap()
            .for_round(&Window {
                targets: std::slice::from_ref(&self.target),
                ramp: Duration::ZERO,
                time: Duration::from_secs(1),
                lead: Duration::ZERO,
                layout: None,
            });
        // With compressed logs fio 3.33 may deadlock.
        for _ in 0..3 {
            fs::write(self.work.join("fio.fio"), &round).unwrap();
            let output = Command::new("timeout")
                .args(["--signal=KILL", "30", "fio"])
                .args(["--output=fio.json", "--output-format=json+", "--eta=never"])
                .arg("fio.fio")
                .current_dir(&self.work)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            if output.status.code() == Some(127) {
                println!("skipped: fio is not installed");
                return None;
            }
            if output.status.code().is_some_and(|code| code != 137) {
                return Some(output);
            }
            println!("fio did not end");
            fs::remove_dir_all(&self.work).unwrap();
            fs::create_dir(&self.work).unwrap();
        }
        panic!("fio does not end");
    }

    /// All files by path relative to the directory, with their sizes.
    fn files(&self) -> BTreeMap<String, u64> {
        let mut files = BTreeMap::new();
        let mut directories = vec![self.directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let below = path.strip_prefix(self.directory.path()).unwrap();
                    files.insert(text(below), fs::metadata(&path).unwrap().len());
                }
            }
        }
        files
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// All log files are in fio's working directory, whatever names a job gives them.
#[test]
fn all_that_fio_writes_is_in_its_directory() {
    let bench = Bench::new();
    let before = bench.files();
    let jobs = "[global]\nioengine=psync\nsize=512k\nrate_iops=200\nlog_avg_msec=100\nlog_hist_msec=100\nthread\n\
                [a b]\nrw=randwrite\nverify=md5\nverify_state_save=1\nwrite_bw_log\nwrite_lat_log\nwrite_iops_log\n\
                write_hist_log\n\
                [c.d]\nname=e-f\nrw=read\noffset=512k\nper_job_logs=0\nwrite_bw_log=bw.x\nwrite_lat_log=lat\n\
                write_iops_log=iops\nwrite_hist_log=hist\nwrite_iolog=trace\nlog_compression=64k\n\
                log_store_compressed=1\n";
    let Some(output) = bench.run(jobs) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let mut files = bench.files();
    for (name, bytes) in before {
        assert_eq!(files.remove(&name), Some(bytes), "{name}");
    }
    for name in ["a b_bw.1.log", "a b_clat_hist.1.log", "trace", "fio.json"] {
        assert!(files.contains_key(&format!("work/{name}")), "{files:?}");
    }
    assert!(files.len() >= 14, "{files:?}");
    assert!(
        files.keys().all(|name| name.starts_with("work/")),
        "{files:?}"
    );
}

/// fio writes blocks that fail verification to files named after the target.
#[test]
fn what_verification_finds_is_in_its_directory() {
    let bench = Bench::new();
    let job = "[a]\nrw=read\nbs=4k\nsize=8k\nverify=crc32c\nverify_dump=1\nverify_fatal=1\n";
    if bench.run(job).is_none() {
        return;
    }
    let mut files = bench.files();
    assert_eq!(files.remove("target"), Some(1 << 20));
    let is_dump = |name: &String| name.starts_with("work/target.");
    assert!(files.keys().any(is_dump), "{files:?}");
    assert!(
        files.keys().all(|name| name.starts_with("work/")),
        "{files:?}"
    );
}
