//! Maps nanoseconds to cells.

use serde::{Deserialize, Serialize};

/// Log-linear cells. With `v = ns >> unit_shift`: below `2^(sub_bits+1)` each `v` has its own cell, above there are
/// `2^sub_bits` cells per octave; the last cell also takes all larger values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "LayoutFields")]
pub struct Layout {
    pub unit_shift: u32,
    pub sub_bits: u32,
    pub cells: u32,
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} cells from {} ns, {} in each octave",
            self.cells,
            1_u64 << self.unit_shift,
            1_u64 << self.sub_bits
        )
    }
}

/// Layout per device, operation and stage, on which all verdicts are based: 16 ns to 137 s, cells 1.6 % wide.
pub const DEVICE: Layout = Layout {
    unit_shift: 4,
    sub_bits: 6,
    cells: 1792,
};

/// Layout per owner, for live rows: 64 ns to 137 s, cells 6.3 % wide.
pub const OWNER: Layout = Layout {
    unit_shift: 6,
    sub_bits: 4,
    cells: 448,
};

/// Layout of starvation times: 1.05 ms to 137 s, cells 25 % wide.
pub const GAP: Layout = Layout {
    unit_shift: 20,
    sub_bits: 2,
    cells: 64,
};

impl Layout {
    pub const fn index(self, ns: u64) -> usize {
        let v = ns >> self.unit_shift;
        let cell = if v < 2 << self.sub_bits {
            v
        } else {
            let shift = v.ilog2() - self.sub_bits;
            ((shift as u64) << self.sub_bits) + (v >> shift)
        };
        if cell < self.cells as u64 {
            cell as usize
        } else {
            self.cells as usize - 1
        }
    }

    /// The smallest value of cell `i`.
    pub const fn lower_ns(self, i: usize) -> u64 {
        let octave = i >> self.sub_bits;
        if octave < 2 {
            return (i as u64) << self.unit_shift;
        }
        let within = (i & ((1 << self.sub_bits) - 1)) | (1 << self.sub_bits);
        (within as u64) << (octave - 1) << self.unit_shift
    }

    /// The first value above cell `i`. The last cell also contains all larger values.
    pub const fn upper_ns(self, i: usize) -> u64 {
        self.lower_ns(i + 1)
    }

    pub const fn mid_ns(self, i: usize) -> f64 {
        f64::midpoint(self.lower_ns(i) as f64, self.upper_ns(i) as f64)
    }
}

/// A layout from a file, before its checks.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Layout"))]
struct LayoutFields {
    unit_shift: u32,
    sub_bits: u32,
    cells: u32,
}

impl TryFrom<LayoutFields> for Layout {
    type Error = String;

    /// The limits keep every shift below 64 bits and prevent a hostile file from allocating gigabytes.
    fn try_from(f: LayoutFields) -> Result<Self, String> {
        let top_octave = u64::from(f.cells) >> f.sub_bits.min(10);
        let bits = u64::from(f.unit_shift) + u64::from(f.sub_bits) + top_octave;
        if f.cells == 0 || f.sub_bits > 10 || bits > 63 {
            return Err(format!(
                "unsupported histogram layout: unit_shift {}, sub_bits {}, cells {}",
                f.unit_shift, f.sub_bits, f.cells
            ));
        }
        Ok(Layout {
            unit_shift: f.unit_shift,
            sub_bits: f.sub_bits,
            cells: f.cells,
        })
    }
}
