//! Converts what the kernel side counts of the waits for a request.

use iosched_bpf::{Abilities, Detail};
use iosched_result::measured::snapshot::{Pool, Wait, Waits};

/// What is known of waits on this kernel, with this detail.
#[derive(Clone, Copy)]
pub(super) struct Told {
    is_inferred: bool,
    is_split: bool,
}

impl Told {
    pub fn by(abilities: &Abilities, detail: Detail) -> Told {
        Told {
            is_inferred: !abilities.tag_wait,
            is_split: detail.i2d,
        }
    }
}

pub(super) fn of_kernel(counted: &iosched_bpf::waits, told: Told) -> Waits {
    let mut waits = Waits {
        slept: Wait {
            requests: counted.slept,
            ns: counted.slept_ns,
        },
        q2g_ns: counted.q2g_ns,
        allocation_ns: counted.allocation_ns,
        plug_ns: counted.plug_ns,
        scheduler_ns: counted.scheduler_ns,
        is_inferred: told.is_inferred,
        is_split: told.is_split,
        ..Waits::default()
    };
    let of_pools = counted.tag_waits.into_iter().zip(counted.tag_wait_ns);
    for (pool, (requests, ns)) in Pool::ALL.into_iter().zip(of_pools) {
        *waits.tag(pool) = Wait { requests, ns };
    }
    waits
}
