//! The kernel side of iosched: loads and attaches the BPF programs, and reads their maps.
//! Knows nothing of schedulers, statistics or terminals. Times in nanoseconds, counts cumulative since the load.
//! The only C and, but for a few ioctls, the only unsafe Rust of the project.

#![allow(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod abilities;
mod budget;
mod loader;
mod mapped;
mod under_way;

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

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Result, ensure};
use libbpf_rs::{MapCore, MapFlags, PrintLevel, libbpf_sys};

pub use abilities::Abilities;
pub use budget::verified_instructions;
pub use loader::NotPermitted;
use loader::{Loaded, explain, fill_maps, inflight_elements, keep_log, load};
pub use mapped::Line;
use mapped::{MappedArray, Plain};
use skeleton::IoschedSkel;
pub use skeleton::types::{
    device_histogram, device_stats, dispatch, inflight, op_counters, order_stats, owner,
    owner_asked, owner_key, owner_latency, owner_op, owner_stages, queue,
};

// Sizes from wire.h; the generated types hold the build to them.
pub const OPS: usize = 8;
pub const DATA_OPS: usize = 3;
pub const DEVICE_CELLS: usize = 1792;
pub const OWNER_CELLS: usize = 448;
/// Histograms of an owner in each of the structures that hold some.
const OWNER_STAGES: usize = 2 * OwnerLatency::STAGES.len();
const OWNER_ASKED: usize = 2 * OwnerLatency::ASKED.len();
/// Lines of a histogram of an owner, rounded up.
const OWNER_LINES: usize = 32;
/// Histograms of the owners' layout in the room of one of a device's.
const COARSE: usize = DEVICE_CELLS / OWNER_CELLS;
pub const GAP_CELLS: usize = 64;
pub const LOG2_CELLS: usize = 48;
pub const DISPATCHES: usize = 8192;
pub const CLOCK_SHIFT: u32 = 8;
pub const STATUSES: usize = 128;

/// Index of a histogram of a device and operation; see wire.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(usize)]
pub enum Latency {
    Q2dDirect,
    D2c,
    Q2c,
    // Of data operations only:
    Q2dWaited,
    Q2gWaited,
    G2dWaited,
    G2dAlone,
    I2d,
    Q2dMerged,
    D2cMerged,
    Q2cMerged,
    /// And if it is asked for:
    A2q,
    A2d,
    A2c,
}

impl Latency {
    /// In the order of their indices.
    pub const ALL: [Latency; LATENCIES + ASKED] = [
        Latency::Q2dDirect,
        Latency::D2c,
        Latency::Q2c,
        Latency::Q2dWaited,
        Latency::Q2gWaited,
        Latency::G2dWaited,
        Latency::G2dAlone,
        Latency::I2d,
        Latency::Q2dMerged,
        Latency::D2cMerged,
        Latency::Q2cMerged,
        Latency::A2q,
        Latency::A2d,
        Latency::A2c,
    ];
}

/// Pairs of an owner's histograms, of reads and of writes. With all stages asked for, Q2D is of requests that did not wait
/// for their start, and of the others `Q2dIndirect`; see wire.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum OwnerLatency {
    Q2d,
    D2c,
    // Of `owner_stages`:
    Q2dIndirect,
    Q2gIndirect,
    G2dIndirect,
    Q2c,
    I2d,
    // These three are in `owner_asked`:
    A2q,
    A2d,
    A2c,
}

impl OwnerLatency {
    /// In the order of their indices.
    pub const ALL: [OwnerLatency; Self::COUNT] = [
        OwnerLatency::Q2d,
        OwnerLatency::D2c,
        OwnerLatency::Q2dIndirect,
        OwnerLatency::Q2gIndirect,
        OwnerLatency::G2dIndirect,
        OwnerLatency::Q2c,
        OwnerLatency::I2d,
        OwnerLatency::A2q,
        OwnerLatency::A2d,
        OwnerLatency::A2c,
    ];
    pub const COUNT: usize = 10;
    /// Those that are always counted.
    pub const BASE: [OwnerLatency; 2] = [OwnerLatency::Q2d, OwnerLatency::D2c];
    pub const STAGES: [OwnerLatency; 5] = [
        OwnerLatency::Q2dIndirect,
        OwnerLatency::Q2gIndirect,
        OwnerLatency::G2dIndirect,
        OwnerLatency::Q2c,
        OwnerLatency::I2d,
    ];
    pub const ASKED: [OwnerLatency; 3] = [OwnerLatency::A2q, OwnerLatency::A2d, OwnerLatency::A2c];

    /// Those that are counted with such a detail, in the order of their indices.
    pub fn counted(detail: Detail) -> impl Iterator<Item = OwnerLatency> {
        Self::ALL.into_iter().filter(move |which| {
            Self::BASE.contains(which)
                || (detail.owner_stages && Self::STAGES.contains(which))
                || (detail.asked && Self::ASKED.contains(which))
        })
    }
}

/// CPUs that there could ever be: their numbers are below this.
pub fn possible_cpus() -> usize {
    libbpf_rs::num_possible_cpus().unwrap_or(1)
}

/// Histograms of a data operation, and of another.
pub const LATENCIES: usize = 11;
pub const OTHER_LATENCIES: usize = 3;
/// Histograms of a device, and how many more it has if those since the asking are wanted.
const ROWS: usize = DATA_OPS * LATENCIES + (OPS - DATA_OPS) * OTHER_LATENCIES;
const ASKED: usize = 3;
const ASKED_ROWS: usize = DATA_OPS * ASKED;
pub const ALL_ROWS: usize = ROWS + ASKED_ROWS;

const _: () = assert!(size_of::<device_histogram>() == DEVICE_CELLS * 4);
const _: () = assert!(size_of::<device_stats>() == (OPS * 7 + 26) * 8 + STATUSES * 4);
const _: () = assert!(size_of::<inflight>() == 64);
const _: () = assert!(size_of::<owner_latency>() == OwnerLatency::BASE.len() * 2 * OWNER_CELLS * 4);
const _: () = assert!(size_of::<owner_stages>() == OWNER_STAGES * (OWNER_LINES + OWNER_CELLS * 4));
const _: () = assert!(size_of::<owner_asked>() == OWNER_ASKED * (OWNER_LINES + OWNER_CELLS * 4));
const _: () = assert!(size_of::<order_stats>() == 10 * 8 + 6 * LOG2_CELLS * 4);

/// Of wire.h and the programs, not seen from outside.
const QUEUE_IDS: usize = 4096;
/// Inodes whose last writer is remembered.
const DIRTIERS: u32 = 65_536;
/// Bios between their Q and the first sight of their request: a table that forgets the oldest, each CPU's share apart.
fn kept_by_bio() -> u32 {
    // Each CPU may hold 128 elements ready for itself.
    (256 * possible_cpus() as u32).max(16_384)
}
/// Places of threads, in owner.bpf.h.
const THREADS: u32 = 65_536;

/// Histograms of a device, with such a detail.
pub fn rows(detail: Detail) -> usize {
    if detail.asked { ALL_ROWS } else { ROWS }
}

/// Place of a histogram among a device's [`ALL_ROWS`]; none if that operation has no such histogram.
pub fn row(op: usize, latency: Latency) -> Option<usize> {
    let latency = latency as usize;
    if latency >= LATENCIES {
        (op < DATA_OPS).then(|| ROWS + op * ASKED + latency - LATENCIES)
    } else if op < DATA_OPS {
        Some(op * LATENCIES + latency)
    } else {
        (latency < OTHER_LATENCIES)
            .then(|| DATA_OPS * LATENCIES + (op - DATA_OPS) * OTHER_LATENCIES + latency)
    }
}

// SAFETY: generated from wire.h: integers only, sizes multiples of 8.
unsafe impl Plain for device_stats {}
// SAFETY: as above.
unsafe impl Plain for device_histogram {}
// SAFETY: as above.
unsafe impl Plain for owner {}
// SAFETY: as above.
unsafe impl Plain for owner_latency {}
// SAFETY: as above.
unsafe impl Plain for owner_stages {}
// SAFETY: as above.
unsafe impl Plain for owner_asked {}
// SAFETY: as above.
unsafe impl Plain for order_stats {}
// SAFETY: as above.
unsafe impl Plain for dispatch {}
// SAFETY: as above.
unsafe impl Plain for inflight {}
// SAFETY: as above.
unsafe impl Plain for queue {}
// SAFETY: one word.
unsafe impl Plain for u64 {}

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
    /// Of these so many have histograms, too.
    pub owner_histograms: u32,
    /// Copies of each device's numbers, a power of two; more of them on machines with many CPUs.
    pub shards: u32,
    /// So many devices that the histograms of each have the owners' layout.
    pub coarse: bool,
    pub detail: Detail,
}

impl Config {
    /// Kernel memory for the requests under way: the part that grows with a disk's hardware queues and tags.
    pub fn inflight_bytes(&self) -> u64 {
        let elements = |target| u64::from(inflight_elements(target, self.detail));
        let all: u64 = self.targets.iter().map(elements).sum();
        all * size_of::<inflight>() as u64
    }
}

/// What costs time per I/O and is measured only if wanted.
#[allow(clippy::struct_excessive_bools)] // independent switches
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Leave out the time before a request exists, and with it the program at `block_bio_queue`.
    pub without_q2g: bool,
    /// Reordering, seeks, runs.
    pub order: bool,
    /// Device time, backlog and starvation per owner.
    pub fairness: bool,
    /// The scheduler alone: insert to issue.
    pub i2d: bool,
    /// Since when the program waits: A2Q, A2D, A2C. Runs at every system call of the machine.
    pub asked: bool,
    /// Histograms of all stages per owner; else of Q2D and D2C.
    pub owner_stages: bool,
    /// The driver's own commands.
    pub passthrough: bool,
    /// Writeback charged to who dirtied the pages.
    pub writeback: bool,
}

/// The attached programs. Dropping it detaches them.
pub struct Tracer {
    abilities: Abilities,
    config: Config,
    devices: MappedArray<device_stats>,
    histograms: MappedArray<device_histogram>,
    owners: MappedArray<owner>,
    owner_latencies: MappedArray<owner_latency>,
    owner_stages: MappedArray<owner_stages>,
    owner_asked: MappedArray<owner_asked>,
    orders: MappedArray<order_stats>,
    dispatches: MappedArray<dispatch>,
    inflight: MappedArray<inflight>,
    queues: MappedArray<queue>,
    queue_places: MappedArray<u64>,
    memory_bytes: u64,
    skeleton: IoschedSkel<'static>,
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
            .map_err(|e| explain(&e, "attaching the BPF programs", None))?;

        Ok(Tracer {
            devices: MappedArray::new(&skeleton.maps.devices, sizes.devices as usize)?,
            histograms: MappedArray::new(&skeleton.maps.histograms, sizes.histograms as usize)?,
            owners: MappedArray::writable(&skeleton.maps.owners, config.owners as usize)?,
            owner_latencies: MappedArray::writable(
                &skeleton.maps.owner_latencies,
                config.owner_histograms as usize,
            )?,
            owner_stages: MappedArray::writable(
                &skeleton.maps.owner_stages,
                sizes.owner_stages as usize,
            )?,
            owner_asked: MappedArray::writable(
                &skeleton.maps.owner_asked,
                sizes.owner_asked as usize,
            )?,
            orders: MappedArray::new(&skeleton.maps.orders, sizes.orders as usize)?,
            dispatches: MappedArray::new(&skeleton.maps.dispatches, sizes.dispatches as usize)?,
            inflight: MappedArray::new(&skeleton.maps.inflight, sizes.inflight as usize)?,
            queues: MappedArray::writable(&skeleton.maps.queues, QUEUE_IDS)?,
            queue_places: MappedArray::new(&skeleton.maps.queue_places, config.targets.len())?,
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

    /// How many copies of a device's numbers there are.
    pub fn shard_count(&self) -> usize {
        self.config.shards as usize
    }

    /// The cells of one histogram of the device in `slot`, by [`row`], that have grown since `last` was read, and by how
    /// much. They wrap at 2^32.
    pub fn new_counts(
        &self,
        (slot, shard, row): (usize, usize, usize),
        last: &mut Cells,
        each: impl FnMut(usize, u32),
    ) {
        let index = (slot * self.config.shards as usize + shard) * rows(self.config.detail) + row;
        let (element, first, cells) = if self.config.coarse {
            let within = index % COARSE * OWNER_CELLS;
            (index / COARSE, within / 2, OWNER_CELLS)
        } else {
            (index, 0, DEVICE_CELLS)
        };
        let words = last.words(cells);
        self.histograms
            .changes(element, first, words, each_cell(each));
    }

    /// One record per shard, to be summed; none if order is not measured.
    pub fn order(&self, slot: usize) -> impl Iterator<Item = order_stats> + '_ {
        let shards = if self.config.detail.order {
            self.shards()
        } else {
            0..0
        };
        shards.map(move |shard| self.orders.get(slot * self.config.shards as usize + shard))
    }

    /// The last issues of the device and the places among them that were given away, at most [`DISPATCHES`], in no order;
    /// none if order is not measured.
    pub fn dispatches(&self, slot: usize) -> impl Iterator<Item = dispatch> + '_ {
        let places = if self.config.detail.order {
            0..DISPATCHES
        } else {
            0..0
        };
        places
            .map(move |place| self.dispatches.get(slot * DISPATCHES + place))
            .filter(|dispatch| dispatch.kind != 0)
    }

    /// How many places [`Tracer::inflight`] looks at.
    pub fn inflight_elements(&self, slot: usize) -> usize {
        inflight_elements(&self.config.targets[slot], self.config.detail) as usize
    }

    /// The requests under way on the device.
    pub fn inflight(&self, slot: usize) -> impl Iterator<Item = inflight> + '_ {
        let base = self.inflight_base(slot);
        (base..base + self.inflight_elements(slot))
            .map(|index| self.inflight.get(index))
            .filter(|state| state.request != 0)
    }

    /// The first place of the device in `inflight`.
    fn inflight_base(&self, slot: usize) -> usize {
        let elements = |target| inflight_elements(target, self.config.detail) as usize;
        self.config.targets[..slot].iter().map(elements).sum()
    }

    /// What the programs know of the device's queue; none before its first I/O.
    fn queue(&self, slot: usize) -> Option<(usize, queue)> {
        let id = self.queue_places.get(slot).checked_sub(1)? as usize;
        let queue = self.queues.get(id);
        // Another device's may have taken the place since.
        (queue.traced == 1 && queue.target.slot as usize == slot).then_some((id, queue))
    }

    /// How often the device's scheduler has been changed, by whomever, with I/O before and after it.
    pub fn switches(&self, slot: usize) -> u64 {
        self.queue(slot)
            .map_or(0, |(_, queue)| u64::from(queue.switches))
    }

    /// From now on requests that were asked for before `ns` (CLOCK_MONOTONIC) are straddlers: counted, and in nothing
    /// else.
    pub fn begin_epoch(&self, slot: usize, ns: u64) {
        if let Some((id, _)) = self.queue(slot) {
            self.queues
                .store(id, std::mem::offset_of!(queue, epoch_ns), ns);
        }
    }

    /// How many owners can be kept apart; their indices are below this, and 0 is `other`.
    pub fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// Whether the place is taken.
    pub fn is_owner(&self, index: usize) -> bool {
        let word = self.owners.word(
            index,
            std::mem::offset_of!(owner, key) + std::mem::offset_of!(owner_key, tgid),
        );
        word >> 48 != 0 // tgid, slot, kind
    }

    pub fn owner(&self, index: usize) -> owner {
        self.owners.get(index)
    }

    /// The same, and its longest times begin anew: those of what ends from here on.
    pub fn take_owner(&self, index: usize) -> owner {
        let mut row = self.owners.get(index);
        let take = |longest: &mut u64, offset| {
            // Most are of operations that there were none of.
            if *longest > 0 {
                *longest = self.owners.swap(index, offset, 0);
            }
        };
        for (place, op) in row.op.iter_mut().enumerate() {
            let first = std::mem::offset_of!(owner, op) + place * size_of::<owner_op>();
            let offset = first + std::mem::offset_of!(owner_op, q2d_max_ns);
            take(&mut op.q2d_max_ns, offset);
            let offset = first + std::mem::offset_of!(owner_op, d2c_max_ns);
            take(&mut op.d2c_max_ns, offset);
        }
        take(&mut row.gap_max_ns, std::mem::offset_of!(owner, gap_max_ns));
        row
    }

    /// Whether the owner has histograms; the table has room for fewer of them.
    pub fn has_latency(&self, index: usize) -> bool {
        index < self.owner_latencies.len()
    }

    /// Appends the lines that hold something of one of the histograms of an owner that has some, of reads (0) or of writes
    /// (1). Returns a bit for each, ascending. Their cells wrap at 2^32.
    pub fn owner_lines(
        &self,
        index: usize,
        (which, direction): (OwnerLatency, usize),
        lines: &mut Vec<Line>,
    ) -> u32 {
        assert!(direction < 2);
        let histogram = which as usize * 2 + direction;
        let Some(stage) = histogram.checked_sub(2 * OwnerLatency::BASE.len()) else {
            let words = cells_at(histogram * OWNER_CELLS / 2);
            return self.owner_latencies.lines(index, words, u32::MAX, lines);
        };
        match stage.checked_sub(OWNER_STAGES) {
            None => occupied_lines(&self.owner_stages, index, (stage, OWNER_STAGES), lines),
            Some(asked) => occupied_lines(&self.owner_asked, index, (asked, OWNER_ASKED), lines),
        }
    }

    /// Gives an owner's place to the next one that comes. Only for an owner whose process has ended, of which no request is
    /// under way: writeback of it may come again, as a new owner.
    pub fn recycle(&self, index: usize) -> Result<()> {
        let owner = self.owners.get(index);
        let maps = &self.skeleton.maps;
        maps.owner_index.delete(&key_bytes(&owner.key))?;
        self.owners.clear(index);
        if index < self.owner_latencies.len() {
            self.owner_latencies.clear(index);
        }
        if index < self.owner_stages.len() {
            self.owner_stages.clear(index);
        }
        if index < self.owner_asked.len() {
            self.owner_asked.clear(index);
        }
        maps.free_owners
            .update(&[], &(index as u32).to_ne_bytes(), MapFlags::ANY)?;
        Ok(())
    }

    /// What the programs ran so far, while `kernel.bpf_stats_enabled` was on.
    pub fn run_time_ns(&self) -> Result<u64> {
        Ok(self
            .program_infos()?
            .iter()
            .map(|(_, info)| info.run_time_ns)
            .sum())
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

/// The words of an owner's histogram that begins at this one.
fn cells_at(first: usize) -> std::ops::Range<usize> {
    first..first + OWNER_CELLS / 2
}

/// Appends the occupied lines of one histogram; `of` is how many the map's elements hold. See [`Tracer::owner_lines`].
fn occupied_lines<T: Plain>(
    map: &MappedArray<T>,
    index: usize,
    (histogram, of): (usize, usize),
    lines: &mut Vec<Line>,
) -> u32 {
    let occupied = map.flags(index, histogram * OWNER_LINES / 8);
    let words = cells_at((of * OWNER_LINES + histogram * OWNER_CELLS * 4) / 8);
    map.lines(index, words, occupied, lines)
}

/// The cells of one histogram in the kernel as they were when they were last read.
#[derive(Clone, Default)]
pub struct Cells(Vec<u64>);

impl Cells {
    /// Two cells a word. No memory is taken before the first look.
    fn words(&mut self, cells: usize) -> &mut [u64] {
        self.0.resize(cells / 2, 0);
        &mut self.0
    }
}

/// From words that have changed to the cells in them that have.
fn each_cell(mut each: impl FnMut(usize, u32)) -> impl FnMut(usize, u64, u64) {
    move |word, was, is| {
        for (half, (was, is)) in halves(was).into_iter().zip(halves(is)).enumerate() {
            if was != is {
                each(word * 2 + half, is.wrapping_sub(was));
            }
        }
    }
}

/// The two cells of a word, in their order in memory.
fn halves(word: u64) -> [u32; 2] {
    let bytes = word.to_ne_bytes();
    let cell =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [cell(0), cell(4)]
}

fn key_bytes(key: &owner_key) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<owner_key>());
    bytes.extend(key.cgroup_id.to_ne_bytes());
    bytes.extend(key.start_ns.to_ne_bytes());
    bytes.extend(key.tgid.to_ne_bytes());
    bytes.extend(key.slot.to_ne_bytes());
    bytes.extend(key.kind.to_ne_bytes());
    bytes
}
