//! An owner's histograms as they are counted: 32-bit cells that wrap, of which only the non-empty cache lines are
//! kept. Thousands are copied at each read and few are evaluated, so nothing more is computed. Pure.

use crate::measured::histogram::{Histogram, OWNER};

/// A cache line of cells.
pub type Line = [u32; LINE_CELLS];

/// An owner's histograms, each for reads and for writes, in the order in which they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerLatency {
    Q2d,
    D2c,
    Q2dIndirect,
    Q2gIndirect,
    G2dIndirect,
    Q2c,
    I2d,
    A2q,
    A2d,
    A2c,
}

impl OwnerLatency {
    pub const COUNT: usize = 10;
    /// In the order of their values.
    pub const ALL: [OwnerLatency; Self::COUNT] = [
        OwnerLatency::Q2d,
        OwnerLatency::D2c,
        OwnerLatency::Q2dIndirect,
        OwnerLatency::Q2gIndirect,
        OwnerLatency::G2dIndirect,
        OwnerLatency::Q2c,
        OwnerLatency::I2d,
        OwnerLatency::A2q,
        OwnerLatency::A2d,
        OwnerLatency::A2c,
    ];
}

pub const LINE_CELLS: usize = 16;
const LINES: usize = OWNER.cells as usize / LINE_CELLS;
const _: () = assert!(LINES * LINE_CELLS == OWNER.cells as usize && LINES <= 32);

/// For one direction: which lines of its histograms are kept, and their place among the snapshot's lines, in the order
/// of [`OwnerLatency`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    pub first: u32,
    /// One bit per line, for each [`OwnerLatency`].
    pub occupied: [u32; OwnerLatency::COUNT],
}

impl Place {
    /// Its part of a snapshot's lines.
    pub fn within(self, lines: &[Line]) -> &[Line] {
        let counts = self.occupied.map(u32::count_ones);
        match counts.into_iter().sum::<u32>() as usize {
            0 => &[], // the start is meaningless
            count => &lines[self.first as usize..][..count],
        }
    }

    /// The counts from `earlier` to `later` for one histogram: exact below 2^32 per cell.
    pub fn since(
        self,
        lines: &[Line],
        earlier: Place,
        before: &[Line],
        which: OwnerLatency,
    ) -> Histogram {
        difference(self.one(lines, which), earlier.one(before, which))
    }

    /// The occupied bits of one histogram, and its lines.
    fn one(self, lines: &[Line], which: OwnerLatency) -> (u32, &[Line]) {
        let occupied = self.occupied[which as usize];
        if occupied == 0 {
            return (0, &[]);
        }
        let others = self.occupied[..which as usize].iter();
        let skipped: u32 = others.map(|occupied| occupied.count_ones()).sum();
        let first = (self.first + skipped) as usize;
        (occupied, &lines[first..][..occupied.count_ones() as usize])
    }
}

/// Difference of two states of a histogram, each given by its occupied bits and lines.
fn difference(later: (u32, &[Line]), earlier: (u32, &[Line])) -> Histogram {
    if later.0 | earlier.0 == 0 {
        return Histogram::new(OWNER);
    }
    // Filled with room for every cell, then stored in the space that it needs.
    let mut histogram = Histogram::with_capacity(OWNER, OWNER.cells as usize);
    let (mut now, mut past) = (later.1.iter(), earlier.1.iter());
    for line in 0..LINES {
        let is_in = |occupied: u32| occupied >> line & 1 == 1;
        let now = is_in(later.0).then(|| now.next()).flatten();
        let past = is_in(earlier.0).then(|| past.next()).flatten();
        if now.or(past).is_none() {
            continue;
        }
        let [now, past] = [now, past].map(|line| line.unwrap_or(&[0; LINE_CELLS]));
        let counts: Line = std::array::from_fn(|cell| now[cell].wrapping_sub(past[cell]));
        histogram.append(line * LINE_CELLS, &counts);
    }
    histogram.clone()
}

/// Keeps the lines that contain these cells, in ascending order, as the probe does.
#[cfg(test)]
pub(super) fn kept(cells: &[(OwnerLatency, &[(usize, u32)])], lines: &mut Vec<Line>) -> Place {
    let first = lines.len() as u32;
    let mut keep = |cells: &[(usize, u32)]| {
        let mut dense = [[0; LINE_CELLS]; LINES];
        for &(cell, count) in cells {
            dense[cell / LINE_CELLS][cell % LINE_CELLS] = count;
        }
        let mut occupied = 0;
        for (line, cells) in dense.into_iter().enumerate() {
            if cells.iter().any(|&count| count > 0) {
                lines.push(cells);
                occupied |= 1 << line;
            }
        }
        occupied
    };
    let mut occupied = [0; OwnerLatency::COUNT];
    for (which, cells) in cells {
        occupied[*which as usize] = keep(cells);
    }
    Place { first, occupied }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(histogram: &Histogram) -> Vec<(usize, u64)> {
        histogram.cells().collect()
    }

    #[test]
    fn a_difference_has_the_cells_that_grew() {
        use OwnerLatency::{D2c, Q2c, Q2d};
        let (mut before, mut lines) = (vec![[9; LINE_CELLS]; 3], vec![[7; LINE_CELLS]; 5]);
        let first = [(Q2d, &[(3, 5), (200, 1)][..]), (D2c, &[(447, 8)])];
        let second = [
            (Q2d, &[(0, 1), (3, 5), (200, 4), (201, 2)][..]),
            (D2c, &[(16, 1), (447, 9)]),
            (Q2c, &[(30, 3)]),
        ];
        let earlier = kept(&first, &mut before);
        let later = kept(&second, &mut lines);
        let grown = |which| cells(&later.since(&lines, earlier, &before, which));
        assert_eq!(grown(Q2d), [(0, 1), (200, 3), (201, 2)]);
        assert_eq!(grown(D2c), [(16, 1), (447, 1)]);
        assert_eq!(grown(Q2c), [(30, 3)]);
        let all = |which| cells(&later.since(&lines, Place::default(), &[], which));
        assert_eq!(all(Q2d), [(0, 1), (3, 5), (200, 4), (201, 2)]);
        assert_eq!(all(D2c), [(16, 1), (447, 9)]);
        assert_eq!(all(OwnerLatency::I2d), []);
        for which in OwnerLatency::ALL {
            assert!(later.since(&lines, later, &lines, which).is_empty());
        }
    }

    #[test]
    fn cells_that_wrap_around_are_told_apart_all_the_same() {
        use OwnerLatency::{D2c, Q2d};
        let (mut before, mut lines) = (Vec::new(), Vec::new());
        let past = [(Q2d, &[(20, u32::MAX - 1)][..]), (D2c, &[(20, u32::MAX)])];
        let earlier = kept(&past, &mut before);
        // One cell is 0 again, and its line is not kept.
        let later = kept(&[(Q2d, &[(20, 3)])], &mut lines);
        let grown = |which| cells(&later.since(&lines, earlier, &before, which));
        assert_eq!(grown(Q2d), [(20, 5)]);
        assert_eq!(grown(D2c), [(20, 1)]);
    }
}
