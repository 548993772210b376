//! Bytes as a terminal sends them: the mouse, pasted text, a storm of resizes; and disks that are plugged in.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::pty::Terminal;
use super::support::LoopDevice;
use super::support::program::Program;
use super::{BINARY, ENTER, Load, SIZE_BYTES, state};

const SIZE: (u16, u16) = (120, 40);

/// Where a text is on the screen, from 1 on, as terminals count. The lowest: titles name what is below them.
#[track_caller]
fn place(terminal: &Terminal, text: &str) -> (usize, usize) {
    let screen = terminal.screen();
    let lines: Vec<(usize, &str)> = screen.lines().enumerate().collect();
    let found = lines.iter().rev().find_map(|&(row, line)| {
        let at = line.find(text)?;
        Some((line[..at].chars().count() + 1, row + 1))
    });
    found.unwrap_or_else(|| panic!("no {text:?} on\n{screen}"))
}

/// Presses and releases the left button, in the form of SGR.
fn click(terminal: &mut Terminal, text: &str) {
    let (column, row) = place(terminal, text);
    terminal.keys(&format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"));
}

/// From Disks to the overview of one: the first click chooses, the second one opens. Other tests add disks, so that the
/// row may have moved meanwhile.
fn open_disk(terminal: &mut Terminal, name: &str) {
    for _ in 0..5 {
        let screen = terminal.screen();
        let row = format!("{name} ");
        let is_row = |line: &str| line.trim_start().starts_with(&row);
        let mut lines = screen.lines().enumerate().skip(3);
        let found = lines.find(|(_, line)| is_row(line));
        let at = found
            .unwrap_or_else(|| panic!("no row {name} on\n{screen}"))
            .0
            + 1;
        for _ in 0..2 {
            terminal.keys(&format!("\x1b[<0;3;{at}M\x1b[<0;3;{at}m"));
        }
        terminal.until("of an I/O's time is queue wait");
        if terminal.screen().contains(&format!("{name} (")) {
            return;
        }
        terminal.keys("0");
        terminal.until("SCHEDULER");
    }
    panic!("{name} was not opened:\n{}", terminal.screen());
}

#[test]
#[ignore = "root"]
fn a_mouse_goes_where_it_points() {
    let disks = [(); 2].map(|()| LoopDevice::in_memory(SIZE_BYTES));
    let program = Program::new(BINARY);
    let _load = Load::on(&disks[1]);
    let nodes = disks.each_ref().map(LoopDevice::node);
    let arguments = [&*nodes[0], &nodes[1], "-i", "0.25"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, SIZE);
    terminal.until("reads");
    click(&mut terminal, "0 Disks");
    terminal.until("2 disks");
    open_disk(&mut terminal, nodes[1].trim_start_matches("/dev/"));
    terminal.until("(2 of 2, d)");
    click(&mut terminal, "3 Processes");
    terminal.until("sorted by IOPS");
    click(&mut terminal, "wait p50");
    terminal.until("sorted by wait p50");
    click(&mut terminal, "wait p50");
    terminal.until("sorted by wait p50, reversed");
    // The wheel scrolls the help page.
    click(&mut terminal, "? Help");
    terminal.until("Disks: all of them");
    terminal.keys(&"\x1b[<65;10;10M".repeat(8));
    terminal.until_screen("another part", |screen| {
        !screen.contains("Disks: all of them")
    });
    // Nowhere, and far outside.
    terminal.keys("\x1b[<0;119;39M\x1b[<0;9999;9999M\x1b[<64;1;1M");
    terminal.keys("3");
    terminal.until("sorted by");
    // Pasted text is no key: neither q nor the line break.
    terminal.keys("\x1b[200~q\n\x1b[201~/");
    terminal.until("filter: _");
    terminal.keys("\x1b[200~no such\n q\x1b[201~");
    terminal.until("filter: no such q_");
    terminal.keys(ENTER);
    terminal.until("no row of this interval matches");
    for step in 0..300u16 {
        terminal.resize((20 + step * 37 % 200, 3 + step * 17 % 60));
    }
    terminal.resize(SIZE);
    terminal.until("no row of this interval matches");
    terminal.keys("S");
    terminal.until("/iosched-processes-");
    terminal.keys("y");
    terminal.until("clipboard");
    terminal.keys("q");
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    let ends = ["\x1b[?1006l", "\x1b[?1000l", "\x1b[?2004l"];
    assert!(
        ends.iter().all(|end| written.contains(end)),
        "the mouse is left to the shell"
    );
    assert!(written.contains("\x1b]52;c;"), "copied");
    let picture = program.export("iosched-processes-").expect("a picture");
    let directory = std::fs::metadata(program.file("iosched")).expect("the directory");
    assert_eq!(directory.mode() & 0o777, 0o700, "for this user alone");
    let svg = std::fs::read_to_string(picture).expect("the picture");
    assert!(
        svg.starts_with("<svg") && svg.contains(">3 Processes"),
        "{svg}"
    );
}

/// A terminal may not say what is pasted: `f` would choose another scheduler, and the end of the line confirm it.
#[test]
#[ignore = "root"]
fn pasted_lines_neither_switch_nor_quit() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    disk.set("scheduler", "none");
    let before = state(&disk);
    let mut terminal = Terminal::start(&program, BINARY, &[&*disk.node()], SIZE);
    terminal.until("reads");
    for line in ["df -h\r", "fsck -a\r", "vim conf\r", "quit\rF\r"] {
        terminal.keys(line);
        terminal.until("keys came at once");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(state(&disk), before, "{line:?}");
        // Another message, which no other line leaves.
        terminal.keys("t");
        terminal.until("theme: ");
    }
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
#[ignore = "root"]
fn without_a_mouse_the_terminal_keeps_it() {
    let (disk, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let arguments = [&*disk.node(), "--no-mouse"];
    let mut terminal = Terminal::start(&program, BINARY, &arguments, SIZE);
    terminal.until("reads");
    terminal.keys("q");
    let (status, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    assert!(!written.contains("\x1b[?1000h"));
}

/// Nothing is switched here, so that all disks of the machine may be watched.
#[test]
#[ignore = "root"]
fn a_disk_that_is_plugged_in_is_measured() {
    let (first, program) = (LoopDevice::in_memory(SIZE_BYTES), Program::new(BINARY));
    let mut terminal = Terminal::start(&program, BINARY, &["-i", "0.5"], (120, 60));
    terminal.until("0 Disks");
    terminal.keys("0");
    terminal.until("SCHEDULER");
    let second = LoopDevice::in_memory(SIZE_BYTES);
    let name = |disk: &LoopDevice| disk.node().trim_start_matches("/dev/").to_owned();
    let has = |screen: &str, disk: &LoopDevice, end: &str| {
        let row = format!("{} ", name(disk));
        let mut rows = screen.lines().skip(3).map(str::trim);
        rows.any(|line| line.starts_with(&row) && line.ends_with(end))
    };
    terminal.until_screen("the first disk", |screen| has(screen, &first, ""));
    terminal.until_screen("the new disk", |screen| has(screen, &second, "new"));
    // It is measured like the others.
    let _load = Load::on(&second);
    open_disk(&mut terminal, &name(&second));
    terminal.keys("3");
    terminal.until(&std::process::id().to_string());
    // It was not there before, also in the history.
    terminal.keys(" ");
    terminal.until("FROZEN");
    terminal.keys("[");
    terminal.until("intervals back");
    terminal.keys(" 1");
    terminal.until("of an I/O's time is queue wait");
    terminal.keys("q");
    assert_eq!(terminal.end().0.code(), Some(0));
}
