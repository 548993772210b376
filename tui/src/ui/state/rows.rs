//! The rows of Processes: each keeps its place while it does about what it did, and stays for some seconds after its last
//! I/O, or nobody could follow one with the eye. Pure.

use std::collections::HashMap;

use iosched_result::stat::LiveProcess;

use super::chosen::RowId;
use super::model::{Model, Sort};
use crate::ui::sampling::sample::Measured;

/// The last seconds weigh most in what a row is sorted by: after so many, an interval has a weight of 1/e.
const MEMORY_S: f64 = 3.0;
/// A row moves only if this mean has changed by a larger share.
const STEP: f64 = 0.15;
/// So long a row stays after the last interval in which its process did something.
const STAY_S: f64 = 10.0;
/// More than a screen has: anybody can start and end processes by the thousand.
const MOST_IDLE: usize = 200;

#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// The numbers of the interval, or of the last one in which it did something.
    pub process: &'a LiveProcess,
    /// It did nothing in this interval, and waits for nothing.
    pub is_idle: bool,
}

/// The order of a disk's rows, by one column; a row is a process or a control group.
#[derive(Clone, Debug, Default)]
pub struct Places {
    of: Option<(Sort, bool)>,
    rows: Vec<Place>,
}

#[derive(Clone, Debug)]
struct Place {
    id: RowId,
    /// The column's value over the last seconds in which it did something; None if it is not known.
    mean: Option<f64>,
    /// The mean when the row was moved last.
    moved_at: Option<f64>,
    now: Now,
}

#[derive(Clone, Debug)]
enum Now {
    /// The index of its process in the interval.
    Active(usize),
    Idle {
        for_s: f64,
        last: Box<LiveProcess>,
    },
}

impl Place {
    fn new(process: &LiveProcess, index: usize, sort: Sort) -> Self {
        let value = value(process, sort);
        Place {
            id: RowId::of(process),
            mean: value,
            moved_at: value,
            now: Now::Active(index),
        }
    }

    fn add(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value else {
            return;
        };
        let old = (-seconds / MEMORY_S).exp();
        let mean = self
            .mean
            .map_or(value, |mean| mean * old + value * (1.0 - old));
        self.mean = Some(mean);
        let moves = |at: f64| (mean - at).abs() > STEP * at;
        if self.moved_at.is_none_or(moves) {
            self.moved_at = self.mean;
        }
    }

    /// It does nothing now. False if it has been like this for too long, or nothing is known of it.
    fn rest(&mut self, before: Option<&Measured>, seconds: f64) -> bool {
        match &mut self.now {
            Now::Idle { for_s, .. } => {
                *for_s += seconds;
                *for_s < STAY_S
            }
            Now::Active(index) => {
                let last = before.and_then(|before| before.processes.get(*index));
                let last = last.filter(|process| RowId::of(process) == self.id);
                if let Some(process) = last {
                    self.now = Now::Idle {
                        for_s: seconds,
                        last: Box::new(process.clone()),
                    };
                }
                last.is_some()
            }
        }
    }
}

impl Places {
    /// Adds an interval; `before` is the one that was added last.
    pub fn add(
        &mut self,
        of: (Sort, bool),
        before: Option<&Measured>,
        now: &Measured,
        seconds: f64,
    ) {
        if self.of != Some(of) {
            *self = Places {
                of: Some(of),
                rows: Vec::new(),
            };
        }
        let (sort, _) = of;
        let processes = now.processes.iter().enumerate();
        let mut new: HashMap<RowId, usize> = processes
            .map(|(index, process)| (RowId::of(process), index))
            .collect();
        let mut idle = 0;
        self.rows.retain_mut(|row| {
            let Some(index) = new.remove(&row.id) else {
                let stays = idle < MOST_IDLE && row.rest(before, seconds);
                idle += usize::from(stays);
                return stays;
            };
            row.now = Now::Active(index);
            row.add(value(&now.processes[index], sort), seconds);
            true
        });
        let mut new: Vec<usize> = new.into_values().collect();
        new.sort_by_key(|index| now.processes[*index].pid);
        let new = new
            .into_iter()
            .map(|index| Place::new(&now.processes[index], index, sort));
        self.rows.extend(new);
        let key = |row: &Place| row.moved_at.unwrap_or(UNKNOWN);
        self.rows.sort_by(|a, b| key(b).total_cmp(&key(a)));
    }

    /// None: these are not the places of this interval.
    fn rows<'a>(&'a self, of: (Sort, bool), measured: &'a Measured) -> Option<Vec<Row<'a>>> {
        if self.of != Some(of) {
            return None;
        }
        let mut active = 0;
        let row = |place: &'a Place| match &place.now {
            Now::Idle { last, .. } => Some(Row {
                process: last,
                is_idle: true,
            }),
            Now::Active(index) => {
                active += 1;
                let process = measured.processes.get(*index)?;
                (RowId::of(process) == place.id).then_some(Row {
                    process,
                    is_idle: false,
                })
            }
        };
        let rows: Option<Vec<Row<'_>>> = self.rows.iter().map(row).collect();
        rows.filter(|_| active == measured.processes.len())
    }
}

impl Model {
    /// The table's rows, filtered and sorted.
    pub fn processes(&self) -> Vec<Row<'_>> {
        let sample = self.device_sample();
        let Some(measured) = sample.and_then(|sample| sample.measured.as_deref()) else {
            return Vec::new();
        };
        let table = &self.table;
        let places = &self.device().places;
        let mut rows = places
            .rows((table.sort, table.by_cgroup), measured)
            .unwrap_or_else(|| sorted(&measured.processes, table.sort));
        let wanted = table.filter.to_lowercase();
        rows.retain(|row| wanted.is_empty() || text_of(row.process).contains(&wanted));
        if table.sort == Sort::Name {
            let name = |row: &Row<'_>| (row.process.comm.clone(), row.process.pid);
            rows.sort_by_cached_key(name);
        }
        if table.reversed {
            rows.reverse();
        }
        rows
    }
}

/// By the interval alone.
fn sorted(processes: &[LiveProcess], sort: Sort) -> Vec<Row<'_>> {
    let key = |process: &LiveProcess| value(process, sort).unwrap_or(UNKNOWN);
    let mut processes: Vec<&LiveProcess> = processes.iter().collect();
    processes.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.pid.cmp(&b.pid)));
    let rows = processes.into_iter().map(|process| Row {
        process,
        is_idle: false,
    });
    rows.collect()
}

fn text_of(process: &LiveProcess) -> String {
    let pid = process.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let cgroup = process.cgroup.as_deref().unwrap_or_default();
    format!("{} {pid} {cgroup}", process.comm).to_lowercase()
}

/// Unknown values come last.
const UNKNOWN: f64 = -1.0;

/// What rows are sorted by, in descending order.
fn value(process: &LiveProcess, sort: Sort) -> Option<f64> {
    let fairness = process.fairness.as_ref();
    match sort {
        Sort::Ios => Some(process.iops),
        Sort::Name => None,
        Sort::Bytes => Some(process.bytes_per_s),
        Sort::Share => fairness.and_then(|fairness| fairness.device_time_share),
        Sort::WaitP50 => process.queue_wait.p50_ns,
        Sort::WaitP99 => process.queue_wait.p99_ns,
        Sort::WaitMax => process.queue_wait.max_ns,
        Sort::Stalled => Some(process.stalled_share),
        Sort::Device => process.device_time.p50_ns,
        Sort::Merged => process.merge_ratio,
        Sort::Starved => fairness.and_then(|f| Some(f.starvation_max_ns? as f64)),
    }
}
