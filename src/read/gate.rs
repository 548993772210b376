//! `gate`: turns the verdicts into an exit code, and into a report of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use iosched_result::failure::Failure;
use iosched_result::gate::{self, Decision, Judgement, MODES, Mode, Rules, Selection, Unknown};
use iosched_result::merge::{self, Merged};
use iosched_result::report::formats::Made;
use iosched_result::report::gate as findings;
use iosched_result::report::gate::formats::{FORMATS, Format, Judged};
use iosched_result::report::gate::several::{self, Together};
use iosched_result::report::gate::study as of_cells;
use iosched_result::study::gate as study_gate;
use iosched_result::study::result::StudyResult;
use iosched_result::text::named::Named;
use iosched_result::types::result::ResultFile;

use crate::choice::{self, metric_name};
use crate::input::{self, Input, Judged as Verdicts, STDIO};
use crate::messages::note_of;
use crate::print::Destination;

pub const HELP: &str = "\
Without --baseline, each arm is compared with the reference of the same run: in `run`,
name the old settings as --reference. With --baseline, the ratio of each arm to the
reference is compared with the same ratio in earlier runs. Five or more baselines show
how much it varies from run to run. With fewer, 10 % is assumed, the table says so, and
an arm is better or worse only if the intervals of the runs are also apart.

Several runs must all pass: --baseline then is for all of them, so they are of one disk and
workload. What fails by itself never passes, but is not decided, where the shared level does
not show it.

With eight or more baselines the gate also names the run since which a ratio has another
level (E-divisive; 12 runs in all are needed to see a change three runs ago). It fails
if this run has that level too and the change is worse by the rule of --mode. To accept
a new level, leave out the baselines before it.

The primary metrics are gated: those of `run --metric`. --metric and --arm select some of
their comparisons; each interval stays as wide as it is for all of them together.

Exit codes, the same in every format: 0 passed, 3 failed, 4 not decided or not
comparable, 6 invalid run. In JUnit, 3 is a failure, 4 and 6 are errors, and an
inconclusive comparison that the rules let pass is skipped.

Examples:
  iosched-ab gate result.json
  iosched-ab gate result.json --mode noninferior
  iosched-ab gate read.json write.json sync.json --format junit -o junit.xml
  iosched-ab gate result.json --baseline nightly-*.json
  iosched-ab gate result.json --mode beyond-margin --baseline nightly-2026-0[34]-*.json
  iosched-ab gate result.json --metric throughput --arm bfq
  iosched-ab gate result.json --format junit -o junit.xml
  iosched-ab gate - --format markdown <result.json >>\"$GITHUB_STEP_SUMMARY\"";

#[derive(Args)]
pub struct Gate {
    /// Result files to judge, `-` for standard input: of several runs all must pass, and they share the level. One study or one
    /// merged file is judged alone
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Result files of earlier runs with the same device, workload and reference
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub baseline: Vec<PathBuf>,
    /// Judge this primary metric only; may be repeated
    #[arg(long = "metric", value_name = "NAME", value_parser = metric_name)]
    pub metrics: Vec<String>,
    /// Judge this arm only; may be repeated
    #[arg(long = "arm", value_name = "LABEL")]
    pub arms: Vec<String>,
    /// What fails the gate
    #[arg(long, default_value = "worse", value_parser = choice::of(MODES))]
    pub mode: &'static Named<Mode>,
    /// Do not pass inconclusive comparisons (exit code 4)
    #[arg(long)]
    pub require_verdict: bool,
    /// Accept baselines from another kernel, to test a kernel
    #[arg(long)]
    pub other_kernel: bool,
    /// Format of the findings
    #[arg(long, default_value = "text", value_parser = choice::of(FORMATS))]
    pub format: &'static Format,
    #[command(flatten)]
    pub to: Destination,
}

pub fn run(arguments: &Gate) -> Result<()> {
    let inputs = || arguments.baseline.iter().chain(&arguments.files);
    if inputs().filter(|path| *path == Path::new(STDIO)).count() > 1 {
        return Err(Failure::usage(
            "standard input is one result, and `-` is given more than once",
            "name files for the others",
        ));
    }
    let [file] = &arguments.files[..] else {
        return of_runs(arguments);
    };
    match input::open(file)?.judged()? {
        Verdicts::Run(stored) => of_run(&stored, arguments),
        Verdicts::Study(study) => of_study(&study, arguments),
        Verdicts::Merged(merged) => of_merged(&merged, arguments),
    }
}

fn of_run(stored: &ResultFile, arguments: &Gate) -> Result<()> {
    let baselines = baselines(arguments)?;
    let (result, judgement) = judged(stored, None, &baselines, 1, arguments)?;
    let made = (arguments.format.it)(Judged::Run(&result, &judgement), arguments.to.width())?;
    // The text has said why, and is seen beside the error.
    let is_said = judgement.checks.is_empty()
        && matches!(made, Made::Painted(_))
        && arguments.to.is_seen_beside_errors();
    let headline = if is_said {
        "nothing was judged".to_owned()
    } else {
        findings::headline(&judgement)
    };
    let outcome = outcome(&judgement.decision, headline, findings::remedy(&judgement));
    deliver(&made, arguments, outcome)
}

fn baselines(arguments: &Gate) -> Result<Vec<(String, ResultFile)>> {
    let each = arguments.baseline.iter().map(|path| {
        let baseline = input::read_run(path)?;
        Ok((path.display().to_string(), gate::redrawn(&baseline, 1)))
    });
    each.collect()
}

/// `name`: of its file, if there are several. `files`: how many share the level.
fn judged(
    stored: &ResultFile,
    name: Option<&str>,
    baselines: &[(String, ResultFile)],
    files: usize,
    arguments: &Gate,
) -> Result<(ResultFile, Judgement)> {
    for contradiction in findings::contradictions(stored, &gate::redrawn(stored, 1)) {
        note_of(name, &contradiction);
    }
    let by_level = |files| {
        let result = gate::redrawn(stored, files);
        let selection = Selection::new(&result, &arguments.metrics, &arguments.arms)
            .map_err(|unknown| unknown_name(&unknown))?;
        let judgement = gate::judge(&result, baselines, rules(arguments), selection);
        anyhow::Ok((result, judgement))
    };
    let alone = by_level(1)?;
    if files == 1 {
        return Ok(alone);
    }
    let (result, judgement) = by_level(files)?;
    Ok((result, judgement.in_company(&alone.1)))
}

/// One that fails fails them all, so they share the level; where each must be shown to be no worse, each keeps its own.
fn share_the_level(arguments: &Gate) -> bool {
    matches!(arguments.mode.it, Mode::Worse | Mode::BeyondMargin)
}

fn of_runs(arguments: &Gate) -> Result<()> {
    let baselines = baselines(arguments)?;
    let sharing = share_the_level(arguments);
    let count = if sharing { arguments.files.len() } else { 1 };
    let mut known: BTreeMap<[u8; 32], String> = BTreeMap::new();
    let each = arguments.files.iter().map(|path| {
        let Verdicts::Run(stored) = input::open(path)?.judged()? else {
            return Err(Failure::usage(
                format!(
                    "{} is of a study, or has the results of many hosts, and is judged alone",
                    path.display()
                ),
                "gate on it by itself; several files are results of runs",
            ));
        };
        let name = path.display().to_string();
        if let Some(first) = known.insert(merge::fingerprint(&stored), name.clone()) {
            return Err(Failure::usage(
                format!("{first} and {name} are the same run"),
                "name it once: files share the level",
            ));
        }
        judged(&stored, Some(&name), &baselines, count, arguments)
    });
    let each: Vec<(ResultFile, Judgement)> = each.collect::<Result<_>>()?;
    let names = arguments
        .files
        .iter()
        .map(|path| path.display().to_string());
    let names: Vec<String> = names.collect();
    let together = Together::of_files(&names, &each, sharing);
    let made = (arguments.format.it)(Judged::Several(&together), arguments.to.width())?;
    let outcome = outcome(
        &together.decision(),
        together.headline(),
        "run more rounds, or use a larger margin",
    );
    deliver(&made, arguments, outcome)
}

fn of_study(study: &StudyResult, arguments: &Gate) -> Result<()> {
    let baselines = arguments
        .baseline
        .iter()
        .map(|path| match input::open(path)? {
            Input::Study(baseline) if baseline.study == study.study => {
                Ok((path.display().to_string(), *baseline))
            }
            _ => Err(Failure::usage(
                format!(
                    "{} is no result of the study {}",
                    path.display(),
                    study.study
                ),
                "compare a study with earlier results of the same study",
            )),
        })
        .collect::<Result<Vec<_>>>()?;
    let (metrics, arms) = (&arguments.metrics, &arguments.arms);
    let judged = study_gate::judge(study, &baselines, rules(arguments), metrics, arms)
        .map_err(|unknown| unknown_name(&unknown))?;
    let made = (arguments.format.it)(Judged::Study(study, &judged), arguments.to.width())?;
    let outcome = outcome(
        &judged.decision,
        of_cells::headline(&judged),
        "run more rounds, or use a larger margin",
    );
    deliver(&made, arguments, outcome)
}

/// Each group by its own verdicts; the worst outcome is that of all.
fn of_merged(own: &Merged, arguments: &Gate) -> Result<()> {
    if !arguments.baseline.is_empty() {
        return Err(Failure::usage(
            "a merged file has no baselines: hosts are compared with each other",
            "leave out --baseline",
        ));
    }
    let sharing = share_the_level(arguments);
    let shared = sharing.then(|| own.clone().with_shared_level());
    let merged = shared.as_ref().unwrap_or(own);
    let judged = |merged: &Merged| -> Result<Vec<(ResultFile, Judgement)>> {
        let views = merged.groups.iter().map(|group| merged.as_result(group));
        let each = views.map(|view| {
            let selection = Selection::new(&view, &arguments.metrics, &arguments.arms)
                .map_err(|unknown| unknown_name(&unknown))?;
            let judgement = gate::judge(&view, &[], rules(arguments), selection);
            Ok((view, judgement))
        });
        each.collect()
    };
    let alone = judged(own)?;
    let judged: Vec<(ResultFile, Judgement)> = judged(merged)?
        .into_iter()
        .zip(&alone)
        .map(|((view, judgement), (_, alone))| (view, judgement.in_company(alone)))
        .collect();
    let together = Together::of_groups(merged, &judged, sharing);
    let made = (arguments.format.it)(Judged::Merged(merged, &together), arguments.to.width())?;
    let outcome = outcome(
        &together.decision(),
        together.headline(),
        &several::remedy(merged),
    );
    deliver(&made, arguments, outcome)
}

/// A file that cannot be written is the error. Who stops reading standard output early gets the exit code all the same.
fn deliver(made: &Made, arguments: &Gate, outcome: Result<()>) -> Result<()> {
    let inputs: Vec<&PathBuf> = arguments.baseline.iter().chain(&arguments.files).collect();
    let delivered = arguments.to.deliver(made, &inputs);
    if arguments.to.is_file() {
        delivered?;
        return outcome;
    }
    outcome?;
    delivered
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
        mode: arguments.mode.it,
        require_verdict: arguments.require_verdict,
        other_kernel: arguments.other_kernel,
    }
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
