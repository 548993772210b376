//! The requests of blkparse's text (its default columns), which other programs wrote. Pure.
//!
//! Known are bios (Q), requests (G, I, D, C), what is merged into them (M, F) and what is split off (X). A request belongs to whoever
//! queued its first bio. Not known: the control group, who waits for a tag when the text ends, and requests that carry a command of
//! their own (SG_IO, NVMe's ioctl), for which the device seems idle.

mod line;

use std::collections::{BTreeMap, HashMap, VecDeque};

use line::{Event, Sectors, is_flush, skips};

use super::{Does, Stretch};
use crate::measured::record::Record;
use crate::measured::snapshot::{Op, OwnerKind};
use crate::measured::trace::TracedOwner;

/// What blkparse's text says.
#[derive(Debug)]
pub struct Parsed {
    pub stretch: Stretch,
    /// `8,0`; requests number the disks in this order.
    pub disks: Vec<String>,
    /// By the owner's number in the requests.
    pub owners: Vec<TracedOwner>,
}

/// The owner of requests whose first bio is not in the text.
const UNKNOWN: u32 = 0;
/// None if no line is blkparse's.
pub fn parse(text: &str) -> Option<Parsed> {
    let (reader, end_ns) = read(text)?;
    Some(reader.parsed(end_ns))
}

/// The requests, and the time of the last line.
fn read(text: &str) -> Option<(Reader<'_>, u64)> {
    let mut events: Vec<Event> = text.lines().filter_map(Event::of).collect();
    // blkparse sorts what it has read, and what other CPUs recorded may come later.
    events.sort_by_key(|event| event.time_ns);
    let time_ns = (events.first()?.time_ns, events.last()?.time_ns);
    let mut reader = Reader {
        begin_ns: time_ns.0,
        missing: text.lines().filter_map(skips).fold(0, u64::saturating_add),
        ..Reader::default()
    };
    for event in &events {
        reader.add(event);
    }
    Some((reader, time_ns.1))
}

#[derive(Clone, Copy)]
struct Bio {
    time_ns: u64,
    owner: u32,
    sectors: u64,
}

/// By direction and first sector; several may be the same.
type Places<T> = HashMap<(u8, u64), VecDeque<T>>;

fn take<T>(of: &mut Places<T>, key: (u8, u64)) -> Option<T> {
    let list = of.get_mut(&key)?;
    let first = list.pop_front();
    if list.is_empty() {
        of.remove(&key);
    }
    first
}

fn remove(of: &mut Places<usize>, key: (u8, u64), place: usize) {
    if let Some(list) = of.get_mut(&key) {
        list.retain(|it| *it != place);
        if list.is_empty() {
            of.remove(&key);
        }
    }
}

#[derive(Default)]
struct Disk {
    /// Bios without a request.
    bios: Places<Bio>,
    /// Requests that were not issued, by their first sector, and by the sector behind them.
    open: Places<usize>,
    open_ends: Places<usize>,
    /// Requests that were issued, by their first sector.
    issued: Places<usize>,
    /// The flush commands in service, which have no sector, and those that wait to be issued again.
    flushes: VecDeque<usize>,
    requeued_flushes: VecDeque<usize>,
}

#[derive(Default)]
struct Reader<'a> {
    names: BTreeMap<&'a str, u16>,
    disks: Vec<Disk>,
    owners: HashMap<(u32, &'a str), u32>,
    owner_names: Vec<TracedOwner>,
    requests: Vec<Record>,
    /// Its sectors so far, by request.
    sectors: Vec<u64>,
    begin_ns: u64,
    missing: u64,
}

impl<'a> Reader<'a> {
    fn add(&mut self, event: &Event<'a>) {
        let next = self.disks.len();
        let disk = *self.names.entry(event.disk).or_insert(next as u16);
        if usize::from(disk) == next {
            self.disks.push(Disk::default());
        }
        if is_flush(event.flags) {
            return self.add_flush(usize::from(disk), event);
        }
        let Some(Sectors { first, count }) = event.sectors else {
            return;
        };
        // A request may be marked otherwise than its bio: only whether it writes is the same.
        let key = (Does::of(event.op()) as u8, first);
        match event.action {
            "Q" if count > 0 => {
                let owner = self.owner(event);
                let bio = Bio {
                    time_ns: event.time_ns,
                    owner,
                    sectors: count,
                };
                self.disk(disk).bios.entry(key).or_default().push_back(bio);
            }
            "X" => self.split(disk, key, count),
            "M" | "F" => self.merge(disk, key, event, count),
            "G" if count > 0 => {
                self.begin(disk, key, event, count);
            }
            "I" => {
                let place = self.open(disk, key, event, count);
                self.requests[place].i_ns = event.time_ns;
            }
            "D" => self.issue(disk, key, event, count),
            "C" => self.complete(disk, key, event, count),
            _ => {}
        }
    }

    fn disk(&mut self, disk: u16) -> &mut Disk {
        &mut self.disks[usize::from(disk)]
    }

    fn owner(&mut self, event: &Event<'a>) -> u32 {
        let next = self.owners.len() as u32 + UNKNOWN + 1;
        let number = *self.owners.entry((event.pid, event.name)).or_insert(next);
        if number == next {
            self.owner_names.push(named(event.name, event.pid));
        }
        number
    }

    /// The second half of a bio was queued when the whole was.
    fn split(&mut self, disk: u16, key: (u8, u64), at: u64) {
        let bios = &mut self.disk(disk).bios;
        let Some(bio) = bios.get_mut(&key).and_then(VecDeque::back_mut) else {
            return;
        };
        // blkparse writes the sector in 32 bits.
        let first = u64::from((at as u32).wrapping_sub(key.1 as u32)).min(bio.sectors);
        let second = Bio {
            sectors: bio.sectors - first,
            ..*bio
        };
        bio.sectors = first;
        bios.entry((key.0, key.1.saturating_add(first)))
            .or_default()
            .push_back(second);
    }

    /// A bio, or a request, becomes part of a request.
    fn merge(&mut self, disk: u16, key: (u8, u64), event: &Event, count: u64) {
        let bio = take(&mut self.disk(disk).bios, key);
        if bio.is_none()
            && let Some(place) = take(&mut self.disk(disk).open, key)
        {
            let end = (key.0, key.1.saturating_add(self.sectors[place]));
            remove(&mut self.disk(disk).open_ends, end, place);
            // It is no request any more: neither it waits, nor is it issued.
            self.requests[place].c_ns = event.time_ns;
        }
        let end = (key.0, key.1.saturating_add(count));
        let into = if event.action == "M" {
            take(&mut self.disk(disk).open_ends, key)
        } else {
            take(&mut self.disk(disk).open, end)
        };
        let Some(place) = into else { return };
        let (sector, sectors) = (self.requests[place].sector, self.sectors[place]);
        self.close(disk, key.0, place);
        let sector = if event.action == "M" { sector } else { key.1 };
        self.requests[place].sector = sector;
        self.sectors[place] = sectors.saturating_add(count);
        self.reopen(disk, key.0, place);
    }

    fn close(&mut self, disk: u16, class: u8, place: usize) {
        let (sector, sectors) = (self.requests[place].sector, self.sectors[place]);
        let disk = self.disk(disk);
        remove(&mut disk.open, (class, sector), place);
        let end = sector.saturating_add(sectors);
        remove(&mut disk.open_ends, (class, end), place);
    }

    fn reopen(&mut self, disk: u16, class: u8, place: usize) {
        let (sector, sectors) = (self.requests[place].sector, self.sectors[place]);
        let disk = self.disk(disk);
        disk.open
            .entry((class, sector))
            .or_default()
            .push_back(place);
        let end = sector.saturating_add(sectors);
        disk.open_ends
            .entry((class, end))
            .or_default()
            .push_back(place);
    }

    /// A request, with the bio that it was made for.
    fn begin(&mut self, disk: u16, key: (u8, u64), event: &Event, count: u64) -> usize {
        let bio = take(&mut self.disk(disk).bios, key);
        let request = Record {
            q_ns: bio.map_or(0, |bio| bio.time_ns),
            g_ns: event.time_ns,
            sector: key.1,
            owner: bio.map_or(UNKNOWN, |bio| bio.owner),
            device: disk,
            is_preflush: event.flags.starts_with('F'),
            ..Record::issued(event.op(), 0, 0)
        };
        self.requests.push(request);
        // A bio that is split later than it gets its request is longer than the request will be.
        self.sectors.push(bio.map_or(count, |bio| bio.sectors));
        let place = self.requests.len() - 1;
        self.reopen(disk, key.0, place);
        place
    }

    /// The request that begins at this sector and was not issued; one that was not seen to begin begins now.
    fn open(&mut self, disk: u16, key: (u8, u64), event: &Event, count: u64) -> usize {
        let found = self
            .disk(disk)
            .open
            .get(&key)
            .and_then(|list| list.front().copied());
        if let Some(place) = found {
            return place;
        }
        let place = self.begin(disk, key, event, count);
        self.requests[place].g_ns = 0;
        place
    }

    fn issue(&mut self, disk: u16, key: (u8, u64), event: &Event, count: u64) {
        // One that was requeued is issued again: the first time counts.
        let is_again =
            !self.disk(disk).open.contains_key(&key) && self.disk(disk).issued.contains_key(&key);
        if is_again {
            return;
        }
        let place = self.open(disk, key, event, count);
        self.close(disk, key.0, place);
        self.requests[place].d_ns = event.time_ns;
        self.sectors[place] = count;
        self.disk(disk)
            .issued
            .entry(key)
            .or_default()
            .push_back(place);
    }

    fn complete(&mut self, disk: u16, key: (u8, u64), event: &Event, count: u64) {
        let Some(place) = take(&mut self.disk(disk).issued, key) else {
            // It was in service before the text begins, or its issue is lost: then nobody knows how long it waited.
            self.missing = self.missing.saturating_add(1);
            take(&mut self.disk(disk).bios, key);
            if let Some(place) = self
                .disk(disk)
                .open
                .get(&key)
                .and_then(|list| list.front().copied())
            {
                self.close(disk, key.0, place);
                self.requests[place].c_ns = event.time_ns;
            }
            return;
        };
        let left = self.sectors[place].saturating_sub(count);
        if left > 0 && count > 0 {
            // A part of it; the rest goes on behind that.
            self.sectors[place] = left;
            let rest = (key.0, key.1.saturating_add(count));
            self.disk(disk)
                .issued
                .entry(rest)
                .or_default()
                .push_back(place);
            return;
        }
        self.end(place, event.time_ns);
    }

    fn end(&mut self, place: usize, time_ns: u64) {
        self.requests[place].data_ns = time_ns;
        self.requests[place].c_ns = time_ns;
    }

    fn add_flush(&mut self, disk: usize, event: &Event) {
        let of = &mut self.disks[disk];
        match event.action {
            "D" if !of.requeued_flushes.is_empty() => {
                of.flushes.extend(of.requeued_flushes.pop_front());
            }
            "R" => of.requeued_flushes.extend(of.flushes.pop_front()),
            "D" => {
                self.requests.push(Record {
                    device: disk as u16,
                    is_flush_command: true,
                    ..Record::issued(Op::Flush, event.time_ns, 0)
                });
                self.sectors.push(0);
                self.disks[disk].flushes.push_back(self.requests.len() - 1);
            }
            "C" => {
                if let Some(place) = self.disks[disk].flushes.pop_front() {
                    self.end(place, event.time_ns);
                }
            }
            _ => {}
        }
    }

    fn parsed(self, end_ns: u64) -> Parsed {
        let mut disks = vec![String::new(); self.names.len()];
        for (name, place) in self.names {
            name.clone_into(&mut disks[usize::from(place)]);
        }
        let mut owners = vec![named("unknown", 0)];
        owners.extend(self.owner_names);
        Parsed {
            stretch: Stretch::new(
                self.begin_ns..end_ns,
                self.requests.into_iter().collect(),
                self.missing,
            ),
            disks,
            owners,
        }
    }
}

/// pid 0 is that of no single process.
fn named(name: &str, pid: u32) -> TracedOwner {
    TracedOwner {
        name: name.to_owned(),
        kind: if pid == 0 {
            OwnerKind::Other
        } else {
            OwnerKind::Process
        },
        pid,
        cgroup_id: 0,
        part: None,
    }
}

#[cfg(test)]
mod tests;
