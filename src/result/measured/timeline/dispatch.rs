//! Compares the order of a device's issues with that of its starts, with constant work per event. Pure.

use std::collections::VecDeque;

use crate::measured::order::Dispatch;
use crate::measured::record::Record;
use crate::measured::snapshot::{Op, Order};

/// So many last issues are kept.
const LAST: usize = 8192;

/// See [`Order`] for what is counted.
#[derive(Default)]
pub struct DispatchBook {
    counts: Order,
    /// Requests that have started, and the sector after the last one.
    started: u64,
    start_end: Option<u64>,
    /// Places in the order of issues that are taken; requests that leave without an issue have one too, so that those behind
    /// them are not early for ever.
    places: u64,
    issue_end: Option<u64>,
    /// The highest number that was issued, plus 1.
    next_expected: u64,
    /// The current run: of reads (0) or of everything else (1), and its issues.
    run: Option<(usize, u64)>,
    last: VecDeque<Dispatch>,
    /// Number of the next one in `last`.
    issue_sequence: u32,
}

fn end_sector(record: &Record) -> u64 {
    record.sector.saturating_add(u64::from(record.bytes) / 512)
}

impl DispatchBook {
    /// A request starts. Returns its number.
    pub fn start(&mut self, record: &Record) -> u64 {
        let counts = &mut self.counts;
        if let Some(end) = self.start_end.replace(end_sector(record)) {
            let sectors = record.sector.abs_diff(end);
            counts.insert_seeks += 1;
            counts.insert_sectors += sectors;
            counts.insert_seek.count_value(sectors);
        }
        self.started += 1;
        self.started - 1
    }

    /// A request leaves without an issue.
    pub fn leave(&mut self) {
        self.places += 1;
    }

    /// The request with this number is issued.
    pub fn issue(&mut self, record: &Record, number: u64) {
        let counts = &mut self.counts;
        let place = self.places;
        self.places += 1;
        counts.issued += 1;
        if number < self.next_expected {
            counts.reordered += 1;
        } else {
            self.next_expected = number + 1;
        }
        if place < number {
            counts.early.count_value(number - place);
        } else {
            counts.late.count_value(place - number);
        }
        if let Some(end) = self.issue_end.replace(end_sector(record)) {
            let sectors = record.sector.abs_diff(end);
            counts.issue_seeks += 1;
            counts.issue_sectors += sectors;
            counts.issue_seek.count_value(sectors);
        }
        self.count_run(usize::from(record.op != Op::Read));
        self.keep(record, number);
    }

    fn count_run(&mut self, kind: usize) {
        self.run = Some(match self.run {
            Some((current, ios)) if current == kind => (kind, ios + 1),
            ended => {
                if let Some((before, ios)) = ended {
                    self.counts.runs[before] += 1;
                    self.counts.run_ios[before] += ios;
                    self.counts.run_length[before].count_value(ios);
                }
                (kind, 1)
            }
        });
    }

    fn keep(&mut self, record: &Record, number: u64) {
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(Dispatch {
            start_ns: record.g_ns,
            issue_ns: record.d_ns,
            sector: record.sector,
            bytes: record.bytes,
            start_sequence: number as u32,
            issue_sequence: self.issue_sequence,
            hardware_queue: record.hardware_queue,
            op: record.op,
        });
        self.issue_sequence = self.issue_sequence.wrapping_add(1);
    }

    /// Some issues are missing here.
    pub fn note_loss(&mut self) {
        self.issue_sequence = self.issue_sequence.wrapping_add(1);
    }

    pub fn counts(&self) -> &Order {
        &self.counts
    }

    pub fn last(&self) -> impl Iterator<Item = &Dispatch> {
        self.last.iter()
    }
}
