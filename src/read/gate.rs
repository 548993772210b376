//! `iosched-ab gate`: turns the verdicts into an exit code, and into a report of it.

use std::path::Path;

use anyhow::{Context, Result};
use iosched_files::output;
use iosched_result::failure::Failure;
use iosched_result::gate::{self, Decision, Judgement, Mode, Rules, Selection, Unknown};
use iosched_result::report::gate::study as of_cells;
use iosched_result::report::{gate as findings, html, junit};
use iosched_result::study::gate as study_gate;
use iosched_result::study::result::StudyResult;
use iosched_result::types::result::ResultFile;

use crate::cli::{Gate, GateFormat, GateMode};
use crate::{report, study, talk};

pub fn run(arguments: &Gate) -> Result<()> {
    let inputs = || arguments.baseline.iter().chain([&arguments.file]);
    if inputs()
        .filter(|path| *path == Path::new(report::STDIO))
        .count()
        > 1
    {
        return Err(Failure::usage(
            "standard input is one result, and `-` is given more than once",
            "name files for the others",
        ));
    }
    if let Some(study) = study::result_in(&arguments.file)? {
        return of_study(&study, arguments);
    }
    let stored = report::read(&arguments.file)?;
    let result = gate::redrawn(&stored, 1);
    for contradiction in findings::contradictions(&stored, &result) {
        talk::note(&contradiction);
    }
    let selection = Selection::new(&result, &arguments.metrics, &arguments.arms)
        .map_err(|unknown| unknown_name(&unknown))?;
    let baselines = arguments
        .baseline
        .iter()
        .map(|path| {
            let baseline = report::read(path)?;
            Ok((path.display().to_string(), gate::redrawn(&baseline, 1)))
        })
        .collect::<Result<Vec<_>>>()?;
    let judgement = gate::judge(&result, &baselines, rules(arguments), selection);
    let text = render(&result, &judgement, arguments.format)?;
    let outcome = outcome(
        &judgement.decision,
        findings::headline(&judgement),
        findings::remedy(&judgement),
    );
    deliver(&text, arguments, outcome)
}

fn of_study(study: &StudyResult, arguments: &Gate) -> Result<()> {
    let baselines = arguments
        .baseline
        .iter()
        .map(|path| {
            let name = path.display().to_string();
            match study::result_in(path)? {
                Some(baseline) if baseline.study == study.study => Ok((name, baseline)),
                _ => Err(Failure::usage(
                    format!("{name} is no result of the study {}", study.study),
                    "compare a study with earlier results of the same study",
                )),
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let (metrics, arms) = (&arguments.metrics, &arguments.arms);
    let judged = study_gate::judge(study, &baselines, rules(arguments), metrics, arms)
        .map_err(|unknown| unknown_name(&unknown))?;
    let text = match arguments.format {
        GateFormat::Text => of_cells::study_text(&judged),
        GateFormat::Json => of_cells::study_json(study, &judged).context("writing JSON")?,
        GateFormat::Markdown => of_cells::study_markdown(study, &judged),
        GateFormat::Html => html::gate::render_study(study, &judged),
        GateFormat::Junit => of_cells::study_junit(&judged),
    };
    let outcome = outcome(
        &judged.decision,
        of_cells::headline(&judged),
        "run more rounds, or use a larger margin",
    );
    deliver(&text, arguments, outcome)
}

fn deliver(text: &str, arguments: &Gate, outcome: Result<()>) -> Result<()> {
    if let Some(path) = report::file_to_write(arguments.output.as_deref()) {
        let inputs = arguments.baseline.iter().chain([&arguments.file]);
        report::ensure_may_write(path, arguments.force, inputs)?;
        output::write_whole(path, text.as_bytes())?;
        return outcome;
    }
    // Who stops reading early gets the exit code all the same.
    let printed = match arguments.format {
        GateFormat::Text => report::print_painted(text),
        _ => report::print(text),
    };
    outcome?;
    printed
}

fn unknown_name(unknown: &Unknown) -> anyhow::Error {
    let Unknown { what, name, known } = unknown;
    Failure::usage(
        format!("the run does not compare the {what} {name:?}"),
        format!("--{what} takes one of: {}", known.join(", ")),
    )
}

fn rules(arguments: &Gate) -> Rules {
    Rules {
        mode: match arguments.mode {
            GateMode::Worse => Mode::Worse,
            GateMode::BeyondMargin => Mode::BeyondMargin,
            GateMode::Noninferior => Mode::Noninferior,
        },
        require_verdict: arguments.require_verdict,
        other_kernel: arguments.other_kernel,
    }
}

fn render(result: &ResultFile, judgement: &Judgement, format: GateFormat) -> Result<String> {
    Ok(match format {
        GateFormat::Text => findings::text(judgement),
        GateFormat::Json => findings::json(result, judgement).context("writing JSON")?,
        GateFormat::Markdown => findings::markdown(result, judgement),
        GateFormat::Html => html::gate::render(result, judgement),
        GateFormat::Junit => junit::gate(&[(result, judgement)], &[]),
    })
}

/// The exit code, the same in every format.
fn outcome(decision: &Decision, what: String, remedy: &str) -> Result<()> {
    match decision {
        Decision::Passed => Ok(()),
        Decision::Failed => Err(Failure::gate_failed(what, "")),
        Decision::Undecided => Err(Failure::undecided(what, remedy)),
        Decision::Incomparable(_) => Err(Failure::undecided(
            what,
            "the gate needs complete runs, and baselines with the same device, workload and reference",
        )),
        Decision::Invalid(_) => Err(Failure::invalid(
            what,
            "every round and its problem is in the result file",
        )),
    }
}
