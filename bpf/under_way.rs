//! I/Os really under way. An end that no program saw leaves its entry behind until the tag is used again: of each request
//! that has not moved for a while the kernel is asked whether it is over. Where it does not let itself be asked (lockdown),
//! they are all believed. And threads may wait for a request: they have nothing in flight yet.

use std::io::Read;

use anyhow::{Context, Result};
use libbpf_rs::{Iter, ProgramInput};

use crate::mapped::value_of;
use crate::wire::blocked;
use crate::wire::enums::pool;
use crate::{Target, Tracer, inflight};

/// A request that has moved since is believed.
const WHILE_NS: u64 = 1_000_000;
/// For the last grant, see bpf/submit.bpf.h.
const RESUMED: u64 = u64::MAX;

impl Tracer {
    /// The requests in flight on the device. Those that are over leave, and are counted as evicted.
    pub fn under_way(&self, slot: usize, now_ns: u64) -> Vec<inflight> {
        let moved_ns = |state: &inflight| {
            let moments = [state.q_ns, state.g_ns, state.d_ns, state.event_ns];
            moments.into_iter().max().unwrap_or(0)
        };
        let queue = self.queue(slot).map(|(id, _)| id);
        let first = self.in_flight.places(slot).start;
        let mut found = Vec::new();
        for place in 0..self.inflight_elements(slot) {
            let mut state = self.in_flight.at(first + place);
            let is_old = now_ns.saturating_sub(moved_ns(&state)) > WHILE_NS;
            if let Some(queue) = queue.filter(|_| state.request != 0 && is_old) {
                let tag = tag_at(&self.config.targets[slot], place);
                self.evict_if_over(first + place, queue, tag);
                state = self.in_flight.at(first + place);
            }
            if state.request != 0 {
                found.push(state);
            }
        }
        found
    }

    /// See bpf/under_way.bpf.h. What cannot be found out stays.
    fn evict_if_over(&self, place: usize, queue: usize, tag: Option<u32>) {
        if !self.abilities.may_copy {
            return;
        }
        let tag_plus_1 = tag.map_or(0, |tag| u64::from(tag) + 1);
        let mut arguments: Vec<u8> = [place as u64, queue as u64, tag_plus_1]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let input = ProgramInput {
            context_in: Some(&mut arguments),
            ..ProgramInput::default()
        };
        let _ = self.skeleton.progs.evict.test_run(input);
    }

    /// The threads that wait for a request; None if the kernel cannot tell. Each costs as much as a look at all threads of
    /// the machine.
    pub fn blocked(&self) -> Result<Option<Vec<Blocked>>> {
        const WHAT: &str = "reading which threads wait for a request";
        let Some(link) = &self.skeleton.links.tell_blocked else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        Iter::new(link)
            .context(WHAT)?
            .read_to_end(&mut bytes)
            .context(WHAT)?;
        let records = bytes.chunks_exact(size_of::<blocked>());
        let threads = records.filter_map(value_of).map(Blocked::of);
        if self.abilities.tag_wait {
            return Ok(Some(threads.collect()));
        }
        let inferred = threads.map(|thread| Blocked {
            tag_since_ns: thread.since_ns,
            pool: self.inferred_pool(thread.slot),
            ..thread
        });
        Ok(Some(inferred.collect()))
    }

    /// As in bpf/sleep.bpf.h.
    fn inferred_pool(&self, slot: usize) -> usize {
        let has_scheduler = self
            .queue(slot)
            .is_some_and(|(_, queue)| queue.elevator != 0);
        let inferred = if has_scheduler {
            pool::POOL_SCHEDULER
        } else {
            pool::POOL_DRIVER
        };
        inferred.0 as usize
    }
}

/// A thread that has queued a bio and waits for its request: for a tag, for a throttle of the queue, or for the end of a
/// change of its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Index of the device.
    pub slot: usize,
    /// Index of the owner of an I/O by this thread on this device; 0 if none is known yet.
    pub owner: usize,
    /// When the bio was queued.
    pub queued_ns: u64,
    /// Since when it waits: later than that if a part of the bio got its request.
    pub since_ns: u64,
    /// Another I/O of the thread was in flight then.
    pub is_beside: bool,
    /// Since when it sleeps for a tag; 0 if it does not. Where the kernel does not say for what it sleeps, for a tag.
    pub tag_since_ns: u64,
    /// The pool of that tag.
    pub pool: usize,
}

impl Blocked {
    fn of(record: blocked) -> Self {
        Blocked {
            slot: usize::from(record.slot),
            owner: record.owner as usize,
            queued_ns: record.q_ns,
            since_ns: match record.last_g_ns {
                RESUMED => record.q_ns,
                granted_ns => granted_ns.max(record.q_ns),
            },
            is_beside: record.is_beside != 0,
            tag_since_ns: record.tag_since_ns,
            pool: usize::from(record.pool),
        }
    }
}

/// The tag of the request at a place of a device; none where another's is borrowed, see `place_of` in bpf/inflight.bpf.h.
fn tag_at(target: &Target, place: usize) -> Option<u32> {
    let place = place as u32;
    let is_tag = place < target.hardware_queues * target.depth;
    is_tag.then(|| place % target.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_counted_in_each_hardware_queue() {
        let target = Target {
            major: 8,
            minor: 0,
            hardware_queues: 2,
            depth: 4,
            head: None,
        };
        let tags: Vec<_> = (0..10).map(|place| tag_at(&target, place)).collect();
        let each = [Some(0), Some(1), Some(2), Some(3)];
        assert_eq!(tags, [&each[..], &each, &[None, None]].concat());
    }

    #[test]
    fn a_wait_begins_when_the_part_before_got_its_request() {
        let at = |q_ns, last_g_ns| {
            let record = blocked {
                q_ns,
                last_g_ns,
                owner: 3,
                slot: 1,
                is_beside: 0,
                tag_since_ns: 0,
                pool: 0,
            };
            Blocked::of(record).since_ns
        };
        assert_eq!((at(5, 0), at(5, 7), at(5, RESUMED)), (5, 7, 5));
    }
}
