//! Runs a program on its own terminal: sends keys, reads the screen, waits for its end.
#![allow(dead_code)] // the tests and the bench use different parts

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::program::Program;

const PATIENCE: Duration = Duration::from_secs(40);

pub struct Terminal {
    child: Child,
    /// The path of the program's side.
    name: String,
    master: Option<File>,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    /// `setsid --ctty` makes this the program's controlling terminal; then it executes the program under the same
    /// PID.
    pub fn start(
        program: &Program,
        binary: &str,
        arguments: &[&str],
        (columns, rows): (u16, u16),
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        tcsetwinsize(&master, window(columns, rows)).expect("its size");
        let name = ptsname(&master, Vec::new())
            .expect("its name")
            .into_string()
            .expect("UTF-8");
        let slave = || {
            File::options()
                .read(true)
                .write(true)
                .open(&name)
                .expect("its other side")
        };
        let mut all = vec!["--ctty", binary];
        all.extend(arguments);
        let child = program
            .command_of(Path::new("setsid"), &all)
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("NO_COLOR")
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .expect("setsid");
        let seen = Arc::new(Mutex::new(Seen {
            parser: parser(columns, rows),
            raw: Vec::new(),
        }));
        read(master.try_clone().expect("a descriptor"), seen.clone());
        Terminal {
            child,
            name,
            master: Some(File::from(master)),
            seen,
        }
    }

    /// The program's side, as the shell has it.
    pub fn other_side(&self) -> File {
        let side = File::options().read(true).write(true).open(&self.name);
        side.expect("the other side")
    }

    /// Forgets the screen, as if another program had cleared it.
    pub fn clear(&mut self) {
        let mut seen = self.seen.lock().expect("the screen");
        seen.parser.process(b"\x1b[2J");
    }

    /// The kernel notifies the program.
    pub fn resize(&mut self, (columns, rows): (u16, u16)) {
        let size = |n| NonZero::new(n).expect("a size");
        let mut seen = self.seen.lock().expect("the screen");
        seen.parser.screen_mut().set_size(size(rows), size(columns));
        let master = self.master.as_ref().expect("an open terminal");
        tcsetwinsize(master, window(columns, rows)).expect("its size");
    }

    /// Not sooner after others than a hand types, or they would be taken for pasted text.
    pub fn keys(&mut self, keys: &str) {
        std::thread::sleep(Duration::from_millis(100));
        let master = self.master.as_mut().expect("an open terminal");
        master.write_all(keys.as_bytes()).expect("keys");
    }

    pub fn screen(&self) -> String {
        self.seen
            .lock()
            .expect("the screen")
            .parser
            .screen()
            .contents()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The screen with the colours of its cells.
    pub fn with_screen<T>(&self, see: impl FnOnce(&vt100::Screen) -> T) -> T {
        see(self.seen.lock().expect("the screen").parser.screen())
    }

    /// Number of bytes written so far.
    pub fn count(&self) -> usize {
        self.seen.lock().expect("the screen").raw.len()
    }

    /// Everything written so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("the screen").raw).into_owned()
    }

    #[track_caller]
    pub fn until(&mut self, text: &str) {
        self.until_screen(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub fn until_screen(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.screen()) {
            let ended = self.child.try_wait().expect("its state");
            assert!(
                ended.is_none(),
                "it ended before {what:?}: {}",
                self.written()
            );
            assert!(
                Instant::now() < deadline,
                "no {what:?} on\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Hangs up, as when a terminal window is closed.
    pub fn hang_up(&mut self) {
        self.master = None;
        // The reader holds the other descriptor, so the program learns of the hang-up only by the signal.
        self.signal(rustix::process::Signal::HUP);
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                std::thread::sleep(Duration::from_millis(100)); // its last output
                return (status, self.written());
            }
            assert!(
                Instant::now() < deadline,
                "it does not end: {}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn window(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    let size = |n| NonZero::new(n).expect("a size");
    vt100::Parser::new(size(rows), size(columns), 0)
}

fn read(master: OwnedFd, seen: Arc<Mutex<Seen>>) {
    std::thread::spawn(move || {
        let mut master = File::from(master);
        let mut buffer = vec![0; 65536];
        // At the program's end, reading fails with EIO.
        while let Ok(count) = master.read(&mut buffer) {
            let mut seen = seen.lock().expect("the screen");
            seen.parser.process(&buffer[..count]);
            seen.raw.extend_from_slice(&buffer[..count]);
        }
    });
}
