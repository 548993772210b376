//! Records all requests of some seconds, for [`iosched_result::why`].

use std::collections::HashSet;

use anyhow::{Context, Result};
use iosched_result::measured::record::Record;
use iosched_result::measured::trace::TracedOwner;
use iosched_result::why::Stretch;

use super::books::Kept;
use super::{Probe, in_flight, monotonic_ns};

/// A stretch with more requests than these gives its memory back: 6 MB.
const MOST_REUSED: usize = 65_536;

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
        books.kept = Some(Kept {
            records: std::mem::take(&mut self.spare_records),
            ..Kept::default()
        });
        self.stretch = Some(Begun {
            begin_ns: monotonic_ns(),
            lost: books.lost(),
            evicted,
            unseen,
        });
    }

    /// Reuses the memory of an old stretch for the next one.
    pub fn reuse_stretch(&mut self, old: Stretch) {
        let mut records = old.requests;
        records.clear();
        if records.capacity() <= MOST_REUSED {
            self.spare_records = records;
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
        // A flush command has neither G nor a sector.
        let identity = |record: &Record| {
            let seen_ns = record.seen_ns();
            (record.device, record.owner, record.q_ns, seen_ns)
        };
        let mut requests = kept.records;
        // A request that ended after the look at those in flight stands in both.
        let seen: HashSet<_> = in_flight.iter().map(identity).collect();
        let oldest_ns = in_flight.iter().map(Record::seen_ns).min();
        let young = requests.iter().filter(|it| Some(it.seen_ns()) >= oldest_ns);
        let ended = young.map(identity);
        let ended: HashSet<_> = ended.filter(|it| seen.contains(it)).collect();
        let is_left = |state: &Record| !ended.contains(&identity(state));
        requests.extend(in_flight.into_iter().filter(is_left));
        Ok(Stretch {
            begin_ns: begun.begin_ns,
            end_ns: kept.full_ns.unwrap_or(now_ns),
            requests,
            missing: missing.iter().sum(),
        })
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
