//! The kernel's own counters: I/Os by disk, CPU time by task.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Completed reads, writes and discards of a disk.
pub fn ios_of(disk: &str) -> Result<u64> {
    let path = format!("/sys/block/{disk}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    ios_in(&text).with_context(|| format!("{path} has no number of I/Os: {text}"))
}

fn ios_in(stat: &str) -> Option<u64> {
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    Some(fields.first()? + fields.get(4)? + fields.get(11).unwrap_or(&0))
}

/// I/Os of all other disks together: a tool that watches every disk pays for these too.
pub fn foreign_ios(disk: &str) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir("/sys/block").context("listing /sys/block")? {
        let name = entry.context("listing /sys/block")?.file_name();
        let name = name.to_string_lossy();
        if name != disk {
            // A disk may disappear meanwhile.
            sum += ios_of(&name).unwrap_or(0);
        }
    }
    Ok(sum)
}

/// CPU time of all threads of a process, in user space and in the kernel; None without CONFIG_SCHED_INFO.
pub fn cpu_ns_of(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads
        .filter_map(Result::ok)
        .map(|thread| run_time_ns(&thread.path()))
        .sum()
}

/// CPU time of the load, a process and its children, and of all kernel threads, which do a part of its work.
pub fn cpu_ns_of_load(pid: u32) -> Result<Option<u64>> {
    const KTHREADD: i32 = 2;
    let mut sum = 0;
    for (its_pid, parent) in processes()? {
        if parent != KTHREADD && parent != pid.cast_signed() && its_pid != pid.cast_signed() {
            continue;
        }
        match cpu_ns_of(its_pid.cast_unsigned()) {
            Some(ns) => sum += ns,
            None if Path::new(&format!("/proc/{its_pid}/stat")).exists() => return Ok(None),
            None => {} // it has just ended
        }
    }
    Ok(Some(sum))
}

pub fn children_of(pid: u32) -> Vec<i32> {
    let all = processes().unwrap_or_default();
    let children = all
        .iter()
        .filter(|(_, parent)| *parent == pid.cast_signed());
    children.map(|(pid, _)| *pid).collect()
}

/// All processes with their parents.
fn processes() -> Result<Vec<(i32, i32)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").context("listing /proc")? {
        let path = entry.context("listing /proc")?.path();
        // Not a process, or it has ended.
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        let pid = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        all.extend(pid.zip(parent_in(&stat)));
    }
    Ok(all)
}

/// The second field after the name, which is in parentheses.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn run_time_ns(task: &Path) -> Option<u64> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_found() {
        let stat = "1 0 8 0 20 0 160 3 0 4 5 300 0 6 7 0 0\n";
        assert_eq!(super::ios_in(stat), Some(321));
        assert_eq!(super::ios_in("1 2 3"), None);
        assert_eq!(super::parent_in("9 (kworker/u4:1) I 2 0 0 0"), Some(2));
        assert_eq!(super::parent_in("80 (a) S 2 77) S 79 78 1 0"), Some(79));
        assert_eq!(super::parent_in(""), None);
    }
}
