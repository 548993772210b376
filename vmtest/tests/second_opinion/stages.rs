//! The definitions of docs/measurement.md, applied to what blktrace saw: which operation a request is, and how long each of
//! its stages took.

use iosched_result::measured::snapshot::{Op, Stage};

use crate::rebuild::{FlushCommand, Request};

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

/// A write's wait for the flush before its data.
pub fn preflush_ns(request: &Request) -> Option<u64> {
    let has_data = request.is_preflush() && request.bytes > 0;
    has_data.then_some(request.issued_ns? - request.g_ns)
}

/// Whether a flush command followed the data, for which it was held back.
pub fn has_postflush(request: &Request, commands: &[FlushCommand]) -> bool {
    let (Some(data), Some(end)) = (request.data_ns, request.end_ns) else {
        return false;
    };
    let between = |command: &FlushCommand| {
        command.issued_ns > data && command.end_ns.is_some_and(|command_end| command_end <= end)
    };
    commands.iter().any(between)
}

/// One stage of many requests, in ascending order.
#[derive(Debug, Default)]
pub struct Times(pub Vec<u64>);

impl Times {
    pub fn of(requests: &[&Request], stage: Stage) -> Times {
        let ns = requests.iter().filter_map(|it| stage_ns(it, stage));
        Times::from(ns)
    }

    pub fn from(ns: impl Iterator<Item = u64>) -> Times {
        let mut ns: Vec<u64> = ns.collect();
        ns.sort_unstable();
        Times(ns)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn mean(&self) -> f64 {
        self.sum() as f64 / self.count() as f64
    }

    pub fn percentile(&self, p: f64) -> f64 {
        self.0[place(self.count(), p)] as f64
    }
}

/// The place of the value that the share `p` of all values does not exceed.
pub fn place(count: usize, p: f64) -> usize {
    ((p * count as f64).ceil() as usize).max(1) - 1
}
