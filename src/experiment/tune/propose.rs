//! Arms that a command names: it reads on its standard input how the earlier ones did, a JSON object a line, and prints one arm a
//! line. docs/tune.md has the contract.

use std::ffi::OsStr;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched_host::system::ask::{self, Limits};
use iosched_result::failure::{Failure, Kind, kind_of};
use iosched_result::tune::score::standings;
use iosched_result::tune::search::may_name;
use iosched_result::tune::{Candidate, DEFAULT, From, Space, TuneResult};
use iosched_result::types::arm::Arm;
use serde_json::{Map, Value, json};

use crate::workload::fio_result::one_line;
use crate::workload::recorded;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(300),
    bytes: 1 << 20,
};

/// A longer line that is no arm is kept in part.
const LONGEST_LINE: usize = 200;

/// What the command prints.
pub fn ask(tune: &TuneResult, argv: &[String]) -> Result<String> {
    let (program, arguments) = argv.split_first().context("a command without words")?;
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let question = history(tune);
    let failed = |why: String| {
        Failure::runtime(
            format!("`{}`: {why}", recorded::shown(argv)),
            "mend it, and go on with `iosched-ab tune --resume FILE`",
        )
    };
    let answer = ask::ask_with_input(OsStr::new(program), &arguments, question.as_bytes(), LIMITS);
    let answer = answer.map_err(|error| match kind_of(&error) {
        Kind::Interrupted(_) => error,
        _ => failed(format!("{error:#}")),
    })?;
    if !answer.status.success() {
        let said = last_line(&String::from_utf8_lossy(&answer.stderr));
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        return Err(failed(format!("{}{said}", answer.status)));
    }
    // What is no text is no arm, either.
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// The last line, in which a traceback says what is wrong.
fn last_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    one_line(lines.next_back().unwrap_or_default())
}

fn settings(arm: &Arm) -> Value {
    let settings = arm.settings.iter();
    Value::Object(
        settings
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect::<Map<_, _>>(),
    )
}

/// The question, and then one line for each arm.
pub fn history(tune: &TuneResult) -> String {
    let default = &tune.candidates[DEFAULT].arm;
    let last = tune.stages.last().map(|stage| &stage.result);
    let goals = last
        .and_then(|result| result.design.goals.clone())
        .unwrap_or_default();
    let mut lines = vec![json!({
        "kind": "question",
        "device": last.map(|result| result.device.name()),
        "scheduler": default.scheduler,
        "settings": settings(default),
        "prefer": goals.prefer,
        "keep": goals.keep,
        "limits": goals.limits,
        "seed": tune.seed,
        "may_name": may_name(tune),
    })];
    let all: Vec<usize> = (0..tune.candidates.len()).collect();
    let found = standings(tune, &all);
    for (index, candidate) in tune.candidates.iter().enumerate().skip(DEFAULT + 1) {
        let arm = &candidate.arm;
        let mut line = json!({
            "kind": "arm",
            "arm": arm.label,
            "scheduler": arm.scheduler,
            "settings": settings(arm),
            "proposed": candidate.from == From::Proposal,
        });
        let standing = found.iter().find(|it| it.index == index);
        match (&candidate.left_out, standing) {
            (Some(why), _) => line["refused"] = json!(why),
            (None, Some(standing)) => {
                line["blocks"] = json!(standing.blocks);
                // Null: it stalled or failed.
                line["score"] = json!(standing.score.is_finite().then_some(standing.score));
                line["is_kept"] = json!(standing.violation <= 0.0);
            }
            (None, None) => continue,
        }
        lines.push(line);
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

/// Makes candidates of an answer, and says how many of its lines are none. One that names nothing new ends the proposals.
pub fn take(tune: &mut TuneResult, answer: &str) -> usize {
    // So many of those that are no arms are kept.
    const KEPT: usize = 20;
    let most = may_name(tune);
    let lines = answer.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut named, mut refused) = (0, 0);
    for line in lines {
        if named == most {
            break;
        }
        match candidate(tune, line) {
            Ok(candidate) => {
                named += 1;
                tune.candidates.push(candidate);
            }
            Err(why) => {
                refused += 1;
                if refused <= KEPT {
                    let line: String = line.chars().take(LONGEST_LINE).collect();
                    tune.skipped.push(format!("proposed {line:?}: {why}"));
                }
            }
        }
    }
    if let Space::Proposals { has_ended, .. } = &mut tune.space {
        *has_ended = named == 0;
    }
    refused
}

/// An arm of the disk's own settings: a proposal starts no commands and changes nothing else.
fn candidate(tune: &TuneResult, line: &str) -> Result<Candidate, String> {
    let arm: Arm = line
        .parse()
        .map_err(|error: anyhow::Error| error.to_string())?;
    if let Some(name) = arm.setting_elsewhere() {
        return Err(format!("{name} is not a setting of the disk"));
    }
    if arm.scheduler == iosched_result::types::arm::PRESENT {
        return Err("`present` is compared anyway".to_owned());
    }
    // Another label for the same would be another arm.
    let label = arm.to_string();
    if tune.index(&label).is_some() {
        return Err("it was tried already".to_owned());
    }
    Ok(Candidate {
        arm: Arm { label, ..arm },
        from: From::Proposal,
        left_out: None,
    })
}
