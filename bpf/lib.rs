//! The kernel side of iosched: loads and attaches the BPF programs, and reads their maps.
//! Knows nothing of schedulers, statistics or terminals. Times in nanoseconds, counts cumulative since the load.
//! The only C and, but for a few ioctls, the only unsafe Rust of the project.

#![allow(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod abilities;
mod budget;
mod mapped;

#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    non_snake_case
)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/iosched.skel.rs"));
}

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, ensure};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, OpenObject, PrintLevel, libbpf_sys};

pub use abilities::Abilities;
pub use budget::verified_instructions;
use mapped::{MappedArray, Plain};
pub use skeleton::types::{
    device_histogram, device_stats, op_counters, owner, owner_key, owner_op,
};
use skeleton::{IoschedSkel, IoschedSkelBuilder, OpenIoschedSkel};

// Sizes from wire.h; the generated types hold the build to them.
pub const OPS: usize = 5;
pub const LATENCIES: usize = 7;
pub const DEVICE_CELLS: usize = 1792;
pub const OWNER_CELLS: usize = 448;

/// Index of a histogram of a device and operation; see wire.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Latency {
    Q2dDirect,
    Q2dWaited,
    Q2gWaited,
    G2dWaited,
    G2dAlone,
    D2c,
    Q2c,
}

const _: () = assert!(size_of::<device_histogram>() == DEVICE_CELLS * 4);
const _: () = assert!(size_of::<device_stats>() == (OPS * 2 + 15) * 8);

impl Latency {
    /// In the order of their indices.
    pub const ALL: [Latency; LATENCIES] = [
        Latency::Q2dDirect,
        Latency::Q2dWaited,
        Latency::Q2gWaited,
        Latency::G2dWaited,
        Latency::G2dAlone,
        Latency::D2c,
        Latency::Q2c,
    ];
}

// SAFETY: generated from wire.h: integers only, sizes multiples of 8.
unsafe impl Plain for device_stats {}
// SAFETY: as above.
unsafe impl Plain for device_histogram {}
// SAFETY: as above.
unsafe impl Plain for owner {}

/// A device to trace, with the size of its tag space.
#[derive(Clone, Debug)]
pub struct Target {
    pub major: u32,
    pub minor: u32,
    pub hardware_queues: u32,
    /// Tags of one hardware queue: the largest of the driver's and any scheduler's.
    pub depth: u32,
}

#[derive(Clone, Debug)]
pub struct Config {
    pub targets: Vec<Target>,
    /// Owners kept apart; the rest is charged to `other` and counted.
    pub owners: u32,
    /// Copies of each device's numbers, a power of two; more of them on machines with many CPUs.
    pub shards: u32,
}

/// The attached programs. Dropping it detaches them.
pub struct Tracer {
    abilities: Abilities,
    config: Config,
    devices: MappedArray<device_stats>,
    histograms: MappedArray<device_histogram>,
    owners: MappedArray<owner>,
    memory_bytes: u64,
    skeleton: IoschedSkel<'static>,
}

static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());

#[allow(clippy::needless_pass_by_value)] // the signature is libbpf-rs'
fn keep_log(_: PrintLevel, text: String) {
    if let Ok(mut log) = LIBBPF_LOG.lock() {
        log.push_str(&text);
    }
}

fn whole_log() -> String {
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
struct Loaded {
    abilities: Abilities,
    sizes: Sizes,
    skeleton: IoschedSkel<'static>,
}

fn load(config: &Config, adjust: impl FnOnce(&mut OpenIoschedSkel<'_>)) -> Result<Loaded> {
    ensure!(
        config.shards.is_power_of_two(),
        "shards: a power of two, not {}",
        config.shards
    );
    ensure!(!config.targets.is_empty(), "no device to trace");
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
    select_programs(&mut open, &abilities);
    set_constants(&mut open, &abilities, config.shards)?;
    let sizes = size_maps(&mut open, config, &abilities)?;
    adjust(&mut open);
    let skeleton = open
        .load()
        .map_err(|e| explain(&e, "loading the BPF programs"))?;
    Ok(Loaded {
        abilities,
        sizes,
        skeleton,
    })
}

impl Tracer {
    pub fn attach(config: Config) -> Result<Self> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep_log)));
        let Loaded {
            abilities,
            sizes,
            mut skeleton,
        } = load(&config, |_| ())?;
        fill_maps(&skeleton, &config)?;
        libbpf_rs::skel::Skel::attach(&mut skeleton)
            .map_err(|e| explain(&e, "attaching the BPF programs"))?;

        Ok(Tracer {
            devices: MappedArray::new(&skeleton.maps.devices, sizes.devices as usize)?,
            histograms: MappedArray::new(&skeleton.maps.histograms, sizes.histograms as usize)?,
            owners: MappedArray::new(&skeleton.maps.owners, config.owners as usize)?,
            memory_bytes: sizes.memory_bytes,
            abilities,
            config,
            skeleton,
        })
    }

    pub fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    /// Kernel memory of the arrays, fixed at the load.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    fn shards(&self) -> std::ops::Range<usize> {
        0..self.config.shards as usize
    }

    /// One record per shard of the device in `slot` (its place in `Config::targets`), to be summed.
    pub fn device_stats(&self, slot: usize) -> impl Iterator<Item = device_stats> + '_ {
        self.shards()
            .map(move |shard| self.devices.get(slot * self.config.shards as usize + shard))
    }

    /// The cells of one histogram of the device in `slot`, added up over all shards. They wrap at 2^32.
    pub fn histogram(&self, slot: usize, op: usize, latency: Latency) -> Vec<u32> {
        let mut sums = vec![0u32; DEVICE_CELLS];
        for shard in self.shards() {
            let row = (slot * self.config.shards as usize + shard) * OPS + op;
            let histogram = self.histograms.get(row * LATENCIES + latency as usize);
            for (sum, cell) in sums.iter_mut().zip(histogram.cells) {
                *sum = sum.wrapping_add(cell);
            }
        }
        sums
    }

    /// The owners seen so far; index 0 is `other`.
    pub fn owners(&self) -> impl Iterator<Item = (usize, owner)> + '_ {
        let seen = (1..self.owners.len())
            .map(|index| (index, self.owners.get(index)))
            .take_while(|(_, owner)| owner.key.tgid != 0);
        std::iter::once((0, self.owners.get(0))).chain(seen)
    }

    /// Runs of our programs that the kernel skipped, because one of them was interrupted by itself
    /// (`recursion_misses`, seen on 7.x kernels).
    pub fn skipped(&self) -> Result<u64> {
        Ok(self
            .program_infos()?
            .iter()
            .map(|(_, info)| info.recursion_misses)
            .sum())
    }

    /// The programs that are in use, with what the kernel says of them.
    fn program_infos(&self) -> Result<Vec<(String, libbpf_sys::bpf_prog_info)>> {
        let programs = libbpf_rs::skel::Skel::object(&self.skeleton).progs();
        let in_use = programs.filter(|program| program.as_fd().as_raw_fd() >= 0);
        in_use
            .map(|program| {
                let mut info = libbpf_sys::bpf_prog_info::default();
                let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
                // SAFETY: the descriptor is a live program's, the buffer has the length that is passed.
                let status = unsafe {
                    libbpf_sys::bpf_obj_get_info_by_fd(
                        program.as_fd().as_raw_fd(),
                        (&raw mut info).cast(),
                        &raw mut length,
                    )
                };
                ensure!(
                    status == 0,
                    "asking the kernel about a BPF program: error {}",
                    -status
                );
                Ok((program.name().to_string_lossy().into_owned(), info))
            })
            .collect()
    }
}

/// The kernel refused for want of a right.
#[derive(Debug)]
pub struct NotPermitted {
    pub what: String,
    /// libbpf's own words.
    pub log: String,
}

impl std::fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was not permitted", self.what)
    }
}

impl std::error::Error for NotPermitted {}

/// The kernel's lockdown mode in which programs may not read its memory.
fn is_confidential() -> bool {
    std::fs::read_to_string("/sys/kernel/security/lockdown")
        .is_ok_and(|modes| modes.contains("[confidentiality]"))
}

fn explain(error: &libbpf_rs::Error, what: &str) -> anyhow::Error {
    let log = taken_log();
    // It refuses the helpers that read memory, and the verifier then says no more than that a helper is unknown.
    if is_confidential() {
        return anyhow::Error::new(NotPermitted {
            what: what.to_owned(),
            log: "this kernel is locked down (confidentiality)".to_owned(),
        });
    }
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        return anyhow::Error::new(NotPermitted {
            what: what.to_owned(),
            log,
        });
    }
    anyhow!("{what}: {error}\n{log}")
}

fn select_programs(open: &mut OpenIoschedSkel<'_>, abilities: &Abilities) {
    let progs = &mut open.progs;
    progs
        .block_bio_queue
        .set_autoload(abilities.bio_queue.is_some() && abilities.task_storage);
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
        .set_autoload(abilities.io_start.is_none() && abilities.insert.is_some());
    progs
        .block_rq_requeue
        .set_autoload(abilities.requeue.is_some());
}

fn set_constants(open: &mut OpenIoschedSkel<'_>, abilities: &Abilities, shards: u32) -> Result<()> {
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
    constants.has_io_start = abilities.io_start.is_some();
    constants.has_task_storage = abilities.task_storage;
    constants.start_time_is_exact = abilities.start_time_is_exact;
    constants.flush_seq_flag = abilities.flush_seq_flag;
    constants.shards = shards;
    Ok(())
}

/// Elements of a device in the in-flight table: its tags, and one row per hardware queue for flush commands.
fn inflight_elements(target: &Target) -> u32 {
    target.hardware_queues * (target.depth + 1)
}

struct Sizes {
    devices: u32,
    histograms: u32,
    memory_bytes: u64,
}

fn size_maps(
    open: &mut OpenIoschedSkel<'_>,
    config: &Config,
    abilities: &Abilities,
) -> Result<Sizes> {
    let devices = config.targets.len() as u32 * config.shards;
    let histograms = devices * (OPS * LATENCIES) as u32;
    let inflight: u32 = config.targets.iter().map(inflight_elements).sum();
    let maps = &mut open.maps;
    maps.devices.set_max_entries(devices)?;
    maps.histograms.set_max_entries(histograms)?;
    maps.inflight.set_max_entries(inflight)?;
    maps.owners.set_max_entries(config.owners)?;
    maps.owner_index.set_max_entries(config.owners)?;
    maps.free_owners.set_max_entries(config.owners)?;
    maps.threads.set_autocreate(abilities.task_storage)?;
    let bytes = |elements: u32, size: usize| u64::from(elements) * size as u64;
    Ok(Sizes {
        devices,
        histograms,
        memory_bytes: bytes(devices, size_of::<device_stats>())
            + bytes(histograms, size_of::<device_histogram>())
            + bytes(inflight, size_of::<skeleton::types::inflight>())
            + bytes(config.owners, size_of::<owner>()),
    })
}

fn fill_maps(skeleton: &IoschedSkel<'_>, config: &Config) -> Result<()> {
    for index in 1..config.owners {
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
        base += inflight_elements(target);
    }
    Ok(())
}
