//! The stages of a record that are known. Pure.

use crate::measured::record::Record;
use crate::measured::snapshot::Op;

/// The stages in nanoseconds.
#[derive(Default)]
pub struct Stages {
    /// Q2D, or G2D where Q is not measured. None if it is not known, or was a wait for a flush.
    pub queue_wait: Option<u64>,
    /// Q2G and G2D of a request that did not wait for a flush.
    pub q2g: Option<u64>,
    pub g2d: Option<u64>,
    /// G2D of a request that waited for a flush.
    pub flush_wait: Option<u64>,
    pub i2d: Option<u64>,
    /// D2C, until the end of the data.
    pub d2c: Option<u64>,
    pub q2c: Option<u64>,
    pub asked: Option<Asked>,
    /// Stages that would be negative.
    pub negative: u64,
}

/// The stages since the program asked.
pub struct Asked {
    pub a2q: u64,
    /// Only if the queue wait is known.
    pub a2d: Option<u64>,
    pub a2c: u64,
}

impl Stages {
    pub fn of(record: &Record, with_q: bool, with_asked: bool) -> Stages {
        let Record {
            q_ns, g_ns, d_ns, ..
        } = *record;
        let mut stages = Stages::default();
        stages.d2c = stages.between(d_ns, record.data_ns);
        if record.is_flush_command {
            return stages;
        }
        let g2d = stages.between_seen(g_ns, d_ns);
        if record.is_preflush {
            stages.flush_wait = g2d;
        } else if g2d.is_some() {
            stages.g2d = g2d;
            stages.q2g = stages.between(q_ns, g_ns);
            let is_whole = stages.q2g.is_some() || !with_q || !Op::DATA.contains(&record.op);
            let whole = g2d.map(|ns| ns + stages.q2g.unwrap_or(0));
            stages.queue_wait = whole.filter(|_| is_whole);
        }
        stages.i2d = between(record.i_ns, d_ns);
        stages.q2c = stages.between(q_ns, record.c_ns);
        if with_asked {
            stages.asked = Asked::of(record, stages.queue_wait.is_some());
        }
        stages
    }

    /// None if the earlier one was not seen, or the later one is before it, which is counted.
    fn between(&mut self, earlier_ns: u64, later_ns: u64) -> Option<u64> {
        let ns = between(earlier_ns, later_ns);
        self.negative += u64::from(ns.is_none() && earlier_ns > 0);
        ns
    }

    /// As `between`, if the later one may not have been seen.
    fn between_seen(&mut self, earlier_ns: u64, later_ns: u64) -> Option<u64> {
        if later_ns == 0 {
            return None;
        }
        self.between(earlier_ns, later_ns)
    }
}

impl Asked {
    /// If the program did not ask before the bio was queued, A equals Q.
    fn of(record: &Record, has_queue_wait: bool) -> Option<Asked> {
        let a_ns = match record.a_ns {
            0 => record.q_ns,
            Record::A_UNKNOWN => return None,
            ns => ns,
        };
        Some(Asked {
            a2q: between(a_ns, record.q_ns)?,
            a2d: between(a_ns, record.d_ns).filter(|_| has_queue_wait),
            a2c: between(a_ns, record.c_ns)?,
        })
    }
}

/// None unless the earlier one was seen, and the later one is not before it.
fn between(earlier_ns: u64, later_ns: u64) -> Option<u64> {
    later_ns.checked_sub(earlier_ns).filter(|_| earlier_ns > 0)
}
