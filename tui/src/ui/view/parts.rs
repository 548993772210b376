//! Vertical layout: stacks the parts of a screen, and leaves parts out if there is no room.

use ratatui::layout::Rect;

/// A part of a screen. Parts with the highest rank are left out first, completely, if their minimum height does not
/// fit. Spare rows go to the lowest ranks first, up to their maximum, and then to the filling part.
#[derive(Clone, Copy)]
pub struct Part {
    rank: u8,
    least: u16,
    most: u16,
    fills: bool,
}

impl Part {
    pub fn new(rank: u8, least: u16, most: u16) -> Self {
        Part {
            rank,
            least,
            most: most.max(least),
            fills: false,
        }
    }

    /// Takes all spare rows.
    pub fn filling(rank: u8, least: u16) -> Self {
        Part {
            fills: true,
            ..Part::new(rank, least, least)
        }
    }

    /// An empty line.
    pub fn gap(is_wanted: bool) -> Self {
        Part::new(u8::MAX, u16::from(is_wanted), 0)
    }
}

/// The areas of the parts, from top to bottom. A part that is left out has height 0.
pub fn stack<const N: usize>(area: Rect, parts: [Part; N]) -> [Rect; N] {
    let mut by_rank: [usize; N] = std::array::from_fn(|index| index);
    by_rank.sort_by_key(|&index| parts[index].rank);
    let mut heights = [0; N];
    let mut left = area.height;
    for &index in &by_rank {
        let part = parts[index];
        if part.least <= left {
            heights[index] = part.least;
        } else if part.rank == 0 {
            heights[index] = left;
        }
        left -= heights[index];
    }
    let has_come = |index: usize, heights: &[u16; N]| heights[index] >= parts[index].least;
    for &index in &by_rank {
        if has_come(index, &heights) {
            let more = (parts[index].most - heights[index].min(parts[index].most)).min(left);
            heights[index] += more;
            left -= more;
        }
    }
    let filling = by_rank
        .iter()
        .find(|&&index| parts[index].fills && has_come(index, &heights));
    if let Some(&index) = filling {
        heights[index] += left;
    }
    let mut y = area.y;
    heights.map(|height| {
        let part = Rect { y, height, ..area };
        y += height;
        part
    })
}

/// The visible rows of a list: `room` rows that include the chosen one.
pub fn window(chosen: usize, rows: usize, room: usize) -> std::ops::Range<usize> {
    let chosen = chosen.min(rows.saturating_sub(1));
    let first = (chosen + 1).saturating_sub(room).min(rows);
    first..(first + room).min(rows)
}

/// The margin is smaller on narrow screens.
pub fn inner(area: Rect) -> Rect {
    let margin = if area.width > 80 { 2 } else { 1 };
    area.inner(ratatui::layout::Margin::new(margin, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights<const N: usize>(height: u16, parts: [Part; N]) -> [u16; N] {
        stack(Rect::new(0, 3, 10, height), parts).map(|area| area.height)
    }

    #[test]
    fn the_highest_rank_goes_first_and_the_lowest_grows_first() {
        let parts = [Part::new(2, 1, 4), Part::filling(1, 3), Part::new(0, 2, 3)];
        assert_eq!(heights(1, parts), [0, 0, 1]);
        assert_eq!(heights(4, parts), [1, 0, 3]);
        assert_eq!(heights(5, parts), [0, 3, 2]);
        assert_eq!(heights(7, parts), [1, 3, 3]);
        assert_eq!(heights(9, parts), [3, 3, 3]);
        assert_eq!(heights(20, parts), [4, 13, 3]);
        let areas = stack(Rect::new(0, 3, 10, 7), parts);
        assert_eq!(areas.map(|area| area.y), [3, 4, 7]);
    }

    #[test]
    fn the_chosen_row_is_always_shown() {
        assert_eq!(window(0, 8, 3), 0..3);
        assert_eq!(window(2, 8, 3), 0..3);
        assert_eq!(window(5, 8, 3), 3..6);
        assert_eq!(window(99, 8, 3), 5..8);
        assert_eq!(window(0, 0, 3), 0..0);
        assert_eq!(window(3, 8, 0), 4..4);
    }
}
