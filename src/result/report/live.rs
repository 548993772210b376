//! The section of a live run: stopped arms, and the I/O that arrived under each arm. Pure.

use std::fmt::Write;

use super::{units, words};
use crate::statistics::verdict::Verdict;
use crate::types::live::Watched;
use crate::types::result::{Censored, ResultFile};

/// Empty unless the run was a live run.
pub fn section(result: &ResultFile) -> String {
    let mut text = String::new();
    let Some(live) = &result.design.live else {
        return text;
    };
    for round in result
        .rounds
        .iter()
        .filter(|round| round.censored == Some(Censored::Stopped))
    {
        let _ = writeln!(
            text,
            "STOPPED: {} in block {}: {}. The reference was restored at once, and the arm was not run again.",
            round.arm,
            round.block + 1,
            round.problem.as_deref().unwrap_or_default()
        );
    }
    if live.watched_s > 0.0 {
        let memory = live
            .memory_s
            .map_or("nothing".to_owned(), |s| units::duration(s.ceil()));
        let _ = writeln!(
            text,
            "Observed for {} before the first switch: the autocorrelation time of the load is {memory}.",
            units::duration(live.watched_s)
        );
        for line in live.watched.iter().flat_map(watched) {
            let _ = writeln!(text, "  {line}");
        }
    }
    for row in result.comparisons.iter().filter(|row| row.arrivals) {
        let what = row.metric.name.trim_end_matches("_arrivals");
        let means = match row.comparison.verdict {
            Verdict::Differs => {
                ": the load differs under this arm, so the other rows compare different work"
            }
            Verdict::Equivalent => "",
            _ => ": not shown to be the same load",
        };
        let _ = writeln!(
            text,
            "Arrivals: {what}s under {}: {}{means}.",
            row.arm,
            words::said(&row.comparison, &row.metric.unit)
        );
    }
    text += &adjustments(result, live.adjust_load);
    text
}

/// The load, and each metric of the application, as they were before the first switch.
pub fn watched(watched: &Watched) -> Vec<String> {
    let mut lines = vec![load(watched)];
    for metric in &watched.application {
        let value = |value: f64| units::value(Some(value), &metric.unit);
        let (low, high) = (value(metric.low), value(metric.high));
        let range = if low == high {
            String::new()
        } else {
            format!(" ({low} to {high})")
        };
        lines.push(format!(
            "{}: {}{range}, from {}",
            metric.name,
            value(metric.median),
            metric.source
        ));
    }
    lines
}

/// The load in a line.
pub fn load(watched: &Watched) -> String {
    if watched.total_mean_ns.is_none() {
        return "no read or write completed on the disk".to_owned();
    }
    format!(
        "{} reads/s and {} writes/s, {}, total mean {}",
        units::count(watched.reads_per_s),
        units::count(watched.writes_per_s),
        units::throughput(watched.bytes_per_s),
        units::time(watched.total_mean_ns)
    )
}

/// When the first statement about the arms can come, if each round takes this long.
pub fn first_statement(result: &ResultFile) -> Option<String> {
    let design = &result.design;
    let blocks = design.stopping.next_segment(0)?;
    let rounds = blocks * design.arms.len();
    let round_s = (design.ramp() + design.time()).as_secs_f64();
    (round_s > 0.0).then(|| {
        format!(
            "the first statement about the arms comes after {rounds} rounds, in about {}",
            units::duration(rounds as f64 * round_s)
        )
    })
}

/// Each primary row with and without the adjustment for the load, as far as that changes it.
fn adjustments(result: &ResultFile, is_adjusted: bool) -> String {
    let mut text = String::new();
    for row in result.primary() {
        let said = |comparison| words::said(comparison, &row.metric.unit);
        if is_adjusted && row.load_slopes.is_none() {
            let _ = writeln!(
                text,
                "{} under {}: not adjusted for the load, because too few blocks have one before them to learn from.",
                row.metric.name, row.arm
            );
            continue;
        }
        let Some(other) = &row.other_adjustment else {
            continue;
        };
        let (verdict, other) = (said(&row.comparison), said(other));
        if verdict == other {
            continue;
        }
        let (with, without) = if is_adjusted {
            (&verdict, &other)
        } else {
            (&other, &verdict)
        };
        let _ = writeln!(
            text,
            "{} under {}, adjusted for the load before each block: {with}; not adjusted: {without}. The verdict is the {} one.",
            row.metric.name,
            row.arm,
            if is_adjusted {
                "adjusted"
            } else {
                "unadjusted"
            }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::conclude;
    use crate::report::fixture::{empty, play, values};
    use crate::statistics::stopping::Stopping;
    use crate::types::live::LiveDesign;

    #[test]
    fn stops_and_arrivals_come_first() {
        let mut result = empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks: 8 },
            &["throughput"],
        );
        result.design.live = Some(LiveDesign {
            watched_s: 60.0,
            memory_s: Some(3.2),
            ..LiveDesign::default()
        });
        play(&mut result, |turn| {
            let arrivals = if turn.planned.arm == 1 { 500.0 } else { 1000.0 };
            Ok(values(
                turn,
                &[("throughput", 1e8), ("read_arrivals", arrivals)],
            ))
        });
        let text = section(&result);
        assert!(
            text.contains("the autocorrelation time of the load is 4 s"),
            "{text}"
        );
        assert!(
            text.contains("Arrivals: reads under bfq: 0.50 times as much"),
            "{text}"
        );
        assert!(text.contains("the load differs under this arm"), "{text}");
        let last = result.rounds.last_mut().unwrap();
        last.censored = Some(Censored::Stopped);
        last.problem = Some("total_p99 > 5ms held for 3 s".to_owned());
        conclude::conclude(&mut result);
        let text = section(&result);
        assert!(
            text.starts_with("STOPPED: ") && text.contains("not run again"),
            "{text}"
        );
        result.design.live = None;
        assert_eq!(section(&result), "");
    }

    /// The load before a block falls back during it; the load before a later round is what the arm before it made.
    fn adjusted(blocks: usize) -> ResultFile {
        let mut result = empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks },
            &["throughput"],
        );
        result.design.live = Some(LiveDesign {
            adjust_load: true,
            ..LiveDesign::default()
        });
        let load = |block: usize| 100.0 * (1.0 + (block * 5 % 7) as f64);
        play(&mut result, |turn| {
            let (block, position) = (turn.planned.block, turn.planned.position);
            let mut found = values(turn, &[("throughput", 1e8)]);
            let fallen = load(block).powf(-0.2 * position as f64);
            for value in found.values_mut() {
                *value *= fallen;
            }
            Ok(found)
        });
        for round in &mut result.rounds {
            round.evidence.iops_before = Some(match round.position {
                0 => load(round.block),
                _ if round.arm == "bfq" => 1e6,
                _ => 1.0,
            });
        }
        conclude::conclude(&mut result);
        result
    }

    #[test]
    fn what_was_adjusted_for_the_load_is_said() {
        let result = adjusted(14);
        let row = result.primary().next().unwrap();
        let slopes = row.load_slopes.as_ref().unwrap();
        assert!((slopes[1] + 0.2).abs() < 0.02, "{slopes:?}");
        let text = section(&result);
        assert!(
            text.contains("throughput under bfq, adjusted for the load before each block: "),
            "{text}"
        );
        let result = adjusted(6);
        assert_eq!(result.primary().next().unwrap().load_slopes, None);
        let text = section(&result);
        assert!(
            text.contains("throughput under bfq: not adjusted for the load, because too few"),
            "{text}"
        );
    }
}
