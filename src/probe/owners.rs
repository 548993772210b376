//! The owners' rows: read, named, and given back when their owners have gone.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use anyhow::Result;
use iosched_bpf::{CLOCK_SHIFT, Detail, OwnerLatency, Tracer, inflight, owner, owner_op};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::snapshot::{
    FairnessTotals, InFlight, Line, Longest, Merges, Op, OpTotals, OwnerId, OwnerKind, OwnerTotals,
    Place, Row,
};

/// Owners' places are handed out in order; the few that two threads fought over are left empty for the time being.
const HOLES: usize = 64;

/// What is true of all owners of a snapshot.
pub(super) struct Context {
    pub time_ns: u64,
    /// Whether the histograms are wanted, too.
    pub has_histograms: bool,
    /// And which.
    pub latencies: Vec<OwnerLatency>,
    pub detail: Detail,
    /// Of owners with requests that were not issued yet: when the oldest was asked for. Only where fairness is measured.
    pub oldest_ns: HashMap<usize, u64>,
    /// What is under way, by owner.
    pub in_flight: HashMap<usize, InFlight>,
    /// Whether that is known, by device.
    pub knows_in_flight: Vec<bool>,
}

impl Context {
    fn in_flight(&self, index: usize, id: OwnerId) -> Option<InFlight> {
        let is_known = match id.device {
            Some(device) => self.knows_in_flight.get(device) == Some(&true),
            None => self.knows_in_flight.iter().all(|is_known| *is_known),
        };
        is_known.then(|| self.in_flight.get(&index).copied().unwrap_or_default())
    }
}

/// See [`Context`].
pub(super) fn oldest_ns<'a>(under_way: impl Iterator<Item = &'a inflight>) -> HashMap<usize, u64> {
    let mut oldest = HashMap::new();
    for request in under_way.filter(|request| request.d_ns == 0 && request.g_ns > 0) {
        let asked_ns = match request.q_ns {
            0 => request.g_ns,
            ns => ns,
        };
        let known = oldest.entry(request.owner as usize).or_insert(asked_ns);
        *known = asked_ns.min(*known);
    }
    oldest
}

/// Where an owner's histograms stood at the last look at them.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Reads and all others, as in `ios`.
    places: [Place; 2],
    ios: [u64; 2],
    /// Whether they were others at the look before. The kernel counts an I/O a moment before it fills the cells.
    has_moved: [bool; 2],
}

/// The lines of the last look, and those of the present one.
struct Look<'a> {
    latencies: &'a [OwnerLatency],
    last: &'a [Line],
    lines: &'a mut Vec<Line>,
}

impl Look<'_> {
    /// Looks only at histograms that may have changed.
    fn at(&mut self, tracer: &Tracer, index: usize, row: &owner, known: &mut Known) -> [Place; 2] {
        let reads = row.op[Op::Read as usize].ios;
        let all: u64 = row.op.iter().map(|op| op.ios).sum();
        for (direction, ios) in [reads, all - reads].into_iter().enumerate() {
            let is_same = ios == known.ios[direction];
            let first = self.lines.len() as u32;
            let place = &mut known.places[direction];
            if is_same && !known.has_moved[direction] {
                self.lines.extend_from_slice(place.of(self.last));
                place.first = first;
            } else {
                *place = Place {
                    first,
                    ..Place::default()
                };
                for &which in self.latencies {
                    place.occupied[which as usize] =
                        tracer.owner_lines(index, (which, direction), self.lines);
                }
            }
            known.ios[direction] = ios;
            known.has_moved[direction] = !is_same;
        }
        known.places
    }
}

/// The longest times of an owner so far: the kernel side forgets them at each look.
#[derive(Clone, Default)]
struct OwnerLongest {
    q2d: [Longest; Op::ALL.len()],
    d2c: [Longest; Op::ALL.len()],
    starvation: Longest,
}

impl OwnerLongest {
    fn look(&mut self, row: &owner, totals: &mut OwnerTotals) {
        for (place, (op, row)) in totals.ops.iter_mut().zip(&row.op).enumerate() {
            self.q2d[place].look(row.q2d_max_ns);
            self.d2c[place].look(row.d2c_max_ns);
            (op.q2d_longest, op.d2c_longest) = (self.q2d[place], self.d2c[place]);
        }
        self.starvation.look(row.gap_max_ns);
        if let Some(fairness) = &mut totals.fairness {
            fairness.starvation_longest = self.starvation;
        }
    }
}

/// Since when an owner has done nothing.
#[derive(Clone, Copy)]
struct Idle {
    /// Its I/Os and merges.
    done: u64,
    /// Recyclings ago.
    rests: u32,
}

/// What a process has dirtied may be written long after its end.
const RESTS_OF_WRITEBACK: u32 = 60;

/// Who has been idle since the last look, and the histograms of that.
#[derive(Default)]
pub(super) struct Owners {
    /// Above it no owner was seen so far.
    high: usize,
    /// By index.
    known: Vec<Known>,
    /// Where `known` points into.
    last: Arc<Vec<Line>>,
    /// By index; none before its first I/O.
    idle: Vec<Option<Idle>>,
    /// By index.
    longest: Vec<OwnerLongest>,
    /// By index: how often the row was given to another.
    generations: Vec<u32>,
    /// Memory of an old snapshot.
    spare: (Vec<OwnerTotals>, Vec<Line>),
}

impl Owners {
    pub fn reuse(&mut self, owners: Vec<OwnerTotals>, lines: Arc<Vec<Line>>) {
        self.spare = (owners, Arc::into_inner(lines).unwrap_or_default());
    }

    pub fn read(
        &mut self,
        tracer: &Tracer,
        context: &Context,
    ) -> (Vec<OwnerTotals>, Arc<Vec<Line>>) {
        let (mut owners, mut lines) = std::mem::take(&mut self.spare);
        owners.clear();
        lines.clear();
        let mut look = Look {
            latencies: &context.latencies,
            last: &self.last,
            lines: &mut lines,
        };
        let mut holes = 0;
        for index in 0..tracer.owner_count() {
            if index > 0 && !tracer.is_owner(index) {
                holes += usize::from(index > self.high);
                if holes > HOLES {
                    break;
                }
                continue;
            }
            self.high = index.max(self.high);
            if self.known.len() <= index {
                self.known.resize(index + 1, Known::default());
                self.longest.resize(index + 1, OwnerLongest::default());
                self.generations.resize(index + 1, 0);
            }
            let row = tracer.take_owner(index);
            let mut totals = totals(&row, index, context);
            self.longest[index].look(&row, &mut totals);
            totals.row.generation = self.generations[index];
            totals.lines = (context.has_histograms && tracer.has_latency(index))
                .then(|| look.at(tracer, index, &row, &mut self.known[index]));
            owners.push(totals);
        }
        let lines = Arc::new(lines);
        if context.has_histograms {
            self.last = Arc::clone(&lines);
        }
        (owners, lines)
    }

    /// An owner is recycled when its process or thread has gone, nothing was counted since the last call (of writeback: for
    /// many), and none of its requests is under way.
    pub fn recycle(&mut self, tracer: &Tracer, slots: usize) -> Result<usize> {
        let mut recycled = 0;
        let busy: Vec<u32> = (0..slots)
            .flat_map(|slot| tracer.inflight(slot).map(|state| state.owner))
            .collect();
        self.idle.resize(self.high + 1, None);
        for index in 1..=self.high {
            if !tracer.is_owner(index) {
                continue;
            }
            let row = tracer.owner(index);
            let rests = self.rests(index, &row);
            let has_rested = match kind_of(&row) {
                OwnerKind::Process | OwnerKind::KernelThread => rests > 0,
                OwnerKind::Writeback => rests >= RESTS_OF_WRITEBACK,
                OwnerKind::Workqueue | OwnerKind::Other => false,
            };
            if has_rested && !is_alive(row.key.tgid) && !busy.contains(&(index as u32)) {
                tracer.recycle(index)?;
                self.idle[index] = None;
                self.known[index] = Known::default();
                self.longest[index] = OwnerLongest::default();
                self.generations[index] += 1;
                recycled += 1;
            }
        }
        Ok(recycled)
    }

    /// For how many calls it has done nothing.
    fn rests(&mut self, index: usize, row: &owner) -> u32 {
        let ios: u64 = row.op.iter().map(|op| op.ios).sum();
        let done = ios + row.back_merges + row.front_merges + row.rq_merges;
        let rests = match self.idle[index] {
            Some(idle) if idle.done == done => idle.rests + 1,
            _ => 0,
        };
        self.idle[index] = Some(Idle { done, rests });
        rests
    }
}

/// Whether processes have the same numbers here as in the kernel. Elsewhere none can be asked for.
pub(super) fn knows_all_processes() -> bool {
    /// PROC_PID_INIT_INO of the kernel.
    const INITIAL: u64 = 0xEFFF_FFFC;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == INITIAL)
}

/// Is there still a process of that number? If it is a younger one the owner stays a while longer, no harm done.
/// Asked by a signal that is none: /proc may be mounted so that it hides the processes of others.
fn is_alive(tgid: u32) -> bool {
    let pid = Pid::from_raw(tgid.cast_signed());
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn kind_of(row: &owner) -> OwnerKind {
    match row.key.kind {
        1 => OwnerKind::Process,
        2 => OwnerKind::KernelThread,
        3 => OwnerKind::Workqueue,
        4 => OwnerKind::Writeback,
        _ => OwnerKind::Other,
    }
}

fn id(row: &owner, index: usize) -> OwnerId {
    OwnerId {
        device: (index > 0).then_some(usize::from(row.key.slot)),
        kind: kind_of(row),
        tgid: row.key.tgid,
        // JSON's readers hold integers below 2^53 exactly.
        start_ms: match row.key.kind {
            3 => row.key.start_ns >> 11,
            _ => row.key.start_ns / 1_000_000,
        },
        cgroup_id: row.key.cgroup_id,
    }
}

/// All but the histograms and the longest times.
fn totals(row: &owner, index: usize, context: &Context) -> OwnerTotals {
    let id = id(row, index);
    OwnerTotals {
        id,
        in_flight: context.in_flight(index, id),
        row: Row {
            index,
            generation: 0,
        },
        comm: row.comm.map(i8::cast_unsigned),
        has_io_workers: row.flags & 1 != 0,
        ioprio: ((row.ioprio >> 13) as u8 & 7, row.ioprio as u8 & 7),
        ops: row.op.each_ref().map(op_totals),
        merges: Merges {
            back: row.back_merges,
            front: row.front_merges,
            rq: row.rq_merges,
        },
        lines: None,
        has_stages: context.detail.owner_stages,
        has_asked: context.detail.asked,
        stalled_ns: row.stalled_ns,
        waited_for_flush: row.preflushes,
        fairness: context
            .detail
            .fairness
            .then(|| fairness_of(row, context.time_ns, context.oldest_ns.get(&index).copied())),
    }
}

fn op_totals(op: &owner_op) -> OpTotals {
    OpTotals {
        ios: op.ios,
        bytes: op.bytes,
        more_bios: op.more_bios,
        q2d_ns: op.q2d_ns,
        d2c_ns: op.d2c_ns,
        unwaited: op.unwaited,
        unwaited_d2c_ns: op.unwaited_d2c_ns,
        flush_ns: op.flush_ns,
        ..OpTotals::default()
    }
}

/// `oldest_ns`: when the request was asked for that waits longest.
fn fairness_of(row: &owner, now_ns: u64, oldest_ns: Option<u64>) -> FairnessTotals {
    let is_busy = row.started != row.ended;
    let present = if is_busy {
        now_ns.saturating_sub(row.busy_since_ns)
    } else {
        0
    };
    FairnessTotals {
        device_time_ns: row.device_time >> CLOCK_SHIFT,
        backlogged_ns: row.busy_ns + present,
        starvation_longest: Longest::default(),
        starvation: row.gaps,
        starving_ns: oldest_ns.map(|ns| now_ns.saturating_sub(ns.max(row.last_issue_ns))),
    }
}
