//! Arms that no other arm beats in all cells. Pure.
//!
//! Each arm was compared with the reference alone. An arm beats another where their intervals show it: one arm's lower end
//! above the other's upper end is a verdict on the two, and estimates that differ by chance are none. The row in which an
//! arm is better is chosen from all cells, so the intervals of all of them must hold together there; that it is worse in
//! none is a claim on every row, and needs no more than the level of each cell.

use std::collections::BTreeMap;

use super::joint;
use super::result::StudyResult;
use crate::statistics::scale::Direction;
use crate::types::result::ArmComparison;

/// Between which ends an arm is better than the reference in a row, in multiples of the row's margin.
type Ends = (f64, f64);

#[derive(Clone, Copy)]
struct Known {
    in_cell: Ends,
    /// At the level of the study; None: not known.
    in_study: Option<Ends>,
}

/// Ends of each arm; None: not known.
type Row<'a> = BTreeMap<&'a str, Option<Known>>;

/// The relation of the arms to each other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    /// Labels of arms that no other beats: none is shown to be better in one row, and at most a margin worse in every
    /// other.
    pub unbeaten: Vec<&'a str>,
    /// Labels of arms without a value in a row where others have one: an absent value is no advantage.
    pub incomplete: Vec<&'a str>,
}

pub fn choice(study: &StudyResult) -> Choice<'_> {
    let rows = rows(study);
    if rows.is_empty() {
        return Choice::default();
    }
    let arms = study.arms.iter().map(String::as_str);
    let (complete, incomplete): (Vec<&str>, Vec<&str>) =
        arms.partition(|arm| rows.iter().all(|row| row.contains_key(arm)));
    let is_beaten = |arm: &str| {
        let mut others = complete.iter().filter(|other| **other != arm);
        others.any(|other| beats(other, arm, &rows))
    };
    let unbeaten = complete.iter().copied().filter(|arm| !is_beaten(arm));
    Choice {
        unbeaten: unbeaten.collect(),
        incomplete,
    }
}

fn beats(arm: &str, other: &str, rows: &[Row<'_>]) -> bool {
    // The least by which the arm is better in a row.
    let least = |one: Ends, other: Ends| one.0 - other.1;
    let both = |row: &Row<'_>| Some(((*row.get(arm)?)?, (*row.get(other)?)?));
    let is_no_worse =
        |row| both(row).is_some_and(|(one, other)| least(one.in_cell, other.in_cell) >= -1.0);
    let is_better = |row| {
        let known = both(row).and_then(|(one, other)| Some((one.in_study?, other.in_study?)));
        known.is_some_and(|(one, other)| least(one, other) > 0.0)
    };
    rows.iter().all(is_no_worse) && rows.iter().any(is_better)
}

fn rows(study: &StudyResult) -> Vec<Row<'_>> {
    let mut rows = BTreeMap::new();
    for (cell, in_study) in joint::comparisons(study) {
        for found in cell.primary() {
            let comparison = &found.comparison;
            let same = |row: &&ArmComparison| {
                (&row.arm, &row.metric.name) == (&found.arm, &found.metric.name)
            };
            if found.metric.direction == Direction::Neutral {
                continue;
            }
            // A row of which only this arm has no value is still a row, and the arm is incomplete.
            let row: &mut Row<'_> = rows
                .entry((cell.name.as_str(), found.metric.name.as_str()))
                .or_default();
            if found.reference_median.is_some() {
                let itself = Known {
                    in_cell: (0.0, 0.0),
                    in_study: Some((0.0, 0.0)),
                };
                row.insert(&found.reference, Some(itself));
            }
            if comparison.estimate.is_none() || found.metric.margin <= 0.0 {
                continue;
            }
            let known = ends(found).map(|in_cell| Known {
                in_cell,
                in_study: in_study.iter().find(same).and_then(ends),
            });
            row.insert(&found.arm, known);
        }
    }
    // A row that nobody could measure tells nobody apart.
    rows.retain(|_, row| !row.is_empty());
    rows.into_values().collect()
}

/// None where a verdict was withheld: the interval is not all that is known then.
fn ends(row: &ArmComparison) -> Option<Ends> {
    let margin = row.metric.scale.margins(row.metric.margin).up;
    let known = row.comparison.interval;
    let interval = known.filter(|_| row.comparison.withheld.is_none())?;
    let (worst, best) = row.metric.direction.worst_and_best(interval);
    Some((worst / margin, best / margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known to half a margin, except the reference.
    fn row<const N: usize>(values: [(&'static str, f64); N]) -> Row<'static> {
        let ends = |arm, lead: f64| match arm {
            "none" => (0.0, 0.0),
            _ => (lead - 0.5, lead + 0.5),
        };
        let known = |ends| Known {
            in_cell: ends,
            in_study: Some(ends),
        };
        values
            .map(|(arm, lead)| (arm, Some(known(ends(arm, lead)))))
            .into()
    }

    #[test]
    fn an_arm_that_did_too_little_for_a_value_is_not_judged() {
        let mut study = crate::report::fixture::study(vec![crate::report::fixture::sample()]);
        let cell = &mut study.cells[0].result;
        let arm = cell.comparisons[0].arm.clone();
        let own = cell.comparisons.iter_mut().filter(|row| row.arm == arm);
        own.for_each(|row| row.comparison.estimate = None);
        let found = choice(&study);
        assert!(found.incomplete.contains(&&*arm), "{found:?}");
        assert!(!found.unbeaten.contains(&&*arm), "{found:?}");
    }

    #[test]
    fn an_arm_is_beaten_by_one_that_is_nowhere_worse() {
        let rows = [
            row([("none", 0.0), ("bfq", 9.0), ("kyber", 8.5)]),
            row([("none", 0.0), ("bfq", -0.4), ("kyber", -4.0)]),
        ];
        assert!(beats("bfq", "none", &rows), "worse by less than the margin");
        assert!(!beats("none", "bfq", &rows));
        assert!(!beats("kyber", "none", &rows) && !beats("none", "kyber", &rows));
        assert!(beats("bfq", "kyber", &rows));
        assert!(!beats("bfq", "bfq", &rows));
        let equal = [row([("none", 0.0), ("bfq", 6.3), ("kyber", 5.6)])];
        assert!(!beats("bfq", "kyber", &equal), "their intervals overlap");
        assert!(beats("kyber", "none", &equal));
        assert!(!beats("adios", "none", &rows), "it was not measured");
        let mut undecided = rows.to_vec();
        undecided[1].insert("bfq", None);
        assert!(!beats("bfq", "none", &undecided));
        let mut in_cells = rows.to_vec();
        for known in in_cells[0].values_mut().flatten() {
            known.in_study = known.in_study.map(|(low, high)| (low - 9.0, high + 9.0));
        }
        assert!(
            !beats("bfq", "none", &in_cells),
            "the best of all cells may be chance"
        );
    }
}
