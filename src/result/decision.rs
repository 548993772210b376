//! What to do with a result: one decision, made from the verdicts and from nothing else, so that it is never better than the table.
//! Pure.

use crate::analysis::turn;
use crate::gate;
use crate::metric::Metric;
use crate::statistics::power;
use crate::statistics::scale::Direction;
use crate::statistics::stopping::{Extension, MOST_BLOCKS, Schedule};
use crate::statistics::verdict::{Comparison, Reason, Verdict};
use crate::types::goals::Goals;
use crate::types::limit::ArmLimit;
use crate::types::result::{ArmComparison, ResultFile, Status};

/// What the verdicts say of one arm, by the goals.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    pub arm: &'a str,
    /// What should get better, and does.
    pub gains: Vec<&'a ArmComparison>,
    /// What gets worse, by more than does not matter.
    pub costs: Vec<&'a ArmComparison>,
    /// `--stop-if` ended it, so it is not used, whatever else it is.
    pub is_stopped: bool,
    /// In a live run, more or less I/O arrived under it, so its rows compare different work.
    pub is_of_other_work: bool,
    /// In a live run, it is not shown that the same I/O arrived under it.
    pub is_load_unsure: bool,
    /// Its own blocks say that these are worse, and something else withholds the verdict.
    pub withheld: Vec<&'a ArmComparison>,
    /// What is kept and is not shown to be no worse than its margin.
    pub unsafe_rows: Vec<&'a ArmComparison>,
    /// What could still get better.
    pub undecided: Vec<&'a ArmComparison>,
    /// Kept metrics that are shown to be no worse.
    pub kept: Vec<&'a ArmComparison>,
    /// Limits that it is shown to stay within, to leave, and neither.
    pub within: Vec<&'a ArmLimit>,
    pub beyond: Vec<&'a ArmLimit>,
    pub unsure: Vec<&'a ArmLimit>,
    /// Metrics that count and were not compared.
    pub missing: Vec<String>,
    /// What gets worse and does not count: it is neither preferred nor kept.
    pub uncounted: Vec<&'a ArmComparison>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Better in what should be, and nothing that is kept is worse.
    Wins,
    /// Better in something, and worse in something else.
    Trades,
    /// More rounds could make it win.
    Open,
    /// No difference that matters.
    Alike,
    /// Only worse, or it could not be judged by its own fault.
    Loses,
}

impl Standing<'_> {
    pub fn rank(&self) -> Rank {
        let is_safe = self.unsafe_rows.is_empty()
            && self.missing.is_empty()
            && self.withheld.is_empty()
            && self.unsure.is_empty();
        let costs = !self.costs.is_empty() || !self.beyond.is_empty();
        match (!self.gains.is_empty(), costs) {
            _ if self.is_stopped => Rank::Loses,
            _ if self.is_of_other_work => Rank::Open,
            (true, true) => Rank::Trades,
            (false, true) => Rank::Loses,
            (true, false) if is_safe => Rank::Wins,
            (false, false) if is_safe && self.undecided.is_empty() => Rank::Alike,
            _ => Rank::Open,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Decision<'a> {
    /// The verdicts mean nothing, and why.
    Invalid(String),
    /// The run has not ended as planned.
    Incomplete(Status),
    /// An arm against itself: nothing is to be decided.
    Placebo,
    /// No metric decides yet.
    Nothing,
    /// Something other than the scheduler differs, too: this negative control.
    Alarmed(&'a ArmComparison),
    /// This arm.
    Use(Box<Standing<'a>>),
    /// The reference: no arm is better in what counts, or it costs what is kept.
    Keep,
    /// Who gains and who pays depends on the arm, and the user has not said what counts.
    Trades,
    /// More rounds could show it.
    Open,
}

/// The decision, with what each arm but the reference stands for, in the order of the design.
pub fn decide(result: &ResultFile) -> (Decision<'_>, Vec<Standing<'_>>) {
    let goals = result.design.goals.clone().unwrap_or_default();
    let reference = &result.design.arms[result.design.reference].label;
    let others = result.design.arms.iter().map(|arm| arm.label.as_str());
    let others = others.filter(|label| label != reference);
    let standings: Vec<Standing> = others.map(|arm| standing(result, &goals, arm)).collect();
    let decision = from_standings(result, &goals, &standings);
    (decision, standings)
}

fn from_standings<'a>(
    result: &'a ResultFile,
    goals: &Goals,
    standings: &[Standing<'a>],
) -> Decision<'a> {
    if result.design.is_placebo {
        return Decision::Placebo;
    }
    if let Some(why) = turn::why_invalid(result) {
        return Decision::Invalid(why);
    }
    if !result.has_ended() {
        return Decision::Incomplete(result.status);
    }
    if let Some(row) = result.alarming_controls().next() {
        return Decision::Alarmed(row);
    }
    if result.primary().next().is_none() {
        return Decision::Nothing;
    }
    let of = |rank: Rank| standings.iter().filter(move |of| of.rank() == rank);
    let by_gain = |a: &&Standing, b: &&Standing| sure_gain(a).total_cmp(&sure_gain(b));
    // `max_by` takes the last of equals, and the first arm named is to win.
    let best = of(Rank::Wins).rev().max_by(by_gain);
    match best {
        Some(best) => Decision::Use(Box::new(best.clone())),
        // What the user does not allow is no choice.
        None if let Some(only) = instead_of_what_is_beyond(result, standings) => {
            Decision::Use(Box::new(only.clone()))
        }
        None if of(Rank::Open).next().is_some() => Decision::Open,
        None if of(Rank::Trades).next().is_some() && goals.prefer.is_none() => Decision::Trades,
        None => Decision::Keep,
    }
}

/// The first arm that stays within all limits and is otherwise like the reference, which leaves one.
fn instead_of_what_is_beyond<'b, 'a>(
    result: &ResultFile,
    standings: &'b [Standing<'a>],
) -> Option<&'b Standing<'a>> {
    let is_fit = |of: &&Standing| !of.within.is_empty() && of.rank() == Rank::Alike;
    reference_beyond(result).next()?;
    standings.iter().find(is_fit)
}

/// Limits that the reference is shown to leave.
pub fn reference_beyond(result: &ResultFile) -> impl Iterator<Item = &ArmLimit> {
    let reference = &result.design.arms[result.design.reference].label;
    let own = result.limits.iter().filter(move |it| it.arm == *reference);
    own.filter(|it| it.holds == Some(false))
}

fn standing<'a>(result: &'a ResultFile, goals: &Goals, arm: &'a str) -> Standing<'a> {
    let arrivals = || {
        let rows = result.comparisons.iter();
        rows.filter(|row| row.arrivals && row.arm == arm)
    };
    let mut found = Standing {
        arm,
        is_stopped: result.is_stopped(arm),
        is_of_other_work: arrivals().any(|row| {
            let found = [Some(row.comparison.verdict), row.comparison.withheld];
            found.contains(&Some(Verdict::Differs))
        }),
        is_load_unsure: arrivals().any(|row| row.comparison.verdict != Verdict::Equivalent),
        gains: Vec::new(),
        costs: Vec::new(),
        withheld: Vec::new(),
        unsafe_rows: Vec::new(),
        undecided: Vec::new(),
        kept: Vec::new(),
        within: Vec::new(),
        beyond: Vec::new(),
        unsure: Vec::new(),
        missing: Vec::new(),
        uncounted: Vec::new(),
    };
    for limit in &goals.limits {
        let mut own = result.limits.iter().filter(|it| it.arm == arm);
        let Some(row) = own.find(|it| it.metric.name == limit.metric) else {
            found.missing.push(limit.metric.clone());
            continue;
        };
        let list = match row.holds {
            Some(true) => &mut found.within,
            Some(false) => &mut found.beyond,
            None => &mut found.unsure,
        };
        list.push(row);
    }
    // A file may have primary rows of other metrics.
    let declared = result.design.primary.iter();
    let of_rows = result.primary().map(|row| &row.metric);
    let mut metrics: Vec<&Metric> = Vec::new();
    for metric in declared.chain(of_rows) {
        if !metrics.iter().any(|known| known.is_same(metric)) {
            metrics.push(metric);
        }
    }
    for metric in metrics {
        let should_gain = goals.prefer.is_none() || goals.is_preferred(&metric.name);
        let is_kept = goals.is_kept(&metric.name);
        let is_limited = goals.limit(&metric.name).is_some() && goals.prefer.is_none();
        let mut rows = result.primary();
        match rows.find(|row| row.arm == arm && row.metric.is_same(metric)) {
            Some(row) if is_limited => match row.comparison.verdict {
                Verdict::Better => found.gains.push(row),
                Verdict::Worse => found.uncounted.push(row),
                _ => {}
            },
            Some(row) if should_gain || is_kept => found.add(row, should_gain, is_kept),
            Some(row) if row.comparison.verdict == Verdict::Worse => found.uncounted.push(row),
            None if should_gain || is_kept => found.missing.push(metric.name.clone()),
            Some(_) | None => {}
        }
    }
    found
}

impl<'a> Standing<'a> {
    fn add(&mut self, row: &'a ArmComparison, should_gain: bool, is_kept: bool) {
        let own = &row.comparison;
        match own.verdict {
            Verdict::Better if should_gain => self.gains.push(row),
            Verdict::Worse => return self.costs.push(row),
            Verdict::Inconclusive if own.withheld == Some(Verdict::Worse) => {
                return self.withheld.push(row);
            }
            Verdict::Inconclusive if should_gain && !is_nothing(own) => self.undecided.push(row),
            _ => {}
        }
        if !is_kept {
            return;
        }
        let is_safe = match own.verdict {
            Verdict::Better | Verdict::Equivalent => true,
            _ => is_nothing(own) || gate::is_noninferior(own),
        };
        let list = if is_safe {
            &mut self.kept
        } else {
            &mut self.unsafe_rows
        };
        list.push(row);
    }
}

/// Both arms have none of what should be low: there is no better value.
fn is_nothing(own: &Comparison) -> bool {
    own.question.nothing_happened && own.question.direction == Direction::LowerIsBetter
}

/// The largest gain, as sure as its interval, in margins: so gains of different metrics compare.
fn sure_gain(standing: &Standing) -> f64 {
    let gains = standing.gains.iter().filter_map(|row| {
        let question = row.comparison.question;
        let (worst, _) = question.direction.worst_and_best(row.comparison.interval?);
        Some(worst / question.scale.of_margin(question.margin))
    });
    gains.fold(f64::NEG_INFINITY, f64::max)
}

/// The blocks to add to a run with which the open rows of all arms are likely decided, if they stay as they are; None: unknown, more
/// than a thousand, more blocks do not help, or no more can be added.
pub fn more_blocks_to_decide(result: &ResultFile, standings: &[Standing]) -> Option<usize> {
    let design = &result.design;
    if design.extensions.len() >= design.stopping.most_extensions() {
        return None;
    }
    let now = design.schedule();
    let mut extensions = design.extensions.clone();
    extensions.push(Extension {
        after_blocks: result.blocks_begun(),
        blocks: 1,
    });
    let extended = Schedule {
        extensions: &extensions,
        ..now
    };
    let cost = power::cost_of_level(now.level(design.alpha), extended.level(design.alpha));
    let open = || standings.iter().filter(|of| of.rank() == Rank::Open);
    let is_hopeless =
        |of: &Standing| of.is_of_other_work || !of.missing.is_empty() || !of.withheld.is_empty();
    if open().any(is_hopeless) {
        return None;
    }
    let rows = open().flat_map(|of| of.undecided.iter().chain(&of.unsafe_rows));
    let limits = open().flat_map(|of| &of.unsure);
    let all = rows
        .map(|row| &row.comparison)
        .chain(limits.map(|row| &row.comparison));
    let more = all.map(|row| {
        // An arm may have left before the end.
        let needed = (blocks_to_decide(row)? as f64 * cost).ceil();
        Some((needed as usize).saturating_sub(row.blocks))
    });
    let most = more.collect::<Option<Vec<usize>>>()?.into_iter().max()?;
    (1..=MOST_BLOCKS).contains(&most).then_some(most)
}

/// The blocks in all that this row likely needs.
fn blocks_to_decide(row: &Comparison) -> Option<usize> {
    let reasons = &row.reasons;
    let mut projected = reasons.iter().filter_map(|reason| match reason {
        Reason::NeedsRounds {
            projected,
            at_least,
        } => Some(projected.map(|blocks| blocks.max(*at_least))),
        _ => None,
    });
    projected
        .next()?
        .filter(|_| !reasons.contains(&Reason::Skewed))
}
