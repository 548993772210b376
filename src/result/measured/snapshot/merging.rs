//! How bios with data became requests, computed the same way for a device and for a process. Pure.

use super::counters::Merges;
use super::device::DeviceNumbers;
use super::op::Op;
use super::owner::OwnerNumbers;

/// None without bios. Merges are not known by operation, so they include those of discards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merging {
    /// Share of the queued bios that were merged into a request.
    pub merge_ratio: Option<f64>,
    pub mean_request_bytes: Option<f64>,
    pub bios_per_request: Option<f64>,
}

impl Merging {
    /// `data`: requests, bytes and bios of reads and of writes. Each bio was queued, then either was merged into a
    /// request (M, F) or became one, which was merged into another or completed.
    fn of(merges: Merges, data: impl Iterator<Item = [u64; 3]>) -> Self {
        let [ios, bytes, bios] = data.fold([0; 3], |[i, y, b], [ios, bytes, bios]| {
            [i + ios, y + bytes, b + bios]
        });
        let queued = ios + merges.rq + merges.bios();
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Merging {
            merge_ratio: ratio(merges.bios(), queued),
            mean_request_bytes: ratio(bytes, ios),
            bios_per_request: ratio(bios, ios),
        }
    }
}

impl DeviceNumbers {
    pub fn merging(&self) -> Merging {
        let data = Op::DATA.iter().map(|op| &self.ops[*op as usize]);
        Merging::of(self.merges, data.map(|op| [op.ios, op.bytes, op.bios]))
    }
}

impl OwnerNumbers {
    pub fn merging(&self) -> Merging {
        let data = Op::DATA.iter().map(|op| self.op(*op));
        Merging::of(self.merges, data.map(|op| [op.ios, op.bytes, op.bios]))
    }
}
