//! Notices a disk that stands still: requests are in flight, and none completes. What waits for it may wait for ever, in
//! the kernel, where no signal reaches it. Pure.

use std::time::Duration;

use iosched_host::system::device::IoStat;
use iosched_result::failure::Failure;

/// Longer than the usual 30 s after which SCSI and NVMe drivers reset a disk, and try again.
const LIMIT: Duration = Duration::from_secs(60);
/// How often it is worth to look.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct StallWatch {
    looked: Option<Duration>,
    /// By disk: what had completed, and since when it is the same with requests in flight.
    since: Vec<Option<(u64, Duration)>>,
}

impl StallWatch {
    pub fn is_due(&self, now: Duration) -> bool {
        self.looked
            .is_none_or(|looked| now.saturating_sub(looked) >= PAUSE)
    }

    /// `stats`: of each disk, None if it cannot be read. Err: one of them, by its name, has stood still for too long.
    pub fn look(&mut self, now: Duration, stats: &[(&str, Option<IoStat>)]) -> anyhow::Result<()> {
        self.looked = Some(now);
        self.since.resize(stats.len(), None);
        for (since, (name, stat)) in self.since.iter_mut().zip(stats) {
            *since = match (*since, stat) {
                (_, None) => None,
                (_, Some(stat)) if stat.in_flight == 0 => None,
                (Some((done, begin)), Some(stat)) if done == completed(stat) => Some((done, begin)),
                (_, Some(stat)) => Some((completed(stat), now)),
            };
            let stood = since.map_or(Duration::ZERO, |(_, begin)| now.saturating_sub(begin));
            if stood >= LIMIT {
                let in_flight = stat.map_or(0, |stat| stat.in_flight);
                return Err(stands_still(name, in_flight, stood));
            }
        }
        Ok(())
    }
}

fn completed(stat: &IoStat) -> u64 {
    [stat.reads, stat.writes, stat.discards, stat.flushes]
        .iter()
        .fold(0, |sum: u64, count| sum.wrapping_add(*count))
}

fn stands_still(name: &str, in_flight: u64, stood: Duration) -> anyhow::Error {
    Failure::runtime(
        format!(
            "{name} stands still: none of its {in_flight} requests in flight has completed for {} s",
            stood.as_secs()
        ),
        "look into `dmesg` for errors of the disk or of what it is connected with; the finished rounds are kept, and the \
         run can be continued with --resume when the disk responds",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(reads: u64, in_flight: u64) -> IoStat {
        IoStat {
            reads,
            in_flight,
            ..IoStat::default()
        }
    }

    /// One look a second, until it fails.
    fn seconds_until_failure(disk: impl Fn(u64) -> Option<IoStat>) -> Option<u64> {
        let mut watch = StallWatch::default();
        (0..300).find(|&second| {
            let now = Duration::from_secs(second);
            assert!(watch.is_due(now));
            watch
                .look(
                    now,
                    &[("sda", Some(stat(second, 5))), ("sdb", disk(second))],
                )
                .is_err()
        })
    }

    #[test]
    fn only_a_disk_that_completes_nothing_stands_still() {
        let limit = LIMIT.as_secs();
        assert_eq!(seconds_until_failure(|_| Some(stat(7, 1))), Some(limit));
        // Nothing to do, one completion a minute, not readable.
        assert_eq!(seconds_until_failure(|_| Some(stat(7, 0))), None);
        assert_eq!(seconds_until_failure(|at| Some(stat(at / 59, 1))), None);
        assert_eq!(seconds_until_failure(|_| None), None);
        // It stops later.
        let stops = |at: u64| Some(stat(at.min(40), 1));
        assert_eq!(seconds_until_failure(stops), Some(40 + limit));
    }

    #[test]
    fn a_long_time_without_a_look_counts() {
        let mut watch = StallWatch::default();
        let at = Duration::from_secs;
        let look = |watch: &mut StallWatch, second, in_flight| {
            watch.look(at(second), &[("sda", Some(stat(7, in_flight)))])
        };
        look(&mut watch, 0, 1).expect("began");
        assert!(!watch.is_due(Duration::from_millis(300)));
        let error = look(&mut watch, 75, 3).unwrap_err();
        let says = "sda stands still: none of its 3 requests in flight has completed for 75 s";
        assert!(error.to_string().contains(says), "{error}");
    }
}
