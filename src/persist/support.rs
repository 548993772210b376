//! Whether a result supports an arm: what was measured on a real disk, completely, and is shown to be better in something
//! and worse in nothing that the user has not accepted. Pure.

use super::evidence::Evidence;
use super::{Decision, Disk, quote};
use crate::ab::result::{ArmComparison, DeviceInfo, ResultFile, Status};
use crate::ab::statistics::verdict::Verdict;
use crate::ab::turn;
use crate::report::words;
use crate::scheduler::arm::Arm;

/// Why nothing is written, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub hint: String,
}

fn refusal(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal {
        what: what.into(),
        hint: hint.into(),
    }
}

/// `results`: one run, or all cells of a study. `wanted`: the label of an arm; without it, the only one that is
/// supported. `accepted`: metrics in which the arm may be worse. `serial`: for this disk only.
pub fn decide(
    results: &[&ResultFile],
    wanted: Option<&str>,
    accepted: &[String],
    serial: Option<&str>,
) -> Result<Decision, Refusal> {
    let first = results
        .first()
        .ok_or_else(|| refusal("there is no result", "run a comparison first"))?;
    for result in results {
        ensure_usable(result)?;
    }
    let arm = match wanted {
        Some(label) => of_label(first, label)?,
        None => only_supported(results, accepted)?,
    };
    ensure_supported(results, arm, accepted)?;
    let disk = disk(&first.device, serial)?;
    for (attribute, value) in &arm.settings {
        if !quote::is_plain_value(value) || !quote::is_plain_value(attribute) {
            return Err(refusal(
                format!("{attribute}={value} has characters that not every format can hold"),
                "write the rule by hand",
            ));
        }
    }
    let decided = |row: &&ArmComparison| {
        matches!(
            row.comparison.verdict,
            Verdict::Better | Verdict::Worse | Verdict::Equivalent
        )
    };
    let is_reference = is_reference(first, &arm.label);
    let rows = rows(results).filter(|row| row.arm == arm.label || is_reference);
    Ok(Decision {
        scheduler: arm.scheduler.clone(),
        settings: arm.settings.clone(),
        evidence: Evidence::new(first, &disk, &arm.scheduler),
        disk,
        device: first.device.device.name.clone(),
        found: rows.filter(decided).map(words::sentence).collect(),
    })
}

fn rows<'a>(results: &'a [&ResultFile]) -> impl Iterator<Item = &'a ArmComparison> {
    let all = results.iter().flat_map(|result| &result.comparisons);
    all.filter(|row| row.primary)
}

fn is_reference(result: &ResultFile, label: &str) -> bool {
    result.design.arms[result.design.reference].label == label
}

fn ensure_usable(result: &ResultFile) -> Result<(), Refusal> {
    if let Some(why) = turn::why_invalid(result) {
        return Err(refusal(why, "measure again, without what disturbed it"));
    }
    if result.status != Status::Complete {
        return Err(refusal(
            "the run is not complete",
            "continue it with `iosched-ab run --resume FILE`",
        ));
    }
    if result.design.is_placebo {
        return Err(refusal(
            "it compares an arm with itself",
            "compare arms with `iosched-ab run`",
        ));
    }
    if result.device.scratch.is_some() {
        return Err(refusal(
            "it was measured on a simulated disk, which says nothing about yours",
            "measure on the disk itself",
        ));
    }
    Ok(())
}

fn of_label<'a>(result: &'a ResultFile, label: &str) -> Result<&'a Arm, Refusal> {
    let arms = &result.design.arms;
    arms.iter().find(|arm| arm.label == label).ok_or_else(|| {
        let labels: Vec<&str> = arms.iter().map(|arm| arm.label.as_str()).collect();
        refusal(
            format!("the result has no arm {label}"),
            format!("name one of: {}", labels.join(", ")),
        )
    })
}

fn only_supported<'a>(results: &[&'a ResultFile], accepted: &[String]) -> Result<&'a Arm, Refusal> {
    let arms = results[0].design.arms.iter();
    let supported = arms.filter(|arm| ensure_supported(results, arm, accepted).is_ok());
    let supported: Vec<&Arm> = supported.collect();
    match supported[..] {
        [arm] => Ok(arm),
        [] => Err(refusal(
            "the result supports no arm: none is better in something and worse in nothing",
            "`--arm LABEL` says what is missing for it; `--accept METRIC` accepts a loss",
        )),
        _ => {
            let labels: Vec<&str> = supported.iter().map(|arm| arm.label.as_str()).collect();
            Err(refusal(
                format!("the result supports several arms: {}", labels.join(", ")),
                "choose one with --arm LABEL",
            ))
        }
    }
}

fn ensure_supported(
    results: &[&ResultFile],
    arm: &Arm,
    accepted: &[String],
) -> Result<(), Refusal> {
    if is_reference(results[0], &arm.label) {
        return ensure_reference_supported(results, arm, accepted);
    }
    let of_arm: Vec<&ArmComparison> = rows(results).filter(|row| row.arm == arm.label).collect();
    let is_worse = |row: &&&ArmComparison| {
        row.comparison.verdict == Verdict::Worse && !accepted.contains(&row.metric.name)
    };
    if let Some(row) = of_arm.iter().find(is_worse) {
        return Err(refusal(
            format!("{} is worse: {}", arm.label, words::sentence(row)),
            format!(
                "if that does not matter to you, --accept {}",
                row.metric.name
            ),
        ));
    }
    if !of_arm
        .iter()
        .any(|row| row.comparison.verdict == Verdict::Better)
    {
        return Err(refusal(
            format!("{} is not shown to be better in anything", arm.label),
            "run more blocks, or keep what is in force",
        ));
    }
    Ok(())
}

/// The reference is kept if every other arm is worse in something, or makes no difference.
fn ensure_reference_supported(
    results: &[&ResultFile],
    arm: &Arm,
    accepted: &[String],
) -> Result<(), Refusal> {
    for other in results[0]
        .design
        .arms
        .iter()
        .filter(|other| other.label != arm.label)
    {
        let of_other: Vec<&ArmComparison> =
            rows(results).filter(|row| row.arm == other.label).collect();
        let is_worse = |row: &&ArmComparison| {
            row.comparison.verdict == Verdict::Worse && !accepted.contains(&row.metric.name)
        };
        let is_same = of_other
            .iter()
            .all(|row| row.comparison.verdict == Verdict::Equivalent);
        if of_other.is_empty() || !(is_same || of_other.iter().any(|row| is_worse(row))) {
            return Err(refusal(
                format!(
                    "{} is the reference, and {} is not shown to be worse in something, or the same in everything",
                    arm.label, other.label
                ),
                "run more blocks",
            ));
        }
    }
    Ok(())
}

fn disk(device: &DeviceInfo, serial: Option<&str>) -> Result<Disk, Refusal> {
    if let Some(serial) = serial {
        return Ok(Disk::Serial(serial.to_owned()));
    }
    let members = device
        .group
        .as_ref()
        .map(|group| group.members.iter().collect::<Vec<_>>());
    let mut models: Vec<Option<&String>> = members
        .unwrap_or_else(|| vec![device])
        .iter()
        .map(|member| member.model.as_ref())
        .collect();
    models.dedup();
    match models[..] {
        [Some(model)] if !model.trim().is_empty() => Ok(Disk::Model(model.trim().to_owned())),
        [_] => Err(refusal(
            "the disk has no model by which it can be recognised",
            "give --serial SERIAL: the ID_SERIAL of `udevadm info --query=property /dev/DISK`",
        )),
        _ => Err(refusal(
            "the disks have different models, which one rule does not match",
            "give --serial SERIAL for each of them",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::statistics::stopping::Stopping;
    use crate::report::fixture::{carry_out, empty, sample, values};
    use crate::scratch::Truth;

    /// Each arm's throughput and latency against none's 100 and 100.
    fn result(arms: &[(&str, f64, f64)]) -> ResultFile {
        let labels: Vec<&str> = ["none"]
            .into_iter()
            .chain(arms.iter().map(|arm| arm.0))
            .collect();
        let mut result = empty(
            &labels,
            Stopping::Fixed { blocks: 12 },
            &["throughput", "total_mean"],
        );
        let levels = arms.to_vec();
        carry_out(&mut result, move |turn| {
            let (throughput, latency) = match turn.planned.arm {
                0 => (100.0, 100.0),
                arm => (levels[arm - 1].1, levels[arm - 1].2),
            };
            Ok(values(
                turn,
                &[
                    ("throughput", throughput * 1e6),
                    ("total_mean", latency * 1e4),
                ],
            ))
        });
        result
    }

    fn decided(
        result: &ResultFile,
        wanted: Option<&str>,
        accepted: &[&str],
    ) -> Result<String, String> {
        let accepted: Vec<String> = accepted.iter().map(|&name| name.to_owned()).collect();
        let decision =
            decide(&[result], wanted, &accepted, None).map_err(|refusal| refusal.what)?;
        Ok(decision.scheduler)
    }

    #[test]
    fn only_what_is_better_and_nowhere_worse_is_supported() {
        let found = result(&[
            ("bfq", 150.0, 50.0),
            ("kyber", 150.0, 200.0),
            ("mq-deadline", 100.0, 100.0),
        ]);
        assert_eq!(decided(&found, None, &[]).as_deref(), Ok("bfq"));
        let said = |wanted, accepted: &[&str]| decided(&found, Some(wanted), accepted).unwrap_err();
        assert!(said("kyber", &[]).starts_with("kyber is worse: total_mean"));
        assert_eq!(
            decided(&found, Some("kyber"), &["total_mean"]).as_deref(),
            Ok("kyber")
        );
        assert!(said("mq-deadline", &[]).contains("not shown to be better"));
        assert!(said("adios", &[]).contains("no arm adios"));
        assert!(said("none", &[]).contains("none is the reference, and bfq"));
        let several = decided(&found, None, &["total_mean"]).unwrap_err();
        assert!(several.contains("several arms: bfq, kyber"), "{several}");
    }

    #[test]
    fn the_reference_stays_where_all_others_lose_or_are_the_same() {
        let found = result(&[("bfq", 50.0, 100.0), ("kyber", 100.0, 100.0)]);
        assert_eq!(decided(&found, None, &[]).as_deref(), Ok("none"));
    }

    #[test]
    fn a_study_must_support_it_in_every_cell() {
        let (good, bad) = (
            result(&[("bfq", 150.0, 50.0)]),
            result(&[("bfq", 50.0, 50.0)]),
        );
        assert!(decide(&[&good, &good], None, &[], None).is_ok());
        let refused = decide(&[&good, &bad], Some("bfq"), &[], None).unwrap_err();
        assert!(refused.what.contains("bfq is worse"), "{}", refused.what);
    }

    #[test]
    fn what_was_not_measured_on_the_disk_is_refused() {
        type Change = fn(&mut ResultFile);
        let changes: [(Change, &str); 4] = [
            (|result| result.status = Status::Interrupted, "not complete"),
            (|result| result.design.is_placebo = true, "with itself"),
            (|result| result.device.model = None, "no model"),
            (
                |result| {
                    let ram = "ram".parse().unwrap();
                    result.device.scratch = Some(Truth::untimed(ram, 1 << 30, 4));
                },
                "simulated",
            ),
        ];
        for (change, says) in changes {
            let mut result = result(&[("bfq", 150.0, 50.0)]);
            change(&mut result);
            let said = decided(&result, Some("bfq"), &[]).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
        let mut result = sample();
        result.device.model = None;
        let accepted = ["throughput".to_owned()];
        let decision = decide(&[&result], Some("bfq"), &accepted, Some("S123")).unwrap();
        assert_eq!(decision.disk, Disk::Serial("S123".to_owned()));
    }
}
