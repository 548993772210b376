//! Requests and their events in the order of time. Pure.

use std::collections::HashMap;

use crate::measured::record::Record;

/// The last event of a request that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    New,
    Started,
    Issued,
    Ended,
}

/// In the order in which events of the same moment count, so that a request starts before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Start,
    Issue,
    End,
}

#[derive(Clone, Debug)]
pub struct Request {
    /// As it was last seen.
    pub record: Record,
    pub progress: Progress,
    /// Its number among the starts of its device.
    pub number: u64,
    /// The clock of its device when it was issued.
    pub clock: u64,
    /// It left without an end of its own.
    left_ns: Option<u64>,
    /// It was looked for among those that were in flight before.
    is_resumed: bool,
}

/// What does not change while a request is in flight. Parts of one bio may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u16,
    owner: u32,
    q_ns: u64,
    /// When it was first seen.
    seen_ns: u64,
}

impl Request {
    pub fn new(record: &Record) -> Request {
        Request {
            record: *record,
            progress: Progress::New,
            number: 0,
            clock: 0,
            left_ns: None,
            is_resumed: false,
        }
    }

    pub fn identity(&self) -> Identity {
        Identity {
            device: self.record.device,
            owner: self.record.owner,
            q_ns: self.record.q_ns,
            seen_ns: self.seen_ns(),
        }
    }

    pub fn seen_ns(&self) -> u64 {
        self.record.seen_ns()
    }

    /// Whether it is not in flight any more.
    pub fn has_ended(&self) -> bool {
        self.record.c_ns > 0 || self.left_ns.is_some()
    }

    /// When its data was complete or it left; 0 before.
    pub fn end_ns(&self) -> u64 {
        self.left_ns.unwrap_or(self.record.data_ns)
    }

    pub fn leave(&mut self, now_ns: u64) {
        self.left_ns = Some(now_ns);
    }

    /// Takes over what is counted already, if the request was in flight at the end of the counted time. Otherwise all of its
    /// events are still to be counted, even old ones: it was on its way into the table of requests in flight.
    pub fn resume(&mut self, counted_until_ns: u64, known: &mut HashMap<Identity, Vec<Request>>) {
        if std::mem::replace(&mut self.is_resumed, true) || self.seen_ns() > counted_until_ns {
            return;
        }
        let Some(same) = known.get_mut(&self.identity()) else {
            return;
        };
        let was_issued = (1..=counted_until_ns).contains(&self.record.d_ns);
        let is_it = |other: &Request| (other.progress >= Progress::Issued) == was_issued;
        let place = same.iter().position(is_it).unwrap_or(0);
        if place < same.len() {
            let before = same.swap_remove(place);
            self.progress = before.progress;
            self.number = before.number;
            self.clock = before.clock;
        }
    }

    fn time_of(&self, kind: Kind) -> Option<u64> {
        let start_ns = self.record.g_ns;
        // The clocks of two CPUs may disagree by some nanoseconds.
        let issue_ns = match self.record.d_ns {
            0 => 0,
            ns => ns.max(start_ns),
        };
        let (ns, is_counted) = match kind {
            Kind::Start => (start_ns, self.progress >= Progress::Started),
            Kind::Issue => (issue_ns, self.progress >= Progress::Issued),
            Kind::End => match self.end_ns() {
                0 => (0, true),
                // It has events at all.
                ns => (
                    ns.max(issue_ns).max(start_ns),
                    self.progress == Progress::Ended || self.seen_ns() == 0,
                ),
            },
        };
        let has_left = self.left_ns.is_some() && kind != Kind::End;
        (ns > 0 && !is_counted && !has_left).then_some(ns)
    }
}

/// An event of the request at an index.
#[derive(Clone, Copy)]
pub struct Event {
    /// Since the beginning of the counted time, and the kind in the lowest bits: so events sort as numbers, which is fast.
    key: u64,
    index: u32,
}

const KIND_BITS: u32 = 2;

impl Event {
    fn since(from_ns: u64, time_ns: u64, kind: Kind, index: u32) -> Event {
        let key = (time_ns - from_ns) << KIND_BITS | kind as u64;
        Event { key, index }
    }

    pub fn time_ns(self, from_ns: u64) -> u64 {
        from_ns + (self.key >> KIND_BITS)
    }

    pub fn kind(self) -> Kind {
        match self.key & ((1 << KIND_BITS) - 1) {
            0 => Kind::Start,
            1 => Kind::Issue,
            _ => Kind::End,
        }
    }

    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Every event after `from_ns` and up to `until_ns` that is not counted yet, in the order of time. Events that are older and come
/// late count at `from_ns`.
pub fn in_order(requests: &[Request], from_ns: u64, until_ns: u64) -> Vec<Event> {
    let mut events = Vec::with_capacity(3 * requests.len());
    for (request, index) in requests.iter().zip(0..) {
        for kind in [Kind::Start, Kind::Issue, Kind::End] {
            let Some(time_ns) = request.time_of(kind).map(|ns| ns.max(from_ns)) else {
                continue;
            };
            if time_ns <= until_ns {
                events.push(Event::since(from_ns, time_ns, kind, index));
            }
        }
    }
    events.sort_unstable_by_key(|event| event.key);
    // Requests that start at the same moment have no order: none of them overtakes another.
    let same = |a: &Event, b: &Event| a.key == b.key && a.kind() == Kind::Start;
    for starts in events.chunk_by_mut(same).filter(|starts| starts.len() > 1) {
        starts.sort_by_key(|event| match requests[event.index()].record.d_ns {
            0 => u64::MAX,
            ns => ns,
        });
    }
    events
}
