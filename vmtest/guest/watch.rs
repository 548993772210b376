//! The project's own probe on one disk, around a piece of work.

use std::time::Duration;

use iosched_host::system::device::Device;
use iosched_measure::probe::{Detail, Probe};
use iosched_result::measured::snapshot::{
    DeviceNumbers, DeviceOp, Edges, Interval, Merges, Op, OwnerKind, OwnerNumbers, OwnerOp,
    Quality, Snapshot, Stage,
};
use iosched_result::measured::trace::Trace;

use crate::Disk;

pub struct Watch {
    probe: Probe,
}

impl Watch {
    pub fn on(disk: &Disk) -> Watch {
        Self::with(disk, Detail::default())
    }

    pub fn with(disk: &Disk, detail: Detail) -> Watch {
        Self::of(&disk.device, detail)
    }

    pub fn of(device: &Device, detail: Detail) -> Watch {
        let probe = Probe::attach(std::slice::from_ref(device), 0, detail);
        Watch {
            probe: probe.unwrap_or_else(|error| panic!("{error:#}")),
        }
    }

    /// Whether the time before a request exists is measured on this kernel.
    pub fn measures_q2g(&self) -> bool {
        self.probe.measures_q2g()
    }

    /// Waits until each of these processes has read something from now on.
    #[track_caller]
    pub fn until_all_read(&mut self, pids: [u32; 2]) {
        let start = self.probe.snapshot().expect("a snapshot");
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(20));
            let seen = self.since(&start);
            let reads = |pid: &u32| {
                let mut rows = seen.0.owners.iter().filter(|owner| owner.key.tgid == *pid);
                rows.any(|owner| owner.ops[Op::Read as usize].ios > 0)
            };
            if pids.iter().all(reads) {
                return;
            }
        }
        panic!("one of {pids:?} reads nothing");
    }

    /// Its counts while `work` was done.
    pub fn over<T>(&mut self, work: impl FnOnce() -> T) -> (Seen, T) {
        let earlier = self.probe.snapshot().expect("a snapshot");
        let result = work();
        (self.since(&earlier), result)
    }

    /// Watches `work` and keeps each request on its own.
    pub fn traced_over<T>(&mut self, work: impl FnOnce() -> T) -> (Seen, Trace, T) {
        let begin_ns = self.probe.begin_trace();
        let (seen, result) = self.over(work);
        let trace = self.probe.end_trace(begin_ns).expect("a trace");
        (seen, trace, result)
    }

    fn since(&mut self, earlier: &Snapshot) -> Seen {
        let later = self.probe.snapshot().expect("a snapshot");
        Seen(Interval::between(earlier, &later).expect("an interval"))
    }
}

#[derive(Debug)]
pub struct Seen(pub Interval);

impl Seen {
    pub fn device(&self) -> &DeviceNumbers {
        &self.0.devices[0]
    }

    pub fn op(&self, op: Op) -> &DeviceOp {
        &self.device().ops[op as usize]
    }

    /// The process with this id, in whichever cgroup.
    #[track_caller]
    pub fn process(&self, pid: u32) -> &OwnerNumbers {
        let mut rows = self.0.owners.iter().filter(|owner| owner.key.tgid == pid);
        let row = rows.next().unwrap_or_else(|| panic!("no process {pid}"));
        assert!(rows.next().is_none(), "process {pid} has several rows");
        row
    }

    pub fn process_op(&self, pid: u32, op: Op) -> &OwnerOp {
        &self.process(pid).ops[op as usize]
    }

    /// Mean queue wait of a device's operation; where Q2G is not measured, of the part that is.
    pub fn mean_wait_ns(&self, op: Op, measures_q2g: bool) -> f64 {
        let stage = if measures_q2g { Stage::Q2d } else { Stage::G2d };
        self.op(op).stage(stage).mean_ns().expect("requests")
    }

    /// Nothing was missed, refused or went wrong.
    #[track_caller]
    pub fn is_clean(&self) {
        assert_eq!(self.device().quality, Quality::default());
        // The first request after a switch is where it is noticed.
        let edges = Edges {
            switches: self.device().edges.switches,
            ..Edges::default()
        };
        assert_eq!(self.device().edges, edges);
        self.all_are_known();
    }

    /// Everything belongs to somebody.
    #[track_caller]
    pub fn all_are_known(&self) {
        let mut owners = self.0.owners.iter();
        let other = owners.find(|owner| owner.key.kind == OwnerKind::Other);
        assert!(
            other.is_none_or(|other| other.ios() == 0 && other.merges == Merges::default()),
            "{other:#?}"
        );
    }
}
