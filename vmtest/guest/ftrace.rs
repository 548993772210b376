//! The kernel's own trace of events, as text, while a piece of work is done.

use std::fs;
use std::path::{Path, PathBuf};

/// An instance of tracefs, with a buffer of its own; it goes with this.
pub struct Ftrace {
    directory: PathBuf,
}

const TRACEFS: &str = "/sys/kernel/tracing";
/// For each CPU: a thousand I/Os with ten events each.
const BUFFER_KIB: &str = "8192";

impl Ftrace {
    /// `events` as `GROUP/NAME`, each with a filter or none, on the clock that fio and the probe read.
    #[track_caller]
    pub fn new(events: &[(&str, String)]) -> Ftrace {
        let directory = Path::new(TRACEFS).join("instances/vmtest");
        fs::create_dir(&directory).expect("an instance of tracefs");
        let ftrace = Ftrace { directory };
        ftrace.set("trace_clock", "mono");
        ftrace.set("buffer_size_kb", BUFFER_KIB);
        for (event, filter) in events {
            if !filter.is_empty() {
                ftrace.set(&format!("events/{event}/filter"), filter);
            }
            ftrace.set(&format!("events/{event}/enable"), "1");
        }
        ftrace
    }

    /// Whether the kernel has this event.
    pub fn has(event: &str) -> bool {
        Path::new(TRACEFS).join("events").join(event).exists()
    }

    /// One line for each event, in the order of their times. Fails if the kernel dropped one.
    #[track_caller]
    pub fn over<T>(&self, work: impl FnOnce() -> T) -> (String, T) {
        self.set("trace", "");
        self.set("tracing_on", "1");
        let result = work();
        self.set("tracing_on", "0");
        let text = fs::read_to_string(self.directory.join("trace")).expect("the trace");
        for cpu in fs::read_dir(self.directory.join("per_cpu")).expect("CPUs") {
            let stats = cpu.expect("a CPU").path().join("stats");
            let stats = fs::read_to_string(stats).expect("its counts");
            for lost in ["overrun: ", "commit overrun: ", "dropped events: "] {
                let mut counts = stats.lines().filter_map(|line| line.strip_prefix(lost));
                assert!(counts.all(|count| count == "0"), "{stats}");
            }
        }
        (text, result)
    }

    #[track_caller]
    fn set(&self, file: &str, value: &str) {
        let path = self.directory.join(file);
        fs::write(&path, value)
            .unwrap_or_else(|error| panic!("{} = {value}: {error}", path.display()));
    }
}

impl Drop for Ftrace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}
