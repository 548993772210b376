//! Each I/O from ftrace's events: when it was asked for, queued, completed and collected. Knows nothing of the product but
//! the definitions in docs/measurement.md.
//!
//! I/Os are told apart by their sectors: the load has none in flight twice, and the disk joins nothing.

use std::collections::{HashMap, VecDeque};

use crate::parse::{Event, IO_GETEVENTS, IO_PGETEVENTS, IO_SUBMIT, What};

#[derive(Clone, Copy, Debug)]
pub struct Io {
    pub asked_ns: u64,
    /// Time of its first attempt.
    pub queued_ns: u64,
    pub attempts: u32,
    pub completed_ns: u64,
    /// When the call of libaio ended that handed it to the program.
    pub collected_ns: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Rebuilt {
    /// In the order of their completions.
    pub ios: Vec<Io>,
    /// Each time that a thread with I/O under way stood still for a request of the next.
    pub stalls_ns: Vec<u64>,
    under_way: HashMap<u64, Io>,
    /// The system call, or the entry of a ring, that a thread is at.
    asking: HashMap<u32, u64>,
    /// The last bio that a thread queued, when, and whether its last request was under way then.
    queued: HashMap<u32, (u64, u64, bool)>,
    /// The sector of the request that a thread got last.
    got: HashMap<u32, u64>,
    /// Places in `ios` of what lies uncollected.
    uncollected: VecDeque<usize>,
}

pub fn rebuild(events: &[Event]) -> Rebuilt {
    let mut rebuilt = Rebuilt::default();
    for event in events {
        rebuilt.take(event);
    }
    assert!(rebuilt.under_way.is_empty(), "{:?}", rebuilt.under_way);
    rebuilt
}

impl Rebuilt {
    fn take(&mut self, event: &Event) {
        let Event { time_ns, tid, what } = *event;
        match what {
            What::Enter(IO_SUBMIT) | What::Taken => {
                self.asking.insert(tid, time_ns);
            }
            What::Enter(_) => {}
            What::Exit(call, returned) => {
                self.asking.remove(&tid);
                if [IO_GETEVENTS, IO_PGETEVENTS].contains(&call) {
                    self.collect(returned, time_ns);
                }
            }
            What::Queue(sector) => self.queue(tid, sector, time_ns),
            What::GetRequest(sector) => self.get_request(tid, sector, time_ns),
            What::Complete(sector) => {
                let mut io = self.under_way.remove(&sector).expect("it was asked for");
                io.completed_ns = time_ns;
                self.uncollected.push_back(self.ios.len());
                self.ios.push(io);
            }
        }
    }

    fn queue(&mut self, tid: u32, sector: u64, now: u64) {
        let io = self.under_way.entry(sector).or_insert(Io {
            asked_ns: self.asking.get(&tid).copied().unwrap_or(now),
            queued_ns: now,
            attempts: 0,
            completed_ns: 0,
            collected_ns: None,
        });
        io.attempts += 1;
        let last = self.got.get(&tid);
        let is_beside =
            last.is_some_and(|last| *last != sector && self.under_way.contains_key(last));
        self.queued.insert(tid, (sector, now, is_beside));
    }

    /// An I/O that is asked for once more hides nothing: its wait begins with its first attempt.
    fn get_request(&mut self, tid: u32, sector: u64, now: u64) {
        let (queued, since, is_beside) = self.queued[&tid];
        assert_eq!(queued, sector, "a bio gets the request of another");
        if is_beside && self.under_way[&sector].attempts == 1 {
            self.stalls_ns.push(now - since);
        }
        self.got.insert(tid, sector);
    }

    /// The ring of libaio has them in the order of their completions.
    fn collect(&mut self, returned: i64, now: u64) {
        let many = usize::try_from(returned).unwrap_or_default();
        for place in self.uncollected.drain(..many) {
            self.ios[place].collected_ns = Some(now);
        }
    }

    /// The completion of each by fio. When it has asked for the last, it takes what is completed next, and then
    /// nothing before all that are in flight are completed. How much is completed at that moment nobody sees: the
    /// least, and the most.
    pub fn answered_ns(&self, io: &Io) -> (u64, u64) {
        let last_asked = self.ios.iter().map(|io| io.asked_ns).max();
        let last_asked = last_asked.unwrap_or_default();
        let mut completions = self.ios.iter().map(|io| io.completed_ns);
        let end = self.ios.last().map_or(0, |io| io.completed_ns);
        let next = completions.find(|&ns| ns > last_asked).unwrap_or(end);
        let after = |since| {
            if io.completed_ns > since {
                end
            } else {
                io.completed_ns
            }
        };
        (after(next + ONE_MOMENT_NS), after(last_asked))
    }
}

/// Much shorter than the delay of the disk.
const ONE_MOMENT_NS: u64 = 10_000_000;
