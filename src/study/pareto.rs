//! Arms that no other arm beats in all cells. Pure.
//!
//! Each arm was compared with the reference alone. An arm beats another where their intervals show it: all intervals of a
//! study's cell hold simultaneously, so one arm's lower end above the other's upper end is a verdict on the two, and
//! estimates that differ by chance are none.

use std::collections::BTreeMap;

use super::result::StudyResult;
use crate::ab::statistics::scale::Direction;

/// Between which ends each arm is better than the reference in a row, in multiples of the row's margin; None: not known.
type Row<'a> = BTreeMap<&'a str, Option<(f64, f64)>>;

/// What the arms are to each other.
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
    let lead = |row: &Row<'_>| Some((*row.get(arm)?)?.0 - (*row.get(other)?)?.1);
    let leads: Option<Vec<f64>> = rows.iter().map(lead).collect();
    leads.is_some_and(|leads| {
        leads.iter().all(|lead| *lead >= -1.0) && leads.iter().any(|lead| *lead > 0.0)
    })
}

fn rows(study: &StudyResult) -> Vec<Row<'_>> {
    let mut rows = BTreeMap::new();
    for cell in study.compared().filter(|cell| cell.why_invalid().is_none()) {
        for found in cell.primary() {
            let comparison = &found.comparison;
            if found.metric.direction == Direction::Neutral {
                continue;
            }
            let margin = found.metric.scale.margins(found.metric.margin).up;
            // A row of which only this arm has no value is still a row, and the arm is incomplete.
            let row: &mut Row<'_> = rows
                .entry((cell.name.as_str(), found.metric.name.as_str()))
                .or_default();
            if found.reference_median.is_some() {
                row.insert(&found.reference, Some((0.0, 0.0)));
            }
            if comparison.estimate.is_none() || margin <= 0.0 {
                continue;
            }
            let known = comparison
                .interval
                .filter(|_| comparison.withheld.is_none());
            let ends = known.map(|interval| {
                let (worst, best) = found.metric.direction.worst_and_best(interval);
                (worst / margin, best / margin)
            });
            row.insert(&found.arm, ends);
        }
    }
    // What nobody could measure tells nobody apart.
    rows.retain(|_, row| !row.is_empty());
    rows.into_values().collect()
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
        values
            .map(|(arm, lead)| (arm, Some(ends(arm, lead))))
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
    }
}
