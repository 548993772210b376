//! The command line of `iosched-ab gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::metric_name;

pub const HELP: &str = "\
Without --baseline, each arm is compared with the reference of the same run: in `run`,
name the old settings as --reference. With --baseline, the ratio of each arm to the
reference is compared with the same ratio in earlier runs. Five or more baselines show
how much it varies from run to run. With fewer, 10 % is assumed, the table says so, and
an arm is better or worse only if the intervals of the runs are also apart.

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
  iosched-ab gate result.json --baseline nightly-*.json
  iosched-ab gate result.json --mode beyond-margin --baseline nightly-2026-0[34]-*.json
  iosched-ab gate result.json --metric throughput --arm bfq
  iosched-ab gate result.json --format junit -o junit.xml
  iosched-ab gate - --format markdown <result.json >>\"$GITHUB_STEP_SUMMARY\"";

#[derive(Args)]
pub struct Gate {
    /// Result file to judge, `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
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
    #[arg(long, value_enum, default_value_t = GateMode::Worse)]
    pub mode: GateMode,
    /// Do not pass inconclusive comparisons (exit code 4)
    #[arg(long)]
    pub require_verdict: bool,
    /// Accept baselines from another kernel, to test a kernel
    #[arg(long)]
    pub other_kernel: bool,
    /// Format of the findings
    #[arg(long, value_enum, default_value_t = GateFormat::Text)]
    pub format: GateFormat,
    /// File to write, `-` for standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GateFormat {
    /// Table for people
    Text,
    /// All findings with the exit code; docs/gate-1.schema.json is its schema
    Json,
    /// For a CI step summary or a comment
    Markdown,
    /// One page with pictures: the findings, then the report
    Html,
    /// One test case per comparison
    Junit,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GateMode {
    /// An arm is shown to be worse
    Worse,
    /// An arm is shown to be worse by more than the margin
    BeyondMargin,
    /// An arm is not shown to be at most the margin worse (exit code 3 if it is worse, else 4)
    Noninferior,
}
