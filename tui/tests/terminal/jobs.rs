//! The terminal itself: suspended and resumed, drawn over, and a disk that is taken away meanwhile.

use std::fs::File;
use std::process::Command;

use tempfile::TempDir;

use super::pty::Terminal;
use super::support::program::Program;
use super::support::{LoopDevice, run};
use super::{BINARY, LEAVES_SCREEN, Load, SIZE_BYTES, is_for_a_shell};

/// A loop device that the test itself takes away.
struct Loose(String, #[allow(dead_code)] TempDir);

impl Loose {
    fn at(node: &str) -> Self {
        let directory = TempDir::new_in("/dev/shm").expect("a directory");
        let path = directory.path().join("disk.img");
        let file = File::create(&path).expect("a file");
        file.set_len(SIZE_BYTES).expect("its size");
        run("losetup", &[node, path.to_str().expect("UTF-8")]);
        Loose(node.to_owned(), directory)
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        // It may be detached.
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

#[test]
#[ignore = "root"]
fn a_disk_that_is_taken_away_is_gone() {
    // Others take the lowest free number.
    let node = format!("/dev/loop{}", 200 + std::process::id() % 50);
    let (disk, program) = (Loose::at(&node), Program::new(BINARY));
    let mut terminal = Terminal::start(&program, BINARY, &[&disk.0, "-i", "0.25"], (80, 24));
    terminal.until("reads");
    drop(disk);
    terminal.until("the disk is GONE");
    terminal.keys("F");
    terminal.until("was removed");
    // What comes back under its name is measured, although the user named the disks.
    let back = Loose::at(&node);
    terminal.until("is there again");
    let _load = Load::at(&back.0);
    terminal.keys("3");
    terminal.until(&std::process::id().to_string());
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
}

/// Under a shell with job control: without one the kernel would not stop it.
#[test]
#[ignore = "root"]
fn it_is_suspended_and_comes_back() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let _load = Load::on(&disk);
    let script = format!(
        "set -m; {BINARY} {} -i 0.25; echo the-shell-is-here; read line; fg",
        disk.node()
    );
    let mut terminal = Terminal::start(&program, "bash", &["-c", &script], (80, 24));
    terminal.until("scheduler none");
    let screen = terminal.other_side();
    assert!(!is_for_a_shell(&screen), "raw");
    terminal.keys("\u{1a}");
    terminal.until("the-shell-is-here");
    assert!(is_for_a_shell(&screen));
    assert!(terminal.written().contains(LEAVES_SCREEN));
    terminal.keys("\r");
    terminal.until("scheduler none");
    terminal.until("reads");
    assert!(!is_for_a_shell(&screen), "raw again");
    // A screen that another program has drawn over is drawn again.
    terminal.clear();
    terminal.keys("\u{c}");
    terminal.until("scheduler none");
    terminal.until("6 Heatmap");
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
}
