//! The processes that tests kill. An example and not a test: `cargo test` builds it, and nobody counts it as passed.
//!
//!     test_helper hold MODEL[*N][+FS]                     holds a scratch device and reads from it, without end
//!     test_helper panic STAGE DEVICE LAUNCHER             compares two arms on a device, and panics in a stage of that
//!     test_helper charge DEVICE REPORT LAUNCHER [guarded] runs fio, and writes to a file which control group it is in

#[path = "bug.rs"]
mod bug;
#[path = "direct.rs"]
#[allow(dead_code)] // the tests use all of it
mod direct;

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use direct::{Aligned, BLOCK};
use iosched_experiment::workload::fio::Fio;
use iosched_experiment::workload::{Execution, Workload};
use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::spec::DiskSpec;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["panic", stage, device, launcher] => return bug::run(stage, device, launcher.as_ref()),
        ["hold", spec] => hold(spec),
        ["charge", device, report, launcher, ref guarded @ ..] => {
            charge(
                device.into(),
                report.as_ref(),
                launcher.as_ref(),
                !guarded.is_empty(),
            );
        }
        _ => panic!("see tests/support/helper.rs"),
    }
    ExitCode::SUCCESS
}

fn hold(spec: &str) {
    let journal = Journal::create().expect("a journal");
    let spec: DiskSpec = spec.parse().expect("a disk");
    let scratch = Scratch::create(spec, 64 << 20, &journal).expect("a scratch device");
    println!("{}", scratch.device_name());
    std::io::stdout().flush().expect("stdout");
    let device = direct::readable(Path::new("/dev").join(scratch.device_name()));
    let mut memory = Aligned::new(BLOCK);
    // Busy with its own device, so that it is in uninterruptible sleep most of the time.
    for number in (0..4096).cycle() {
        let block = memory.bytes(BLOCK);
        device
            .read_exact_at(block, number * BLOCK as u64)
            .expect("a block");
    }
}

fn charge(device: PathBuf, report: &Path, launcher: &Path, guarded: bool) {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = Journal::create().expect("a journal");
    let _guardian = guarded
        .then(|| iosched_host::safety::guardian::start(launcher, &journal).expect("a guardian"));
    // Without a guardian the kernel ends the process that was started, not those that it has forked.
    let (thread, whole) = if guarded { ("", 3) } else { ("thread\n", 1) };
    let job = directory.path().join("user.fio");
    let text = format!("[a]\nrw=randread\nbs=4k\ndirect=1\nnumjobs=2\n{thread}");
    std::fs::write(&job, text).expect("a job file");
    let mut fio = Fio::from_job_file(&job, &[], true).expect("a job");
    let round = Execution {
        device_nodes: &[device],
        arm: None,
        disks: &[],
        index: 7,
        block: 3,
        seed: 42,
        ramp: Duration::from_millis(300),
        time: Duration::from_secs(60),
        directory: directory.path(),
        scratch_file: None,
        journal: &journal,
        launcher,
    };
    let running = fio.start(&round).expect("fio");
    let group = running.cgroups().remove(0).path;
    let deadline = Instant::now() + Duration::from_secs(5);
    while processes(&group) != whole {
        assert!(Instant::now() < deadline, "not all processes of fio");
        std::thread::sleep(Duration::from_millis(10));
    }
    iosched_files::output::write_whole(report, group.as_os_str().as_encoded_bytes())
        .expect("a report");
    std::thread::sleep(Duration::from_secs(50));
}

fn processes(group: &Path) -> usize {
    let text = std::fs::read_to_string(group.join("cgroup.procs"));
    text.map_or(0, |text| text.lines().count())
}
