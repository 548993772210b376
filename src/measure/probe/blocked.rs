//! Threads that wait for a request: what they did not get yet belongs to the moment, and to the interval in which they wait.

use std::collections::HashMap;

use iosched_bpf::Blocked;

use iosched_result::measured::snapshot::{self, DeviceNumbers, InFlight, Pool, Wait};

/// The threads of an owner or a device that wait for a request at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    pub threads: u64,
    /// When the first of their bios was queued; 0 if there is none.
    pub queued_ns: u64,
    /// How long they have been waiting with other I/O in flight: the kernel counts it at the end of the wait.
    pub stalled_ns: u64,
    /// How long all of them have been waiting, and for what.
    pub waits: snapshot::Waits,
}

/// The same by owner and by device. None: the kernel cannot tell.
#[derive(Default)]
pub(super) struct Waits {
    owners: HashMap<usize, Waiting>,
    devices: HashMap<usize, Waiting>,
    is_known: bool,
}

impl Waits {
    pub fn of(blocked: Option<Vec<Blocked>>, now_ns: u64) -> Self {
        let mut waits = Waits {
            is_known: blocked.is_some(),
            ..Waits::default()
        };
        for thread in blocked.unwrap_or_default() {
            waits
                .devices
                .entry(thread.slot)
                .or_default()
                .add(&thread, now_ns);
            waits
                .owners
                .entry(thread.owner)
                .or_default()
                .add(&thread, now_ns);
        }
        waits
    }

    pub fn add_to(&self, device: &mut DeviceNumbers, slot: usize, now_ns: u64) {
        if let Some(waiting) = self.of_device(slot) {
            device.stalled_ns += waiting.stalled_ns;
            device.waits += waiting.waits;
            let requests = device.in_flight;
            device.in_flight = requests.map(|now| waiting.beside(now, now_ns));
        }
    }

    fn of_device(&self, slot: usize) -> Option<Waiting> {
        self.is_known
            .then(|| self.devices.get(&slot).copied().unwrap_or_default())
    }

    pub fn of_owner(&self, index: usize) -> Option<Waiting> {
        self.is_known
            .then(|| self.owners.get(&index).copied().unwrap_or_default())
    }
}

impl Waiting {
    fn add(&mut self, thread: &Blocked, now_ns: u64) {
        self.queued_ns = match self.queued_ns {
            0 => thread.queued_ns,
            earliest => earliest.min(thread.queued_ns),
        };
        self.threads += 1;
        let since = |ns| Wait {
            requests: 1,
            ns: now_ns.saturating_sub(ns),
        };
        self.waits.slept += since(thread.since_ns);
        let pool = Pool::ALL
            .get(thread.pool)
            .filter(|_| thread.tag_since_ns > 0);
        if let Some(pool) = pool {
            *self.waits.tag(*pool) += since(thread.tag_since_ns);
        }
        if thread.is_beside {
            self.stalled_ns += now_ns.saturating_sub(thread.since_ns);
        }
    }

    /// When the first of their bios was queued, if there is one.
    pub fn since_ns(self) -> Option<u64> {
        (self.threads > 0).then_some(self.queued_ns)
    }

    pub fn beside(self, requests: InFlight, now_ns: u64) -> InFlight {
        let age_ns = self.since_ns().map(|ns| now_ns.saturating_sub(ns));
        InFlight {
            blocked: Some(self.threads),
            oldest_ns: requests.oldest_ns.max(age_ns),
            ..requests
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(owner: usize, slot: usize, queued_ns: u64, is_beside: bool) -> Blocked {
        Blocked {
            slot,
            owner,
            queued_ns,
            since_ns: queued_ns,
            is_beside,
            tag_since_ns: queued_ns + 50,
            pool: 1,
        }
    }

    #[test]
    fn waits_add_up_by_owner_and_by_device() {
        let threads = vec![
            thread(5, 0, 700, true),
            thread(5, 0, 400, false),
            thread(6, 1, 900, true),
        ];
        let waits = Waits::of(Some(threads), 1000);
        let of = |threads, queued_ns, stalled_ns, slept_ns| {
            let wait = |ns| Wait {
                requests: threads,
                ns,
            };
            Some(Waiting {
                threads,
                queued_ns,
                stalled_ns,
                waits: snapshot::Waits {
                    slept: wait(slept_ns),
                    scheduler_tag: wait(slept_ns - 50 * threads),
                    ..snapshot::Waits::default()
                },
            })
        };
        assert_eq!(waits.of_owner(5), of(2, 400, 300, 900));
        assert_eq!(waits.of_device(0), of(2, 400, 300, 900));
        assert_eq!(waits.of_device(1), of(1, 900, 100, 100));
        assert_eq!(waits.of_owner(9), of(0, 0, 0, 0));
        let shown = waits.of_owner(5).unwrap().beside(InFlight::default(), 1000);
        assert_eq!((shown.blocked, shown.oldest_ns), (Some(2), Some(600)));
        let nobody = waits.of_owner(9).unwrap().beside(InFlight::default(), 1000);
        assert_eq!((nobody.blocked, nobody.oldest_ns), (Some(0), None));
    }

    #[test]
    fn where_the_kernel_cannot_tell_nobody_is_said_to_wait() {
        let waits = Waits::of(None, 1000);
        assert_eq!((waits.of_owner(5), waits.of_device(0)), (None, None));
    }
}
