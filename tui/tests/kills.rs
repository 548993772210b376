//! SIGKILL at a random moment to every program that changes a disk (`run`, `run --resume`, `set`, a rotation of the
//! terminal UI, `restore`): to the program, its process group, or the program and its guardian, after which `restore`
//! is run; with every umask. Nothing may stay changed or be left behind.
//!
//! `IOSCHED_KILLS=1000` sets the number of kills; `IOSCHED_KILL_SEED` repeats a sequence.
//! Root only: `cargo test -p iosched-tui --test kills -- --ignored --test-threads=1`.

#[path = "terminal/pty.rs"]
mod pty;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iosched_host::{preflight, scheduler};
use iosched_result::types::queue::State;
use pty::Terminal;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use support::program::{Ended, Program, Started};
use support::traces::{arguments, children_of, differences, left_by, processes_with};
use support::{LoopDevice, READ_ONE};

const IOSCHED: &str = support::under_test!("iosched");
/// All combinations of program, victim and umask are sixty; half of them is the default.
const KILLS: u64 = 30;
const UMASKS: [u32; 4] = [0o000, 0o002, 0o022, 0o077];
const SOON: Duration = Duration::from_secs(15);
/// The scheduler that `set` sets.
const SET: &str = "bfq,nr_requests=128,max_sectors_kb=64,iosched/slice_idle=0";
const ARMS: [&str; 6] = [
    "--arm",
    "none,nr_requests=8,max_sectors_kb=64",
    "--arm",
    "bfq,iosched/slice_idle=0",
    "--arm",
    "mq-deadline,read_ahead_kb=64,iosched/read_expire=200",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Run,
    Set,
    Rotation,
    Resume,
    Restore,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Whom {
    Alone,
    Group,
    /// Only `iosched restore` can restore then.
    WithGuardian,
}

const ALL: [What; 5] = [
    What::Run,
    What::Set,
    What::Rotation,
    What::Resume,
    What::Restore,
];
const WHOM: [Whom; 3] = [Whom::Alone, Whom::Group, Whom::WithGuardian];

/// A small generator: the same numbers from the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// The other binary, if the whole workspace was built.
fn iosched_ab() -> Option<PathBuf> {
    let binary = Path::new(IOSCHED).with_file_name("iosched-ab");
    if !binary.exists() {
        println!("skipped: {} was not built", binary.display());
        return None;
    }
    Some(binary)
}

struct Bench {
    disk: LoopDevice,
    before: State,
    /// The state that `set` was asked for, as the kernel shows it.
    after_set: State,
    ab: PathBuf,
}

/// The program that will be killed.
enum Victim {
    Program(Started),
    Terminal(Terminal),
}

impl Victim {
    fn id(&self) -> u32 {
        match self {
            Victim::Program(started) => started.id(),
            Victim::Terminal(terminal) => terminal.id(),
        }
    }

    fn end(self) {
        match self {
            Victim::Program(started) => drop(started.end()),
            Victim::Terminal(terminal) => drop(terminal.end()),
        }
    }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number as i32).expect("a pid")
}

/// It may have ended already.
fn send(number: u32, signal: Signal) {
    let _ = kill_process(pid(number), signal);
}

fn guardian_of(number: u32) -> Option<u32> {
    let is_guardian = |pid: &u32| {
        arguments(*pid)
            .get(1)
            .is_some_and(|word| word == "__guardian")
    };
    children_of(number).into_iter().find(is_guardian)
}

fn kill(number: u32, whom: Whom) {
    match whom {
        Whom::Alone => send(number, Signal::KILL),
        Whom::Group => drop(kill_process_group(pid(number), Signal::KILL)),
        Whom::WithGuardian => {
            // A running program would start another guardian.
            send(number, Signal::STOP);
            if let Some(guardian) = guardian_of(number) {
                send(guardian, Signal::KILL);
            }
            send(number, Signal::KILL);
        }
    }
}

impl Bench {
    fn new(ab: PathBuf) -> Self {
        let disk = LoopDevice::of_a_user();
        let before = scheduler::read(&disk.device).expect("its queue");
        Program::new(IOSCHED)
            .run(&["set", &disk.node(), SET])
            .ends(0, &[]);
        let after_set = scheduler::read(&disk.device).expect("its queue");
        let bench = Bench {
            disk,
            before,
            after_set,
            ab,
        };
        bench.renew();
        bench
    }

    /// The user's own settings.
    fn renew(&self) {
        let own = |name: &str| self.before.settings[name].as_str();
        for (attribute, value) in [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "64"),
            ("iosched/read_expire", "333"),
            ("max_sectors_kb", own("max_sectors_kb")),
            // Set anew by the one before.
            ("read_ahead_kb", own("read_ahead_kb")),
        ] {
            self.disk.set(attribute, value);
        }
        let now = scheduler::read(&self.disk.device).expect("its queue");
        assert_eq!(differences(&self.before, &now), [""; 0], "renewed");
    }

    fn start(program: &Program, path: &Path, words: &[&str]) -> Victim {
        let mut command = program.command_of(path, words);
        Victim::Program(Started::of(command.process_group(0)))
    }

    fn run(&self, program: &Program, random: &mut Random) -> Victim {
        let node = self.disk.node();
        let device = if random.below(4) == 0 {
            "scratch:ssd"
        } else {
            &node
        };
        let work: &[&str] = if random.below(2) == 0 {
            &[
                "--",
                "sh",
                "-c",
                "for i in 1 2; do setsid dd if=$IOSCHED_DEVICE of=/dev/null bs=4k iflag=direct status=none & done; wait",
            ]
        } else {
            &[
                "--workload",
                "randread",
                "--ramp",
                "0.1s",
                "--round-time",
                "0.3s",
            ]
        };
        let how = ["--rounds", "40", "-o", "result"];
        let words = [&["run", device], &ARMS[..], &how, work].concat();
        Self::start(program, &self.ab, &words)
    }

    /// A run that was interrupted after its first round, and is resumed.
    fn resume(&self, program: &Program) -> Victim {
        let node = self.disk.node();
        let how = ["--rounds", "40", "-o", "result", "--", "sh", "-c"];
        let script = format!("{READ_ONE}; sleep 0.05");
        let words = [&["run", &node], &ARMS[..], &how, &[&script]].concat();
        let Victim::Program(mut first) = Self::start(program, &self.ab, &words) else {
            unreachable!("a program was started");
        };
        first.until(Duration::from_secs(60), "a round", || {
            let result = fs::read(program.directory().join("result")).unwrap_or_default();
            let result: serde_json::Value = serde_json::from_slice(&result).unwrap_or_default();
            result["rounds"]
                .as_array()
                .is_some_and(|rounds| !rounds.is_empty())
        });
        send(first.id(), Signal::INT);
        first.end().ends(130, &[]);
        Self::start(program, &self.ab, &["run", "--resume", "result"])
    }

    /// `restore` runs after a killed run with a killed guardian.
    fn restore(&self, program: &Program, random: &mut Random) -> Victim {
        let first = self.run(program, random);
        let deadline = Instant::now() + Duration::from_secs(60);
        while program.journals().is_empty() {
            assert!(Instant::now() < deadline, "no journal");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(random.below(500)));
        kill(first.id(), Whom::WithGuardian);
        first.end();
        Self::start(program, Path::new(IOSCHED), &["restore"])
    }

    fn rotation(&self, program: &Program) -> Victim {
        let node = self.disk.node();
        let mut terminal = Terminal::start(program, IOSCHED, &[&node, "-i", "0.25"], (100, 30));
        terminal.until("scheduler mq-deadline");
        terminal.keys("F");
        terminal.until("Rotate the schedulers");
        terminal.keys("hhh");
        terminal.until("3 s each");
        terminal.keys("\r");
        Victim::Terminal(terminal)
    }

    /// Whether the disk was changed when the kill came.
    fn round(&self, (what, whom, umask): (What, Whom, u32), random: &mut Random) -> bool {
        let program = Program::new(IOSCHED).with_umask(umask);
        let (victim, latest_ms) = match what {
            What::Run => (self.run(&program, random), 2000),
            What::Resume => (self.resume(&program), 1500),
            What::Restore => (self.restore(&program, random), 60),
            What::Rotation => (self.rotation(&program), 3500),
            What::Set => (
                Self::start(
                    &program,
                    Path::new(IOSCHED),
                    &["set", &self.disk.node(), SET],
                ),
                80,
            ),
        };
        let delay = Duration::from_millis(random.below(latest_ms));
        let at = format!("{what:?}, {whom:?}, umask {umask:03o}, after {delay:?}");
        std::thread::sleep(delay);
        let number = victim.id();
        let found = scheduler::read(&self.disk.device).expect("its queue");
        kill(number, whom);
        victim.end();
        Self::files_are_private(&program, &at);
        if whom == Whom::WithGuardian || what == What::Restore {
            Self::put_back(&program, &at);
        }
        self.nothing_is_left(&program, number, &at);
        let now = scheduler::read(&self.disk.device).expect("its queue");
        let is_set = what == What::Set && differences(&self.after_set, &now).is_empty();
        if is_set {
            self.renew();
        } else {
            assert_eq!(differences(&self.before, &now), [""; 0], "{at}");
        }
        !differences(&self.before, &found).is_empty()
    }

    /// Files that root later acts on.
    fn files_are_private(program: &Program, at: &str) {
        let directory = program.state().join("journal");
        let mode = |path: &Path| {
            fs::symlink_metadata(path).map_or(0, |found| found.permissions().mode() & 0o077)
        };
        assert_eq!(mode(&directory), 0, "{at}: {}", directory.display());
        for journal in program.journals() {
            assert_eq!(mode(&journal), 0, "{at}: {}", journal.display());
        }
        assert_eq!(mode(&program.directory().join("result")) & 0o022, 0, "{at}");
    }

    /// Another `restore` or a guardian may be running.
    fn put_back(program: &Program, at: &str) {
        let deadline = Instant::now() + SOON;
        loop {
            let ended = Ended::of(program.command_of(Path::new(IOSCHED), &["restore"]));
            if ended.code == Some(0) {
                return;
            }
            assert!(Instant::now() < deadline, "{at}: {ended:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn nothing_is_left(&self, program: &Program, number: u32, at: &str) {
        let left = || {
            let mut left = left_by(program, number);
            let users = processes_with(&self.disk.node()).into_iter();
            left.extend(users.map(|pid| format!("{:?}", arguments(pid))));
            left
        };
        let deadline = Instant::now() + SOON;
        while !left().is_empty() {
            assert!(Instant::now() < deadline, "{at}: {:#?}", left());
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(preflight::lock(&self.disk.device).unwrap_or_else(|error| panic!("{at}: {error:#}")));
    }
}

#[test]
#[ignore = "root"]
fn whatever_is_killed_at_any_moment_under_any_umask_nothing_is_left() {
    let Some(ab) = iosched_ab() else { return };
    let seed = number("IOSCHED_KILL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let kills = number("IOSCHED_KILLS").unwrap_or(KILLS);
    println!("{kills} kills, IOSCHED_KILL_SEED={seed}");
    let mut random = Random(seed);
    let bench = Bench::new(ab);
    let mut changed = 0;
    for kill in 0..kills {
        // All pairs of program and victim in turn; a random umask.
        let what = ALL[(kill % 5) as usize];
        let whom = WHOM[(kill / 5 % 3) as usize];
        let umask = UMASKS[random.below(4) as usize];
        changed += u64::from(bench.round((what, whom, umask), &mut random));
        if kill % 100 == 99 {
            println!("{} kills, {changed} found the disk changed", kill + 1);
        }
    }
    println!("{changed} kills found the disk changed");
    assert!(changed > 0, "no kill was late enough to matter");
}
