//! Requests in flight, in the form of the records that they will have.

use iosched_bpf::enums::inflight_flags;
use iosched_bpf::{InFlightTable, extra, inflight};
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::Op;

/// The requests in flight of the first `slots` devices.
pub(super) fn records(table: &InFlightTable, slots: usize) -> Vec<Record> {
    let of_slot = |slot| {
        let states = table.with_extra(slot);
        states.map(move |(state, extra)| record_of(slot, &state, &extra))
    };
    (0..slots).flat_map(of_slot).collect()
}

/// Times of what has not happened yet are 0. `slot`: that of its device.
fn record_of(slot: usize, state: &inflight, extra: &extra) -> Record {
    let has = |flag: inflight_flags| u32::from(state.flags) & flag.0 != 0;
    let op = Op::ALL.get(usize::from(state.op)).copied();
    let op = op.unwrap_or(Op::Other);
    Record {
        q_ns: state.q_ns,
        g_ns: state.g_ns,
        i_ns: extra.i_ns,
        sector: state.sector,
        bytes: state.bytes,
        owner: state.owner,
        device: slot as u16,
        hardware_queue: state.hardware_queue as u16,
        // Only a flush is still to come.
        data_ns: if has(inflight_flags::STATE_DATA_DONE) {
            state.event_ns
        } else {
            0
        },
        bios: state.bios,
        is_preflush: has(inflight_flags::STATE_PREFLUSH),
        is_journal: has(inflight_flags::STATE_JOURNAL),
        is_scheduled: has(inflight_flags::STATE_SCHEDULED),
        has_slept: has(inflight_flags::STATE_SLEPT),
        // A program's flush has started before.
        is_flush_command: op == Op::Flush && state.g_ns == 0,
        ..Record::issued(op, state.d_ns, 0)
    }
}
