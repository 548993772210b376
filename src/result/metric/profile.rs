//! The I/O of a workload and the names of its parts, as far as is known before it runs. Pure.

/// The I/O that something can do.
#[allow(clippy::struct_excessive_bools)] // one for each kind
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Does {
    pub reads: bool,
    pub writes: bool,
    pub discards: bool,
    /// fsync or fdatasync.
    pub syncs: bool,
}

impl Does {
    #[must_use]
    pub fn or(self, other: Does) -> Does {
        Does {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            discards: self.discards || other.discards,
            syncs: self.syncs || other.syncs,
        }
    }

    /// It moves no data.
    pub fn only_discards(self) -> bool {
        self.discards && !self.reads && !self.writes
    }
}

/// A part with metrics of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub label: String,
    /// None: not known.
    pub does: Option<Does>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// None: not known.
    pub does: Option<Does>,
    /// Jobs whose results fio reports.
    pub jobs: Vec<Part>,
    /// Control groups that the workload gets.
    pub groups: Vec<Part>,
    pub reports: Reports,
}

/// Metrics of its own that it reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    #[default]
    Nothing,
    /// Its first block tells.
    Anything,
    /// Patterns as of [`crate::text::glob`]. `of`: the prefix of all names that a known benchmark has; `is_all`: there are no
    /// others.
    Known {
        of: String,
        patterns: Vec<String>,
        is_all: bool,
    },
}
