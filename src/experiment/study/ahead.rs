//! How much of a study is left. Pure.

use std::time::Duration;

use iosched_result::types::result::ResultFile;

/// The rest of a study when a cell begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// From 0.
    pub pass: usize,
    pub open_cells: usize,
    /// Until every open cell may have its verdicts, and until it has them at the latest. None before anything was timed.
    pub left: Option<(Duration, Duration)>,
}

/// How long the blocks of a cell took, or will take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    pub blocks: u32,
    pub time: Duration,
    /// How long the pilot says that one block takes; used until a block was timed.
    pub expected: Option<Duration>,
}

impl Took {
    pub fn add(&mut self, time: Duration) {
        self.blocks += 1;
        self.time += time;
    }

    /// One of them, on average.
    pub fn block(self) -> Option<Duration> {
        self.time.checked_div(self.blocks).or(self.expected)
    }
}

/// Least and most time of the open cells; the rounds of one without a timed or foretold block take as long as those of the others on
/// average: that against itself has two arms.
pub fn left(open: &[(&ResultFile, Took)]) -> Option<(Duration, Duration)> {
    let arms_of = |result: &ResultFile| result.design.arms.len() as u32;
    let (mut rounds, mut time) = (0, Duration::ZERO);
    for (result, took) in open {
        (rounds, time) = (rounds + took.blocks * arms_of(result), time + took.time);
    }
    let usual = time.checked_div(rounds);
    let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
    for (result, took) in open {
        let (stopping, done) = (result.design.stopping, result.blocks_begun());
        let block = took
            .block()
            .or_else(|| usual.map(|round| round * arms_of(result)))?;
        let fewest = stopping.next_segment(done).unwrap_or(0);
        let longest = stopping.most_blocks().unwrap_or(done).saturating_sub(done);
        let blocks = |number: usize| block * u32::try_from(number).unwrap_or(u32::MAX);
        (least, most) = (least + blocks(fewest), most + blocks(longest.max(fewest)));
    }
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::report::fixture;
    use iosched_result::statistics::stopping::Stopping;

    #[test]
    fn what_is_left_follows_from_what_was_done() {
        let mut result = fixture::sample();
        result.design.stopping = Stopping::LOOKS;
        result.rounds.clear();
        assert_eq!(left(&[(&result, Took::default())]), None);
        let mut took = Took::default();
        took.add(Duration::from_secs(2));
        took.add(Duration::from_secs(4));
        let s = Duration::from_secs;
        // Six blocks at least, twenty at most; the second cell takes as long as the first.
        assert_eq!(left(&[(&result, took)]), Some((s(18), s(60))));
        let both = [(&result, took), (&result, Took::default())];
        assert_eq!(left(&both), Some((s(36), s(120))));
        // Twice the arms are twice the time.
        let mut four = result.clone();
        four.design.arms.extend(result.design.arms.clone());
        let more = [(&result, took), (&four, Took::default())];
        assert_eq!(left(&more), Some((s(18 + 36), s(60 + 120))));
        let expected = Took {
            expected: Some(s(5)),
            ..Took::default()
        };
        assert_eq!(left(&[(&result, expected)]), Some((s(30), s(100))));
        result.design.stopping = Stopping::Fixed { blocks: 3 };
        assert_eq!(left(&[(&result, took)]), Some((s(9), s(9))));
    }
}
