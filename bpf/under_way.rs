//! Which of the requests that are held to be under way are so? An end that no program saw leaves its entry behind until the
//! tag is used again; of each that has not moved for a while the kernel is asked whether the request is still in use. Where
//! it does not let itself be asked (lockdown), they are all believed.

use libbpf_rs::ProgramInput;

use crate::{Target, Tracer, inflight};

/// What has moved since is believed.
const WHILE_NS: u64 = 1_000_000;

#[derive(Default)]
pub struct UnderWay {
    pub requests: Vec<inflight>,
    /// Entries of requests that are over, though no program saw their end. Each is counted as evicted when its tag is used
    /// again: the sum of both never falls.
    pub ended_unseen: u64,
}

impl Tracer {
    /// What the entries of the device say at `now_ns`.
    pub fn under_way(&self, slot: usize, now_ns: u64) -> UnderWay {
        let moved_ns = |state: &inflight| {
            let moments = [state.q_ns, state.g_ns, state.d_ns, state.event_ns];
            moments.into_iter().max().unwrap_or(0)
        };
        let queue = self.queue(slot).map_or(0, |(_, queue)| queue.address);
        let first = self.inflight_base(slot);
        let mut found = UnderWay::default();
        for place in 0..self.inflight_elements(slot) {
            let mut state = self.inflight.get(first + place);
            let is_old = now_ns.saturating_sub(moved_ns(&state)) > WHILE_NS;
            if state.request != 0 && is_old {
                let tag = tag_at(&self.config.targets[slot], place);
                let is_in_use = self.is_in_use(state.request, queue, tag);
                let moved_at_ns = moved_ns(&state);
                state = self.inflight.get(first + place); // it may have ended meanwhile
                if !is_in_use {
                    let is_left = state.request != 0 && moved_ns(&state) == moved_at_ns;
                    found.ended_unseen += u64::from(is_left);
                    continue;
                }
            }
            if state.request != 0 {
                found.requests.push(state);
            }
        }
        found
    }

    /// See bpf/under_way.bpf.h. What cannot be found out is taken for granted.
    fn is_in_use(&self, request: u64, queue: u64, tag: Option<u32>) -> bool {
        if !self.abilities.may_copy {
            return true;
        }
        let tag_plus_1 = tag.map_or(0, |tag| u64::from(tag) + 1);
        let mut arguments: Vec<u8> = [request, queue, tag_plus_1]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let input = ProgramInput {
            context_in: Some(&mut arguments),
            ..ProgramInput::default()
        };
        let found = self.skeleton.progs.is_in_use.test_run(input);
        found.map_or(true, |found| found.return_value != 0)
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
}
