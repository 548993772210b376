//! The control group in which this process was started, and the limits that hold there.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of limits, and what it has without one.
type File = (&'static str, &'static [&'static str]);

/// Limits that hold for all groups below as well. The number of processes is none: systemd limits it everywhere.
const UNIFIED: [File; 11] = [
    ("io.max", &[]),
    ("io.latency", &[]),
    ("io.weight", &["default 100"]),
    ("io.bfq.weight", &["default 100", "100"]),
    ("memory.max", &["max"]),
    ("memory.high", &["max"]),
    ("memory.swap.max", &["max"]),
    ("cpu.max", &["max 100000"]),
    ("cpu.weight", &["100"]),
    ("cpuset.cpus", &[]),
    ("cpuset.mems", &[]),
];
/// Limits of the older hierarchy, which hold for the group alone and not for those below.
const BLKIO: [File; 5] = [
    ("blkio.throttle.read_bps_device", &[]),
    ("blkio.throttle.write_bps_device", &[]),
    ("blkio.throttle.read_iops_device", &[]),
    ("blkio.throttle.write_iops_device", &[]),
    ("blkio.bfq.weight", &["100"]),
];

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub file: &'static str,
    pub line: String,
}

/// The group, if a limit holds in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its directory.
    pub path: PathBuf,
    /// Its path from the root of the hierarchy, as people know it.
    pub name: String,
    /// Its own limits.
    pub limits: Vec<Limit>,
    /// Limits of the groups above it, in which it stays.
    pub above: Vec<Limit>,
}

impl Caller {
    /// In the unified hierarchy. None: the root, or no limit holds.
    pub fn in_unified(root: &Path) -> Option<Caller> {
        Self::found(root, None, &UNIFIED)
    }

    /// In the older hierarchy of this controller.
    pub fn in_blkio(root: &Path) -> Option<Caller> {
        let mut caller = Self::found(root, Some("blkio"), &BLKIO)?;
        // They do not hold for groups below.
        caller.above.clear();
        (!caller.limits.is_empty()).then_some(caller)
    }

    fn found(root: &Path, controller: Option<&str>, files: &[File]) -> Option<Caller> {
        let text = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::at(root, path_in(&text, controller)?, files)
    }

    fn at(root: &Path, name: &str, files: &[File]) -> Option<Caller> {
        let path = root.join(name.strip_prefix('/')?);
        // Outside of this namespace, or gone.
        if name == "/" || name.contains("/..") || !path.is_dir() {
            return None;
        }
        let above = path.ancestors().skip(1).take_while(|above| *above != root);
        let above: Vec<Limit> = above.flat_map(|above| limits(above, files)).collect();
        let caller = Caller {
            limits: limits(&path, files),
            name: name.to_owned(),
            path,
            above,
        };
        (!caller.limits.is_empty() || !caller.above.is_empty()).then_some(caller)
    }

    /// For messages: `io.max 7:0 riops=100, memory.max 1000000`.
    pub fn shown(&self) -> String {
        let all = self.limits.iter().chain(&self.above);
        let all: Vec<String> = all.map(shown).collect();
        all.join(", ")
    }
}

fn limits(directory: &Path, files: &[File]) -> Vec<Limit> {
    let mut found = Vec::new();
    for &(file, without) in files {
        let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !without.contains(line));
        found.extend(lines.map(|line| Limit {
            file,
            line: line.to_owned(),
        }));
    }
    found
}

/// Without the keys that set no limit.
fn shown(limit: &Limit) -> String {
    let words = limit.line.split_whitespace();
    let words: Vec<&str> = words.filter(|word| !word.ends_with("=max")).collect();
    format!("{} {}", limit.file, words.join(" "))
}

/// From `/proc/self/cgroup`: `0::/path` is the unified hierarchy, `4:cpu,cpuacct:/path` an older one.
fn path_in<'a>(text: &'a str, controller: Option<&str>) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match controller {
            None => number == "0" && controllers.is_empty(),
            Some(name) => controllers.split(',').any(|other| other == name),
        };
        is_it.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_hierarchy() {
        let text = "12:name=systemd:/x\n4:cpu,cpuacct:/cpu:a\n7:blkio:/limited\n0::/user.slice\n";
        assert_eq!(path_in(text, None), Some("/user.slice"));
        assert_eq!(path_in(text, Some("blkio")), Some("/limited"));
        assert_eq!(path_in(text, Some("cpuacct")), Some("/cpu:a"));
        assert_eq!(path_in(text, Some("memory")), None);
        assert_eq!(path_in("garbage\n::\n", None), None);
    }

    #[test]
    fn only_what_limits_is_a_limit() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("slice/scope")).unwrap();
        let write = |file: &str, text: &str| fs::write(at(file), text).unwrap();
        let found = || Caller::at(root.path(), "/slice/scope", &UNIFIED);
        write("slice/scope/io.weight", "default 100\n");
        write("slice/scope/memory.max", "max\n");
        write("slice/scope/cpu.max", "max 100000\n");
        write("slice/scope/cpuset.cpus", "\n");
        assert_eq!(found(), None);
        write("slice/memory.max", "1000\n");
        let above = found().unwrap();
        assert!(above.limits.is_empty());
        assert_eq!(above.shown(), "memory.max 1000");
        write(
            "slice/scope/io.max",
            "7:0 rbps=max wbps=max riops=100 wiops=max\n7:1 rbps=5 wbps=max riops=max wiops=max\n",
        );
        assert_eq!(
            found().unwrap().shown(),
            "io.max 7:0 riops=100, io.max 7:1 rbps=5, memory.max 1000"
        );
        for name in ["/", "/..", "/slice/../x", "/gone"] {
            assert_eq!(Caller::at(root.path(), name, &UNIFIED), None, "{name}");
        }
    }
}
