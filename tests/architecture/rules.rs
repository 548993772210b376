//! The rules. Each allowance has its reason beside it.

use super::source::Source;

/// Something that only these files, or those below these directories, may do.
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
            "src/host/system/ask.rs",      // a short question to a program
            "src/host/places/hook.rs",     // commands of arms
            "src/host/safety/guardian.rs", // itself
            "src/host/system/writer.rs",   // a child process for a write that may hang
            "src/experiment/workload/launch.rs",
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
            "src/read/",
            "src/ab/",
            "src/files/stdout.rs",
            "src/files/interrupt/unread.rs",
            "src/host/safety/guardian.rs",       // a process of its own
            "src/experiment/workload/launch.rs", // the child process, before it becomes the workload
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
            "src/files/interrupt/unread.rs",     // /dev/null
            "src/files/socket.rs", // removes its own socket, or one at which nobody listens
            "src/experiment/machine/control.rs", // reads a disk
            "src/ab/result_file.rs", // asks how standard output is open
            "src/files/output.rs",
            "src/host/places/system.rs",      // /proc/sys/vm
            "src/host/system/cgroup/",        // controllers, and the end of groups of ours
            "src/host/system/page_cache.rs",  // /proc/sys/vm/drop_caches
            "src/host/system/loop_device.rs", // on the device that it has just made
            "src/host/safety/guardian.rs",    // its own protection from the OOM killer
            "src/host/safety/journal",
            "src/host/scheduler/queue_file.rs", // the one place that writes a queue's sysfs
            "src/host/scratch/",
            "src/experiment/workload/cgroup",
            "src/experiment/workload/launch.rs", // joins the group
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
            "src/experiment/machine/",
            "src/ab/",
            "src/experiment/doctor/facts.rs",
            "src/files/flock.rs",
            "src/files/interrupt",
            "src/host/system/ask.rs",
            "src/host/system/cgroup/end.rs",
            "src/host/system/loop_device.rs",
            "src/measure/probe.rs",
            "src/host/preflight/lock.rs",
            "src/host/safety/",
            "src/host/places/hook.rs",
            "src/host/places/marked.rs",
            "src/host/system/writer.rs",
            "src/host/scratch/",
            "src/experiment/workload/",
            "tui/src/",
        ],
        example: "fn f() { Instant::now(); }",
    },
    May {
        what: "reads files without the limits of files::input",
        marks: &["fs::read", "fs::read_to_string", "File::open"],
        only: &[
            "src/ab/read_loop.rs", // a workload
            "src/experiment/doctor/facts.rs",
            "src/files/",
            "src/result/odd.rs", // seeds, for tests
            // The kernel's own files, and ours.
            "src/host/system/",
            "src/host/preflight/",
            "src/host/safety/",
            "src/host/places/",
            "src/host/scheduler/",
            "src/host/scratch/",
            "src/experiment/workload/cgroup.rs",
            "src/experiment/workload/participants.rs",
        ],
        example: "fn f() { std::fs::read_to_string(\"/etc/passwd\"); }",
    },
    May {
        what: "compiles regular expressions: a build without the features that one needs would panic",
        marks: &["Regex::new", "RegexBuilder"],
        only: &["src/experiment/workload/reported/pattern.rs"], // those of users, refused with a message
        example: "fn f() { Regex::new(\"a\"); }",
    },
];

/// Programs print names from outside through `report::escape`. These print none, or print what was escaped before.
pub const PRINT_NO_NAMES: &[&str] = &[
    "src/ab/result_file.rs", // asks how standard output is open, and prints nothing
    "src/ab/workloads.rs",   // built-in names
    "tui/src/metrics.rs",    // labels, which are escaped where they are made
    "tui/src/ui/terminal.rs", // the screen, whose cells are checked
];

pub fn prints(source: &Source) -> bool {
    let printing = ["stdout", "stderr"];
    let mut paths = source.paths.iter();
    paths.any(|path| path.iter().any(|name| printing.contains(&&**name)))
}

/// The crates below `src/`, from the ground up.
pub const CRATES: &[&str] = &["result", "files", "read", "host", "measure", "experiment"];

/// Modules of tests alone.
pub const HELPERS: &[&str] = &["odd", "hostile"];

/// Plain functions, and what in them is not.
pub const PURE: &[(&str, &[&str])] = &[
    ("src/result/", &["src/result/odd.rs"]), // reads seeds, for tests
    ("src/measure/history/", &["src/measure/history/file.rs"]),
    // The rounds ask a machine; only run.rs saves their results.
    ("src/experiment/round", &[]),
    ("src/experiment/live/", &[]),
    ("src/experiment/rotation.rs", &[]),
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
