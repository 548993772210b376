//! From the name of a group or unit to its place.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::subdirectories;
use iosched_host::system::cgroup::mounts::Mounts;
use iosched_host::system::device::mounts;
use iosched_result::failure::Failure;
use iosched_result::types::participant::Named;

/// Where the processes of a participant are looked for.
#[derive(Debug)]
pub(super) enum Root {
    Group(PathBuf),
    Process,
}

pub(super) fn root(name: &Named, mounts: &Mounts) -> Result<Root> {
    let hierarchies = [&mounts.unified, &mounts.blkio];
    let hierarchies = || hierarchies.into_iter().flatten();
    match name {
        Named::Pid(_) => Ok(Root::Process),
        Named::Cgroup(path) => {
            let below = path.trim_start_matches('/');
            let mut places = hierarchies()
                .map(|root| root.join(below))
                .chain([PathBuf::from(path)]);
            let is_group = |place: &PathBuf| {
                place.join("cgroup.procs").exists()
                    && hierarchies().any(|root| place.starts_with(root))
            };
            let found = places
                .find(is_group)
                .filter(|found| !hierarchies().any(|root| root == found));
            found.map(Root::Group).ok_or_else(|| {
                Failure::usage(
                    format!("there is no control group {path}"),
                    "give its path as in /proc/PID/cgroup; the root group is not accepted because it contains every process",
                )
            })
        }
        Named::Unit(unit) => {
            let mut found = Vec::new();
            for root in hierarchies() {
                find_unit(root, unit, &mut found, 0);
                if !found.is_empty() {
                    break;
                }
            }
            match &found[..] {
                [one] => Ok(Root::Group(one.clone())),
                [] => Err(no_unit(unit)),
                [one, two, ..] => Err(Failure::usage(
                    format!(
                        "{unit} is ambiguous: {} and {}",
                        one.display(),
                        two.display()
                    ),
                    "choose one of them with --cgroup",
                )),
            }
        }
    }
}

/// The path of a control group, or of a running unit's, as in /proc/PID/cgroup.
pub fn group_of(name: &Named) -> Result<String> {
    let mounts = Mounts::among(&mounts::read()?);
    let hierarchies = [&mounts.unified, &mounts.blkio];
    let below = match root(name, &mounts)? {
        Root::Group(path) => hierarchies
            .into_iter()
            .flatten()
            .find_map(|root| path.strip_prefix(root).ok().map(Path::to_owned)),
        Root::Process => None,
    };
    let below = below
        .ok_or_else(|| Failure::usage("a process is no control group", "name a group or a unit"))?;
    Ok(format!("/{}", below.display()))
}

fn no_unit(unit: &str) -> anyhow::Error {
    Failure::usage(
        format!("the unit {unit} has no control group, so it is not running"),
        "start it; `systemctl status NAME` shows its full name, such as postgresql@15-main.service",
    )
}

/// Units are nested in slices, a few levels deep.
fn find_unit(directory: &Path, unit: &str, found: &mut Vec<PathBuf>, depth: usize) {
    const DEEPEST: usize = 8;
    for child in subdirectories(directory) {
        let name = child
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if name == unit || name.strip_suffix(".service") == Some(unit) {
            found.push(child);
        } else if depth < DEEPEST {
            find_unit(&child, unit, found, depth + 1);
        }
    }
}
