//! The numbers that the kernel side and the pure types have in common, compared when this is compiled.

use iosched_bpf as kernel;
use iosched_bpf::enums::{op, pool};

use iosched_result::measured::snapshot::{Op, Pool};

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
    assert!(Pool::ALL.len() == kernel::POOLS);
    assert!(Pool::Driver as u32 == pool::POOL_DRIVER.0);
    assert!(Pool::Scheduler as u32 == pool::POOL_SCHEDULER.0);
    assert!(Pool::Reserved as u32 == pool::POOL_RESERVED.0);
};
