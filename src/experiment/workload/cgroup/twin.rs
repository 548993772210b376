//! A group beside that of the caller, with the same limits, in which the groups of a workload are.
//!
//! Version 2 refuses groups with an io controller below one that has processes, and the caller's has at least this one.
//! To move the caller's processes would be to move those of a unit of systemd, perhaps of a shell. So the group stands
//! beside it: what holds above the caller holds, and its own limits are copied. The limits are for the workload alone,
//! not for it and the caller's other processes together.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Context, Result};

use super::{GroupMember, create_with_controller, name};
use iosched_host::safety::journal::Journal;
use iosched_host::system::cgroup::caller::{Caller, Limit};
use iosched_host::system::cgroup::controller::{lists, write_control};

/// Dropping the last reference removes it.
pub(super) struct Twin(GroupMember);

/// Several processes of one round share it, so that the limits hold for all of them together.
static SHARED: Mutex<Weak<Twin>> = Mutex::new(Weak::new());

impl Twin {
    pub fn shared(journal: &Journal, caller: &Caller) -> Result<Arc<Twin>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(twin) = shared.upgrade() {
            return Ok(twin);
        }
        let twin = Arc::new(Self::make(journal, caller)?);
        *shared = Arc::downgrade(&twin);
        Ok(twin)
    }

    fn make(journal: &Journal, caller: &Caller) -> Result<Twin> {
        let parent = caller.path.parent().context("the group above the caller")?;
        let (member, _) = create_with_controller(journal, parent, &name("like-caller"), "io")?;
        copy(&caller.limits, &member.path)?;
        if lists(&member.path.join("cgroup.controllers"), "io") {
            // It has no processes of its own, so this cannot be refused.
            let control = member.path.join("cgroup.subtree_control");
            write_control(&control, "+io")
                .with_context(|| format!("enabling io in {}", control.display()))?;
        }
        Ok(Twin(member))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

/// A limit that cannot be set is an error: the workload must not run without it, unless that is said.
pub(super) fn copy(limits: &[Limit], group: &Path) -> Result<()> {
    for limit in limits {
        let file = group.join(limit.file);
        write_control(&file, &limit.line)
            .with_context(|| format!("writing {} to {}", limit.line, file.display()))?;
    }
    Ok(())
}
