//! Converts the kernel side's rows of owners.

use iosched_bpf::enums::{owner_flags, owner_kind};
use iosched_bpf::{owner, owner_op};

use super::owners::Context;
use super::{files, waits};
use iosched_result::measured::snapshot::{
    Merges, OpTotals, OwnerId, OwnerKind, OwnerRow, OwnerTotals,
};

pub(super) fn kind_of(row: &owner) -> OwnerKind {
    match owner_kind(u32::from(row.key.kind)) {
        owner_kind::OWNER_PROCESS => OwnerKind::Process,
        owner_kind::OWNER_KERNEL_THREAD => OwnerKind::KernelThread,
        owner_kind::OWNER_WORKQUEUE => OwnerKind::Workqueue,
        owner_kind::OWNER_WRITEBACK => OwnerKind::Writeback,
        _ => OwnerKind::Other,
    }
}

fn id(row: &owner, index: usize) -> OwnerId {
    let kind = kind_of(row);
    OwnerId {
        device: (index > 0).then_some(usize::from(row.key.slot)),
        kind,
        tgid: row.key.tgid,
        // JSON readers represent integers below 2^53 exactly.
        start_ms: match kind {
            OwnerKind::Workqueue => row.key.start_ns >> 11,
            _ => row.key.start_ns / 1_000_000,
        },
        cgroup_id: row.key.cgroup_id,
        file: files::file_of(row),
    }
}

/// What the kernel side counts.
pub(super) fn totals(row: &owner, index: usize, context: &Context) -> OwnerTotals {
    let id = id(row, index);
    let waiting = context.waits.of_owner(index).unwrap_or_default();
    OwnerTotals {
        id,
        in_flight: context.in_flight(index, id),
        row: OwnerRow {
            index,
            generation: 0,
        },
        comm: row.comm.map(i8::cast_unsigned),
        has_io_workers: row.flags & u64::from(owner_flags::OWNER_IO_WORKER.0) != 0,
        ioprio: ((row.ioprio >> 13) as u8 & 7, row.ioprio as u8 & 7),
        ops: row.op.each_ref().map(op_totals),
        merges: Merges {
            back: row.back_merges,
            front: row.front_merges,
            rq: row.rq_merges,
        },
        lines: None,
        has_stages: context.detail.owner_stages,
        has_asked: context.detail.asked,
        stalled_ns: row.stalled_ns + waiting.stalled_ns,
        throttled: row.throttled,
        unrecorded: row.unrecorded,
        throttled_ns: row.throttled_ns,
        waits: waits::of_kernel(&row.waits, context.told) + waiting.waits,
        requeued_ns: row.requeued_ns,
        waited_for_flush: row.preflushes,
        fairness: None,
    }
}

fn op_totals(op: &owner_op) -> OpTotals {
    OpTotals {
        ios: op.ios,
        bytes: op.bytes,
        more_bios: op.more_bios,
        q2d_ns: op.q2d_ns,
        d2c_ns: op.d2c_ns,
        unwaited: op.unwaited,
        unwaited_d2c_ns: op.unwaited_d2c_ns,
        flush_ns: op.flush_ns,
        ..OpTotals::default()
    }
}
