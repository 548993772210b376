//! `iosched-ab`: dispatches the commands and turns errors into exit codes.

mod budget;
mod cache;
mod carry_out;
mod clash;
mod cli;
mod comparison;
mod consent;
mod demo;
mod disks;
mod limitations;
mod load;
mod outlook;
mod permission;
mod place;
mod present;
mod primary;
mod progress;
mod read_loop;
mod reference;
mod result_file;
mod resume;
mod rounds;
mod run;
mod schedule;
mod scratch;
mod seed;
mod self_check;
mod simulated;
mod study;
mod times;
mod tune;
mod washout;
mod workloads;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use iosched_experiment::workload;
use iosched_files::interrupt;
use iosched_host::safety::{guardian, journal, panics};
use iosched_read::messages::{self, note};
use iosched_read::program::{completions, exit_code, manual, reading, say};
use iosched_read::{evidence, gate, merge, metrics, persist, report};
use iosched_result::failure::{self, Kind};

fn main() -> ExitCode {
    // The guardian and the launcher of each workload are this same binary, started again.
    if let Some(code) = workload::launch::run_if_asked() {
        return code;
    }
    if let Some(outcome) = guardian::run_if_asked() {
        return if outcome.is_ok() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    panics::end_in_order(say, work)
}

fn work() -> ExitCode {
    let cli = Cli::parse();
    messages::begin("iosched-ab", cli.messages);
    let outcome = interrupt::install().and_then(|()| match cli.command {
        Command::Run(arguments) => changing(|| run::run(&arguments)),
        Command::Aa(arguments) => changing(|| run::placebo(&arguments)),
        Command::Study(arguments) if arguments.only_reads() => reading(|| study::show(&arguments)),
        Command::Study(arguments) => changing(|| study::run(&arguments)),
        Command::Tune(arguments) => changing(|| tune::run(&arguments)),
        Command::Demo(arguments) => changing(|| demo::run(&arguments)),
        Command::Scratch(arguments) => changing(|| scratch::run(&arguments)),
        Command::Report(arguments) => reading(|| report::run(&arguments)),
        Command::Gate(arguments) => reading(|| gate::run(&arguments)),
        Command::Evidence(arguments) => reading(|| evidence::run(&arguments)),
        Command::Merge(arguments) => reading(|| merge::run(&arguments)),
        Command::Persist(arguments) => reading(|| persist::run(&arguments, clash::notes)),
        Command::ReadLoop(arguments) => read_loop::run(&arguments),
        Command::Metrics => metrics::run(),
        Command::Workloads => workloads::list(),
        Command::Completions { shell } => completions(shell, Cli::command()),
        Command::Manual { command } => manual(command.as_deref(), Cli::command()),
        Command::SelfCheck => self_check::run(),
    });
    exit_code(outcome)
}

/// For commands that change the machine: first report what an earlier run left changed.
fn changing(command: impl FnOnce() -> Result<()>) -> Result<()> {
    for text in journal::notes() {
        note(&text);
    }
    let outcome = command();
    let kind = outcome.as_ref().err().map(failure::kind_of);
    if matches!(kind, Some(Kind::Interrupted(_))) {
        note("everything that was changed is as it was before");
    }
    outcome
}
