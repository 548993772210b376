//! Whether a round counts. Decided by what happened around it, never by its metrics. Pure.

use crate::report::result::{Exclusion, Foreign};
use crate::snapshot::{Interval, OwnerKind, OwnerNumbers};
use crate::workload::{CgroupRef, Outcome};

/// Others that move more than this share of the bytes share the device, whatever they are.
const TOLERATED_FOREIGN_SHARE: f64 = 0.01;
/// More than this share of lost requests, and the histograms are not the whole truth.
const TOLERATED_LOSS: f64 = 0.001;
/// So few cannot matter: a percentile is reported only with 100 I/Os or more beyond it.
const TOLERATED_EVENTS: u64 = 20;

/// Why the round does not count, and in words.
pub fn exclusion(
    outcome: &Outcome,
    drifted: &[String],
    window: &Interval,
    foreign: Option<Foreign>,
) -> Option<(Exclusion, String)> {
    if let Some(problem) = &outcome.problem {
        return Some((Exclusion::Workload, problem.clone()));
    }
    if !drifted.is_empty() {
        let text = format!("settings changed: {}", drifted.join(", "));
        return Some((Exclusion::DriftedSettings, text));
    }
    if window.end_ns == window.start_ns {
        let text = "the workload did no I/O that the probe saw, or ended before its window";
        return Some((Exclusion::NothingMeasured, text.to_owned()));
    }
    if let Some(foreign) = foreign.filter(|f| f.share_of_bytes > TOLERATED_FOREIGN_SHARE) {
        let percent = foreign.share_of_bytes * 100.0;
        let text = format!("others moved {percent:.1} % of the bytes on the device");
        return Some((Exclusion::ForeignIo, text));
    }
    let device = &window.devices[0];
    let ios: u64 = device.ops.iter().map(|op| op.ios).sum();
    let lost = device.quality.lost_events();
    (lost > TOLERATED_EVENTS && lost as f64 > ios as f64 * TOLERATED_LOSS).then(|| {
        let causes = device.quality.losses_in_words();
        let text = format!("the probe lost {lost} requests beside {ios} I/Os: {causes}");
        (Exclusion::LostEvents, text)
    })
}

/// I/O that is not the workload's. None where bios do not carry the control groups.
pub fn foreign(window: &Interval, cgroups: &[CgroupRef]) -> Option<Foreign> {
    if cgroups.is_empty() || cgroups.iter().any(|cgroup| !cgroup.on_bios) {
        return None;
    }
    let is_ours = |owner: &OwnerNumbers| cgroups.iter().any(|c| c.id == owner.key.cgroup_id);
    let (mut ios, mut bytes, mut unattributed_bytes, mut all) = (0, 0, 0, 0);
    for owner in &window.owners {
        all += owner.bytes();
        if is_unattributed(owner) {
            unattributed_bytes += owner.bytes();
        } else if !is_ours(owner) {
            ios += owner.ios();
            bytes += owner.bytes();
        }
    }
    Some(Foreign {
        ios,
        bytes,
        share_of_bytes: if all == 0 {
            0.0
        } else {
            bytes as f64 / all as f64
        },
        unattributed_bytes,
    })
}

/// A file system's own threads write for everyone; the last row of a full table is everyone.
fn is_unattributed(owner: &OwnerNumbers) -> bool {
    const ROOT: u64 = 1;
    match owner.key.kind {
        OwnerKind::Other => true,
        OwnerKind::KernelThread | OwnerKind::Workqueue => owner.key.cgroup_id <= ROOT,
        OwnerKind::Process | OwnerKind::Writeback => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{DeviceNumbers, OwnerKey, OwnerOp};

    fn owner(cgroup_id: u64, is_kernel_thread: bool, bytes: u64) -> OwnerNumbers {
        let op = OwnerOp {
            ios: 1,
            bytes,
            ..OwnerOp::default()
        };
        let key = OwnerKey {
            device: "sda".into(),
            kind: if is_kernel_thread {
                OwnerKind::KernelThread
            } else {
                OwnerKind::Process
            },
            tgid: 9,
            start_ms: 1,
            cgroup_id,
        };
        OwnerNumbers {
            ops: vec![op],
            ..OwnerNumbers::new(key, "x")
        }
    }

    fn window(owners: Vec<OwnerNumbers>) -> Interval {
        let mut device = DeviceNumbers::new("sda");
        device.ops[0].ios = 100_000;
        Interval {
            start_ns: 0,
            end_ns: 1_000_000_000,
            devices: vec![device],
            owners,
        }
    }

    fn group(id: u64, on_bios: bool) -> CgroupRef {
        CgroupRef {
            label: "fio".into(),
            path: "/x".into(),
            id,
            on_bios,
        }
    }

    fn excluded(window: &Interval) -> Option<Exclusion> {
        let foreign = foreign(window, &[group(50, true)]);
        exclusion(&Outcome::default(), &[], window, foreign).map(|found| found.0)
    }

    #[test]
    fn more_than_a_hundredth_of_others_spoils_a_round() {
        let shared = |bytes| window(vec![owner(50, false, 99_000), owner(60, false, bytes)]);
        assert_eq!(excluded(&shared(1_000)), None, "just 1 %");
        assert_eq!(excluded(&shared(1_010)), Some(Exclusion::ForeignIo));
        // Writeback of others carries their group, whoever does it.
        let theirs = window(vec![owner(50, false, 99_000), owner(60, true, 5_000)]);
        assert_eq!(excluded(&theirs), Some(Exclusion::ForeignIo));
    }

    #[test]
    fn a_journal_is_nobodys() {
        let journal = window(vec![owner(50, false, 50_000), owner(1, true, 50_000)]);
        assert_eq!(excluded(&journal), None);
        let found = foreign(&journal, &[group(50, true)]).unwrap();
        assert_eq!((found.bytes, found.unattributed_bytes), (0, 50_000));
        let mut other = owner(0, false, 50_000);
        other.key.kind = OwnerKind::Other;
        other.key.tgid = 0;
        other.key.device = String::new();
        assert_eq!(excluded(&window(vec![owner(50, false, 1), other])), None);
        let from_a_shell = window(vec![owner(50, false, 50_000), owner(1, false, 50_000)]);
        assert_eq!(excluded(&from_a_shell), Some(Exclusion::ForeignIo));
    }

    #[test]
    fn where_bios_carry_no_groups_nobody_can_tell() {
        let shared = window(vec![owner(60, false, 5)]);
        assert_eq!(foreign(&shared, &[group(50, false)]), None);
        assert_eq!(foreign(&shared, &[]), None);
    }

    #[test]
    fn what_was_lost_drifted_or_failed_spoils_a_round() {
        let mut lossy = window(Vec::new());
        lossy.devices[0].quality.evicted = 90;
        lossy.devices[0].quality.lost = 11;
        let (kind, text) = exclusion(&Outcome::default(), &[], &lossy, None).unwrap();
        assert_eq!(kind, Exclusion::LostEvents);
        assert!(
            text.ends_with("lost 101 requests beside 100000 I/Os: 11 with tags outside the table, 90 whose end was not seen"),
            "{text}"
        );
        lossy.devices[0].quality.lost = 10;
        assert_eq!(excluded(&lossy), None);
        lossy.devices[0].ops[0].ios = 10;
        lossy.devices[0].quality.lost = 0;
        lossy.devices[0].quality.evicted = 20;
        assert_eq!(excluded(&lossy), None, "so few cannot matter");
        let drifted = ["nr_requests: 64 -> 128".to_owned()];
        let found = exclusion(&Outcome::default(), &drifted, &lossy, None).unwrap();
        assert_eq!(found.0, Exclusion::DriftedSettings);
        assert!(found.1.contains("64 -> 128"));
        assert_eq!(
            excluded(&Interval::nothing("sda")),
            Some(Exclusion::NothingMeasured)
        );
        let failed = Outcome {
            problem: Some("fio exited with code 1".into()),
            ..Outcome::default()
        };
        let found = exclusion(&failed, &drifted, &lossy, None).unwrap();
        assert_eq!(found.0, Exclusion::Workload);
    }
}
