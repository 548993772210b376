//! Troubles while a scratch file is made or used.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::program::{Program, Started};
use crate::support::traces::within;
use crate::support::{run, unmount};
use crate::{ARMS, BINARY, MIB, TIMES, Volume, ab, slow_job};

const LONG: Duration = Duration::from_secs(60);

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    kill_process(pid, signal).expect("a process of ours");
}

/// A run of many rounds in a scratch file of 150 MiB.
fn start(volume: &Volume, program: &Program) -> Started {
    let name = volume.name();
    let how = slow_job(program, "randwrite");
    let place = ["--scratch-size", "150M", "--allow-mounted"];
    let rounds = ["--rounds", "40", "-o", "result"];
    program.start(&[&["run", &name], &ARMS[..], &how, &rounds, &place, &TIMES].concat())
}

/// Its scratch file.
fn file(volume: &Volume) -> Option<PathBuf> {
    let made = volume.files().into_iter();
    let mut ours = made.filter(|path| path.to_string_lossy().contains("/iosched-scratch-"));
    ours.next().map(|path| path.join("data"))
}

fn size(volume: &Volume) -> u64 {
    let metadata = file(volume).and_then(|path| fs::metadata(path).ok());
    metadata.map_or(0, |metadata| metadata.len())
}

fn until_it_is_half_written(run: &mut Started, volume: &Volume) {
    run.until(LONG, "a part of the file", || size(volume) > 0);
    send(run.id(), Signal::STOP);
    assert!(size(volume) < 150 * MIB, "it was too fast for this test");
}

fn done(program: &Program) -> usize {
    let bytes = fs::read(program.file("result")).unwrap_or_default();
    let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    result["rounds"].as_array().map_or(0, Vec::len)
}

fn until_it_is_in_use(run: &mut Started, program: &Program) {
    let more_than = done(program);
    run.until(LONG, "another round", || done(program) > more_than);
}

/// All that is free, by allocation alone.
fn fill(volume: &Volume) -> PathBuf {
    let path = volume.path().join("full");
    let file = fs::File::create(&path).expect("a file");
    let mut end = 0;
    for piece in [16 * MIB, MIB, 4096] {
        let flags = rustix::fs::FallocateFlags::empty();
        while rustix::fs::fallocate(&file, flags, end, piece).is_ok() {
            end += piece;
        }
    }
    path
}

#[test]
#[ignore = "root"]
fn a_disk_that_fills_up_while_the_file_is_made_ends_the_run() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let mut run = start(&volume, &program);
    until_it_is_half_written(&mut run, &volume);
    let full = fill(&volume);
    send(run.id(), Signal::CONT);
    let says = [
        "creating a scratch file of 150 MiB",
        "No space left on device",
        "free space",
    ];
    let pid = run.end().ends(1, &says).pid;
    fs::remove_file(full).expect("a file");
    assert_eq!(program.files(), ["slow.fio"], "nothing was measured");
    volume.ends_as_before(&program, pid);
}

#[test]
#[ignore = "root"]
fn ctrl_c_while_the_file_is_made_removes_it() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let mut run = start(&volume, &program);
    until_it_is_half_written(&mut run, &volume);
    send(run.id(), Signal::INT);
    send(run.id(), Signal::CONT);
    let pid = run.end().ends(130, &["interrupted by signal 2"]).pid;
    assert_eq!(program.files(), ["slow.fio"]);
    volume.ends_as_before(&program, pid);
}

#[test]
#[ignore = "root"]
fn a_killed_run_leaves_no_scratch_file() {
    for half_written in [true, false] {
        let (volume, program) = (Volume::new(), Program::new(BINARY));
        let mut run = start(&volume, &program);
        if half_written {
            until_it_is_half_written(&mut run, &volume);
        } else {
            until_it_is_in_use(&mut run, &program);
        }
        send(run.id(), Signal::KILL);
        let pid = run.end().pid;
        within(Duration::from_secs(10), "the guardian's work", || {
            volume.files().is_empty() && program.journals().is_empty()
        });
        volume.ends_as_before(&program, pid);
    }
}

#[test]
#[ignore = "root"]
fn a_killed_run_goes_on_in_a_file_at_the_same_place() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let name = volume.name();
    let how = slow_job(&program, "randwrite");
    let rounds = ["--rounds", "3", "-o", "result"];
    let place = ["--scratch-size", "20M", "--allow-mounted"];
    let mut killed =
        program.start(&[&["run", &name], &ARMS[..], &how, &rounds, &place, &TIMES].concat());
    until_it_is_in_use(&mut killed, &program);
    send(killed.id(), Signal::KILL);
    killed.end();
    within(Duration::from_secs(10), "the guardian's work", || {
        program.journals().is_empty()
    });
    let resume = ["run", "--resume", "result", "--allow-mounted"];
    let before = program.result("result");
    unmount(&name);
    let elsewhere = program.run(&resume);
    run("mount", &[&volume.disk.node(), &name]);
    elsewhere.ends(5, &["not part of", "has no mounted file system"]);
    assert_eq!(program.result("result"), before);
    let ended = program.run(&resume).ends(0, &["a scratch file of 20 MiB"]);
    let result = program.result("result");
    assert_eq!(result["status"], "complete");
    assert_eq!(result["workload"], before["workload"]);
    assert_eq!(crate::rounds(&result).len(), 6);
    volume.ends_as_before(&program, ended.pid);
}

/// fio would remove a file that is smaller than a job requires, and lay it out anew.
#[test]
#[ignore = "root"]
fn a_job_that_would_reach_beyond_the_file_stays_in_it() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let job = "[a]\nrw=randwrite\ndirect=1\nsize=10m\nnumjobs=2\noffset_increment=16m\n";
    fs::write(program.file("beyond.fio"), job).expect("a job file");
    let how = [
        "--job",
        "beyond.fio",
        "--scratch-size",
        "20M",
        "--rounds",
        "1",
    ];
    let ended = ab(
        &program,
        &volume.name(),
        &[&ARMS, &how, &TIMES, &["--allow-mounted"]],
    );
    let says = "size=10m in line 4 is more than the scratch file has: [a] uses 4 MiB; --scratch-size makes it larger";
    let pid = ended.ends(0, &[says]).pid;
    volume.ends_as_before(&program, pid);
}

/// Later rounds would be other rounds.
#[test]
#[ignore = "root"]
fn a_command_that_cuts_the_file_ends_the_run() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let (node, name) = (volume.disk.node(), volume.name());
    let place = ["--scratch", &name, "--scratch-size", "20M"];
    let cut = "truncate -s 5M $IOSCHED_SCRATCH/data; \
        dd if=$IOSCHED_DEVICE of=/dev/null bs=4k count=16 iflag=direct status=none";
    let command = ["--allow-mounted", "--", "sh", "-c", cut];
    let ended = ab(&program, &node, &[&ARMS, &place, &command]);
    let pid = ended.ends(1, &["from 20971520 to 5242880 bytes"]).pid;
    assert_eq!(crate::rounds(&program.result("result")).len(), 1);
    volume.ends_as_before(&program, pid);
}

/// A mount point may belong to the one whose data is there, who can give another thing the name of ours.
#[test]
#[ignore = "root"]
fn a_link_in_the_place_of_the_file_is_not_followed() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    chown(volume.path(), Some(65534), Some(65534)).expect("another owner");
    let victim = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file");
    victim.as_file().set_len(150 * MIB).expect("a size");
    let mut killed = start(&volume, &program);
    until_it_is_in_use(&mut killed, &program);
    let ours = file(&volume).expect("its file");
    let directory = ours.parent().expect("its directory");
    let away = volume.path().join("away");
    fs::rename(directory, &away).expect("a new name");
    fs::create_dir(directory).expect("another directory");
    symlink(victim.path(), &ours).expect("a link");
    for _ in 0..2 {
        until_it_is_in_use(&mut killed, &program);
    }
    fs::remove_dir_all(directory).expect("the other directory");
    fs::rename(away, directory).expect("the old name");
    send(killed.id(), Signal::INT);
    let pid = killed.end().ends(130, &[]).pid;
    let result = program.result("result");
    assert!(crate::rounds(&result).len() >= 3);
    assert!(
        crate::rounds(&result)
            .iter()
            .all(|round| round["problem"].is_null())
    );
    let content = fs::read(victim.path()).expect("the victim");
    assert!(content.iter().all(|&byte| byte == 0), "it was written");
    volume.ends_as_before(&program, pid);
}
