//! Headings of the options that several commands share, in the order in which their help has them.

pub const COMPARE: &str = "What to compare";
pub const HOW_LONG: &str = "How long";
pub const WHERE_TO: &str = "Where to, and runs that go on";
pub const COMMAND: &str = "A COMMAND as the workload";
pub const WHOSE: &str = "Whose I/O belongs to the workload, beside its own";
pub const LIVE: &str = "Only with --workload live";
pub const CONDITIONS: &str = "Conditions of the rounds";
pub const DECIDES: &str = "What decides";
pub const MORE: &str = "Measure more";
pub const DISK: &str = "Consent, and the data of the disk";
