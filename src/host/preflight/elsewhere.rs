//! Settings of arms that live elsewhere than in the disk's queue: whether this machine has them, and whom they concern.

use anyhow::Result;

use super::{Findings, Severity};
use crate::places::Hook;
use crate::system::cgroup::group_file;
use crate::system::device::Device;
use iosched_result::types::arm::Arm;
use iosched_result::types::arm::place::Place;

pub(super) fn check(disks: &[Device], arms: &[Arm], findings: &mut Findings) -> Result<()> {
    for arm in arms {
        for (place, name, _) in arm.placed() {
            match place {
                Place::Queue | Place::Own { .. } | Place::Undo => {}
                Place::Group { path, file } => match group_file::missing(path, file)? {
                    Some(lack) => findings.add(
                        Severity::Usage,
                        format!("{}: {}", arm.label, lack.what),
                        lack.hint,
                    ),
                    None => findings.add(
                        Severity::Note,
                        format!("{name} is set for the rounds and put back at the end"),
                        "processes in that group feel it",
                    ),
                },
                Place::System(_) => findings.add(
                    Severity::Warning,
                    format!("{name} is set for the rounds and put back at the end"),
                    "it concerns all disks and programs of this machine",
                ),
                Place::Exec => {
                    findings.add_failure_of(Hook::of(arm, disks).map(drop))?;
                    findings.add(
                        Severity::Warning,
                        format!("{} runs commands of its own, which iosched cannot check", arm.label),
                        "what can be seen of them is noted in each round; the undo command also runs before the first round, and must succeed",
                    );
                }
            }
        }
    }
    Ok(())
}
