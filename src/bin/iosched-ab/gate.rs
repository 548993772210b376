//! `iosched-ab gate`: a verdict as an exit code.

use std::io::Write;

use anyhow::{Context, Result};
use iosched::ab::gate::{self, Mode, Outcome, Rules};
use iosched::ab::run::ensure_valid;
use iosched::failure::Failure;
use iosched::report::gate::render;

use crate::cli::{Gate, GateMode};
use crate::report;

pub fn run(arguments: &Gate) -> Result<()> {
    let result = report::read(&arguments.file)?;
    let baselines = arguments
        .baseline
        .iter()
        .map(|path| Ok((path.display().to_string(), report::read(path)?)))
        .collect::<Result<Vec<_>>>()?;
    ensure_valid(&result)?;
    let rules = Rules {
        mode: match arguments.mode {
            GateMode::Worse => Mode::Worse,
            GateMode::BeyondMargin => Mode::BeyondMargin,
            GateMode::Noninferior => Mode::Noninferior,
        },
        require_verdict: arguments.require_verdict,
        other_kernel: arguments.other_kernel,
    };
    let checks = gate::check(&result, &baselines, rules).map_err(|why| {
        Failure::undecided(
            format!("incomparable: {}", why.join("; ")),
            "a gate holds a complete run, and baselines of the same device, workload and reference",
        )
    })?;
    let mut out = std::io::stdout().lock();
    out.write_all(render(&checks).as_bytes())
        .context("writing the gate's table")?;
    let count = |outcome| checks.iter().filter(|c| c.outcome == outcome).count();
    let (failed, open) = (count(Outcome::Failed), count(Outcome::Undecided));
    match gate::overall(&checks) {
        Outcome::Passed => Ok(()),
        Outcome::Failed => Err(Failure::gate_failed(
            format!("{failed} of {} comparisons failed the gate", checks.len()),
            "",
        )),
        Outcome::Undecided => Err(Failure::undecided(
            format!("{open} of {} comparisons have no decision", checks.len()),
            "more rounds, or a wider margin, may decide them",
        )),
    }
}
