//! The definitions of docs/measurement.md, applied to what blktrace saw: which operation a request is, and how long each of
//! its stages took.

use iosched::snapshot::{Op, Stage};

use crate::rebuild::Request;

pub fn op_of(request: &Request) -> Op {
    let asks = |letter| request.kind.contains(letter);
    if request.is_empty_flush() {
        Op::Flush
    } else if asks('R') {
        Op::Read
    } else if asks('D') {
        Op::Discard
    } else if asks('S') || asks('F') {
        Op::WriteSync
    } else {
        Op::WriteAsync
    }
}

/// Nothing where the stage is not defined: the wait of a write with a flush before it is the flush's.
pub fn stage_ns(request: &Request, stage: Stage) -> Option<u64> {
    let (q, g, d) = (request.q_ns, request.g_ns, request.issued_ns?);
    let (data, end) = (request.data_ns?, request.end_ns?);
    let waits = !request.is_preflush();
    match stage {
        Stage::Q2g => waits.then_some(g - q),
        Stage::G2d => waits.then_some(d - g),
        Stage::Q2d => waits.then_some(d - q),
        Stage::I2d => Some(d - request.inserted_ns?),
        Stage::D2c => Some(data - d),
        Stage::Q2c => Some(end - q),
    }
}

/// For an empty flush all of its time, for a write those before its data and after it.
pub fn flush_ns(request: &Request) -> Option<u64> {
    let end = request.end_ns?;
    if request.is_empty_flush() {
        return Some(end - request.q_ns);
    }
    let (before, after) = (preflush_ns(request)?, end - request.data_ns?);
    Some(before + after)
}

/// What a write waited for the flush before its data.
pub fn preflush_ns(request: &Request) -> Option<u64> {
    let has_data = request.is_preflush() && request.bytes > 0;
    has_data.then_some(request.issued_ns? - request.g_ns)
}

/// One stage of many requests, each list in ascending order.
#[derive(Debug, Default)]
pub struct Times {
    pub ns: Vec<u64>,
    /// What the probe may take them for by its definition of G, which is Q where the submitter did not sleep in between.
    /// That is certain for the parts of a split bio: they all have its Q, and the time for the parts before is in Q2G here
    /// and in G2D there.
    pub shortest: Vec<u64>,
    pub longest: Vec<u64>,
    /// None can be longer by that definition.
    pub limit: u64,
}

impl Times {
    pub fn of(requests: &[&Request], stage: Stage) -> Times {
        let each = |ns: &dyn Fn(&Request) -> Option<u64>| -> Vec<u64> {
            ascending(requests.iter().filter_map(|request| ns(request)))
        };
        let part = |request: &Request, of: Stage| request.is_later_part && stage == of;
        let ns = each(&|request| stage_ns(request, stage));
        let shortest = each(&|request| {
            let is_none = part(request, Stage::Q2g);
            stage_ns(request, stage).map(|ns| if is_none { 0 } else { ns })
        });
        let longest = each(&|request| {
            let all_of_it = part(request, Stage::G2d);
            stage_ns(request, if all_of_it { Stage::Q2d } else { stage })
        });
        let waits = each(&|request| stage_ns(request, Stage::Q2d));
        let limit = match stage {
            Stage::G2d => waits.last().copied(),
            _ => longest.last().copied(),
        };
        Times {
            ns,
            shortest,
            longest,
            limit: limit.unwrap_or(0),
        }
    }

    /// Of what has no such latitude.
    pub fn exactly(ns: impl Iterator<Item = u64>) -> Times {
        let ns = ascending(ns);
        Times {
            shortest: ns.clone(),
            longest: ns.clone(),
            limit: ns.last().copied().unwrap_or(0),
            ns,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }

    pub fn count(&self) -> usize {
        self.ns.len()
    }

    pub fn sum(&self) -> u64 {
        self.ns.iter().sum()
    }

    pub fn mean(&self) -> f64 {
        self.sum() as f64 / self.count() as f64
    }

    pub fn percentile(&self, p: f64) -> f64 {
        self.ns[place(self.count(), p)] as f64
    }
}

/// The place of the value that the share `p` of all values does not exceed.
pub fn place(count: usize, p: f64) -> usize {
    ((p * count as f64).ceil() as usize).max(1) - 1
}

fn ascending(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}
