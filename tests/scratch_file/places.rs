//! Where a scratch file may not be made, and that nothing was touched then.

use std::fs;

use crate::support::program::Program;
use crate::support::{LoopDevice, run};
use crate::{ARMS, BINARY, TIMES, Volume, ab};

const WRITE: [&str; 3] = ["--workload", "randwrite", "--allow-mounted"];

#[test]
#[ignore = "root"]
fn a_place_that_is_not_on_the_disk_is_refused() {
    let (volume, other, program) = (Volume::new(), Volume::new(), Program::new(BINARY));
    let memory = tempfile::TempDir::new_in("/dev/shm").expect("a directory");
    let link = memory.path().join("link");
    std::os::unix::fs::symlink(other.path(), &link).expect("a link");
    let file = volume.path().join("data");
    let below = format!("name a directory below {}", volume.name());
    let not_on = format!("not part of {}", volume.disk.device.name);
    for (place, code, says) in [
        (memory.path(), 5, ["which is not on a disk", &below]),
        (&other.path(), 5, [&not_on, &below]),
        (&link, 5, [&not_on, &below]),
        ("/proc".as_ref(), 5, ["which is not on a disk", &below]),
        (
            "no/such/place".as_ref(),
            2,
            ["No such file or directory", "name an existing directory"],
        ),
        (
            &file,
            2,
            ["is not a directory", "name an existing directory"],
        ),
    ] {
        let place = ["--scratch", place.to_str().expect("UTF-8")];
        let ended = ab(
            &program,
            &volume.disk.node(),
            &[&ARMS, &WRITE, &TIMES, &place],
        );
        ended.ends(code, &says);
    }
    let unmounted = LoopDevice::in_memory(64 << 20);
    let place = ["--scratch", memory.path().to_str().expect("UTF-8")];
    let ended = ab(
        &program,
        &unmounted.node(),
        &[&ARMS, &WRITE, &TIMES, &place],
    );
    ended.ends(
        5,
        &[
            "has no mounted file system",
            "scratch:ssd",
            "--destroy-data",
        ],
    );
    assert!(program.files().is_empty());
    other.ends_as_before(&program, 0);
    volume.ends_as_before(&program, 0);
}

#[test]
#[ignore = "root"]
fn a_place_without_room_is_refused() {
    let (volume, program) = (Volume::of(64 << 20), Program::new(BINARY));
    let refused = |rest: &[&str], code, says: &[&str]| {
        let arguments = [&ARMS[..], &WRITE, &TIMES, rest];
        ab(&program, &volume.name(), &arguments).ends(code, says);
        assert!(program.files().is_empty() && volume.files().is_empty());
    };
    refused(&[], 5, &["too small for a scratch file", "at least 16 MiB"]);
    refused(
        &["--scratch-size", "1G"],
        5,
        &["of 1024 MiB does not fit", "a smaller --scratch-size"],
    );
    refused(&["--scratch-size", "15M"], 2, &["of 15 MiB is too small"]);
    run("mount", &["-o", "remount,ro", &volume.name()]);
    refused(
        &["--scratch-size", "16M"],
        5,
        &["is not writable: Read-only file system"],
    );
    volume.ends_as_before(&program, 0);
}

#[test]
#[ignore = "root"]
fn a_scratch_file_gives_no_other_consent() {
    let (volume, program) = (Volume::new(), Program::new(BINARY));
    let (node, name) = (volume.disk.node(), volume.name());
    let write = &WRITE[..2];
    let place = ["--scratch", &name];
    let refused = |device: &str, arguments: &[&[&str]], code, says: &[&str]| {
        let arguments = [&[&ARMS[..]], arguments].concat();
        ab(&program, device, &arguments).ends(code, says);
        assert!(program.files().is_empty() && volume.files().is_empty());
    };
    refused(&name, &[write], 5, &["is mounted on", "--allow-mounted"]);
    refused(
        &node,
        &[write, &place],
        5,
        &["is mounted on", "--allow-mounted"],
    );
    refused(
        &node,
        &[&WRITE],
        5,
        &["must not be written", "run it in a file: --scratch DIR"],
    );
    let destroy = ["--destroy-data"];
    refused(
        &node,
        &[write, &place, &destroy],
        2,
        &["cannot be used with"],
    );
    refused(&name, &[&WRITE, &destroy], 5, &["must not be written"]);
    refused(
        "scratch:ssd",
        &[write, &place],
        2,
        &["has no file system for a scratch file"],
    );
    let size = ["--scratch-size", "16M"];
    refused(
        &node,
        &[&WRITE, &size],
        2,
        &["without a scratch file", "--scratch DIR"],
    );
    let job = program.file("large.fio");
    let as_job = |text: &str, says: &[&str]| {
        fs::write(&job, text).expect("a job file");
        let how = ["--job", "large.fio", "--allow-mounted"];
        let ended = ab(&program, &name, &[&ARMS, &how, &TIMES]);
        ended.ends(5, says);
    };
    as_job(
        "[a]\nrw=write\noffset=10g\n",
        &["large:3: offset=10g reaches beyond the scratch file"],
    );
    as_job("[a]\nrw=randtrim\n", &["large:2: trims"]);
    fs::remove_file(job).expect("a job file");
    volume.ends_as_before(&program, 0);
}
