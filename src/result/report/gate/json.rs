//! The findings of a gate as JSON; `docs/` has the schema. Pure.

use serde::Serialize;

use super::headline;
use crate::failure::Kind;
use crate::gate::{Basis, Check, Decision, GateOutcome, Judgement, LevelChange, Mode};
use crate::report::{cases, decision, escape, words};
use crate::statistics::estimate::ConfidenceInterval;
use crate::statistics::scale::{Direction, Scale};
use crate::statistics::verdict::{Reason, Verdict};
use crate::types::result::{ResultFile, Status};

/// Raised when a field changes its meaning or is removed. Readers ignore unknown fields.
pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "gate-1.schema.json";

/// Output of `iosched-ab gate --format json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateRecord<'a> {
    /// The schema of this object.
    #[serde(rename = "$schema")]
    schema: &'static str,
    /// The version of the schema.
    schema_version: u32,
    /// The file that is judged, where several are.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// The outcome of all selected comparisons together.
    outcome: Overall,
    /// Exit code of the command: 0 passed, 3 failed, 4 undecided or incomparable, 6 invalid.
    exit_code: u8,
    /// The outcome in words.
    summary: String,
    /// Why nothing was held to the rules; empty if something was.
    why_nothing: &'a [String],
    /// The run that is judged.
    run: Run<'a>,
    /// Rules that the comparisons are held to.
    rules: RulesUsed,
    /// Metrics that were selected; empty stands for all primary ones.
    metrics: &'a [String],
    /// Arms that were selected; empty stands for all but the reference.
    arms: &'a [String],
    /// How many primary comparisons the run has, selected or not; their intervals hold simultaneously.
    family: usize,
    /// File names of the earlier results.
    baselines: &'a [String],
    /// The comparisons; empty if nothing was held to the rules.
    checks: Vec<CheckRecord<'a>>,
}

/// The outcome of all comparisons together.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Overall {
    /// No comparison failed, and none is undecided.
    Passed,
    /// A comparison failed.
    Failed,
    /// None failed, and at least one is undecided.
    Undecided,
    /// The run is not complete, a negative control differs, or a baseline is of something else.
    Incomparable,
    /// Too many of the run's blocks do not count.
    Invalid,
}

/// The run that is judged.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Run<'a> {
    /// Device, workload and size of the run in one line.
    title: String,
    /// What the run alone decides, in words: the arm to use, to keep the reference, or that it is not decided.
    decision: String,
    /// As in the result file.
    status: Status,
    /// When the run began, RFC 3339.
    started: &'a str,
    /// When it ended; null if it has not.
    finished: Option<&'a str>,
    /// From its beginning to its end; null if that is unknown, as after an interruption.
    elapsed_s: Option<f64>,
    /// The machine of the run; null if the result does not have it.
    hostname: Option<&'a str>,
    /// The kernel of the run.
    kernel_release: &'a str,
    /// The workload's name.
    workload: &'a str,
}

/// Rules that the comparisons are held to.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RulesUsed {
    /// The condition that fails the gate, as `--mode`.
    mode: ModeUsed,
    /// Whether an inconclusive comparison is undecided (`--require-verdict`).
    require_verdict: bool,
    /// Whether baselines of another kernel were accepted (`--other-kernel`).
    other_kernel: bool,
}

/// The condition that fails the gate.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum ModeUsed {
    /// An arm is shown to be worse.
    Worse,
    /// An arm is shown to be worse by more than the margin.
    BeyondMargin,
    /// An arm is not shown to be at most the margin worse.
    Noninferior,
}

/// A comparison that was held to the rules.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CheckRecord<'a> {
    /// The metric's name.
    metric: &'a str,
    /// The unit of the medians.
    unit: &'a str,
    /// Whether changes are ratios (`log`) or differences (`identity`).
    scale: Scale,
    /// The better direction.
    direction: Direction,
    /// The smallest difference that matters: a fraction on the log scale, otherwise in the metric's unit.
    margin: f64,
    /// Label of the arm.
    arm: &'a str,
    /// Label of the reference.
    reference: &'a str,
    /// The worst value that the user allows, in the metric's unit: then the outcome goes by this, not by the change. Null if there is
    /// none.
    limit: Option<f64>,
    /// Outcome of this comparison.
    outcome: CheckOutcome,
    /// The basis of the change and its interval.
    basis: BasisUsed,
    /// How many earlier results the change is from; 0 for `own`.
    baselines: usize,
    /// On the metric's scale: of the arm to the reference, or of that since the earlier results. Null: unknown.
    change: Option<f64>,
    /// Interval of `change`; an end that the data do not bound is null.
    interval: Option<ConfidenceInterval>,
    /// `change` as a ratio; null on the identity scale.
    ratio: Option<f64>,
    /// `interval` as ratios.
    ratio_interval: Option<ConfidenceInterval>,
    /// The verdict of `interval`; on the basis `own` drawn anew from the rounds of the result.
    verdict: Verdict,
    /// Complete blocks of this run.
    blocks: usize,
    /// Median of the arm in this run, for orientation.
    arm_median: Option<f64>,
    /// Median of the reference in this run, for orientation.
    reference_median: Option<f64>,
    /// Median of the arm's medians in the earlier results, for orientation.
    earlier_median: Option<f64>,
    /// How long the rounds of the arm were measured, all together; null if unknown.
    measured_s: Option<f64>,
    /// Why this run decides nothing, or what to keep in mind, as in the result file.
    reasons: &'a [Reason],
    /// The comparison in words.
    text: String,
    /// The last change of the level, if there are eight baselines or more and one was found.
    level_change: Option<LevelRecord<'a>>,
}

/// Outcome of one comparison.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum CheckOutcome {
    /// Not against the rules; with an inconclusive verdict, the rules let it pass.
    Passed,
    /// Against the rules.
    Failed,
    /// The rules ask for what the data do not show.
    Undecided,
}

/// Where an interval comes from.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum BasisUsed {
    /// The arm against the reference in this run.
    Own,
    /// Five or more earlier results show how much the ratio varies from run to run.
    Prediction,
    /// Fewer earlier results: a variation of 10 % from run to run is assumed.
    Assumed,
}

/// Since when the ratio to the reference has another level.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LevelRecord<'a> {
    /// File name of the first run with the new level.
    since: &'a str,
    /// When that run began.
    started: &'a str,
    /// Runs with the level before.
    runs_before: usize,
    /// Runs with the new level; the run that is judged counts as one of them.
    runs_since: usize,
    /// Change of the mean, on the metric's scale.
    change: f64,
    /// Interval of that change.
    interval: ConfidenceInterval,
    /// The verdict of that interval.
    verdict: Verdict,
    /// Worse, and the whole interval is beyond the margin.
    worse_beyond_margin: bool,
    /// Whether the run that is judged has the new level.
    is_of_this_run: bool,
}

pub fn json(result: &ResultFile, judgement: &Judgement) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&GateRecord::new(result, judgement))?;
    Ok(escape::json(&text) + "\n")
}

impl Overall {
    pub(super) fn of(decision: &Decision) -> Overall {
        match decision {
            Decision::Passed => Overall::Passed,
            Decision::Failed => Overall::Failed,
            Decision::Undecided => Overall::Undecided,
            Decision::Incomparable(_) => Overall::Incomparable,
            Decision::Invalid(_) => Overall::Invalid,
        }
    }
}

impl<'a> GateRecord<'a> {
    #[must_use]
    pub(super) fn of_file(self, file: Option<&'a str>) -> Self {
        GateRecord { file, ..self }
    }

    pub(super) fn new(result: &'a ResultFile, judgement: &'a Judgement) -> GateRecord<'a> {
        let why_nothing = match &judgement.decision {
            Decision::Passed | Decision::Failed | Decision::Undecided => &[][..],
            Decision::Incomparable(why) => &why[..],
            Decision::Invalid(why) => std::slice::from_ref(why),
        };
        let checks = judgement.checks.iter();
        GateRecord {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            file: None,
            outcome: Overall::of(&judgement.decision),
            exit_code: judgement.decision.kind().map_or(0, Kind::exit_code),
            summary: headline(judgement),
            why_nothing,
            run: Run {
                title: words::title(result),
                decision: decision::sentence(result),
                status: result.status,
                started: &result.started,
                finished: result.finished.as_deref(),
                elapsed_s: cases::elapsed_s(result),
                hostname: result.environment.hostname.as_deref(),
                kernel_release: &result.environment.kernel_release,
                workload: &result.workload.name,
            },
            rules: RulesUsed {
                mode: match judgement.rules.mode {
                    Mode::Worse => ModeUsed::Worse,
                    Mode::BeyondMargin => ModeUsed::BeyondMargin,
                    Mode::Noninferior => ModeUsed::Noninferior,
                },
                require_verdict: judgement.rules.require_verdict,
                other_kernel: judgement.rules.other_kernel,
            },
            metrics: judgement.selection.metrics(),
            arms: judgement.selection.arms(),
            family: judgement.family,
            baselines: &judgement.baselines,
            checks: checks
                .map(|check| CheckRecord::new(result, check))
                .collect(),
        }
    }
}

impl<'a> CheckRecord<'a> {
    fn new(result: &ResultFile, check: &'a Check) -> CheckRecord<'a> {
        let row = &check.comparison;
        let scale = row.metric.scale;
        let (basis, baselines) = match check.basis {
            Basis::Own => (BasisUsed::Own, 0),
            Basis::Prediction(n) => (BasisUsed::Prediction, n),
            Basis::Assumed(n) => (BasisUsed::Assumed, n),
        };
        CheckRecord {
            metric: &row.metric.name,
            unit: &row.metric.unit,
            scale,
            direction: row.metric.direction,
            margin: row.metric.margin,
            arm: &row.arm,
            reference: &row.reference,
            limit: check.limit.as_ref().map(|it| it.limit),
            outcome: match check.outcome {
                GateOutcome::Passed => CheckOutcome::Passed,
                GateOutcome::Failed => CheckOutcome::Failed,
                GateOutcome::Undecided => CheckOutcome::Undecided,
            },
            basis,
            baselines,
            change: check.change,
            interval: check.interval,
            ratio: scale.ratio(check.change),
            ratio_interval: scale.ratio_interval(check.interval),
            verdict: check.verdict,
            blocks: row.comparison.blocks,
            arm_median: row.arm_median,
            reference_median: row.reference_median,
            earlier_median: check.earlier_median,
            measured_s: cases::measured_s(result, &row.arm),
            reasons: &row.comparison.reasons,
            text: cases::text(check),
            level_change: check.level_change.as_ref().map(LevelRecord::new),
        }
    }
}

impl<'a> LevelRecord<'a> {
    fn new(level: &'a LevelChange) -> LevelRecord<'a> {
        LevelRecord {
            since: &level.since,
            started: &level.started,
            runs_before: level.runs_before,
            runs_since: level.runs_since,
            change: level.change,
            interval: level.interval,
            verdict: level.verdict,
            worse_beyond_margin: level.worse_beyond_margin,
            is_of_this_run: level.is_of_this_run,
        }
    }
}
