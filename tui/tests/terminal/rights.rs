//! The capabilities that the terminal UI keeps: enough to switch, export and restore, and no more.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::pty::Terminal;
use crate::support::LoopDevice;
use crate::support::program::Program;
use crate::support::traces::children_of;
use crate::{
    BINARY, Load, SIZE_BYTES, disk_of, eventually, flip, is_killed_and_all_is_back, started, state,
};

const NOBODY: u32 = 65534;
/// Numbers from linux/capability.h.
const DAC_OVERRIDE: u64 = 1 << 1;
const SYS_ADMIN: u64 = 1 << 21;
const SYS_NICE: u64 = 1 << 23;
const SYS_RESOURCE: u64 = 1 << 24;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;
const SWITCHING: u64 = BPF | SYS_RESOURCE | DAC_OVERRIDE;

fn of_the_hardware_depth() -> u64 {
    let is_mounted = Path::new("/sys/kernel/debug/block").exists();
    if is_mounted { 0 } else { SYS_ADMIN }
}

/// Root in a container may lack some capabilities.
fn of_those_that_we_have(rights: u64) -> u64 {
    rights & permitted(Path::new("/proc/self/status")).0
}

/// The capabilities that a thread or process may use, and its no_new_privs.
fn permitted(status: &Path) -> (u64, bool) {
    let text = fs::read_to_string(status).unwrap_or_default();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let permitted = field("CapPrm:").map_or(0, |text| {
        u64::from_str_radix(text.trim(), 16).expect("a number")
    });
    (permitted, field("NoNewPrivs:").map(str::trim) == Some("1"))
}

/// By thread name.
fn rights(pid: u32) -> BTreeMap<u32, u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    let rights = threads.flatten().map(|thread| {
        let number = thread.file_name().to_string_lossy().parse();
        let (permitted, is_final) = permitted(&thread.path().join("status"));
        assert!(is_final, "no_new_privs must be set");
        (number.expect("a number"), permitted)
    });
    rights.collect()
}

#[test]
#[ignore = "root"]
fn the_rights_that_are_kept_are_enough() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    // As after sudo: another user's directory, closed to others.
    let directory = program.directory();
    chown(directory, Some(NOBODY), Some(NOBODY)).expect("its owner");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).expect("its mode");
    let load = Load::on(&disk);
    let mut terminal = started(&program, &disk, (120, 40));
    let switching = of_those_that_we_have(SWITCHING | of_the_hardware_depth());
    let found = rights(terminal.id());
    println!("{found:x?}");
    assert_eq!(found[&terminal.id()], DAC_OVERRIDE, "the drawing thread");
    assert!(found.values().any(|&rights| rights == switching));
    assert!(
        found.values().all(|rights| rights & !switching == 0),
        "{found:x?}"
    );

    terminal.keys("3");
    terminal.until("did I/O");
    terminal.keys("x");
    terminal.until("/iosched-processes-");
    // Not below what another user owns, and so where it runs.
    assert_eq!(program.files().len(), 1);

    flip(&mut terminal, &disk);
    drop(load);
    let [guardian] = children_of(terminal.id())[..] else {
        panic!("one guardian: {:?}", children_of(terminal.id()));
    };
    let of_guardian = Path::new("/proc").join(guardian.to_string());
    assert_eq!(permitted(&of_guardian.join("status")), (switching, true));
    let spared = fs::read_to_string(of_guardian.join("oom_score_adj")).expect("a number");
    if switching & SYS_RESOURCE == 0 {
        println!("skipped: the guardian's being spared: root has no CAP_SYS_RESOURCE here");
    } else {
        assert_eq!(spared.trim(), "-1000");
    }
    is_killed_and_all_is_back(terminal, &program, &disk, &before);
}

/// `the_demo_brings_its_disk_and_leaves_nothing` checks that everything is removed.
#[test]
#[ignore = "root"]
fn the_demo_keeps_what_makes_and_removes_a_disk() {
    let program = Program::new(BINARY);
    let mut terminal = Terminal::start(&program, BINARY, &["--demo"], (80, 24));
    terminal.until_screen("probe and hog", |screen| {
        screen.contains(" probe ") && screen.contains(" hog ")
    });
    assert!(
        !terminal.screen().contains("on memory"),
        "{}",
        terminal.screen()
    );
    let backing = format!(
        "/sys/block/{}/loop/backing_file",
        disk_of(&terminal.screen())
    );
    let scratch = SYS_ADMIN | SYS_NICE | SYS_RESOURCE;
    let drawing = of_those_that_we_have(DAC_OVERRIDE | scratch);
    eventually("the drawing thread gave up the rest", || {
        rights(terminal.id())[&terminal.id()] == drawing
    });
    let any = of_those_that_we_have(SWITCHING | PERFMON | scratch);
    let found = rights(terminal.id());
    assert!(
        found.values().all(|rights| rights & !any == 0),
        "{found:x?}"
    );
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
    eventually("all of it is gone", || {
        !Path::new(&backing).exists() && program.journals().is_empty()
    });
}
