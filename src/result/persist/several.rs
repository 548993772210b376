//! One answer for each kind of disk, from several files or from the groups of a merged one. Pure.

use super::support::Refusal;
use super::{Decision, Disk, quote};

/// What one file says, or one group of a merged file.
pub struct Candidate {
    /// The file, or the group.
    pub from: String,
    /// None: nothing says which disk it is about.
    pub disk: Option<Disk>,
    pub decision: Result<Decision, Refusal>,
}

/// The decisions that hold, one for each kind of disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    pub decisions: Vec<Decision>,
    pub left_out: Vec<LeftOut>,
}

/// Disks that get nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub disks: String,
    pub why: Refusal,
}

/// All that is said of one kind of disk must support the same arm with the same settings: a rule goes by the model, and
/// cannot tell apart where it does not. Err: nothing is left.
pub fn together(candidates: Vec<Candidate>) -> Result<Together, Refusal> {
    let mut kinds: Vec<Vec<Candidate>> = Vec::new();
    for one in candidates {
        match kinds.iter_mut().find(|kind| is_same(&kind[0], &one)) {
            Some(kind) => kind.push(one),
            None => kinds.push(vec![one]),
        }
    }
    let models: Vec<String> = kinds
        .iter()
        .filter_map(|kind| match &kind[0].disk {
            Some(Disk::Model(model)) => Some(model.clone()),
            _ => None,
        })
        .collect();
    let mut all = Together::default();
    for kind in kinds {
        match agreed(kind) {
            Ok(decision) => all.decisions.push(decision),
            Err(left_out) => all.left_out.push(left_out),
        }
    }
    leave_out_overlapping(&mut all, &models);
    if all.decisions.is_empty() {
        return Err(nothing(&all.left_out));
    }
    Ok(all)
}

/// Patterns cannot quote every character, so that of one model may match another one, which supports something else or nothing.
fn leave_out_overlapping(all: &mut Together, models: &[String]) {
    let given: Vec<(Disk, String)> = all
        .decisions
        .iter()
        .map(|it| (it.disk.clone(), it.what()))
        .collect();
    let overlaps = |decision: &Decision| -> Option<String> {
        let Disk::Model(own) = &decision.disk else {
            return None;
        };
        let mut others = models.iter().filter(|other| *other != own);
        let clashing = others.find(|other| {
            let gets = given
                .iter()
                .find(|(disk, _)| *disk == Disk::Model((*other).clone()));
            quote::may_match(own, other) && gets.is_none_or(|(_, what)| *what != decision.what())
        });
        clashing.cloned()
    };
    let decisions = std::mem::take(&mut all.decisions);
    for decision in decisions {
        match overlaps(&decision) {
            None => all.decisions.push(decision),
            Some(other) => all.left_out.push(LeftOut {
                disks: decision.disk.to_string(),
                why: Refusal {
                    what: format!("a pattern of this name would match {other}, too"),
                    hint: "write the rule by hand".to_owned(),
                },
            }),
        }
    }
}

/// Disks that nothing names may be any.
fn is_same(one: &Candidate, other: &Candidate) -> bool {
    matches!(
        one.disk,
        Some(Disk::Model(_) | Disk::Serial(_) | Disk::Alike(_))
    ) && one.disk == other.disk
}

fn agreed(kind: Vec<Candidate>) -> Result<Decision, LeftOut> {
    let disks = match &kind[0].disk {
        Some(disk) if is_same(&kind[0], &kind[0]) => disk.to_string(),
        _ => kind[0].from.clone(),
    };
    let mut said: Vec<String> = Vec::new();
    let mut agreed: Option<Decision> = None;
    for Candidate { from, decision, .. } in kind {
        let decision = decision.map_err(|why| LeftOut {
            why: Refusal {
                what: if disks == from {
                    why.what
                } else {
                    format!("{from}: {}", why.what)
                },
                hint: why.hint,
            },
            disks: disks.clone(),
        })?;
        said.push(format!("{from} supports {}", decision.what()));
        match &mut agreed {
            None => agreed = Some(decision),
            Some(first) if first.what() == decision.what() => {
                first.reasons.extend(decision.reasons);
                first.devices.extend(decision.devices);
            }
            Some(_) => {
                return Err(LeftOut {
                    disks,
                    why: Refusal {
                        what: format!("they do not agree: {}", said.join(", ")),
                        hint: "choose one with --arm LABEL, or leave out a file".to_owned(),
                    },
                });
            }
        }
    }
    // Each kind has a candidate.
    let mut decision = agreed.ok_or_else(|| LeftOut {
        disks: disks.clone(),
        why: Refusal {
            what: "nothing was measured".to_owned(),
            hint: String::new(),
        },
    })?;
    decision.devices.sort();
    decision.devices.dedup();
    Ok(decision)
}

/// Why there is nothing at all.
pub(super) fn nothing(left_out: &[LeftOut]) -> Refusal {
    let [only] = left_out else {
        let each = left_out
            .iter()
            .map(|it| format!("{}: {}", it.disks, it.why.what));
        return Refusal {
            what: format!(
                "for none of them:\n  {}",
                each.collect::<Vec<_>>().join("\n  ")
            ),
            hint: each_once(left_out.iter().map(|it| it.why.hint.as_str())),
        };
    };
    only.why.clone()
}

fn each_once<'a>(hints: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for hint in hints.filter(|hint| !hint.is_empty()) {
        if !known.contains(&hint) {
            known.push(hint);
        }
    }
    known.join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::super::support::tests::result;
    use super::super::{Disk, FORMATS, Wanted, decide, disk_of};
    use super::*;

    /// A run in which this arm is better, on a disk of this model.
    fn candidate(from: &str, model: Option<&str>, arm: &str) -> Candidate {
        let throughput = if arm == "none" { 50.0 } else { 150.0 };
        let other = if arm == "none" { "bfq" } else { arm };
        let mut result = result(&[(other, throughput, 10_000.0 / throughput)]);
        result.device.model = model.map(str::to_owned);
        Candidate {
            from: from.to_owned(),
            disk: disk_of(&result, Wanted::default()),
            decision: decide(&result, Wanted::default()),
        }
    }

    #[test]
    fn each_model_gets_what_all_of_its_files_support() {
        let found = together(vec![
            candidate("a", Some("ONE 1"), "bfq"),
            candidate("b", Some("TWO 2"), "none"),
            candidate("c", Some("ONE 1"), "bfq"),
            candidate("d", Some("RED 3"), "bfq"),
            candidate("e", Some("RED 3"), "none"),
            candidate("f", None, "bfq"),
            candidate("g", None, "none"),
        ])
        .unwrap();
        let what = |it: &Decision| (it.disk.clone(), it.what(), it.reasons.len());
        let nameless = |it: &&Decision| matches!(it.disk, Disk::Unnamed(_));
        let named = found.decisions.iter().filter(|it| !nameless(it));
        assert_eq!(
            named.map(what).collect::<Vec<_>>(),
            [
                (Disk::Model("ONE 1".into()), "bfq".to_owned(), 2),
                (Disk::Model("TWO 2".into()), "none".to_owned(), 1),
            ]
        );
        assert_eq!(found.decisions.iter().filter(nameless).count(), 2);
        let [LeftOut { disks, why }] = &found.left_out[..] else {
            panic!("{:?}", found.left_out);
        };
        assert_eq!(disks, "disks of the model RED 3");
        assert_eq!(
            why.what,
            "they do not agree: d supports bfq, e supports none"
        );
        for format in FORMATS {
            let written = format.it.write(&found);
            let Ok(written) = written else {
                // Different schedulers for all disks, and names of the kernel for several.
                assert!(["gke", "tmpfiles"].contains(&format.name));
                continue;
            };
            assert_eq!(written.left_out.len(), 3, "{}", format.name);
            assert!(written.text.contains("RED 3"), "{}", format.name);
            let has_rule = |model: &str| {
                let lines = written
                    .text
                    .lines()
                    .filter(|line| !line.trim().starts_with('#'));
                let lines: String = lines.collect();
                lines.contains(model) || lines.contains(&model.replace(' ', "."))
            };
            if format.name != "machineconfig" {
                assert!(has_rule("ONE 1") && has_rule("TWO 2"), "{}", written.text);
                assert!(!has_rule("RED 3"), "{}", written.text);
            }
        }
    }

    #[test]
    fn a_file_that_is_refused_takes_its_model_with_it() {
        let refused = || Candidate {
            decision: Err(Refusal {
                what: "it is not complete".into(),
                hint: "go on".into(),
            }),
            ..candidate("b", Some("ONE 1"), "bfq")
        };
        let both = together(vec![candidate("a", Some("ONE 1"), "bfq"), refused()]);
        let why = both.unwrap_err();
        assert_eq!(why.what, "b: it is not complete");
        assert_eq!(why.hint, "go on");
        let other = together(vec![refused(), candidate("a", Some("TWO 2"), "bfq")]).unwrap();
        assert_eq!(other.left_out[0].why.what, "b: it is not complete");
        assert_eq!(other.decisions.len(), 1);
    }
}
