//! The owners' rows: read, named, and recycled after their owners have ended.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use anyhow::Result;
use iosched_bpf::{Detail, Tracer, inflight, owner};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::blocked::{Waiting, Waits};
use super::books::Books;
use super::files::Files;
use super::rows::{kind_of, totals};
use super::waits;
use iosched_result::measured::ledger::{Ledger, Maxima};
use iosched_result::measured::snapshot::{
    FairnessTotals, InFlight, Line, Longest, Op, OwnerId, OwnerKind, OwnerLatency, OwnerTotals,
    Place,
};
use iosched_result::measured::timeline::Timeline;

/// Rows are assigned in order; a few for which two threads competed stay empty for a while.
const HOLES: usize = 64;

/// Data that applies to all owners of a snapshot.
pub(super) struct Context {
    pub time_ns: u64,
    /// Whether the histograms are read too.
    pub has_histograms: bool,
    /// The histograms to read.
    pub latencies: Vec<OwnerLatency>,
    pub detail: Detail,
    /// For owners with unissued requests: when the oldest was queued. Only where fairness is measured.
    pub oldest_ns: HashMap<usize, u64>,
    /// Requests in flight by owner.
    pub in_flight: HashMap<usize, InFlight>,
    pub waits: Waits,
    pub told: waits::Told,
    /// By device: whether its requests in flight are known.
    pub knows_in_flight: Vec<bool>,
}

impl Context {
    pub fn in_flight(&self, index: usize, id: OwnerId) -> Option<InFlight> {
        let is_known = match id.device {
            Some(device) => self.knows_in_flight.get(device) == Some(&true),
            None => self.knows_in_flight.iter().all(|is_known| *is_known),
        };
        let requests = || self.in_flight.get(&index).copied().unwrap_or_default();
        is_known.then(|| match self.waits.of_owner(index) {
            Some(waiting) => waiting.beside(requests(), self.time_ns),
            None => requests(),
        })
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

/// The state of an owner's histograms when they were last read.
#[derive(Clone, Copy, Default)]
struct Known {
    /// One for reads and one for all other operations, as in `ios`.
    places: [Place; 2],
    ios: [u64; 2],
}

/// The lines of the last read and of the current one.
struct Look<'a> {
    latencies: &'a [OwnerLatency],
    last: &'a [Line],
    lines: &'a mut Vec<Line>,
}

impl Look<'_> {
    /// Reads only histograms that may have changed.
    fn at(
        &mut self,
        ledger: &Ledger,
        index: usize,
        totals: &OwnerTotals,
        known: &mut Known,
    ) -> [Place; 2] {
        let reads = totals.ops[Op::Read as usize].ios;
        let all: u64 = totals.ops.iter().map(|op| op.ios).sum();
        for (direction, ios) in [reads, all - reads].into_iter().enumerate() {
            let first = self.lines.len() as u32;
            let place = &mut known.places[direction];
            if ios == known.ios[direction] {
                self.lines.extend_from_slice(place.within(self.last));
                place.first = first;
            } else {
                *place = Place {
                    first,
                    ..Place::default()
                };
                for &which in self.latencies {
                    place.occupied[which as usize] =
                        ledger.owner_lines(index, (which, direction), self.lines);
                }
            }
            known.ios[direction] = ios;
        }
        known.places
    }
}

/// The longest times of an owner so far: the kernel side resets its maximum at each read.
#[derive(Clone, Default)]
struct OwnerLongest {
    q2d: [Longest; Op::ALL.len()],
    d2c: [Longest; Op::ALL.len()],
    starvation: Longest,
}

impl OwnerLongest {
    /// `recorded`: those of requests that have a record.
    fn look(
        &mut self,
        row: &owner,
        recorded: &Maxima,
        starvation_ns: u64,
        totals: &mut OwnerTotals,
    ) {
        let longest = row.op.iter().zip(recorded);
        for (place, (op, (row, (q2d_ns, d2c_ns)))) in totals.ops.iter_mut().zip(longest).enumerate()
        {
            self.q2d[place].look(row.q2d_max_ns.max(*q2d_ns));
            self.d2c[place].look(row.d2c_max_ns.max(*d2c_ns));
            (op.q2d_longest, op.d2c_longest) = (self.q2d[place], self.d2c[place]);
        }
        self.starvation.look(starvation_ns);
        if let Some(fairness) = &mut totals.fairness {
            fairness.starvation_longest = self.starvation;
        }
    }

    fn begin_window(&mut self) {
        let of_ops = self.q2d.iter_mut().chain(&mut self.d2c);
        of_ops.for_each(Longest::begin_window);
        self.starvation.begin_window();
    }
}

/// How long an owner has been idle.
#[derive(Clone, Copy)]
struct Idle {
    /// Its I/Os and merges so far.
    done: u64,
    /// Number of recyclings since.
    rests: u32,
}

/// The dirty pages of a process may be written long after it has ended.
const RESTS_OF_WRITEBACK: u32 = 60;

/// The row of a file is given away even though its process runs on.
const RESTS_OF_FILES: u32 = 5;

/// State of the owners at the last read, with their histograms.
#[derive(Default)]
pub(super) struct Owners {
    /// No owner so far has an index at or above this one.
    high: usize,
    /// By row index.
    known: Vec<Known>,
    /// The lines that `known` refers to.
    last: Arc<Vec<Line>>,
    /// By row index; None before the first I/O.
    idle: Vec<Option<Idle>>,
    /// By row index.
    longest: Vec<OwnerLongest>,
    /// By row index: how often the row was reassigned.
    generations: Vec<u32>,
    /// Memory of an old snapshot, for reuse.
    spare: (Vec<OwnerTotals>, Vec<Line>),
    pub files: Files,
}

impl Owners {
    pub fn reuse(&mut self, owners: Vec<OwnerTotals>, lines: Arc<Vec<Line>>) {
        self.spare = (owners, Arc::into_inner(lines).unwrap_or_default());
    }

    pub fn read(
        &mut self,
        tracer: &Tracer,
        books: &mut Books,
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
        self.files.begin_look();
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
            totals.fairness = fairness_of(&books.timeline, index, context);
            let starvation_ns = books.timeline.take_longest_starvation_ns(index);
            let ledger = books.ledger();
            ledger.add_to_owner(index, &mut totals);
            let recorded = ledger.take_longest(index);
            self.longest[index].look(&row, &recorded, starvation_ns, &mut totals);
            totals.row.generation = self.generations[index];
            totals.lines = (context.has_histograms && ledger.has_histograms(index))
                .then(|| look.at(ledger, index, &totals, &mut self.known[index]));
            self.files.look(tracer, index, totals.id.file);
            owners.push(totals);
        }
        let lines = Arc::new(lines);
        if context.has_histograms {
            self.last = Arc::clone(&lines);
        }
        (owners, lines)
    }

    /// From the last read on, the longest times of the window are kept as well.
    pub fn begin_window(&mut self) {
        self.longest.iter_mut().for_each(OwnerLongest::begin_window);
    }

    /// An owner is recycled if its process or thread has ended, nothing was counted since the last call (for writeback:
    /// since many calls), and none of its requests is in flight.
    pub fn recycle(&mut self, tracer: &Tracer, books: &mut Books, slots: usize) -> Result<usize> {
        let mut recycled = 0;
        let in_flight =
            (0..slots).flat_map(|slot| tracer.in_flight().of(slot).map(|state| state.owner));
        let blocked = tracer.blocked()?.unwrap_or_default();
        let blocked = blocked.iter().map(|thread| thread.owner as u32);
        let busy: HashSet<u32> = in_flight.chain(blocked).collect();
        let mut has_begun_epoch = false;
        // Afterwards: a request that is no longer in flight has its record by now.
        books.look();
        self.idle.resize(self.high + 1, None);
        for index in 1..=self.high {
            if !tracer.is_owner(index) {
                continue;
            }
            let row = tracer.owner(index);
            let rests = self.rests(index, &row, books.ledger().ios_of(index));
            let is_file = row.key.file_kind != 0;
            let has_rested = match kind_of(&row) {
                // Any owner may go from file to file.
                _ if is_file => rests >= RESTS_OF_FILES,
                OwnerKind::Process | OwnerKind::KernelThread => rests > 0,
                OwnerKind::Writeback => rests >= RESTS_OF_WRITEBACK,
                OwnerKind::Workqueue | OwnerKind::Other => false,
            };
            let is_over = is_file || !is_alive(row.key.tgid);
            if has_rested && is_over && !busy.contains(&(index as u32)) {
                if is_file && !has_begun_epoch {
                    has_begun_epoch = true;
                    tracer.begin_owner_epoch();
                }
                tracer.recycle(index)?;
                books.ledger().forget_owner(index);
                books.timeline.forget_owner(index);
                self.idle[index] = None;
                self.known[index] = Known::default();
                self.longest[index] = OwnerLongest::default();
                self.generations[index] += 1;
                recycled += 1;
            }
        }
        Ok(recycled)
    }

    /// The number of calls for which it has been idle.
    fn rests(&mut self, index: usize, row: &owner, recorded: u64) -> u32 {
        let unrecorded: u64 = row.op.iter().map(|op| op.ios).sum();
        let done = recorded + unrecorded + row.back_merges + row.front_merges + row.rq_merges;
        let rests = match self.idle[index] {
            Some(idle) if idle.done == done => idle.rests + 1,
            _ => 0,
        };
        self.idle[index] = Some(Idle { done, rests });
        rests
    }
}

/// Whether PIDs here equal the kernel's; in another PID namespace processes cannot be looked up.
pub(crate) fn knows_all_processes() -> bool {
    /// PROC_PID_INIT_INO of the kernel.
    const INITIAL: u64 = 0xEFFF_FFFC;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == INITIAL)
}

/// Whether a process with this PID exists. If it is a younger one, the row is merely kept longer. Uses signal 0,
/// because /proc may be mounted so that it hides the processes of other users.
pub(crate) fn is_alive(tgid: u32) -> bool {
    let pid = Pid::from_raw(tgid.cast_signed());
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// None unless shares are kept.
fn fairness_of(timeline: &Timeline, index: usize, context: &Context) -> Option<FairnessTotals> {
    let share = timeline.share(index)?;
    let requests = context.oldest_ns.get(&index).copied();
    let waiting = context.waits.of_owner(index).and_then(Waiting::since_ns);
    let oldest_ns = requests.into_iter().chain(waiting).min();
    let starving_ns = |ns: u64| {
        let since_ns = ns.max(share.last_issue_ns());
        context.time_ns.saturating_sub(since_ns)
    };
    Some(FairnessTotals {
        device_time_ns: share.device_time_ns(),
        backlogged_ns: share.backlogged_ns(timeline.until_ns(), waiting),
        starvation_longest: Longest::default(),
        starvation: *share.gaps(),
        starving_ns: oldest_ns.map(starving_ns),
    })
}
