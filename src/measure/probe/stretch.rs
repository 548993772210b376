//! Records all requests of some seconds, for [`iosched_result::why`].

use std::collections::HashMap;

use anyhow::{Context, Result};
use iosched_result::measured::record::Record;
use iosched_result::measured::trace::TracedOwner;
use iosched_result::why::{Request, Requests, Stretch};

use super::books::Kept;
use super::{Probe, in_flight, monotonic_ns};

/// The losses from before a stretch.
pub(super) struct Begun {
    begin_ns: u64,
    lost: u64,
    evicted: u64,
    unseen: u64,
}

impl Probe {
    pub fn begin_stretch(&mut self) {
        self.look_for_ended();
        let (evicted, unseen) = (self.evicted(), self.unseen());
        let mut books = self.bookkeeper.books();
        books.enter();
        books.kept = Some(Kept::new(self.spare_requests.take()));
        self.stretch = Some(Begun {
            begin_ns: monotonic_ns(),
            lost: books.lost(),
            evicted,
            unseen,
        });
    }

    /// Reuses the memory of an old stretch for the next one. A large one gives it back.
    pub fn reuse_stretch(&mut self, old: Stretch) {
        const MOST_REUSED: usize = 65_536;
        let requests = old.into_requests();
        if requests.len() <= MOST_REUSED {
            self.spare_requests = Some(requests.cleared());
        }
    }

    /// Whether so many requests came that no more are kept.
    pub fn is_stretch_full(&self) -> bool {
        let books = self.bookkeeper.books();
        books
            .kept
            .as_ref()
            .is_some_and(|kept| kept.full_ns.is_some())
    }

    /// The requests since it began: those of the first part of that time, if there was no room for more.
    pub fn end_stretch(&mut self) -> Result<Stretch> {
        let begun = self.stretch.take().context("a stretch that has begun")?;
        self.bookkeeper.ensure_runs()?;
        self.look_for_ended();
        let now_ns = monotonic_ns();
        let in_flight = in_flight::records(self.tracer.in_flight(), self.devices.len());
        let mut books = self.bookkeeper.books();
        // Afterwards: a request that is not in flight any more has its record by now.
        books.enter();
        let kept = books.kept.take().context("the records of a stretch")?;
        let lost = books.lost() - begun.lost;
        drop(books);
        let missing = [
            lost,
            kept.left_out,
            self.evicted().saturating_sub(begun.evicted),
            // They were in service already when the probe was attached.
            self.unseen().saturating_sub(begun.unseen),
        ];
        let mut requests = kept.requests;
        let left = without_ended(&requests, in_flight);
        requests.extend(left);
        let end_ns = kept.full_ns.unwrap_or(now_ns);
        let missing = missing.iter().sum();
        Ok(Stretch::new(begun.begin_ns..end_ns, requests, missing))
    }

    /// Requests that were first seen at their end.
    fn unseen(&self) -> u64 {
        self.sum(|stats| stats.unseen)
    }

    /// Who has this row.
    pub fn owner(&self, row: u32) -> TracedOwner {
        self.traced_owner(row)
    }
}

/// Those in flight that are not among the requests that have ended: between a look at the former and one at the records, some do.
fn without_ended(ended: &Requests, mut in_flight: Vec<Record>) -> Vec<Record> {
    // Parts of a split bio have the same first moment. One of them that was not issued yet may have been since.
    let key = |request: &Request| (request.device, request.owner, request.first_ns());
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, record) in in_flight.iter().enumerate() {
        let request = Request::from(record);
        places.entry(key(&request)).or_default().push(place);
    }
    let mut has_ended = vec![false; in_flight.len()];
    for request in ended.iter() {
        let Some(same) = places.get_mut(&key(&request)) else {
            continue;
        };
        let issued = |place: &usize| in_flight[*place].d_ns;
        let found = same
            .iter()
            .position(|place| issued(place) == request.issued_ns)
            .or_else(|| same.iter().position(|place| issued(place) == 0));
        if let Some(found) = found {
            has_ended[same.swap_remove(found)] = true;
        }
    }
    let mut has_ended = has_ended.into_iter();
    in_flight.retain(|_| !has_ended.next().unwrap_or(false));
    in_flight
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::snapshot::Op;

    fn request(owner: u32, q_ns: u64, d_ns: u64) -> Record {
        Record {
            q_ns,
            owner,
            ..Record::issued(Op::Read, d_ns, 0)
        }
    }

    fn ended(record: Record) -> Record {
        Record {
            data_ns: 90,
            c_ns: 90,
            ..record
        }
    }

    #[test]
    fn what_ends_between_two_looks_counts_once() {
        let ends = [
            request(1, 10, 20),
            request(2, 10, 30),
            request(3, 10, 0),
            request(4, 10, 30),
            request(5, 0, 40),
        ];
        let in_flight = vec![
            request(1, 10, 20),
            // It was issued meanwhile.
            request(2, 10, 0),
            // An empty flush is never issued.
            request(3, 10, 0),
            // The other part of a bio.
            request(4, 10, 50),
            // A flush command.
            request(5, 0, 40),
            request(6, 10, 20),
        ];
        let requests: Requests = ends.map(ended).into_iter().collect();
        let left = without_ended(&requests, in_flight.clone());
        assert_eq!(left, [in_flight[3], in_flight[5]]);
    }

    /// One part that has ended is one part less, whichever was issued.
    #[test]
    fn parts_of_a_bio_are_told_apart_by_their_issue() {
        let parts = vec![request(1, 10, 0), request(1, 10, 30), request(1, 10, 40)];
        let left = |ends: &[Record]| {
            let requests: Requests = ends.iter().copied().map(ended).collect();
            without_ended(&requests, parts.clone())
        };
        assert_eq!(left(&[parts[1]]), [parts[0], parts[2]]);
        assert_eq!(left(&[request(1, 10, 50)]), parts[1..]);
        assert_eq!(left(&[parts[2], request(1, 10, 50), parts[1]]), []);
    }
}
