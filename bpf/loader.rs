//! From the object to attached programs: which of them, with which constants, and maps of which size.

use std::mem::MaybeUninit;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, ensure};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapType, OpenMap, OpenObject, PrintLevel, libbpf_sys};

use crate::skeleton::{IoschedSkel, IoschedSkelBuilder, OpenIoschedSkel};
use crate::{
    Abilities, COARSE, Config, DIRTIERS, DISPATCHES, Detail, THREADS, Target, abilities,
    kept_by_bio, rows,
};

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

/// What libbpf and the verifier said last, which its error codes leave out.
fn taken_log() -> String {
    let log = whole_log();
    let tail: Vec<&str> = log.lines().rev().take(12).collect();
    tail.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// What the kernel has accepted, not attached yet.
pub(crate) struct Loaded {
    pub abilities: Abilities,
    pub sizes: Sizes,
    pub skeleton: IoschedSkel<'static>,
}

pub(crate) fn load(
    config: &Config,
    adjust: impl FnOnce(&mut OpenIoschedSkel<'_>),
) -> Result<Loaded> {
    ensure!(
        config.shards.is_power_of_two(),
        "shards: a power of two, not {}",
        config.shards
    );
    ensure!(!config.targets.is_empty(), "no device to trace");
    ensure!(
        (1..=config.owners).contains(&config.owner_histograms),
        "owners with histograms: between 1 and {}",
        config.owners
    );
    let abilities = Abilities::of_running_kernel()?;
    ensure!(
        abilities.issue.is_some() && abilities.complete.is_some(),
        "this kernel lacks the tracepoints block_rq_issue and block_rq_complete (CONFIG_BLOCK, CONFIG_TRACEPOINTS)"
    );

    // The skeleton borrows its slot; leaking one pointer-sized slot per load lets both live in one struct.
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

/// The programs count as locked memory, too, and each map in whole pages: more than they take together.
const PROGRAM_BYTES: u64 = 1 << 20;

/// The kernel refused for want of a right.
#[derive(Debug)]
pub struct NotPermitted {
    pub what: String,
    /// libbpf's own words.
    pub log: String,
    /// What it takes of RLIMIT_MEMLOCK, on a kernel that counts that: for want of room there it refuses with the same error.
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
    // It refuses the helpers that read memory, and the verifier then says no more than that a helper is unknown.
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
    anyhow!("{what}: {error}\n{log}")
}

fn select_programs(
    open: &mut OpenIoschedSkel<'_>,
    abilities: &Abilities,
    detail: Detail,
) -> Result<()> {
    let progs = &mut open.progs;
    progs
        .block_bio_queue
        .set_autoload(abilities.bio_queue.is_some() && !detail.without_q2g);
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
        .block_bio_complete
        .set_autoload(abilities.bio_complete.is_some() && !detail.without_q2g);
    select_asked(open, abilities, detail)?;
    let progs = &mut open.progs;
    progs
        .block_rq_requeue
        .set_autoload(abilities.requeue.is_some());
    progs.is_in_use.set_autoload(abilities.may_copy);
    progs.is_in_use.set_autoattach(false); // it is run, and on no tracepoint
    progs.writeback_dirty.set_autoload(detail.writeback);
    if detail.writeback {
        ensure!(
            abilities.may_copy,
            "following writeback up needs reads that the lockdown mode \"confidentiality\" forbids"
        );
        let name = abilities.writeback_dirty.context(
            "this kernel has no tracepoint writeback_dirty_folio or writeback_dirty_page",
        )?;
        attach_to(&progs.writeback_dirty, name)?;
    }
    Ok(())
}

/// The programs that learn when the program asked.
fn select_asked(
    open: &mut OpenIoschedSkel<'_>,
    abilities: &Abilities,
    detail: Detail,
) -> Result<()> {
    let progs = &mut open.progs;
    ensure!(
        !detail.asked || (abilities.bio_queue.is_some() && !detail.without_q2g),
        "since when a program waits is not known without the time before a request exists (Q2G)"
    );
    let calls = detail.asked && abilities.syscalls;
    progs.sys_enter.set_autoload(calls);
    progs
        .sys_exit
        .set_autoload(calls || (detail.asked && abilities.uring_submit.is_some()));
    progs
        .io_uring_submit
        .set_autoload(detail.asked && abilities.uring_submit.is_some());
    progs
        .io_uring_hand_over
        .set_autoload(detail.asked && abilities.uring_async_work.is_some());
    match abilities.uring_submit {
        Some(name) => attach_to(&progs.io_uring_submit, name),
        None => Ok(()),
    }
}

/// The tracepoint that has this name here.
fn attach_to(program: &libbpf_rs::OpenProgramMut<'_>, name: &str) -> Result<()> {
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
        "naming the tracepoint {name}: error {}",
        -status
    );
    Ok(())
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
    constants.bio_queue_arg = abilities.bio_queue.unwrap_or(0);
    constants.merge_arg = abilities.back_merge.unwrap_or(0);
    constants.insert_arg = abilities.insert.unwrap_or(0);
    constants.issue_arg = abilities.issue.unwrap_or(0);
    constants.requeue_arg = abilities.requeue.unwrap_or(0);
    constants.rq_merge_arg = abilities.rq_merge.unwrap_or(0);
    constants.getrq_arg = abilities.getrq.unwrap_or(0);
    constants.bio_complete_arg = abilities.bio_complete.unwrap_or(0);
    constants.async_work_arg = abilities.uring_async_work.unwrap_or(0);
    constants.io_submit_nr = libc::SYS_io_submit as u32;
    constants.with_q = abilities.bio_queue.is_some() && !config.detail.without_q2g;
    constants.with_asked = config.detail.asked;
    constants.zone_ops = abilities.zone_ops;
    constants.has_io_start = abilities.io_start.is_some();
    constants.has_task_btf = abilities.task_btf;
    constants.may_copy = abilities.may_copy;
    constants.flush_seq_flag = abilities.flush_seq_flag;
    constants.shards = config.shards;
    let has_shard_per_cpu = libbpf_rs::num_possible_cpus()? <= config.shards as usize;
    constants.counts_alone = has_shard_per_cpu && abilities.runs_alone;
    constants.devices_are_coarse = config.coarse;
    constants.with_order = config.detail.order;
    constants.with_fairness = config.detail.fairness;
    constants.with_i2d = config.detail.i2d;
    constants.with_owner_stages = config.detail.owner_stages;
    constants.with_passthrough = config.detail.passthrough;
    constants.with_writeback = config.detail.writeback;
    Ok(())
}

/// Elements of a device in the in-flight table: its tags, one row per hardware queue for flush commands, and if
/// passthrough is measured the tags again.
pub(crate) fn inflight_elements(target: &Target, detail: Detail) -> u32 {
    let tags = target.hardware_queues * target.depth;
    tags + target.hardware_queues + if detail.passthrough { tags } else { 0 }
}

/// Overhead of an element of a hash table: an estimate, everything else is to the byte.
const HASH_ELEMENT: u32 = 64;

pub(crate) struct Sizes {
    pub devices: u32,
    pub histograms: u32,
    pub orders: u32,
    pub dispatches: u32,
    pub inflight: u32,
    pub owner_stages: u32,
    pub owner_asked: u32,
    pub memory_bytes: u64,
}

fn size_maps(
    open: &mut OpenIoschedSkel<'_>,
    config: &Config,
    abilities: &Abilities,
) -> Result<Sizes> {
    let slots = config.targets.len() as u32;
    let devices = slots * config.shards;
    let fine = devices * rows(config.detail) as u32;
    let histograms = if config.coarse {
        fine.div_ceil(COARSE as u32)
    } else {
        fine
    };
    let inflight: u32 = config
        .targets
        .iter()
        .map(|target| inflight_elements(target, config.detail))
        .sum();
    let wanted = |is_wanted: bool, elements: u32| if is_wanted { elements } else { 1 };
    let orders = wanted(config.detail.order, devices);
    let dispatches = wanted(config.detail.order, slots * DISPATCHES as u32);
    let owner_stages = wanted(config.detail.owner_stages, config.owner_histograms);
    let dirtiers = wanted(config.detail.writeback, DIRTIERS);
    let owner_asked = wanted(config.detail.asked, config.owner_histograms);
    let pendings = wanted(abilities.io_start.is_none(), kept_by_bio());
    let by_request = wanted(config.detail.asked, kept_by_bio());
    let maps = &mut open.maps;
    maps.devices.set_max_entries(devices)?;
    maps.histograms.set_max_entries(histograms)?;
    maps.inflight.set_max_entries(inflight)?;
    maps.owners.set_max_entries(config.owners)?;
    maps.owner_latencies
        .set_max_entries(config.owner_histograms)?;
    maps.owner_stages.set_max_entries(owner_stages)?;
    maps.owner_index.set_max_entries(config.owners)?;
    maps.free_owners.set_max_entries(config.owners)?;
    maps.targets.set_max_entries(slots)?;
    maps.queue_places.set_max_entries(slots)?;
    maps.elevators.set_max_entries(4 * slots)?;
    maps.orders.set_max_entries(orders)?;
    maps.order_states.set_max_entries(slots)?;
    maps.clocks.set_max_entries(slots)?;
    maps.dispatches.set_max_entries(dispatches)?;
    maps.dirtiers.set_max_entries(dirtiers)?;
    maps.pendings.set_max_entries(pendings)?;
    maps.nowait_failures.set_max_entries(kept_by_bio())?;
    maps.handed_over.set_max_entries(by_request)?;
    maps.askings
        .set_max_entries(wanted(config.detail.asked, THREADS))?;
    maps.asked
        .set_max_entries(wanted(config.detail.asked, inflight))?;
    maps.owner_asked.set_max_entries(owner_asked)?;
    Ok(Sizes {
        devices,
        histograms,
        orders,
        dispatches,
        inflight,
        owner_stages,
        owner_asked,
        memory_bytes: open.open_object().maps().map(|map| map_bytes(&map)).sum(),
    })
}

fn map_bytes(map: &OpenMap<'_>) -> u64 {
    let [key, value] = [map.key_size(), map.value_size()].map(|size| size.next_multiple_of(8));
    let element = match map.map_type() {
        MapType::Hash | MapType::LruHash => key + value + HASH_ELEMENT,
        MapType::Stack => map.value_size(),
        _ => value,
    };
    u64::from(map.max_entries()) * u64::from(element)
}

pub(crate) fn fill_maps(skeleton: &IoschedSkel<'_>, config: &Config) -> Result<()> {
    // The last one is the first to be taken.
    for index in (1..config.owners).rev() {
        skeleton
            .maps
            .free_owners
            .update(&[], &index.to_ne_bytes(), MapFlags::ANY)?;
    }
    let mut base = 0u32;
    for (slot, target) in config.targets.iter().enumerate() {
        let dev = (target.major << 20) | target.minor;
        let value = [slot as u32, base, target.depth, target.hardware_queues];
        let bytes: Vec<u8> = value.iter().flat_map(|word| word.to_ne_bytes()).collect();
        skeleton
            .maps
            .targets
            .update(&dev.to_ne_bytes(), &bytes, MapFlags::ANY)?;
        base += inflight_elements(target, config.detail);
    }
    Ok(())
}
