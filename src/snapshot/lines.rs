//! An owner's histograms as the kernel counts them: cells of 32 bits that wrap, of which only those cache lines are kept
//! that hold something. Thousands are copied at each look and few are looked at, so no more is made of them. Pure.

pub use iosched_bpf::Line;

use crate::histogram::{Histogram, OWNER};

const LINE_CELLS: usize = size_of::<Line>() / size_of::<u32>();
const LINES: usize = OWNER.cells as usize / LINE_CELLS;
const _: () = assert!(LINES * LINE_CELLS == OWNER.cells as usize && LINES <= 32);

/// Of one direction: which lines of its histograms are kept, a bit for each, and where among a snapshot's. Those of Q2D
/// come first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    pub first: u32,
    pub q2d: u32,
    pub d2c: u32,
}

impl Place {
    /// Its lines among all.
    pub fn of(self, lines: &[Line]) -> &[Line] {
        match (self.q2d.count_ones() + self.d2c.count_ones()) as usize {
            0 => &[], // wherever that was
            count => &lines[self.first as usize..][..count],
        }
    }

    /// What was counted from `earlier` to `later`, Q2D and D2C: exact below 2^32 a cell.
    pub(super) fn since(self, lines: &[Line], earlier: Place, before: &[Line]) -> [Histogram; 2] {
        let (now, past) = (self.of(lines), earlier.of(before));
        let (now_q2d, now_d2c) = now.split_at(self.q2d.count_ones() as usize);
        let (past_q2d, past_d2c) = past.split_at(earlier.q2d.count_ones() as usize);
        [
            difference((self.q2d, now_q2d), (earlier.q2d, past_q2d)),
            difference((self.d2c, now_d2c), (earlier.d2c, past_d2c)),
        ]
    }
}

/// Of two states of a histogram: its occupied lines and those lines.
fn difference(later: (u32, &[Line]), earlier: (u32, &[Line])) -> Histogram {
    // Made where every cell would find room, and kept in the room that it takes.
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

/// Keeps the lines of such cells, as the probe does.
#[cfg(test)]
pub(super) fn kept(q2d: &[(usize, u32)], d2c: &[(usize, u32)], lines: &mut Vec<Line>) -> Place {
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
    Place {
        q2d: keep(q2d),
        d2c: keep(d2c),
        first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(histogram: &Histogram) -> Vec<(usize, u64)> {
        histogram.cells().collect()
    }

    #[test]
    fn a_difference_has_the_cells_that_grew() {
        let (mut before, mut lines) = (vec![[9; LINE_CELLS]; 3], vec![[7; LINE_CELLS]; 5]);
        let earlier = kept(&[(3, 5), (200, 1)], &[(447, 8)], &mut before);
        let later = kept(
            &[(0, 1), (3, 5), (200, 4), (201, 2)],
            &[(16, 1), (447, 9)],
            &mut lines,
        );
        let [q2d, d2c] = later.since(&lines, earlier, &before);
        assert_eq!(cells(&q2d), [(0, 1), (200, 3), (201, 2)]);
        assert_eq!(cells(&d2c), [(16, 1), (447, 1)]);
        let [q2d, d2c] = later.since(&lines, Place::default(), &[]);
        assert_eq!(cells(&q2d), [(0, 1), (3, 5), (200, 4), (201, 2)]);
        assert_eq!(cells(&d2c), [(16, 1), (447, 9)]);
        let [q2d, d2c] = later.since(&lines, later, &lines);
        assert!(q2d.is_empty() && d2c.is_empty());
    }

    #[test]
    fn cells_that_wrap_around_are_told_apart_all_the_same() {
        let (mut before, mut lines) = (Vec::new(), Vec::new());
        let earlier = kept(&[(20, u32::MAX - 1)], &[(20, u32::MAX)], &mut before);
        // One stands at 0 again, and its line is not kept.
        let later = kept(&[(20, 3)], &[], &mut lines);
        let [q2d, d2c] = later.since(&lines, earlier, &before);
        assert_eq!(cells(&q2d), [(20, 5)]);
        assert_eq!(cells(&d2c), [(20, 1)]);
    }
}
