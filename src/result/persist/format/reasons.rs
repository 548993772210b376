//! A decision and what it is based on, as comments. Pure.

use crate::persist::evidence::MARK;
use crate::persist::quote::comment;
use crate::persist::{Decision, Reason};

/// What was decided, then each measurement, and a line of JSON of each for `iosched doctor`.
pub fn reasons(decision: &Decision) -> String {
    let what = format!(
        "{} for {}, by iosched-ab persist. Measured:",
        decision.what(),
        decision.whom()
    );
    let each = decision.reasons.iter().map(measured);
    as_comment(&what) + &each.collect::<String>()
}

fn measured(reason: &Reason) -> String {
    let evidence = &reason.evidence;
    let lines: Vec<String> = if let Some(block) = &reason.block {
        block.lines().map(str::to_owned).collect()
    } else {
        let found = reason.found.iter().map(|found| format!("  {found}"));
        let how = format!(
            "Workload {}, Linux {}, firmware {}, {}, seed {}.",
            evidence.workload,
            evidence.kernel,
            evidence.firmware.as_deref().unwrap_or("unknown"),
            evidence.measured,
            evidence.seed
        );
        found.chain([how]).collect()
    };
    let mut text: String = lines.iter().map(|line| as_comment(line)).collect();
    // Its names are as comment() left them.
    text += MARK;
    text += &serde_json::to_string(evidence).unwrap_or_default();
    text + "\n"
}

/// One line.
pub fn as_comment(text: &str) -> String {
    let line = format!("# {}", comment(text));
    line.trim_end().to_owned() + "\n"
}
