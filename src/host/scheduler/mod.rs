//! Reads, applies, verifies and restores a scheduler and its settings. The only module that writes below `queue/`; its callers
//! hold the disk's lock (`safety::lock`).
//!
//! Guarantees: every write is read back and compared; a switch always starts with a fresh scheduler, even if the target
//! is already active; a failed attempt leaves the device as it was. Attributes are found by listing the directory, so
//! that out-of-tree schedulers and later kernels need no code here.

mod known; // the settings of Linux's schedulers
mod offered; // what a device has, and refusals of what it has not
mod present; // the settings in force, as an arm
mod queue_file; // the only code that writes sysfs
mod read_ahead; // what other writes change
mod read_back; // what came of an arm
mod restorable; // whether a value can be written again
mod saved;
pub(crate) mod state;
mod switch; // to an arm, and back if that fails
mod together;
pub(crate) mod value;

pub use iosched_result::types::queue::{Applied, State};
pub use known::doubts;
pub use offered::{known_missing_hint, lacks};
pub use present::present;
pub use read_back::is_in_force;
pub use restorable::{needs_a_trial, try_to_restore};
pub use saved::{SavedQueue, put_back_settings, restore};
pub use state::{Choice, choice, read};
pub use switch::{apply, apply_onto};
pub use together::apply_onto_all;

pub(crate) use offered::unknown_scheduler;

/// Written under `none`, this attribute resizes the driver tags.
const NR_REQUESTS: &str = "nr_requests";
/// An attribute of the queue since 7.0, where each scheduler sets it when it starts, and `none` refuses it.
const ASYNC_DEPTH: &str = "async_depth";
/// Once written, this attribute is no longer adapted by the kernel.
pub const WBT_LAT_USEC: &str = "wbt_lat_usec";
const NONE: &str = "none";

/// Whether the attribute belongs to a scheduler and not to the queue.
pub fn is_of_scheduler(attribute: &str) -> bool {
    attribute.starts_with("iosched/")
}
