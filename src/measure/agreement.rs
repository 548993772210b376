//! The numbers that the kernel side and the pure types have in common, compared when this is compiled.

use iosched_bpf as kernel;
use iosched_bpf::enums::op;

use iosched_result::measured::histogram::{GAP, Layout};
use iosched_result::measured::snapshot::{LOG2_CELLS, Op};

const fn is(layout: Layout, unit_shift: u32, sub_bits: u32, cells: usize) -> bool {
    layout.unit_shift == unit_shift && layout.sub_bits == sub_bits && layout.cells as usize == cells
}

const _: () = {
    assert!(is(
        GAP,
        kernel::GAP_UNIT_SHIFT,
        kernel::GAP_SUB_BITS,
        kernel::GAP_CELLS
    ));
    assert!(LOG2_CELLS == kernel::LOG2_CELLS);
    assert!(Op::ALL.len() == kernel::OPS && Op::DATA.len() == kernel::DATA_OPS);
    assert!(Op::Read as u32 == op::OP_READ.0);
    assert!(Op::WriteSync as u32 == op::OP_WRITE_SYNC.0);
    assert!(Op::WriteAsync as u32 == op::OP_WRITE_ASYNC.0);
    assert!(Op::Flush as u32 == op::OP_FLUSH.0);
    assert!(Op::Discard as u32 == op::OP_DISCARD.0);
    assert!(Op::Zone as u32 == op::OP_ZONE.0);
    assert!(Op::Other as u32 == op::OP_OTHER.0);
    assert!(Op::Passthrough as u32 == op::OP_PASSTHROUGH.0);
};
