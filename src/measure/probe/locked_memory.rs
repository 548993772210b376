//! Before Linux 5.11 the memory of BPF maps is charged as locked memory of the user. Above RLIMIT_MEMLOCK the kernel
//! returns the same error as for a missing capability: EPERM.

use iosched_bpf::NotPermitted;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use iosched_result::failure::Failure;

const KIB: u64 = 1 << 10;

/// Why the kernel may have refused to load the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub is_root: bool,
    /// CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which includes both.
    pub has_capabilities: bool,
    /// Set where the kernel charges maps as locked memory.
    pub memory: Option<LockedMemory>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockedMemory {
    pub needed_bytes: u64,
    pub limit_bytes: u64,
}

/// Raises the limit as far as this process may: without limit with CAP_SYS_RESOURCE, otherwise to the hard limit.
/// Returns whether it is higher now.
pub(super) fn raise() -> bool {
    let limit = getrlimit(Resource::Memlock);
    let Some(current) = limit.current else {
        return false;
    };
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let hard = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let is_raised = |limit| setrlimit(Resource::Memlock, limit).is_ok();
    is_raised(unlimited) || (limit.maximum != Some(current) && is_raised(hard))
}

pub(super) fn limit_bytes() -> u64 {
    getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX)
}

impl Refusal {
    pub fn of(error: &NotPermitted) -> Self {
        let now = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        let both = CapabilitySet::BPF | CapabilitySet::PERFMON;
        Refusal {
            is_root: rustix::process::geteuid().is_root(),
            has_capabilities: now.contains(both) || now.contains(CapabilitySet::SYS_ADMIN),
            memory: error.locked_bytes.map(|needed_bytes| LockedMemory {
                needed_bytes,
                limit_bytes: limit_bytes(),
            }),
        }
    }

    /// Says what is missing; libbpf's message helps only if all rights are present.
    pub fn explain(&self, error: &NotPermitted) -> anyhow::Error {
        let limited = self.memory.filter(|memory| memory.limit_bytes != u64::MAX);
        match limited {
            Some(memory) if self.has_capabilities => {
                Failure::refused(format!("{error}: {}", memory.text()), memory.hint())
            }
            Some(memory) if !self.is_root => Failure::refused(
                error.to_string(),
                format!(
                    "{CAPABILITIES}; without root also a higher limit of locked memory: {}",
                    memory.hint()
                ),
            ),
            _ if !self.is_root && !self.has_capabilities => {
                Failure::refused(error.to_string(), CAPABILITIES)
            }
            _ => Failure::refused(
                format!("{error}: {}", error.log.trim()),
                "check that the kernel's lockdown mode and the container, if any, allow BPF",
            ),
        }
    }
}

const CAPABILITIES: &str = "run it with sudo: root, or CAP_BPF and CAP_PERFMON, is needed";

impl LockedMemory {
    /// A limit below the required memory is the reason; one above it may be, if other processes have used part of it.
    fn text(self) -> String {
        format!(
            "this kernel charges BPF maps as locked memory; these take {} KiB, and RLIMIT_MEMLOCK allows all processes of \
             this user {} KiB together",
            self.needed_bytes.div_ceil(KIB),
            self.limit_bytes / KIB
        )
    }

    fn hint(self) -> String {
        let needed = self.needed_bytes.div_ceil(KIB);
        format!(
            "run `ulimit -l {needed}` in the root shell that starts iosched, set LimitMEMLOCK={needed}K in its systemd unit, or grant \
             CAP_SYS_RESOURCE, with which iosched raises the limit itself"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(is_root: bool, has_capabilities: bool, limit_bytes: Option<u64>) -> String {
        let refusal = Refusal {
            is_root,
            has_capabilities,
            memory: limit_bytes.map(|limit_bytes| LockedMemory {
                needed_bytes: (40 << 20) + 1,
                limit_bytes,
            }),
        };
        let error = NotPermitted {
            what: "loading".to_owned(),
            log: "libbpf's words".to_owned(),
            locked_bytes: limit_bytes,
        };
        let failure = refusal.explain(&error);
        let failure = failure.downcast_ref::<Failure>().expect("a refusal");
        format!("{}; {}", failure.what, failure.hint)
    }

    #[test]
    fn a_limit_is_told_from_a_missing_capability() {
        let (few, unlimited) = (Some(64 << 10), Some(u64::MAX));
        for (is_root, has_capabilities, limit_bytes, says) in [
            (
                false,
                true,
                few,
                [
                    "take 40961 KiB",
                    "this user 64 KiB together",
                    "`ulimit -l 40961`",
                ],
            ),
            (
                true,
                true,
                few,
                [
                    "LimitMEMLOCK=40961K",
                    "CAP_SYS_RESOURCE",
                    "this user 64 KiB",
                ],
            ),
            (
                false,
                false,
                few,
                [
                    CAPABILITIES,
                    "also a higher limit of locked memory",
                    "LimitMEMLOCK=40961K",
                ],
            ),
            (
                false,
                false,
                unlimited,
                ["loading was not permitted", "", CAPABILITIES],
            ),
            (
                false,
                false,
                None,
                ["loading was not permitted", "", CAPABILITIES],
            ),
            (
                false,
                true,
                None,
                ["libbpf's words", "lockdown", "container"],
            ),
            (
                true,
                true,
                unlimited,
                ["libbpf's words", "lockdown", "container"],
            ),
            (
                true,
                false,
                few,
                ["libbpf's words", "lockdown", "container"],
            ),
        ] {
            let words = words(is_root, has_capabilities, limit_bytes);
            for text in says {
                assert!(words.contains(text), "{text:?} is not in {words:?}");
            }
            assert_eq!(words.contains(CAPABILITIES), !is_root && !has_capabilities);
        }
    }
}
