//! Journals that need the user's consent.

use std::fmt;
use std::path::PathBuf;

use super::left::LeftBehind;
use crate::system::device::Device;

/// A journal that cannot be read, or that another user may have written.
#[derive(Debug)]
pub struct Suspect {
    pub path: PathBuf,
    pub(super) why: String,
    pub(super) content: Option<LeftBehind>,
}

impl fmt::Display for Suspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "iosched does not act on the journal {}: {}",
            self.path.display(),
            self.why
        )
    }
}

impl Suspect {
    /// An unreadable journal may concern every disk.
    pub fn may_concern(&self, device: &Device) -> bool {
        let content = self.content.as_ref();
        content.is_none_or(|content| content.has_queue_of(device))
    }

    /// The same for settings of control groups and of the system.
    pub fn may_concern_elsewhere(&self) -> bool {
        let content = self.content.as_ref();
        content.is_none_or(LeftBehind::has_settings_elsewhere)
    }

    /// Its content, if it can be read.
    pub fn content(&self) -> Option<&LeftBehind> {
        self.content.as_ref()
    }

    /// The remedy.
    pub fn remedy(&self) -> String {
        let path = self.path.display();
        match &self.content {
            Some(content) => format!(
                "`iosched restore --list` shows its content; `iosched restore --trust {path}` restores those settings{}, \
                 `iosched restore --set-aside {path}` keeps the file but ignores it from now on",
                if content.has_commands() {
                    " and runs those commands"
                } else {
                    ""
                }
            ),
            None => format!(
                "check the disks' settings, then run `iosched restore --set-aside {path}`, which keeps the file but ignores it from now on"
            ),
        }
    }
}
