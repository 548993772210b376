//! Loads the object: selects the programs and sets their constants.

use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, ensure};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, PrintLevel, libbpf_sys};
use rustix::time::{ClockId, clock_gettime};

use crate::maps::{Sizes, ring_levels, ring_size, size_maps};
use crate::skeleton::{IoschedSkel, IoschedSkelBuilder, OpenIoschedSkel};
use crate::{Abilities, Config, Detail, abilities, end_functions};

static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());

#[allow(clippy::needless_pass_by_value)] // the signature is libbpf-rs'
pub(crate) fn keep_log(_: PrintLevel, text: String) {
    if let Ok(mut log) = LIBBPF_LOG.lock() {
        log.push_str(&text);
    }
}

pub(crate) fn whole_log() -> String {
    LIBBPF_LOG
        .lock()
        .map(|mut log| std::mem::take(&mut *log))
        .unwrap_or_default()
}

/// The last messages of libbpf and the verifier, which the error codes lack.
fn taken_log() -> String {
    let log = whole_log();
    let tail: Vec<&str> = log.lines().rev().take(12).collect();
    tail.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Programs accepted by the kernel, not yet attached.
pub(crate) struct Loaded {
    pub abilities: Abilities,
    pub sizes: Sizes,
    pub skeleton: IoschedSkel<'static>,
}

/// Loads all programs. If the kernel refuses that, it loads them without the program on `__blk_throtl_bio`: some kernels
/// allow none on functions, which neither BTF nor the kernel's configuration shows.
pub(crate) fn load(config: &Config, adjust: impl Fn(&mut OpenIoschedSkel<'_>)) -> Result<Loaded> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    let mut abilities = Abilities::of_running_kernel()?;
    abilities.throttle &= !REFUSED.load(Ordering::Relaxed) && !config.detail.light;
    match load_with(config, abilities.clone(), &adjust) {
        Err(_) if abilities.throttle => {
            abilities.throttle = false;
            whole_log(); // of an attempt that may fail
            let loaded = load_with(config, abilities, &adjust)?;
            REFUSED.store(true, Ordering::Relaxed);
            Ok(loaded)
        }
        loaded => loaded,
    }
}

fn load_with(
    config: &Config,
    abilities: Abilities,
    adjust: &impl Fn(&mut OpenIoschedSkel<'_>),
) -> Result<Loaded> {
    ensure!(
        config.shards.is_power_of_two(),
        "shards must be a power of two, not {}",
        config.shards
    );
    ensure!(!config.targets.is_empty(), "no device to trace");
    ensure!(
        config.ring_records.is_power_of_two(),
        "the records of a ring must be a power of two, not {}",
        config.ring_records
    );
    ensure!(
        abilities.issue.is_some() && abilities.complete.is_some(),
        "this kernel lacks the tracepoints block_rq_issue and block_rq_complete (CONFIG_BLOCK, CONFIG_TRACEPOINTS)"
    );

    // The skeleton borrows its slot; leaking one pointer-sized slot per load allows storing both in one struct.
    let slot: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = IoschedSkelBuilder::default()
        .open(slot)
        .context("opening the BPF object")?;
    select_programs(&mut open, &abilities, config.detail)?;
    set_constants(&mut open, &abilities, config)?;
    let sizes = size_maps(&mut open, config, &abilities)?;
    adjust(&mut open);
    let skeleton = open.load().map_err(|e| {
        let locked_bytes = abilities
            .counts_locked_memory
            .then_some(sizes.memory_bytes + PROGRAM_BYTES);
        explain(&e, "loading the BPF programs", locked_bytes)
    })?;
    Ok(Loaded {
        abilities,
        sizes,
        skeleton,
    })
}

/// Programs are charged as locked memory too, and each map in whole pages: this is more than they need together.
const PROGRAM_BYTES: u64 = 1 << 20;

/// The kernel refused for lack of a permission.
#[derive(Debug)]
pub struct NotPermitted {
    pub what: String,
    /// Messages of libbpf.
    pub log: String,
    /// Locked memory that the load needs, on a kernel that charges it: above RLIMIT_MEMLOCK the kernel returns the same
    /// error.
    pub locked_bytes: Option<u64>,
}

impl std::fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was not permitted", self.what)
    }
}

impl std::error::Error for NotPermitted {}

pub(crate) fn explain(
    error: &libbpf_rs::Error,
    what: &str,
    locked_bytes: Option<u64>,
) -> anyhow::Error {
    let log = taken_log();
    // Lockdown forbids the helpers that read memory; the verifier then only says that a helper is unknown.
    if abilities::is_confidential() {
        return anyhow::Error::new(NotPermitted {
            what: what.to_owned(),
            log: "this kernel is locked down (confidentiality)".to_owned(),
            locked_bytes: None,
        });
    }
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return anyhow::Error::new(NotPermitted {
            what: what.to_owned(),
            log,
            locked_bytes,
        });
    }
    // The verifier's words on the program meanwhile do not matter then.
    let lacks = |codes: &[&str]| codes.iter().any(|code| log.contains(code));
    if lacks(&["-EMFILE", "-ENFILE"]) {
        return anyhow!(
            "{what}: {error}\n  raise the limit of open files, as with `ulimit -n 1024`"
        );
    }
    if lacks(&["-ENOMEM"]) {
        return anyhow!(
            "{what}: {error}\n  there is too little memory for its maps, or a limit on it"
        );
    }
    anyhow!("{what}: {error}\n{log}")
}

fn select_programs(
    open: &mut OpenIoschedSkel<'_>,
    abilities: &Abilities,
    detail: Detail,
) -> Result<()> {
    if detail.light {
        select_light(open, abilities);
        return Ok(());
    }
    let progs = &mut open.progs;
    progs
        .block_bio_queue
        .set_autoload(detail.sees_bios(abilities));
    progs
        .blk_throtl_bio
        .set_autoload(abilities.throttle && detail.sees_bios(abilities));
    progs.blk_throtl_bio.set_autoattach(false); // not every kernel that has the function lets programs on it
    progs
        .block_rq_tag_wait
        .set_autoload(abilities.tag_wait && detail.sees_bios(abilities));
    progs
        .block_bio_backmerge
        .set_autoload(abilities.back_merge.is_some());
    progs
        .block_bio_frontmerge
        .set_autoload(abilities.front_merge.is_some());
    progs
        .block_rq_merge
        .set_autoload(abilities.rq_merge.is_some());
    progs
        .block_io_start
        .set_autoload(abilities.io_start.is_some());
    progs
        .block_rq_insert
        .set_autoload((abilities.io_start.is_none() || detail.i2d) && abilities.insert.is_some());
    progs
        .block_getrq
        .set_autoload(abilities.io_start.is_none() && abilities.getrq.is_some());
    progs
        .io_uring_queue_async_work
        .set_autoload(abilities.uring_async_work.is_some() && !detail.without_q2g);
    select_asked(open, abilities, detail)?;
    let progs = &mut open.progs;
    progs
        .block_rq_requeue
        .set_autoload(abilities.requeue.is_some());
    progs.evict.set_autoload(abilities.may_copy);
    progs.evict.set_autoattach(false); // user space runs it; it is attached to no tracepoint
    progs.tell_blocked.set_autoattach(false); // user space reads it
    progs
        .tell_blocked
        .set_autoload(abilities.tasks && detail.sees_bios(abilities));
    progs.writeback_dirty.set_autoload(detail.writeback);
    ensure!(
        abilities.may_copy || !detail.files,
        "telling files apart needs reads that the lockdown mode \"confidentiality\" forbids"
    );
    if detail.writeback {
        ensure!(
            abilities.may_copy,
            "attributing writeback needs reads that the lockdown mode \"confidentiality\" forbids"
        );
        let name = abilities.writeback_dirty.context(
            "this kernel has no tracepoint writeback_dirty_folio or writeback_dirty_page",
        )?;
        attach_to(&progs.writeback_dirty, name)?;
    }
    Ok(())
}

/// Selects the programs at the issue and the completion, and those that run only for requeues and on demand.
fn select_light(open: &mut OpenIoschedSkel<'_>, abilities: &Abilities) {
    for mut program in open.open_object_mut().progs_mut() {
        program.set_autoload(false);
    }
    let progs = &mut open.progs;
    progs.block_rq_issue.set_autoload(true);
    progs.block_rq_complete.set_autoload(true);
    progs
        .block_rq_requeue
        .set_autoload(abilities.requeue.is_some());
    progs.evict.set_autoload(abilities.may_copy);
    progs.evict.set_autoattach(false);
}

/// Selects the programs that record when the program asked.
fn select_asked(
    open: &mut OpenIoschedSkel<'_>,
    abilities: &Abilities,
    detail: Detail,
) -> Result<()> {
    let progs = &mut open.progs;
    ensure!(
        !detail.asked || detail.sees_bios(abilities),
        "the times since a program asked (A) cannot be measured without Q2G"
    );
    let calls = detail.asked && abilities.syscalls;
    progs.sys_enter.set_autoload(calls);
    progs
        .sys_exit
        .set_autoload(calls || (detail.asked && abilities.uring_submit.is_some()));
    progs
        .io_uring_submit
        .set_autoload(detail.asked && abilities.uring_submit.is_some());
    match abilities.uring_submit {
        Some(name) => attach_to(&progs.io_uring_submit, name),
        None => Ok(()),
    }
}

/// Attaches the program to the tracepoint's name on this kernel.
pub(crate) fn attach_to(program: &libbpf_rs::OpenProgramMut<'_>, name: &str) -> Result<()> {
    let attach_to = std::ffi::CString::new(name)?;
    // SAFETY: the program is open and not loaded; libbpf copies the name.
    let status = unsafe {
        libbpf_sys::bpf_program__set_attach_target(
            libbpf_rs::AsRawLibbpf::as_libbpf_object(program).as_ptr(),
            0,
            attach_to.as_ptr(),
        )
    };
    ensure!(
        status == 0,
        "selecting the tracepoint {name} failed with error {}",
        -status
    );
    Ok(())
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec * 1_000_000_000 + now.tv_nsec).cast_unsigned()
}

fn set_constants(
    open: &mut OpenIoschedSkel<'_>,
    abilities: &Abilities,
    config: &Config,
) -> Result<()> {
    let constants = open
        .maps
        .rodata_data
        .as_deref_mut()
        .context("the BPF object has no constants")?;
    constants.loaded_ns = monotonic_ns();
    constants.bio_queue_arg = abilities.bio_queue.unwrap_or(0);
    constants.merge_arg = abilities.back_merge.unwrap_or(0);
    constants.insert_arg = abilities.insert.unwrap_or(0);
    constants.issue_arg = abilities.issue.unwrap_or(0);
    constants.requeue_arg = abilities.requeue.unwrap_or(0);
    constants.rq_merge_arg = abilities.rq_merge.unwrap_or(0);
    constants.getrq_arg = abilities.getrq.unwrap_or(0);
    constants.async_work_arg = abilities.uring_async_work.unwrap_or(0);
    constants.io_submit_nr = libc::SYS_io_submit as u32;
    constants.light = config.detail.light;
    constants.with_q = config.detail.sees_bios(abilities);
    constants.with_asked = config.detail.asked;
    constants.zone_ops = abilities.zone_ops;
    // What is kept by bio is only for requests that are started without it.
    constants.has_io_start = abilities.io_start.is_some() || config.detail.light;
    constants.has_tag_wait = abilities.tag_wait;
    constants.has_task_btf = abilities.task_btf;
    constants.may_copy = abilities.may_copy;
    constants.flush_seq_flag = abilities.flush_seq_flag;
    constants.shards = config.shards;
    let has_shard_per_cpu = libbpf_rs::num_possible_cpus()? <= config.shards as usize;
    constants.counts_alone = has_shard_per_cpu && abilities.runs_alone;
    constants.ring_records = ring_size(config, abilities);
    constants.ring_levels = ring_levels(abilities);
    constants.with_i2d = config.detail.i2d;
    constants.with_passthrough = config.detail.passthrough;
    constants.with_writeback = config.detail.writeback;
    constants.with_files = config.detail.files;
    if config.detail.files {
        constants.end_functions = end_functions::read()?;
    }
    Ok(())
}
