//! How bios with data became requests: one definition for a device and for a process. Pure.

use super::device::{DeviceNumbers, Merges, Op};
use super::owner::OwnerNumbers;

/// None where there were none. Merges are not known by operation: those of discards are among them, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merging {
    /// Bios that joined a request, of all that were queued.
    pub merge_ratio: Option<f64>,
    pub mean_request_bytes: Option<f64>,
    pub bios_per_request: Option<f64>,
}

impl Merging {
    /// `data`: requests, bytes and bios of reads and of writes. Each of the bios was queued, and then joined a request (M, F)
    /// or became one, which joined another or completed.
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
