//! The rules. Each allowance has its reason beside it.

use super::source::Source;

/// What only these files, or those below these directories, may do.
pub struct May {
    pub what: &'static str,
    /// Any of these in a path, or as a macro with `!`.
    marks: &'static [&'static str],
    pub only: &'static [&'static str],
    /// A file that does it.
    pub example: &'static str,
}

impl May {
    pub fn is_met_by(&self, source: &Source) -> bool {
        self.marks.iter().any(|mark| match mark.strip_suffix('!') {
            Some(name) => source.macros.iter().any(|other| other == name),
            None => source.paths.iter().any(|path| has(&path.join("::"), mark)),
        })
    }

    pub fn allows(&self, path: &str) -> bool {
        self.only.iter().any(|allowed| path.starts_with(allowed))
    }
}

/// Whole names.
fn has(path: &str, mark: &str) -> bool {
    format!("::{path}::").contains(&format!("::{mark}::"))
}

pub const MAY: &[May] = &[
    May {
        what: "names the BPF programs' crate",
        marks: &["iosched_bpf"],
        only: &["src/measure/"],
        example: "use iosched_bpf::Config;",
    },
    May {
        what: "starts processes",
        marks: &["Command::new", "libc::fork"],
        only: &[
            "src/machine/ask.rs",      // a short question to a program
            "src/safety/guardian.rs",  // itself
            "src/scheduler/writer.rs", // a child process for a write that may hang
            "src/workload/launch.rs",
        ],
        example: "fn f() { Command::new(\"fio\"); }",
    },
    May {
        what: "prints",
        marks: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "dbg!",
            "io::stdout",
            "io::stderr",
            "stdio::stdout",
            "files::stdout",
        ],
        only: &[
            "src/bin/",
            "src/files/stdout.rs",
            "src/interrupt/unread.rs",
            "src/safety/guardian.rs", // a process of its own
            "src/workload/launch.rs", // the child process, before it becomes the workload
            "tui/src/",
        ],
        example: "fn f() { println!(\"\"); }",
    },
    May {
        what: "opens something for writing, makes or removes it",
        marks: &[
            "fs::write",
            "OpenOptions",
            "File::create",
            "OFlags::WRONLY",
            "OFlags::RDWR",
            "fs::remove_file",
            "fs::remove_dir",
            "fs::remove_dir_all",
            "fs::rename",
            "fs::create_dir",
            "fs::create_dir_all",
            "DirBuilder",
        ],
        only: &[
            "src/interrupt/unread.rs",         // /dev/null
            "src/ab/machine/control.rs",       // reads a disk
            "src/bin/iosched-ab/carry_out.rs", // where progress and results go
            "src/files/output.rs",
            "src/machine/cgroup/", // controllers, and the end of groups of ours
            "src/machine/page_cache.rs", // /proc/sys/vm/drop_caches
            "src/machine/loop_device.rs", // on the device that it has just made
            "src/safety/guardian.rs", // its own protection from the OOM killer
            "src/safety/journal",
            "src/scheduler/queue_file.rs", // the one place that writes a queue's sysfs
            "src/scratch/",
            "src/workload/cgroup",
            "src/workload/launch.rs", // joins the group
        ],
        example: "fn f() { std::fs::write(\"a\", \"b\"); }",
    },
    May {
        what: "reads a clock",
        marks: &[
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "Zoned::now",
            "clock_gettime",
        ],
        only: &[
            "src/ab/machine/",
            "src/bin/",
            "src/doctor/facts.rs",
            "src/files/flock.rs",
            "src/interrupt",
            "src/machine/ask.rs",
            "src/machine/cgroup/end.rs",
            "src/machine/loop_device.rs",
            "src/measure/probe.rs",
            "src/preflight/lock.rs",
            "src/safety/",
            "src/scheduler/writer.rs",
            "src/scratch/",
            "src/workload/",
            "tui/src/",
        ],
        example: "fn f() { Instant::now(); }",
    },
    May {
        what: "reads files without the limits of files::input",
        marks: &["fs::read", "fs::read_to_string", "File::open"],
        only: &[
            "src/bin/iosched-ab/read_loop.rs", // a workload
            "src/doctor/facts.rs",
            "src/files/",
            "src/interrupt.rs",
            // The kernel's own files, and ours.
            "src/machine/",
            "src/preflight/",
            "src/safety/",
            "src/scheduler/",
            "src/scratch/",
            "src/workload/cgroup.rs",
            "src/workload/participants.rs",
        ],
        example: "fn f() { std::fs::read_to_string(\"/etc/passwd\"); }",
    },
    May {
        what: "compiles regular expressions: a build without the features that one needs would panic",
        marks: &["Regex::new", "RegexBuilder"],
        only: &["src/workload/reported/pattern.rs"], // those of users, refused with a message
        example: "fn f() { Regex::new(\"a\"); }",
    },
];

/// Programs print names from outside through `report::escape`. These print none, or print what was escaped before.
pub const PRINT_NO_NAMES: &[&str] = &[
    "src/bin/iosched-ab/report/trace.rs", // a file in a binary format
    "tui/src/ui/terminal.rs",             // the screen, whose cells are checked
];

pub fn prints(source: &Source) -> bool {
    let printing = ["stdout", "stderr"];
    let mut paths = source.paths.iter();
    paths.any(|path| path.iter().any(|name| printing.contains(&&**name)))
}

/// Rooms of plain functions, and what in them is not.
pub const PURE: &[(&str, &[&str])] = &[
    ("src/report/", &[]),
    ("src/persist/", &[]),
    ("src/stat/", &[]),
    ("src/history/", &["src/history/file.rs"]),
    ("src/measure/histogram", &[]),
    ("src/measure/snapshot", &[]),
    ("src/measure/order.rs", &[]),
    ("src/measure/fairness.rs", &[]),
    // The rounds ask a machine; only run.rs saves their results.
    (
        "src/ab/",
        &[
            "src/ab/machine/real.rs",
            "src/ab/machine/control.rs",
            "src/ab/run.rs",
        ],
    ),
    ("src/study/original/", &[]),
    ("tui/src/ui/state", &[]),
    ("tui/src/ui/view", &[]),
];

/// The terminal UI's rooms, in order: each imports only from those before it.
pub const UI: &[&str] = &["sampling", "state", "view"];

pub fn touches_the_machine(path: &str) -> bool {
    let marks = [
        "std::fs",
        "fs",
        "std::process",
        "process::Command",
        "Instant",
        "SystemTime",
        "rustix",
        "libc",
    ];
    marks
        .iter()
        .any(|mark| path == *mark || path.starts_with(&format!("{mark}::")))
        || path.contains("Instant::now")
        || path.contains("SystemTime::now")
}

/// Files above the limit, and why.
pub const SIZES: &[(&str, &str)] = &[];
