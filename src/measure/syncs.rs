//! Programs above the block layer, read as [`SyncSnapshot`]s: see bpf/sync.bpf.c.

use std::collections::HashMap;

use anyhow::Result;
use iosched_bpf::{
    SyncTracer, bdi_of_place, sync_key, sync_kind, sync_row, sync_sleep, sync_sleep_key,
    sync_thread,
};
use iosched_host::system::kernel_functions::KernelFunctions;
use iosched_host::system::pressure;
use iosched_result::measured::histogram::{Histogram, OWNER};
use iosched_result::measured::snapshot;
use iosched_result::measured::syncs::{
    Sum, SyncCause, SyncKey, SyncKind, SyncLosses, SyncSnapshot, SyncTotals, UnderWay, cause_of,
    is_named,
};

use crate::probe::owners::{is_alive, knows_all_processes};
use crate::probe::{monotonic_ns, retried};

/// How often all is read until each row was once at rest.
const ATTEMPTS: u32 = 16;
/// Rows and sleeps above which those of ended processes are removed, out of 1,024 and 8,192.
const MANY_ROWS: usize = 512;
const MANY_SLEEPS: usize = 4096;

pub struct SyncProbe {
    tracer: SyncTracer,
    symbols: KernelFunctions,
    /// By the number of a stack, which never changes its meaning.
    causes: HashMap<i32, SyncCause>,
    /// The number of waits of each row in the last snapshot: a row that has changed since is not removed.
    last: HashMap<SyncKey, u64>,
}

impl SyncProbe {
    pub fn attach() -> Result<SyncProbe> {
        let symbols = KernelFunctions::read(is_named);
        Ok(SyncProbe {
            tracer: retried(SyncTracer::attach)?,
            symbols,
            causes: HashMap::new(),
            last: HashMap::new(),
        })
    }

    /// What cannot be told here.
    pub fn notes(&self) -> Vec<String> {
        let missing = [
            (
                self.symbols.is_empty(),
                "the addresses of kernel functions are hidden (kernel.kptr_restrict): what fsync waits for is unknown, and neither throttled writers nor waits for writeback are shown",
            ),
            (
                !self.tracer.sees_throttle(),
                "this kernel's balance_dirty_pages is unknown: throttled writers are not shown",
            ),
            (
                !self.tracer.sees_writeback(),
                "no folio_wait_writeback: waits for writeback outside fsync are not shown",
            ),
        ];
        let missing = missing.iter().filter(|(is_missing, _)| *is_missing);
        missing.map(|(_, note)| (*note).to_owned()).collect()
    }

    /// Everything counted so far.
    pub fn snapshot(&mut self) -> Result<SyncSnapshot> {
        let losses = self.tracer.losses()?;
        let mut snapshot = SyncSnapshot {
            losses: SyncLosses {
                rows: losses.rows,
                threads: losses.threads,
                stacks: losses.sleeps,
                compat: losses.compat,
            },
            pressure: pressure::io(),
            ..SyncSnapshot::default()
        };
        let (rows, sleeps) = self.read_whole()?;
        for (key, row) in &rows {
            let Some(known) = key_of(key) else { continue };
            let mut totals = SyncTotals {
                comm: name_of(row.comm),
                all: Sum {
                    count: row.count,
                    ns: row.ns,
                },
                histogram: Histogram::from_counts(OWNER, &row.cells)?,
                ..SyncTotals::default()
            };
            let mut unknown_ns = row.asleep_ns;
            for (sleep, sum) in sleeps.of(key) {
                unknown_ns = unknown_ns.saturating_sub(sum.ns);
                let cause = self.cause(sleep.stack)?;
                totals.sleeps.entry(cause).or_default().add(Sum {
                    count: sum.count,
                    ns: sum.ns,
                });
            }
            // For these sleeps there was no room.
            if unknown_ns > 0 {
                let unknown = totals.sleeps.entry(SyncCause::Unknown).or_default();
                unknown.add(Sum {
                    count: 1,
                    ns: unknown_ns,
                });
            }
            snapshot.rows.insert(known, totals);
        }
        for thread in self.tracer.threads()? {
            note_call(&mut snapshot, &thread);
        }
        snapshot.time_ns = monotonic_ns();
        let is_full = rows.len() > MANY_ROWS || sleeps.len() > MANY_SLEEPS;
        if is_full && knows_all_processes() {
            self.forget_ended(&snapshot, &rows, &sleeps);
        }
        self.last = snapshot
            .rows
            .iter()
            .map(|(key, row)| (*key, row.all.count))
            .collect();
        Ok(snapshot)
    }

    /// The name of a file system that has no disk of its own, as the kernel throttles its writers: `btrfs-1`, or `0:53` for the device
    /// number of an NFS mount. None for other places, and if there was no room for the name.
    pub fn bdi_of_place(&self, place: u64) -> Option<String> {
        let number = bdi_of_place(place)?;
        let name = self.tracer.bdi(number).ok().flatten();
        name.filter(|name| !name.is_empty())
    }

    /// All rows, each with the sleeps that belong to it: programs count both while they are read. A row that is never at
    /// rest is taken as it is.
    fn read_whole(&self) -> Result<(Vec<(sync_key, sync_row)>, Sleeps)> {
        let mut rows: HashMap<SyncKey, (sync_key, sync_row)> = HashMap::new();
        let mut all = Sleeps::default();
        for attempt in 0..ATTEMPTS {
            let sleeps = Sleeps::of_all(self.tracer.sleeps()?);
            let mut are_whole = true;
            for (key, row) in self.tracer.rows()? {
                let Some(known) = key_of(&key) else { continue };
                let is_whole = row.complete == row.count && sleeps.ns(&key) == row.asleep_ns;
                are_whole &= is_whole || rows.contains_key(&known);
                if rows.contains_key(&known) || !(is_whole || attempt + 1 == ATTEMPTS) {
                    continue;
                }
                all.take(&sleeps, known);
                rows.insert(known, (key, row));
            }
            if are_whole {
                break;
            }
        }
        Ok((rows.into_values().collect(), all))
    }

    /// What a stack waits for. Addresses of modules that were loaded since are looked up once more.
    fn cause(&mut self, stack: i32) -> Result<SyncCause> {
        if stack < 0 || self.symbols.is_empty() {
            return Ok(SyncCause::Unknown);
        }
        if let Some(cause) = self.causes.get(&stack) {
            return Ok(*cause);
        }
        let Some(addresses) = self.tracer.stack(stack)? else {
            return Ok(SyncCause::Unknown);
        };
        let mut cause = cause_of(&self.symbols.names(&addresses));
        if cause == SyncCause::Other && self.symbols.reread_if_changed() {
            cause = cause_of(&self.symbols.names(&addresses));
        }
        // A function of a module that was loaded since, and whose address is hidden by now.
        if cause == SyncCause::Other && self.symbols.is_stale() {
            return Ok(SyncCause::Unknown);
        }
        self.causes.insert(stack, cause);
        Ok(cause)
    }

    /// Rows of processes that are gone and did not change since the last snapshot: an interval has shown all of them.
    fn forget_ended(
        &self,
        snapshot: &SyncSnapshot,
        rows: &[(sync_key, sync_row)],
        sleeps: &Sleeps,
    ) {
        let mut alive: HashMap<u32, bool> = HashMap::new();
        for (key, row) in rows {
            let Some(known) = key_of(key) else { continue };
            let lives = *alive.entry(key.tgid).or_insert_with(|| is_alive(key.tgid));
            let has_rested = self.last.get(&known) == Some(&row.count);
            if lives || !has_rested || snapshot.under_way.contains_key(&known) {
                continue;
            }
            let its: Vec<sync_sleep_key> = sleeps.of(key).map(|(sleep, _)| *sleep).collect();
            self.tracer.forget(key, &its);
        }
    }
}

/// Major and minor number of a place, if it has them.
pub fn dev_of_place(place: u64) -> Option<(u32, u32)> {
    const MINOR_BITS: u32 = 20;
    let dev = u32::try_from(place).ok().filter(|dev| *dev > 0)?;
    Some((dev >> MINOR_BITS, dev & ((1 << MINOR_BITS) - 1)))
}

/// Sleeps by their row.
#[derive(Default)]
struct Sleeps(HashMap<SyncKey, Vec<(sync_sleep_key, sync_sleep)>>);

impl Sleeps {
    fn of_all(all: Vec<(sync_sleep_key, sync_sleep)>) -> Self {
        let mut sleeps = Sleeps::default();
        for (key, sleep) in all {
            if let Some(row) = key_of(&key.key) {
                sleeps.0.entry(row).or_default().push((key, sleep));
            }
        }
        sleeps
    }

    fn of(&self, row: &sync_key) -> impl Iterator<Item = &(sync_sleep_key, sync_sleep)> {
        key_of(row)
            .and_then(|row| self.0.get(&row))
            .into_iter()
            .flatten()
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Their sum.
    fn ns(&self, row: &sync_key) -> u64 {
        self.of(row).map(|(_, sleep)| sleep.ns).sum()
    }

    fn take(&mut self, from: &Sleeps, row: SyncKey) {
        if let Some(its) = from.0.get(&row) {
            self.0.insert(row, its.clone());
        }
    }
}

/// The name up to its final NUL.
fn name_of(comm: [std::ffi::c_char; 16]) -> String {
    snapshot::comm(&comm.map(|byte| byte as u8))
}

fn key_of(key: &sync_key) -> Option<SyncKey> {
    let kind = match sync_kind(key.kind) {
        sync_kind::SYNC_CALL => SyncKind::Call,
        sync_kind::SYNC_THROTTLED => SyncKind::Throttled,
        sync_kind::SYNC_WRITEBACK => SyncKind::Writeback,
        _ => return None,
    };
    Some(SyncKey {
        kind,
        tgid: key.tgid,
        start_ns: key.start_ns,
        cgroup_id: key.cgroup_id,
        place: key.place,
    })
}

/// A call that has not returned. A thread that is throttled has not called.
fn note_call(snapshot: &mut SyncSnapshot, thread: &sync_thread) {
    let Some(key) = key_of(&thread.key).filter(|_| thread.since_ns > 0) else {
        return;
    };
    let calls = snapshot.under_way.entry(key).or_insert_with(|| UnderWay {
        comm: name_of(thread.comm),
        count: 0,
        since_ns: thread.since_ns,
    });
    calls.count += 1;
    calls.since_ns = calls.since_ns.min(thread.since_ns);
}
