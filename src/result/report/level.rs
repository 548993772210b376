//! Whether the disks kept their level, in words and as a table. Pure.

use super::escape;
use super::units::{self, RatioForm};
use crate::statistics::trend::Trend;
use crate::types::level::{ArmLevel, Levels, Precondition};
use crate::types::result::ResultFile;

pub const COLUMNS: [&str; 3] = ["ARM", "I/OS PER SECOND", "DEVICE TIME"];

pub const HEADING: &str = "Level: how far the I/Os per second and the mean device time change from the beginning of a round to its end, and over the run \
    from the first to the last of the blocks in which each arm has a value; all intervals hold together with 95 % confidence. Where a part \
    of a round has too few I/Os to say, the number of rounds that it is from stands beside.";

/// One row for each arm, and one for the run.
pub fn rows(levels: &Levels) -> Vec<[String; 3]> {
    let cell = |trend: Option<&Trend>, all: usize| match trend {
        None => "-".to_owned(),
        Some(trend) if trend.count < all => {
            format!("{}, {} of {all}", in_words(trend), trend.count)
        }
        Some(trend) => in_words(trend),
    };
    let row = |name: String, iops: Option<&Trend>, device_time: Option<&Trend>, all: usize| {
        [name, cell(iops, all), cell(device_time, all)]
    };
    let arms = levels.arms.iter().map(|of| {
        let name = escape::line(&of.arm);
        row(name, of.iops.as_ref(), of.device_time.as_ref(), of.rounds)
    });
    let (iops, device_time) = (&levels.run_iops, &levels.run_device_time);
    let name = "over the run".to_owned();
    let run = row(name, iops.as_ref(), device_time.as_ref(), levels.blocks);
    arms.chain([run]).collect()
}

/// The preconditioning and the warnings, each a sentence.
pub fn remarks(result: &ResultFile) -> Vec<String> {
    let before = result.preconditions.iter().map(preconditioning);
    let warnings = warnings(result).into_iter();
    let warnings = warnings.map(|warning| format!("No steady level: {warning}."));
    before.chain(warnings).collect()
}

/// What a reader must know before he believes the values; differences within blocks are another matter.
fn warnings(result: &ResultFile) -> Vec<String> {
    let Some(levels) = &result.levels else {
        return Vec::new();
    };
    let arms = levels.arms.iter().filter_map(in_rounds);
    let run = changes(levels.run_iops.as_ref(), levels.run_device_time.as_ref());
    let run = run.map(|changes| {
        format!(
            "over the run {changes}: the values are of no one level, though the arms of a block are compared with each \
             other; use --precondition"
        )
    });
    arms.chain(run).collect()
}

fn in_rounds(of: &ArmLevel) -> Option<String> {
    let changes = changes(of.iops.as_ref(), of.device_time.as_ref())?;
    let arm = escape::line(&of.arm);
    Some(format!(
        "under {arm} {changes} from the beginning of a round to its end: use a longer ramp, or --precondition"
    ))
}

/// Those that are no level.
fn changes(iops: Option<&Trend>, device_time: Option<&Trend>) -> Option<String> {
    let all = [
        ("the number of I/Os per second", iops),
        ("the device time", device_time),
    ];
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
    let times = match of.iops.len() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let ended = match &of.problem {
        Some(problem) => format!("and ended early: {}", escape::line(problem)),
        None if of.is_level => "and the last five kept one level of I/Os per second".to_owned(),
        None => "and kept no level of I/Os per second for five of them".to_owned(),
    };
    let time = units::duration(of.seconds);
    format!("Preconditioning: the workload ran {times} under the reference in {time}, {ended}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::trend::Trend;

    fn precondition(iops: &[f64], is_level: bool, problem: Option<&str>) -> String {
        preconditioning(&Precondition {
            iops: iops.to_vec(),
            is_level,
            seconds: 12.4,
            problem: problem.map(str::to_owned),
        })
    }

    #[test]
    fn a_preconditioning_says_how_it_ended() {
        let level = precondition(&[1.0; 7], true, None);
        let wanted = "ran 7 times under the reference in 12 s, and the last five kept one level of I/Os per second.";
        assert!(level.ends_with(wanted), "{level}");
        assert!(precondition(&[1.0; 25], false, None).contains("kept no level"));
        let failed = precondition(&[1.0], false, Some("fio ended with code 1"));
        let wanted =
            "ran once under the reference in 12 s, and ended early: fio ended with code 1.";
        assert!(failed.ends_with(wanted), "{failed}");
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
            Some("the device time changes by -18.1 % (-20.1 % .. -16.1 %)")
        );
    }
}
