//! What else sets schedulers on this machine, and would fight an experiment: udev rules, TuneD.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, Severity};
use crate::device::names_in;

/// The first directory that has a file of a name wins.
const RULES: [&str; 4] = [
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
];

/// One finding for each that is at work.
pub fn at_work() -> Vec<Finding> {
    let mut found = Vec::new();
    if Path::new("/run/udev/control").exists() {
        found.extend(udev_rules(&RULES.map(Path::new)).into_iter().map(|place| {
            Finding {
                severity: Severity::Note,
                what: format!("the udev rule {place} sets queue attributes"),
                hint: "it is held off while a run lasts; afterwards the next event of the disk brings it back"
                    .to_owned(),
            }
        }));
    }
    let is_running = fs::read_to_string("/run/tuned/tuned.pid")
        .is_ok_and(|pid| Path::new("/proc").join(pid.trim()).exists());
    if is_running {
        let profile = fs::read_to_string("/etc/tuned/active_profile").unwrap_or_default();
        found.push(Finding {
            severity: Severity::Warning,
            what: format!("TuneD is running with the profile {:?}", profile.trim()),
            hint: "it may set schedulers and readahead; rounds in which it does are excluded. `systemctl stop tuned` for the run"
                .to_owned(),
        });
    }
    found
}

/// `FILE:LINE` of each rule that assigns an attribute of queues.
fn udev_rules(directories: &[&Path]) -> Vec<String> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for directory in directories {
        for name in names_in(directory).unwrap_or_default() {
            let path = directory.join(&name);
            if path.extension().is_some_and(|end| end == "rules") {
                files.entry(name).or_insert(path);
            }
        }
    }
    let mut found = Vec::new();
    for path in files.values() {
        // Masked by a link to /dev/null, or not ours to read.
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().enumerate();
        found.extend(
            lines
                .filter(|(_, line)| assigns_queue_attribute(line))
                .map(|(index, _)| format!("{}:{}", path.display(), index + 1)),
        );
    }
    found
}

/// `ATTR{queue/scheduler}="bfq"`, and not `==`, which only asks.
fn assigns_queue_attribute(line: &str) -> bool {
    let line = line.trim_start();
    !line.starts_with('#')
        && line.match_indices("ATTR{queue/").any(|(at, _)| {
            let rest = line[at..].split_once('}').map_or("", |(_, rest)| rest);
            rest.trim_start().starts_with("=\"")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_assign_are_told_from_those_that_ask() {
        for (line, assigns) in [
            (
                r#"ACTION=="add", KERNEL=="sd*", ATTR{queue/scheduler}="bfq""#,
                true,
            ),
            (
                r#"ATTR{queue/rotational}=="1", ATTR{queue/scheduler} = "bfq""#,
                false,
            ),
            (
                r#"ATTR{queue/rotational}=="1", ATTR{queue/nr_requests}="64""#,
                true,
            ),
            (r#"ATTR{queue/rotational}=="1", RUN+="x""#, false),
            (r#"# ATTR{queue/scheduler}="bfq""#, false),
            ("ATTR{queue/scheduler", false),
        ] {
            assert_eq!(assigns_queue_attribute(line), assigns, "{line}");
        }
    }

    #[test]
    fn the_first_directory_hides_the_same_file_in_others() {
        let (etc, lib) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let rule = "# ours\nATTR{queue/scheduler}=\"kyber\"\n";
        fs::write(lib.path().join("60-io.rules"), rule).unwrap();
        fs::write(lib.path().join("70-io.rules"), rule).unwrap();
        fs::write(lib.path().join("README"), rule).unwrap();
        std::os::unix::fs::symlink("/dev/null", etc.path().join("60-io.rules")).unwrap();
        let found = udev_rules(&[etc.path(), lib.path(), Path::new("/no/such")]);
        let expected = format!("{}:2", lib.path().join("70-io.rules").display());
        assert_eq!(found, [expected]);
    }
}
