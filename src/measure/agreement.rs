//! The numbers that the kernel side and the pure types have in common, compared when this is compiled.

use iosched_bpf as kernel;
use iosched_bpf::enums::op;

use iosched_result::measured::snapshot::Op;

const _: () = {
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
