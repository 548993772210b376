//! Requests from blktrace's events. Knows nothing of the product but the definitions in docs/measurement.md: what Q is of a
//! request that several bios share, or that is one of the parts of a bio, and which completion ends it.
//!
//! Requests are told apart by their sectors, so that the load must never have the same sectors in flight twice.

use crate::parse::{Action, Event};

/// A bio that was asked for and has no request yet.
#[derive(Clone, Debug)]
struct Bio {
    tid: u32,
    command: String,
    kind: String,
    sector: u64,
    bytes: u64,
    q_ns: u64,
}

#[derive(Clone, Debug)]
pub struct Request {
    /// The thread that asked for its first bio, what that thread ran, and what it asked for.
    pub tid: u32,
    pub command: String,
    pub kind: String,
    pub sector: u64,
    /// Grows by merges until the request is issued.
    pub bytes: u64,
    pub bios: u64,
    pub q_ns: u64,
    pub g_ns: u64,
    pub inserted_ns: Option<u64>,
    pub issued_ns: Option<u64>,
    /// The end of the data; a write with a flush before it ends once more.
    pub data_ns: Option<u64>,
    pub end_ns: Option<u64>,
}

impl Request {
    pub fn is_preflush(&self) -> bool {
        self.kind.starts_with('F')
    }

    pub fn is_empty_flush(&self) -> bool {
        self.is_preflush() && self.bytes == 0
    }

    fn end(&self) -> u64 {
        self.sector + self.bytes / 512
    }

    fn is_at(&self, event: &Event) -> bool {
        (self.sector, self.bytes) == (event.sector, event.bytes)
    }
}

/// A command that empties the cache of the device. The kernel makes it; nobody asks for it by a bio.
#[derive(Clone, Copy, Debug)]
pub struct FlushCommand {
    pub issued_ns: u64,
    pub end_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Back,
    Front,
    /// A request joined another.
    Request,
}

/// Who asked for the bio that was merged, or for the first one of the request that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub tid: u32,
    pub command: String,
}

#[derive(Debug, Default)]
pub struct Rebuilt {
    /// In the order of their ends. Empty flushes are among them.
    pub requests: Vec<Request>,
    pub commands: Vec<FlushCommand>,
    pub merges: Vec<(Asker, Merge)>,
    pub splits: u64,
    pub requeues: u64,
    /// Events without a place, and what was under way at the end: a trace that is whole has none.
    pub oddities: Vec<String>,
    asked: Vec<Bio>,
    started: Vec<Request>,
}

pub fn rebuild(events: &[Event]) -> Rebuilt {
    let mut rebuilt = Rebuilt::default();
    for event in events {
        if rebuilt.take(event).is_none() {
            rebuilt.oddities.push(format!("without a place: {event:?}"));
        }
    }
    let asked = rebuilt.asked.iter().map(|bio| format!("{bio:?}"));
    let started = rebuilt.started.iter().map(|request| format!("{request:?}"));
    let open: Vec<String> = asked.chain(started).collect();
    rebuilt.oddities.extend(open);
    rebuilt
}

impl Rebuilt {
    fn take(&mut self, event: &Event) -> Option<()> {
        if event.kind == "FN" {
            return self.command(event);
        }
        match event.action {
            Action::Queue => self.asked.push(Bio {
                tid: event.tid,
                command: event.command.clone(),
                kind: event.kind.clone(),
                sector: event.sector,
                bytes: event.bytes,
                q_ns: event.time_ns,
            }),
            Action::Split => self.split(event)?,
            Action::GetRequest => {
                let bio = self.asked_for(event)?;
                self.started.push(Request {
                    tid: bio.tid,
                    command: bio.command,
                    kind: bio.kind,
                    sector: bio.sector,
                    bytes: bio.bytes,
                    bios: 1,
                    q_ns: bio.q_ns,
                    g_ns: event.time_ns,
                    inserted_ns: None,
                    issued_ns: None,
                    data_ns: None,
                    end_ns: None,
                });
            }
            Action::BackMerge => self.back_merge(event)?,
            Action::FrontMerge => {
                let bio = self.asked_for(event)?;
                let end = bio.sector + bio.bytes / 512;
                let request = self.waiting(|request| request.sector == end)?;
                request.sector = bio.sector;
                request.bytes += bio.bytes;
                request.bios += 1;
                self.merged(bio.tid, bio.command, Merge::Front);
            }
            Action::Insert => {
                let request = self.waiting(|request| request.is_at(event))?;
                request.inserted_ns = Some(event.time_ns);
            }
            Action::Issue => {
                let mut started = self.started.iter_mut();
                let request = started.find(|request| request.is_at(event))?;
                request.issued_ns.get_or_insert(event.time_ns);
            }
            Action::Requeue => {
                self.started.iter().find(|request| request.is_at(event))?;
                self.requeues += 1;
            }
            Action::Complete => self.complete(event)?,
        }
        Some(())
    }

    /// A flush command has no sector. One is under way at a time.
    fn command(&mut self, event: &Event) -> Option<()> {
        match event.action {
            Action::Issue => self.commands.push(FlushCommand {
                issued_ns: event.time_ns,
                end_ns: None,
            }),
            Action::Complete => {
                let mut open = self.commands.iter_mut().filter(|one| one.end_ns.is_none());
                open.next()?.end_ns = Some(event.time_ns);
            }
            _ => return None,
        }
        Some(())
    }

    fn asked_for(&mut self, event: &Event) -> Option<Bio> {
        let place = self.asked.iter().position(|bio| {
            (bio.tid, bio.sector, bio.bytes) == (event.tid, event.sector, event.bytes)
        })?;
        Some(self.asked.remove(place))
    }

    /// A request that was not issued yet.
    fn waiting(&mut self, is_it: impl Fn(&Request) -> bool) -> Option<&mut Request> {
        let mut started = self.started.iter_mut();
        started.find(|request| request.issued_ns.is_none() && is_it(request))
    }

    /// The event names the first part; the rest keeps the moment at which the whole was asked for.
    fn split(&mut self, event: &Event) -> Option<()> {
        let mut asked = self.asked.iter_mut();
        let whole = asked.find(|bio| (bio.tid, bio.sector) == (event.tid, event.sector))?;
        let mut rest = whole.clone();
        rest.bytes = whole.bytes.checked_sub(event.bytes)?;
        rest.sector += event.bytes / 512;
        whole.bytes = event.bytes;
        self.asked.push(rest);
        self.splits += 1;
        Some(())
    }

    /// The merge of a bio, or, with the same letter, of a request that joins the one before it.
    fn back_merge(&mut self, event: &Event) -> Option<()> {
        let (bytes, bios);
        if let Some(bio) = self.asked_for(event) {
            (bytes, bios) = (bio.bytes, 1);
            self.merged(bio.tid, bio.command, Merge::Back);
        } else {
            let is_it = |request: &Request| request.issued_ns.is_none() && request.is_at(event);
            let place = self.started.iter().position(is_it)?;
            let joining = self.started.remove(place);
            (bytes, bios) = (joining.bytes, joining.bios);
            self.merged(joining.tid, joining.command, Merge::Request);
        }
        let request = self.waiting(|request| request.end() == event.sector)?;
        request.bytes += bytes;
        request.bios += bios;
        Some(())
    }

    fn merged(&mut self, tid: u32, command: String, merge: Merge) {
        self.merges.push((Asker { tid, command }, merge));
    }

    fn complete(&mut self, event: &Event) -> Option<()> {
        let place = self.started.iter().position(|request| {
            let is_last_of_preflush = request.data_ns.is_some() && event.bytes == 0;
            request.sector == event.sector
                && (request.bytes == event.bytes || is_last_of_preflush)
                && (request.issued_ns.is_some() || request.is_empty_flush())
        })?;
        let request = &mut self.started[place];
        if request.is_preflush() && request.bytes > 0 && request.data_ns.is_none() {
            request.data_ns = Some(event.time_ns);
            return Some(());
        }
        request.data_ns.get_or_insert(event.time_ns);
        request.end_ns = Some(event.time_ns);
        let request = self.started.remove(place);
        self.requests.push(request);
        Some(())
    }
}

mod tests {
    use super::*;
    use crate::parse::events;

    fn whole(lines: &str) -> Rebuilt {
        let rebuilt = rebuild(&events(lines));
        assert_eq!(rebuilt.oddities, [""; 0]);
        rebuilt
    }

    #[test]
    fn a_bio_that_joins_a_request_leaves_it_its_q() {
        let rebuilt = whole(
            "Q 0 1 0 10 7 WS 0 4096 fio\nG 0 2 0 12 7 WS 0 4096 fio\n\
            Q 0 3 0 20 8 WS 8 4096 dd\nM 0 4 0 21 8 WS 8 4096 dd\n\
            D 0 5 0 30 0 WS 0 8192 swapper/0\nC 0 6 0 90 0 WS 0 8192 swapper/0\n",
        );
        let request = &rebuilt.requests[0];
        assert_eq!((request.tid, request.bios, request.bytes), (7, 2, 8192));
        assert_eq!((request.q_ns, request.issued_ns), (10, Some(30)));
        assert_eq!(
            (rebuilt.merges[0].0.tid, rebuilt.merges[0].1),
            (8, Merge::Back)
        );
    }

    #[test]
    fn the_parts_of_a_bio_have_its_q() {
        let rebuilt = whole(
            "Q 0 1 0 10 7 R 0 8192 fio\nX 0 2 0 11 7 R 0 4096 fio\nG 0 3 0 12 7 R 0 4096 fio\n\
            D 0 4 0 13 7 R 0 4096 fio\nG 0 5 0 14 7 R 8 4096 fio\nD 0 6 0 15 7 R 8 4096 fio\n\
            C 0 7 0 20 0 R 8 4096 fio\nC 0 8 0 21 0 R 0 4096 fio\n",
        );
        let q = rebuilt.requests.iter().map(|request| request.q_ns);
        assert_eq!(q.collect::<Vec<_>>(), [10, 10]);
    }

    #[test]
    fn a_write_with_a_flush_before_it_ends_twice() {
        let rebuilt = whole(
            "Q 0 1 0 10 7 FWFS 8 4096 jbd2\nG 0 2 0 11 7 FWFS 8 4096 jbd2\n\
            D 0 3 0 20 1 FN 0 0 kworker/0:1H\nC 0 4 0 30 0 FN 0 0 swapper/0\n\
            D 0 5 0 31 1 WFS 8 4096 kworker/0:1H\nC 0 6 0 40 0 WFS 8 4096 swapper/0\n\
            C 0 7 0 50 0 WFS 8 0 swapper/0\n",
        );
        let request = &rebuilt.requests[0];
        assert_eq!((request.data_ns, request.end_ns), (Some(40), Some(50)));
        assert_eq!(rebuilt.commands.len(), 1);
    }

    #[test]
    fn what_has_no_place_is_said() {
        let rebuilt = rebuild(&events(
            "D 0 1 0 10 7 R 0 4096 fio\nQ 0 2 0 11 7 R 0 4096 fio\n",
        ));
        assert_eq!(
            rebuilt.oddities.len(),
            2,
            "an issue without a request, a bio without an end"
        );
    }
}
