//! The programs of sync.bpf.c and what they counted.

use std::mem::MaybeUninit;

use anyhow::{Context, Result, ensure};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, PrintLevel};

use crate::Abilities;
use crate::loader::{attach_to, explain, keep_log};
use crate::mapped::{Plain, bytes_of, value_of};
use crate::sync_skeleton::{OpenSyncSkel, SyncSkel, SyncSkelBuilder};
use crate::sync_wire::{
    CALLS, sync_key, sync_losses, sync_row, sync_sleep, sync_sleep_key, sync_thread,
};

/// The attached programs. Dropping it detaches them.
pub struct SyncTracer {
    skeleton: SyncSkel<'static>,
    sees_throttle: bool,
    sees_writeback: bool,
}

impl SyncTracer {
    pub fn attach() -> Result<Self> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep_log)));
        let mut tracer = load(|_| ())?;
        tracer
            .skeleton
            .attach()
            .map_err(|e| explain(&e, "attaching the BPF programs of syncs", None))?;
        Ok(tracer)
    }

    /// Whether this kernel tells of throttled writers.
    pub fn sees_throttle(&self) -> bool {
        self.sees_throttle
    }

    /// Whether it tells of waits for writeback.
    pub fn sees_writeback(&self) -> bool {
        self.sees_writeback
    }

    /// The waits of each process so far.
    pub fn rows(&self) -> Result<Vec<(sync_key, sync_row)>> {
        read_all(&self.skeleton.maps.sync_rows)
    }

    /// The sleeps of each process so far, by stack.
    pub fn sleeps(&self) -> Result<Vec<(sync_sleep_key, sync_sleep)>> {
        read_all(&self.skeleton.maps.sync_sleeps)
    }

    /// The threads that are in such a wait now.
    pub fn threads(&self) -> Result<Vec<sync_thread>> {
        let threads = read_all_bytes(&self.skeleton.maps.sync_threads)?;
        Ok(threads
            .iter()
            .filter_map(|(_, thread)| value_of(thread))
            .collect())
    }

    /// The name of a `backing_dev_info` without a device, by its number.
    pub fn bdi(&self, number: u32) -> Result<Option<String>> {
        let names = &self.skeleton.maps.sync_bdis;
        let bytes = names
            .lookup(&number.to_ne_bytes(), MapFlags::ANY)
            .context("reading the name of a file system")?;
        let name = bytes.and_then(|bytes| Some(bytes.split(|byte| *byte == 0).next()?.to_vec()));
        Ok(name.map(|name| String::from_utf8_lossy(&name).into_owned()))
    }

    /// The addresses of a stack, from the innermost function on; None if it was not kept.
    pub fn stack(&self, stack: i32) -> Result<Option<Vec<u64>>> {
        let stacks = &self.skeleton.maps.sync_stacks;
        let bytes = stacks
            .lookup(&stack.to_ne_bytes(), MapFlags::ANY)
            .context("reading a stack")?;
        Ok(bytes.map(|bytes| {
            let words = bytes.chunks_exact(8).filter_map(value_of::<u64>);
            words.take_while(|address| *address != 0).collect()
        }))
    }

    pub fn losses(&self) -> Result<sync_losses> {
        let losses = &self.skeleton.maps.sync_losses;
        let bytes = losses
            .lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .context("reading what was lost")?;
        bytes
            .and_then(|bytes| value_of(&bytes))
            .context("there are no losses of syncs")
    }

    /// Removes the row of a process that has ended, and its sleeps. Whoever is gone is no error.
    pub fn forget(&self, key: &sync_key, sleeps: &[sync_sleep_key]) {
        let maps = &self.skeleton.maps;
        let _ = maps.sync_rows.delete(bytes_of(key));
        for sleep in sleeps {
            let _ = maps.sync_sleeps.delete(bytes_of(sleep));
        }
    }
}

/// Loads the programs, without attaching them.
pub(crate) fn load(adjust: impl Fn(&mut OpenSyncSkel<'_>)) -> Result<SyncTracer> {
    let abilities = Abilities::of_running_kernel()?;
    // As in `loader`: one pointer-sized slot per load.
    let slot = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = SyncSkelBuilder::default()
        .open(slot)
        .context("opening the BPF object of syncs")?;
    select(&mut open, &abilities)?;
    // Without the overhead of their elements, for which the sum is doubled below.
    let map_bytes: u64 = open
        .open_object()
        .maps()
        .map(|map| u64::from(map.max_entries()) * u64::from(map.key_size() + map.value_size()))
        .sum();
    let locked_bytes = abilities
        .counts_locked_memory
        .then_some(2 * map_bytes + (1 << 20));
    adjust(&mut open);
    let skeleton = open
        .load()
        .map_err(|e| explain(&e, "loading the BPF programs of syncs", locked_bytes))?;
    Ok(SyncTracer {
        skeleton,
        sees_throttle: knows_pause(&abilities),
        sees_writeback: abilities.writeback_wait.is_some(),
    })
}

fn select(open: &mut OpenSyncSkel<'_>, abilities: &Abilities) -> Result<()> {
    ensure!(
        abilities.may_copy,
        "waits in fsync need reads that the lockdown mode \"confidentiality\" forbids"
    );
    ensure!(
        abilities.sched_switch == Some(1),
        "this kernel's tracepoint sched_switch is another one than this program knows"
    );
    ensure!(
        abilities.syscalls,
        "this kernel has no tracepoints sys_enter and sys_exit (CONFIG_HAVE_SYSCALL_TRACEPOINTS)"
    );
    let constants = open
        .maps
        .rodata_data
        .as_deref_mut()
        .context("the BPF object of syncs has no constants")?;
    constants.sync_calls = CALLS_BY_NUMBER;
    constants.sync_compat_calls = COMPAT_CALLS;
    constants.pause_arg = abilities.dirty_pause.unwrap_or(0);
    constants.has_task_btf = abilities.task_btf;
    constants.may_copy = abilities.may_copy;
    open.progs
        .sync_throttled
        .set_autoload(knows_pause(abilities));
    let waits = &mut open.progs.sync_waits_for_writeback;
    waits.set_autoload(abilities.writeback_wait.is_some());
    match abilities.writeback_wait {
        Some(name) => attach_to(waits, name),
        None => Ok(()),
    }
}

/// See `pause_of` in sync.bpf.c.
fn knows_pause(abilities: &Abilities) -> bool {
    abilities.dirty_pause.is_some_and(|n| n == 6 || n == 10)
}

/// Those with a file first, see sync.bpf.c.
const CALLS_BY_NUMBER: [u32; CALLS] = [
    libc::SYS_fsync as u32,
    libc::SYS_fdatasync as u32,
    libc::SYS_sync_file_range as u32,
    libc::SYS_syncfs as u32,
    libc::SYS_msync as u32,
    libc::SYS_sync as u32,
];

/// The same of 32-bit programs: those of i386 and of ARM. None has the last number.
const COMPAT_CALLS: [u32; CALLS] = if cfg!(target_arch = "x86_64") {
    [118, 148, 314, 344, 144, 36]
} else if cfg!(target_arch = "aarch64") {
    [118, 148, 341, 373, 144, 36]
} else {
    [u32::MAX; CALLS]
};

fn read_all<K: Plain, V: Plain>(map: &impl MapCore) -> Result<Vec<(K, V)>> {
    let all = read_all_bytes(map)?;
    Ok(all
        .iter()
        .filter_map(|(key, value)| Some((value_of(key)?, value_of(value)?)))
        .collect())
}

/// In one system call each some hundred elements: a busy map may show one twice.
fn read_all_bytes(map: &impl MapCore) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    const AT_ONCE: u32 = 1024;
    let all = map
        .lookup_batch(AT_ONCE, MapFlags::ANY, MapFlags::ANY)
        .context("reading the counts of syncs")?;
    Ok(all.collect())
}
