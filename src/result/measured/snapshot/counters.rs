//! Plain counters of a device: merges, flushes, errors and requeues, and measurement losses. Pure.

use serde::{Deserialize, Serialize};

/// As the kernel counts them; a merged request stays with its first owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Merges {
    /// Bios merged at the end of a request.
    pub back: u64,
    /// Bios merged at the start of a request.
    pub front: u64,
    /// Requests merged into another request.
    pub rq: u64,
}

impl Merges {
    /// Bios merged into a request.
    pub fn bios(self) -> u64 {
        self.back + self.front
    }
}

/// Flushes that an fsync waits for in addition to its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flushes {
    /// Empty flushes requested. The kernel combines several into one command.
    pub asked: u64,
    /// Writes that waited for a flush before their data (REQ_PREFLUSH).
    pub before_data: u64,
    /// Sum of these waits in ns.
    pub before_data_ns: u64,
    /// Writes that waited for a flush after their data.
    pub after_data: u64,
    /// Sum of these waits in ns.
    pub after_data_ns: u64,
    /// Synchronous writes of metadata and the journal (`REQ_META`).
    pub journal_writes: u64,
    /// Sum of their D2C in ns.
    pub journal_ns: u64,
}

/// Events in a request's life other than its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edges {
    /// Requests that failed.
    pub errors: u64,
    /// Requeues: how often the driver returned a request.
    pub requeues: u64,
    /// Time in ns from each requeue to the next issue; part of G2D before the first issue, otherwise of D2C.
    pub requeued_ns: u64,
    /// Partial completions, after which more of the request was to come.
    pub partial_completions: u64,
    /// Issued but not measured: the driver's own commands and `SG_IO`.
    pub passthrough: u64,
    /// Requests started under one scheduler and completed under another; in no other count of I/Os, bytes or latencies.
    pub straddlers: u64,
    /// Bytes of the straddlers.
    pub straddler_bytes: u64,
    /// Changes of the scheduler that the probe saw, made by any process.
    pub switches: u64,
    /// Bios that a worker thread of io_uring queued again after a bio with `REQ_NOWAIT` had found no free tag.
    #[serde(default)]
    pub nowait_retries: u64,
    /// Requests of a path of NVMe multipath that failed: their I/O went to another path, where it counts; in no other count.
    #[serde(default)]
    pub failed_over: u64,
    /// Bios that a limit of a control group (io.max) held back before they were queued. The time is in no stage but those since the
    /// program asked (A).
    #[serde(default)]
    pub throttled: u64,
    /// How long they were held back, summed, in ns.
    #[serde(default)]
    pub throttled_ns: u64,
    /// Bios that were held back where this kernel does not let it be seen since when: they are charged to the kernel's worker
    /// in the control group of the submitter, and are in no histogram since the program asked.
    #[serde(default)]
    pub throttled_unknown: u64,
}

/// Measurement losses. All zero is a clean measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// Requests outside the in-flight table, counted at their completion.
    pub lost: u64,
    /// Requests whose completion was never seen.
    pub evicted: u64,
    /// Stages with a negative duration, which are left out.
    pub negative: u64,
    /// Requests first seen at their issue: they have no queue wait.
    pub started_late: u64,
    /// The same where the request was under way when the probe was attached: that is no loss.
    #[serde(default)]
    pub started_before: u64,
    /// Requests first seen at their completion: in flight when the probe was attached, or lost before.
    pub unseen: u64,
    /// Requests with data that completed without a visible issue.
    pub unissued: u64,
    /// I/Os charged to the owner `other` because the table of owners is full.
    pub owner_overflow: u64,
    /// I/Os that are in all counts, bytes and sums, and in no histogram: their records came faster than they were read.
    #[serde(default)]
    pub unrecorded: u64,
    /// Runs of the probe's programs that the kernel skipped (`recursion_misses`); over all devices.
    pub skipped: u64,
}

impl Quality {
    /// Requests missing in a histogram because of the probe, not counting those in flight at the attach.
    pub fn lost_events(&self) -> u64 {
        self.losses().iter().map(|(count, _)| count).sum()
    }

    /// The same by cause, in words that follow a count.
    pub fn losses(&self) -> [(u64, &'static str); 7] {
        [
            (self.lost, "with tags outside the table"),
            (self.evicted, "whose end was not seen"),
            (self.negative, "with a negative stage"),
            (self.started_late, "whose start was not seen"),
            (self.unissued, "whose issue was not seen"),
            (self.unrecorded, "counted without their latencies"),
            (self.skipped, "at which the kernel skipped a program"),
        ]
    }

    /// The causes with a count above 0; empty if nothing was lost.
    pub fn losses_in_words(&self) -> String {
        let losses = self.losses().into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = losses
            .map(|(count, cause)| format!("{count} {cause}"))
            .collect();
        words.join(", ")
    }
}

/// Field-wise arithmetic for structures that contain only counters.
macro_rules! counters {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl std::ops::Sub for $type {
            type Output = $type;
            fn sub(self, earlier: $type) -> $type {
                $type { $($field: self.$field - earlier.$field),* }
            }
        }
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: $type) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters!(Merges { back, front, rq });
counters!(Flushes {
    asked,
    before_data,
    before_data_ns,
    after_data,
    after_data_ns,
    journal_writes,
    journal_ns,
});
counters!(Edges {
    errors,
    requeues,
    requeued_ns,
    partial_completions,
    passthrough,
    straddlers,
    straddler_bytes,
    switches,
    nowait_retries,
    failed_over,
    throttled,
    throttled_ns,
    throttled_unknown,
});
counters!(Quality {
    lost,
    evicted,
    negative,
    started_late,
    started_before,
    unseen,
    unissued,
    owner_overflow,
    unrecorded,
    skipped,
});
