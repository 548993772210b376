//! Whether the disks kept their level, in words and as a table. Pure.

use super::escape;
use super::units::RatioForm;
use crate::statistics::trend::Trend;
use crate::types::level::{ArmLevel, Levels, Precondition};
use crate::types::result::ResultFile;

pub const COLUMNS: [&str; 3] = ["ARM", "THROUGHPUT", "DEVICE TIME"];

pub const HEADING: &str = "Level: how far throughput and device time change from the beginning of a round to its end, and over the run from \
    the first block to the last; all intervals hold together with 95 % confidence.";

/// One row for each arm, and one for the run.
pub fn rows(levels: &Levels) -> Vec<[String; 3]> {
    let cell = |trend: Option<&Trend>| trend.map_or_else(|| "-".to_owned(), in_words);
    let row = |name: String, throughput: Option<&Trend>, device_time: Option<&Trend>| {
        [name, cell(throughput), cell(device_time)]
    };
    let arms = levels.arms.iter().map(|of| {
        let name = escape::line(&of.arm);
        row(name, of.throughput.as_ref(), of.device_time.as_ref())
    });
    let (throughput, device_time) = (&levels.run_throughput, &levels.run_device_time);
    let run = row(
        "over the run".to_owned(),
        throughput.as_ref(),
        device_time.as_ref(),
    );
    arms.chain([run]).collect()
}

/// What a reader must know before he believes the values; differences within blocks are another matter.
pub fn warnings(result: &ResultFile) -> Vec<String> {
    let Some(levels) = &result.levels else {
        return Vec::new();
    };
    let arms = levels.arms.iter().filter_map(in_rounds);
    let run = changes(
        levels.run_throughput.as_ref(),
        levels.run_device_time.as_ref(),
    );
    let run = run.map(|changes| {
        format!(
            "over the run {changes}: the values are of no one level, though the arms of a block are compared with each \
             other; use --precondition"
        )
    });
    arms.chain(run).collect()
}

fn in_rounds(of: &ArmLevel) -> Option<String> {
    let changes = changes(of.throughput.as_ref(), of.device_time.as_ref())?;
    let arm = escape::line(&of.arm);
    Some(format!(
        "under {arm} {changes} from the beginning of a round to its end: use a longer ramp, or --precondition"
    ))
}

/// Those that are no level.
fn changes(throughput: Option<&Trend>, device_time: Option<&Trend>) -> Option<String> {
    let all = [("throughput", throughput), ("device time", device_time)];
    let moving = all.into_iter().filter_map(|(name, trend)| {
        let trend = trend.filter(|trend| trend.is_no_level())?;
        Some(format!("{name} changes by {}", in_words(trend)))
    });
    let moving: Vec<String> = moving.collect();
    (!moving.is_empty()).then(|| moving.join(" and "))
}

/// `-12.1 % (-15.0 % .. -9.0 %)`
fn in_words(trend: &Trend) -> String {
    let change = trend.change.exp();
    let Some(interval) = trend.interval else {
        return format!(
            "{} (too few to say)",
            RatioForm::of([change]).change(change)
        );
    };
    let (lower, upper) = (interval.lower.exp(), interval.upper.exp());
    let form = RatioForm::of([change, lower, upper]);
    format!("{} ({})", form.change(change), form.range(lower, upper))
}

/// What came before the first round.
pub fn preconditioning(of: &Precondition) -> String {
    let count = of.iops.len();
    let level = if of.is_level {
        "the last five kept one level of throughput"
    } else {
        "throughput kept no level for five of them"
    };
    let times = if count == 1 {
        "once"
    } else {
        &format!("{count} times")
    };
    format!(
        "preconditioned: the workload ran {times} under the reference in {:.0} s, and {level}",
        of.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::trend::Trend;

    fn precondition(iops: &[f64], is_level: bool) -> String {
        preconditioning(&Precondition {
            iops: iops.to_vec(),
            is_level,
            seconds: 12.4,
        })
    }

    #[test]
    fn a_preconditioning_says_whether_it_ended_at_a_level() {
        assert_eq!(
            precondition(&[1.0; 7], true),
            "preconditioned: the workload ran 7 times under the reference in 12 s, and the last five kept one level of throughput"
        );
        assert!(precondition(&[1.0], false).contains("ran once under"));
        assert!(precondition(&[1.0; 25], false).ends_with("kept no level for five of them"));
    }

    #[test]
    fn a_change_has_its_interval_or_says_why_not() {
        let sure = Trend::of_changes(&[-0.2, -0.21, -0.19], 0.05).expect("a trend");
        assert_eq!(in_words(&sure), "-18.1 % (-20.1 % .. -16.1 %)");
        let few = Trend::of_changes(&[-0.2], 0.05).expect("a trend");
        assert_eq!(in_words(&few), "-18.1 % (too few to say)");
        assert_eq!(changes(Some(&few), None), None);
        assert_eq!(
            changes(None, Some(&sure)).as_deref(),
            Some("device time changes by -18.1 % (-20.1 % .. -16.1 %)")
        );
    }
}
