//! What I/Os wait for, from the limit of a control group down to the device. Pure.

use serde::{Deserialize, Serialize};

use super::{Cause, DeviceNumbers, Op, OwnerNumbers, Waits};

/// One cause of one owner's or one disk's waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    pub cause: Cause,
    /// Summed over I/Os, in ns. Each is counted where its wait ends: a sleep at its request, the others at its completion.
    pub ns: u64,
    /// Its part of the time of all causes, from 0 to 1.
    pub share: f64,
}

/// The sums from which the causes are made.
struct Sums<'a> {
    waits: &'a Waits,
    limit_ns: u64,
    q2d_ns: u64,
    flush_ns: u64,
    requeued_ns: u64,
    d2c_ns: u64,
}

impl OwnerNumbers {
    /// What its I/Os wait for, the longest first.
    pub fn causes(&self) -> Vec<CauseShare> {
        let sums = Sums {
            waits: &self.waits,
            limit_ns: self.throttled_ns,
            q2d_ns: self.ops.iter().map(|op| op.q2d_sum_ns).sum(),
            flush_ns: self.ops.iter().map(|op| op.flush_sum_ns).sum(),
            requeued_ns: self.requeued_ns,
            d2c_ns: self.ops.iter().map(|op| op.d2c_sum_ns).sum(),
        };
        sums.causes()
    }
}

impl DeviceNumbers {
    /// What all its I/Os wait for, the longest first.
    pub fn causes(&self) -> Vec<CauseShare> {
        let flushes = &self.flushes;
        let without = |op: &Op| *op != Op::Flush;
        let ops = || {
            Op::ALL
                .iter()
                .filter(|op| without(op))
                .map(|op| &self.ops[*op as usize])
        };
        let empty = &self.ops[Op::Flush as usize];
        let sums = Sums {
            waits: &self.waits,
            limit_ns: self.edges.throttled_ns,
            q2d_ns: ops().map(|op| op.q2d_sum_ns).sum(),
            flush_ns: flushes.before_data_ns + flushes.after_data_ns + empty.q2c_sum_ns,
            requeued_ns: self.edges.requeued_ns,
            // The flush commands' own time is in the waits for them.
            d2c_ns: ops().map(|op| op.d2c_sum_ns).sum(),
        };
        sums.causes()
    }
}

impl Sums<'_> {
    /// Those with any time, the longest first.
    fn causes(&self) -> Vec<CauseShare> {
        let waits = self.waits;
        let queue_ns = self.q2d_ns.saturating_sub(waits.q2g_ns);
        let mut causes = vec![
            (Cause::Limit, self.limit_ns),
            (Cause::Allocation, waits.allocation_ns),
            (Cause::Flush, self.flush_ns),
            (Cause::Requeue, self.requeued_ns),
            (Cause::Device, self.d2c_ns.saturating_sub(self.requeued_ns)),
        ];
        causes.extend(waits.sleeps());
        if waits.is_split {
            let inserted_ns = waits.plug_ns.saturating_add(waits.scheduler_ns);
            causes.extend([
                (Cause::Plug, waits.plug_ns),
                (Cause::Scheduler, waits.scheduler_ns),
                (Cause::Dispatch, queue_ns.saturating_sub(inserted_ns)),
            ]);
        } else {
            causes.push((Cause::Queue, queue_ns));
        }
        causes.retain(|(_, ns)| *ns > 0);
        causes.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let all = causes
            .iter()
            .fold(0, |all: u64, (_, ns)| all.saturating_add(*ns));
        let with_share = |(cause, ns)| CauseShare {
            cause,
            ns,
            share: ns as f64 / all as f64,
        };
        causes.into_iter().map(with_share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OwnerKey, OwnerKind, Wait};
    use super::*;

    fn owner() -> OwnerNumbers {
        let key = OwnerKey {
            device: "sda".to_owned(),
            kind: OwnerKind::Process,
            tgid: 7,
            start_ms: 1,
            cgroup_id: 1,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, "db");
        let reads = &mut owner.ops[Op::Read as usize];
        (reads.ios, reads.q2d_sum_ns, reads.d2c_sum_ns) = (10, 1000, 500);
        owner.requeued_ns = 50;
        owner.throttled_ns = 70;
        let wait = |ns| Wait { requests: 2, ns };
        owner.waits = Waits {
            slept: wait(600),
            driver_tag: wait(100),
            scheduler_tag: wait(450),
            q2g_ns: 610,
            allocation_ns: 10,
            ..Waits::default()
        };
        owner
    }

    fn ns(owner: &OwnerNumbers) -> Vec<(Cause, u64)> {
        let waits = owner.causes();
        let shares: f64 = waits.iter().map(|wait| wait.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        waits.iter().map(|wait| (wait.cause, wait.ns)).collect()
    }

    #[test]
    fn the_causes_add_up_to_the_limit_the_queue_wait_and_the_device_time() {
        let mut owner = owner();
        let expected = [
            (Cause::SchedulerTag, 450),
            (Cause::Device, 450),
            (Cause::Queue, 390),
            (Cause::DriverTag, 100),
            (Cause::Limit, 70),
            (Cause::Throttle, 50),
            (Cause::Requeue, 50),
            (Cause::Allocation, 10),
        ];
        let found = ns(&owner);
        assert_eq!(found.len(), expected.len());
        for one in expected {
            assert!(found.contains(&one), "{one:?}: {found:?}");
        }
        assert!(found.is_sorted_by_key(|(_, ns)| std::cmp::Reverse(*ns)));
        assert_eq!(found.iter().map(|of| of.1).sum::<u64>(), 70 + 1000 + 500);
        let waits = &mut owner.waits;
        (waits.is_split, waits.plug_ns, waits.scheduler_ns) = (true, 40, 300);
        let split = ns(&owner);
        for one in [
            (Cause::Plug, 40),
            (Cause::Scheduler, 300),
            (Cause::Dispatch, 50),
        ] {
            assert!(split.contains(&one), "{one:?}: {split:?}");
        }
        assert_eq!(split.iter().map(|of| of.1).sum::<u64>(), 1570);
    }

    #[test]
    fn what_the_kernel_does_not_say_is_said_to_be_inferred() {
        let mut owner = owner();
        owner.waits.is_inferred = true;
        let found = ns(&owner);
        assert!(
            found.contains(&(Cause::InferredSchedulerTag, 450)),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .all(|(cause, _)| !matches!(cause, Cause::SchedulerTag | Cause::DriverTag))
        );
    }

    #[test]
    fn nothing_waits_for_nothing() {
        let owner = OwnerNumbers::new(owner().key, "idle");
        assert_eq!(owner.causes(), []);
    }
}
