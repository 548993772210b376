//! The requests of a stretch, in 24 bytes each: a fast disk has hundreds of thousands per second. Pure.

use crate::measured::record::Record;
use crate::measured::snapshot::Op;

/// What a request did, and for whom. Times of what did not happen, or was not seen, are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Q, or G where Q was not seen.
    pub queued_ns: u64,
    /// It was issued for the first time.
    pub issued_ns: u64,
    /// Its data was complete.
    pub done_ns: u64,
    /// It has ended: issued, merged into another one, or an empty flush.
    pub is_over: bool,
    /// Number of its owner.
    pub owner: u32,
    /// Place of its disk.
    pub device: u16,
    pub op: Op,
    /// It waited for a flush before its data was issued.
    pub is_preflush: bool,
    pub is_flush_command: bool,
}

impl From<&Record> for Request {
    fn from(record: &Record) -> Request {
        Request {
            queued_ns: record.queued_ns(),
            issued_ns: record.d_ns,
            done_ns: record.data_ns,
            is_over: record.c_ns > 0,
            owner: record.owner,
            device: record.device,
            op: record.op,
            is_preflush: record.is_preflush,
            is_flush_command: record.is_flush_command,
        }
    }
}

impl Request {
    /// The first of its moments that was seen.
    pub fn first_ns(&self) -> u64 {
        let moments = [self.queued_ns, self.issued_ns, self.done_ns];
        moments.into_iter().find(|ns| *ns > 0).unwrap_or(0)
    }
}

/// All of a stretch, in the order of their first moments once they are sorted.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    packed: Vec<Packed>,
    /// Issue and end of those that last longer than `Packed` can say, or are out of order.
    far: Vec<[u64; 2]>,
    /// When the last request of each disk ended; the index is the disk's.
    last_ns: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Packed {
    first_ns: u64,
    /// From the first moment to the issue; the place in `far` if it is there.
    to_issue_ns: u32,
    /// From there on.
    to_done_ns: u32,
    owner: u32,
    device: u16,
    op: Op,
    marks: u8,
}

const _: () = assert!(size_of::<Packed>() == 24);

const QUEUED: u8 = 1;
const ISSUED: u8 = 1 << 1;
const DONE: u8 = 1 << 2;
const OVER: u8 = 1 << 3;
const PREFLUSH: u8 = 1 << 4;
const FLUSH_COMMAND: u8 = 1 << 5;
const FAR: u8 = 1 << 6;

impl Requests {
    /// Memory for so many, which is used as they come: one that grows is twice in memory while it does.
    pub fn with_capacity(most: usize) -> Requests {
        Requests {
            packed: Vec::with_capacity(most),
            ..Requests::default()
        }
    }

    pub fn push(&mut self, record: &Record) {
        let request = Request::from(record);
        let disk = usize::from(request.device);
        if self.last_ns.len() <= disk {
            self.last_ns.resize(disk + 1, 0);
        }
        self.last_ns[disk] = self.last_ns[disk].max(record.c_ns);
        let mark = |is: bool, bit: u8| if is { bit } else { 0 };
        let marks = mark(request.queued_ns > 0, QUEUED)
            | mark(request.issued_ns > 0, ISSUED)
            | mark(request.done_ns > 0, DONE)
            | mark(request.is_over, OVER)
            | mark(request.is_preflush, PREFLUSH)
            | mark(request.is_flush_command, FLUSH_COMMAND);
        let packed = Packed {
            first_ns: request.first_ns(),
            to_issue_ns: 0,
            to_done_ns: 0,
            owner: request.owner,
            device: request.device,
            op: request.op,
            marks,
        };
        let packed = if let Some((to_issue_ns, to_done_ns)) = offsets(&request) {
            Packed {
                to_issue_ns,
                to_done_ns,
                ..packed
            }
        } else {
            self.far.push([request.issued_ns, request.done_ns]);
            Packed {
                to_issue_ns: (self.far.len() - 1) as u32,
                marks: marks | FAR,
                ..packed
            }
        };
        self.packed.push(packed);
    }

    /// The same memory, without requests.
    #[must_use]
    pub fn cleared(mut self) -> Requests {
        self.packed.clear();
        self.far.clear();
        self.last_ns.clear();
        self
    }

    pub fn len(&self) -> usize {
        self.packed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Request> {
        self.packed.iter().map(|packed| self.unpacked(packed))
    }

    /// Owners by other numbers.
    pub fn renumber(&mut self, mut number: impl FnMut(u32) -> u32) {
        for packed in &mut self.packed {
            packed.owner = number(packed.owner);
        }
    }

    /// The last end of a request of this disk; 0 if there was none.
    pub fn last_ns(&self, disk: usize) -> u64 {
        self.last_ns.get(disk).copied().unwrap_or(0)
    }

    pub(super) fn sort(&mut self) {
        self.packed
            .sort_unstable_by_key(|of| (of.first_ns, of.to_issue_ns, of.owner));
    }

    fn unpacked(&self, packed: &Packed) -> Request {
        let has = |mark: u8| packed.marks & mark != 0;
        let if_has = |mark: u8, ns: u64| if has(mark) { ns } else { 0 };
        let first_ns = packed.first_ns;
        let [issued_ns, done_ns] = if has(FAR) {
            self.far[packed.to_issue_ns as usize]
        } else {
            let issued_ns = first_ns + u64::from(packed.to_issue_ns);
            let done_ns = issued_ns + u64::from(packed.to_done_ns);
            [if_has(ISSUED, issued_ns), if_has(DONE, done_ns)]
        };
        Request {
            queued_ns: if_has(QUEUED, first_ns),
            issued_ns,
            done_ns,
            is_over: has(OVER),
            owner: packed.owner,
            device: packed.device,
            op: packed.op,
            is_preflush: has(PREFLUSH),
            is_flush_command: has(FLUSH_COMMAND),
        }
    }
}

/// From the first moment to the issue, and from there to the end; None if they do not fit.
fn offsets(request: &Request) -> Option<(u32, u32)> {
    let since = |ns: u64, earlier_ns: u64| match ns {
        0 => Some(0),
        _ => u32::try_from(ns.checked_sub(earlier_ns)?).ok(),
    };
    let to_issue_ns = since(request.issued_ns, request.first_ns())?;
    let issued_ns = request.first_ns() + u64::from(to_issue_ns);
    Some((to_issue_ns, since(request.done_ns, issued_ns)?))
}

impl Extend<Record> for Requests {
    fn extend<T: IntoIterator<Item = Record>>(&mut self, records: T) {
        for record in records {
            self.push(&record);
        }
    }
}

impl FromIterator<Record> for Requests {
    fn from_iter<T: IntoIterator<Item = Record>>(records: T) -> Requests {
        let mut requests = Requests::default();
        requests.extend(records);
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the times are: those of a file may be any.
    #[test]
    fn a_request_comes_out_as_it_went_in() {
        let moments = [0, 1, 7, 1 << 32, (1 << 32) + 1, (1 << 33) + 8, u64::MAX];
        let mut records = Vec::new();
        for q_ns in moments {
            for d_ns in moments {
                for data_ns in moments {
                    let number = records.len();
                    records.push(Record {
                        q_ns,
                        g_ns: [0, q_ns][number % 2],
                        owner: number as u32,
                        device: (number % 3) as u16,
                        is_preflush: number % 5 == 0,
                        is_flush_command: number % 7 == 0,
                        ..Record::issued(Op::ALL[number % Op::ALL.len()], d_ns, data_ns)
                    });
                }
            }
        }
        let mut requests: Requests = records.iter().copied().collect();
        let all: Vec<Request> = requests.iter().collect();
        let expected: Vec<Request> = records.iter().map(Request::from).collect();
        assert_eq!(all, expected);
        requests.sort();
        let sorted: Vec<Request> = requests.iter().collect();
        assert!(sorted.is_sorted_by_key(Request::first_ns));
        for request in sorted {
            assert_eq!(request, expected[request.owner as usize]);
        }
    }

    #[test]
    fn a_request_is_far_only_if_it_does_not_fit() {
        let long_ns = u64::from(u32::MAX);
        let of = |d_ns: u64, data_ns: u64| {
            let requests = Requests::from_iter([Record {
                q_ns: 5,
                ..Record::issued(Op::Read, d_ns, data_ns)
            }]);
            requests.far.len()
        };
        assert_eq!(of(5 + long_ns, 5 + 2 * long_ns), 0);
        assert_eq!(of(6 + long_ns, 7 + long_ns), 1);
        assert_eq!(of(5, 6 + long_ns), 1);
        assert_eq!(of(4, 6), 1, "issued before it was queued");
        assert_eq!((of(0, 0), of(0, 9)), (0, 0));
    }

    #[test]
    fn the_last_end_is_that_of_the_disk() {
        let end = |device: u16, c_ns: u64| Record {
            device,
            ..Record::issued(Op::Read, 1, c_ns)
        };
        let requests = Requests::from_iter([end(2, 30), end(0, 10), end(2, 20), end(0, 0)]);
        let last = [0, 1, 2, 3].map(|disk| requests.last_ns(disk));
        assert_eq!(last, [10, 0, 30, 0]);
    }
}
