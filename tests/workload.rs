//! Workloads on a real kernel: real processes, control groups and a loop device of our own.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iosched_experiment::workload::command::CommandLine;
use iosched_experiment::workload::fio::{Fio, FioPart};
use iosched_experiment::workload::group_settings::GroupSettings;
use iosched_experiment::workload::job_file::JobFile;
use iosched_experiment::workload::{Execution, Running, Workload, catalogue};
use iosched_host::safety::journal::Journal;
use iosched_result::types::outcome::Outcome;

mod support;

use support::LoopDevice;

const BINARY: &str = support::under_test!("iosched-ab");

/// A loop device of our own; the guard puts its queue back, which outlives the binding.
struct Disk {
    node: PathBuf,
    device: LoopDevice,
}

impl Disk {
    fn new() -> Self {
        let device = LoopDevice::new(64 << 20);
        Disk {
            node: device.device.node(),
            device,
        }
    }

    fn reads(&self) -> u64 {
        self.device.device.io_stat().unwrap().reads
    }
}

/// Everything that a round needs besides a device.
struct Bench {
    journal: Journal,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench {
            journal: Journal::create().unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn round<'a>(&'a self, device_node: &'a PathBuf) -> Execution<'a> {
        Execution {
            device_nodes: std::slice::from_ref(device_node),
            arm: None,
            disks: &[],
            index: 7,
            block: 3,
            seed: 42,
            ramp: Duration::from_millis(300),
            time: Duration::from_secs(1),
            directory: self.directory.path(),
            scratch_file: None,
            journal: &self.journal,
            launcher: Path::new(BINARY),
        }
    }

    fn start(&self, workload: &mut dyn Workload, device_node: &PathBuf) -> Box<dyn Running> {
        workload.start(&self.round(device_node)).unwrap()
    }

    /// Runs to the end, and sees that nothing is left.
    fn run(&self, workload: &mut dyn Workload, device_node: &PathBuf) -> Outcome {
        let mut running = self.start(workload, device_node);
        let groups = paths(running.as_ref());
        let outcome = to_the_end(running.as_mut());
        assert_eq!(running.poll().unwrap().as_ref(), Some(&outcome));
        drop(running);
        self.assert_nothing_left(&groups);
        outcome
    }

    fn assert_nothing_left(&self, groups: &[PathBuf]) {
        for group in groups {
            assert!(!group.exists(), "{} is left", group.display());
        }
        assert!(
            !self.journal.path().exists(),
            "the journal still has entries"
        );
    }

    /// fio with a job file of these lines.
    fn fio(&self, job: &str) -> Fio {
        let file = self.directory.path().join("user.fio");
        fs::write(&file, job).unwrap();
        Fio::from_job_file(&file, &[], true).unwrap()
    }
}

fn to_the_end(running: &mut dyn Running) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        assert!(Instant::now() < deadline, "the workload does not end");
        if let Some(outcome) = running.poll().unwrap() {
            return outcome;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn paths(running: &dyn Running) -> Vec<PathBuf> {
    running
        .cgroups()
        .into_iter()
        .map(|group| group.path)
        .collect()
}

fn processes(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn within(seconds: u64, what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !condition() {
        assert!(Instant::now() < deadline, "not within {seconds} s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn shell(script: &str, limit: Option<Duration>) -> CommandLine {
    let argv: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into()];
    CommandLine::new(argv, false, limit).unwrap()
}

/// The group's own count of reads: `io.stat` of version 2, bfq's count of version 1.
fn group_reads(group: &Path) -> Option<u64> {
    if let Ok(text) = fs::read_to_string(group.join("io.stat")) {
        let words = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix("rios="));
        return Some(words.map_or(0, |count| count.parse().unwrap()));
    }
    let text = fs::read_to_string(group.join("blkio.bfq.io_serviced")).ok()?;
    let line = text.lines().find_map(|line| line.split_once(" Read "));
    Some(line.map_or(0, |(_, count)| count.parse().unwrap()))
}

/// Slow enough that at most moments nothing is in flight; then the group must have counted every read of the device.
#[test]
#[ignore = "root"]
fn fio_is_in_its_group_from_the_first_io() {
    let (disk, bench) = (Disk::new(), Bench::new());
    if fs::write(disk.device.device.sysfs("queue/scheduler"), "bfq").is_err() {
        println!("without bfq only version 2 counts by group");
    }
    let before = disk.reads();
    let mut fio = bench.fio("[slow]\nrw=randread\nbs=4k\ndirect=1\nrate_iops=50\n");
    let mut running = bench.start(&mut fio, &disk.node);
    let group = running.cgroups().remove(0);
    if group_reads(&group.path).is_none() {
        println!("skipped: this kernel counts no I/O by group");
        return;
    }
    within(5, "all reads of the device counted by the group", || {
        let device = disk.reads() - before;
        device >= 10 && group_reads(&group.path) == Some(device)
    });
    running.stop();
}

#[test]
#[ignore = "root"]
fn a_dropped_fio_leaves_no_process_and_no_group() {
    let (disk, bench) = (Disk::new(), Bench::new());
    // Without `thread`, fio forks a process per job.
    let mut fio = bench.fio("[forked]\nrw=randread\nbs=4k\ndirect=1\nnumjobs=3\n");
    let running = bench.start(&mut fio, &disk.node);
    let groups = paths(running.as_ref());
    within(5, "fio and its three jobs", || {
        processes(&groups[0]).len() == 4
    });
    let pids = processes(&groups[0]);
    drop(running);
    assert!(!pids.iter().any(|&pid| is_alive(pid)), "{pids:?}");
    bench.assert_nothing_left(&groups);
}

#[test]
#[ignore = "root"]
fn the_whole_catalogue_counts() {
    let disk = Disk::new();
    for entry in catalogue::list() {
        let outcome = Bench::new().run(&mut catalogue::find(entry.name).unwrap(), &disk.node);
        assert_eq!(outcome.problem, None, "{}", entry.name);
        assert_eq!(outcome.exit_code, Some(0), "{}", entry.name);
        assert!(outcome.user_cpu_ns.unwrap() + outcome.system_cpu_ns.unwrap() > 1_000_000);
        assert!(
            (1_300_000_000..20_000_000_000).contains(&outcome.elapsed_ns),
            "{outcome:?}"
        );
    }
}

#[test]
#[ignore = "root"]
fn probe_and_hog_both_work_each_in_its_group() {
    let (disk, bench) = (Disk::new(), Bench::new());
    let mut workload = catalogue::find("probe-hog").unwrap();
    let running = bench.start(&mut workload, &disk.node);
    let groups = running.cgroups();
    assert_eq!(groups.len(), 2);
    assert_ne!(groups[0].id, groups[1].id);
    for group in &groups {
        assert!(
            !processes(&group.path).is_empty(),
            "{} is empty",
            group.label
        );
    }
    drop(running);
    // Each round has a directory of its own.
    let outcome = Bench::new().run(&mut workload, &disk.node);
    assert_eq!(outcome.problem, None);
    let names: Vec<&str> = outcome.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(
        names,
        ["probe"],
        "the hog is company: only the probe is measured by fio"
    );
    let probe = outcome.jobs[0].read.as_ref().unwrap();
    assert!(probe.ios > 0);
    let raw = outcome.raw.as_ref().unwrap().value();
    let hog = &raw[0];
    assert_eq!(hog["label"], "hog");
    assert!(hog["fio"]["jobs"][0]["write"]["total_ios"].as_u64() > Some(0));
    assert!(probe.clat.as_ref().unwrap().quantile_ns(0.5).is_some());
}

#[test]
#[ignore = "root"]
fn the_same_seed_repeats_the_same_offsets() {
    let disk = Disk::new();
    let offsets = || {
        let bench = Bench::new();
        let mut fio = bench.fio("[a]\nrw=randread\nbs=4k\ndirect=1\nrandrepeat=0\nnorandommap\nnumber_ios=50\nwrite_iolog=trace\n");
        bench.run(&mut fio, &disk.node);
        let trace = fs::read_to_string(bench.directory.path().join("trace")).unwrap();
        let reads = trace.lines().filter_map(|line| line.split_once(" read "));
        reads
            .map(|(_, offset)| offset.to_owned())
            .collect::<Vec<_>>()
    };
    let first = offsets();
    assert!(first.len() >= 50);
    assert_eq!(first[..50], offsets()[..50]);
}

#[test]
#[ignore = "root"]
fn a_mistyped_device_is_refused_and_makes_no_file() {
    let bench = Bench::new();
    for node in ["/dev/iosched-no-such-device", "/dev/null", "/tmp"] {
        let path = PathBuf::from(node);
        let round = bench.round(&path);
        // With a size, fio by itself would make a file of it and call that a success.
        let Err(error) = bench.fio("[a]\nrw=write\nsize=1m\n").start(&round) else {
            panic!("{node} was accepted");
        };
        assert!(format!("{error:#}").contains(node), "{error:#}");
    }
    assert!(!Path::new("/dev/iosched-no-such-device").exists());
    bench.assert_nothing_left(&[]);
}

/// It would name files and a control group elsewhere, or those of another process.
#[test]
#[ignore = "root"]
fn a_label_that_is_not_plain_or_not_its_own_starts_nothing() {
    let (disk, bench) = (Disk::new(), Bench::new());
    let directory = bench.directory.path().join("round");
    fs::create_dir(&directory).unwrap();
    let round = Execution {
        directory: &directory,
        ..bench.round(&disk.node)
    };
    let part = |label: &str| FioPart {
        label: label.to_owned(),
        group: GroupSettings::default(),
        job: JobFile::parse("a", "[a]\nrw=read\n", &[]).unwrap(),
        is_background: false,
    };
    for (labels, says) in [
        (&["../elsewhere"][..], "must be plain"),
        (&["/elsewhere"], "must be plain"),
        (&[".."], "must be plain"),
        (&["twice", "twice"], "File exists"),
    ] {
        let mut fio = Fio::new("x", labels.iter().map(|label| part(label)).collect());
        let Err(error) = fio.start(&round) else {
            panic!("{labels:?} were accepted");
        };
        assert!(format!("{error:#}").contains(says), "{error:#}");
    }
    let mut files: Vec<_> = fs::read_dir(bench.directory.path()).unwrap().collect();
    assert_eq!(files.pop().unwrap().unwrap().path(), directory);
    assert!(files.is_empty(), "{files:?}");
    bench.assert_nothing_left(&[]);
}

/// Found steady after a second, fio ends by itself with code 0.
#[test]
#[ignore = "root"]
fn a_job_that_ends_early_does_not_count() {
    let (disk, bench) = (Disk::new(), Bench::new());
    let steady = "steadystate=iops:100%\nsteadystate_duration=2\n";
    let job = format!("[short]\nrw=randread\nbs=4k\ndirect=1\n{steady}");
    let round = Execution {
        time: Duration::from_secs(20),
        ..bench.round(&disk.node)
    };
    let outcome = to_the_end(bench.fio(&job).start(&round).unwrap().as_mut());
    assert_eq!(outcome.exit_code, Some(0));
    let problem = outcome.problem.unwrap();
    assert!(problem.contains("instead of 20000 ms"), "{problem}");
}

#[test]
#[ignore = "root"]
fn a_failing_command_is_a_problem_with_its_last_words() {
    let script = "echo \"$IOSCHED_DEVICE $IOSCHED_ARM $IOSCHED_BLOCK $IOSCHED_ROUND $IOSCHED_SEED\" >&2; exit 3";
    let (bench, node, arm) = (Bench::new(), "/dev/x".into(), "fast=none".parse().unwrap());
    let round = Execution {
        arm: Some(&arm),
        ..bench.round(&node)
    };
    let outcome = to_the_end(shell(script, None).start(&round).unwrap().as_mut());
    assert_eq!(outcome.exit_code, Some(3));
    assert_eq!(
        outcome.problem.as_deref(),
        Some("sh exited with code 3; its output: /dev/x fast 3 7 42")
    );
}

#[test]
#[ignore = "root"]
fn of_a_command_that_says_too_much_the_end_is_told() {
    let script = "yes | head -c 20000000 >&2; printf '\\nthe end\\n' >&2; exit 3";
    let outcome = Bench::new().run(&mut shell(script, None), &"/dev/x".into());
    let problem = outcome.problem.unwrap();
    assert!(
        problem.contains("its output: [...] y | y | and"),
        "{problem}"
    );
    assert!(problem.len() < 200, "{problem}");
}

#[test]
#[ignore = "root"]
fn a_command_is_timed_by_its_own_end_and_what_it_left_is_ended() {
    let mut command = shell("sleep 600 & echo $!; sleep 0.3", None);
    let bench = Bench::new();
    let outcome = bench.run(&mut command, &"/dev/x".into());
    assert_eq!(outcome.problem, None);
    assert!(
        (300_000_000..2_000_000_000).contains(&outcome.elapsed_ns),
        "{}",
        outcome.elapsed_ns
    );
    assert_eq!(outcome.raw.unwrap().value()["processes_ended_after_it"], 1);
    let stdout = fs::read_to_string(bench.directory.path().join("command.stdout")).unwrap();
    assert!(!is_alive(stdout.trim().parse().unwrap()));
}

#[test]
#[ignore = "root"]
fn a_command_beyond_its_limit_is_ended() {
    let limit = Some(Duration::from_millis(200));
    let outcome = Bench::new().run(&mut shell("sleep 600", limit), &"/dev/x".into());
    assert_eq!(
        outcome.problem.as_deref(),
        Some("sh did not end within 0.2 s and was killed")
    );
}

#[test]
#[ignore = "root"]
fn a_program_that_is_not_there_is_an_error_of_the_start() {
    let bench = Bench::new();
    let mut command =
        CommandLine::new(vec!["iosched-no-such-program".into()], false, None).unwrap();
    let Err(error) = command.start(&bench.round(&"/dev/x".into())) else {
        panic!("it was started");
    };
    let text = error.to_string();
    assert!(
        text.contains("cannot run iosched-no-such-program: No such file"),
        "{text}"
    );
    bench.assert_nothing_left(&[]);
}

/// Kills a process that runs fio; sees that its workload ends, and gives the number of its processes.
fn kill_a_charge(disk: &Disk, guarded: bool) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report");
    let mut command = Command::new(support::helper());
    command
        .arg("charge")
        .args([&disk.node, &report])
        .arg(BINARY)
        .env("IOSCHED_STATE_DIR", directory.path())
        .env("TMPDIR", directory.path())
        .stdout(Stdio::null());
    if guarded {
        command.arg("guarded");
    }
    let mut charge = command.spawn().unwrap();
    within(15, "the charge's report", || report.exists());
    let group = PathBuf::from(fs::read_to_string(&report).unwrap());
    let pids = processes(&group);
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{pids:?}");
    charge.kill().unwrap();
    assert_eq!(charge.wait().unwrap().signal(), Some(9));
    within(15, "the end of all processes of the killed parent", || {
        !pids.iter().any(|&pid| is_alive(pid))
    });
    let journals = || {
        let entries = fs::read_dir(directory.path().join("journal")).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    if !guarded {
        let errors = iosched_host::safety::journal::restore_file(&journals()[0]).unwrap();
        assert!(errors.is_empty(), "{errors:?}");
    }
    within(15, "an undone journal", || journals().is_empty());
    assert!(!group.exists());
    pids.len()
}

#[test]
#[ignore = "root"]
fn when_the_parent_is_killed_the_guardian_ends_all_that_fio_forked() {
    assert_eq!(kill_a_charge(&Disk::new(), true), 3);
}

#[test]
#[ignore = "root"]
fn when_the_parent_is_killed_the_kernel_ends_a_fio_of_threads_even_without_a_guardian() {
    assert_eq!(kill_a_charge(&Disk::new(), false), 1);
}

/// One that does nothing at all, as on a device that does not answer.
#[test]
#[ignore = "root"]
fn a_hanging_fio_is_ended_and_said() {
    let (disk, bench) = (Disk::new(), Bench::new());
    let program = bench.directory.path().join("hanging");
    fs::write(
        &program,
        "#!/bin/sh\ntrap '' INT TERM\nsleep 600 & sleep 600\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut fio = bench
        .fio("[a]\nrw=randread\nbs=4k\n")
        .with_program(&program)
        .with_patience(Duration::from_millis(200));
    let outcome = bench.run(&mut fio, &disk.node);
    let problem = outcome.problem.unwrap();
    assert!(
        problem.contains("fio did not end within") && problem.contains("was killed"),
        "{problem}"
    );
}

#[test]
#[ignore = "root"]
fn a_killed_fio_is_a_problem_of_its_round() {
    let (disk, bench) = (Disk::new(), Bench::new());
    let mut fio = bench.fio("[a]\nrw=randread\nbs=4k\ndirect=1\nthread\n");
    let mut running = bench.start(&mut fio, &disk.node);
    let groups = paths(running.as_ref());
    within(5, "fio", || processes(&groups[0]).len() == 1);
    let pid = processes(&groups[0])[0].to_string();
    support::run("kill", &["-9", &pid]);
    let problem = to_the_end(running.as_mut()).problem.unwrap();
    assert!(problem.contains("killed by signal 9"), "{problem}");
    drop(running);
    bench.assert_nothing_left(&groups);
}
