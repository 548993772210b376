//! Any command as a workload: it runs to its end, and its duration is the result. No shell is involved.

mod benchmark; // the benchmark that a command line runs
mod running; // while it runs

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::benchmark::Benchmark;
use self::running::RunningCommand;
use super::cgroup::Group;
use super::description::Description;
use super::launch::{self, Launch};
use super::properties::Properties;
use super::reported::pattern::Pattern;
use super::reported::programs::{self, Program};
use super::reported::{Sources, known, output};
use super::rights::{Rights, User};
use super::{Execution, Running, Workload, places};
use iosched_files::interrupt;
use iosched_host::safety::journal::Journal;
use iosched_result::failure::Failure;
use iosched_result::metric::profile::{Part, Profile, Reports};
use iosched_result::types::outcome::Fixed;

pub struct CommandLine {
    name: String,
    argv: Vec<OsString>,
    limit: Option<Duration>,
    writes: bool,
    /// `--parse`: a program's name, or `none`.
    parse: Option<String>,
    sources: Rc<Sources>,
    /// The benchmark that it is known to run, whether or not its output is read.
    benchmark: Option<Rc<Benchmark>>,
    /// Whether its words may name places.
    has_places: bool,
    /// Whom it runs as; None: as this process.
    user: Option<User>,
}

/// Value of `--parse` for no parser at all.
const NONE: &str = "none";

impl CommandLine {
    /// `writes`: whether the command writes; this cannot be derived from a command line.
    pub fn new(argv: Vec<OsString>, writes: bool, limit: Option<Duration>) -> Result<Self> {
        ensure!(
            argv.first().is_some_and(|program| !program.is_empty()),
            Failure::usage(
                "no command to run",
                "add it after --: iosched-ab run ... -- COMMAND"
            )
        );
        let name = Path::new(&argv[0]).file_name().unwrap_or(&argv[0]);
        CommandLine {
            name: name.to_string_lossy().into_owned(),
            benchmark: Benchmark::of(&argv).map(Rc::new),
            argv,
            limit,
            writes,
            parse: None,
            sources: Rc::default(),
            has_places: false,
            user: None,
        }
        .with_sources(None, Vec::new())
    }

    /// Where to find metrics in its output: `parse` names a built-in parser, or `none`.
    pub fn with_sources(mut self, parse: Option<&str>, patterns: Vec<Pattern>) -> Result<Self> {
        let benchmark = self.benchmark.as_deref();
        let is_in_shell = parse.is_none() && benchmark.is_some_and(|found| found.is_in_shell);
        let program = match parse {
            Some(NONE) => None,
            Some(name) => Some(programs::find(name).ok_or_else(|| unknown_parser(name))?),
            // Who takes a number from a script does not want all the others.
            None if is_in_shell && !patterns.is_empty() => None,
            None => benchmark.map(|found| found.program),
        };
        let mut names = BTreeSet::new();
        if let Some(twice) = patterns.iter().find(|it| !names.insert(it.name())) {
            return Err(Failure::usage(
                format!("two --metric-regex have the name {}", twice.name()),
                "give each metric a name of its own",
            ));
        }
        self.parse = parse.map(str::to_owned);
        self.sources = Rc::new(Sources {
            program,
            is_program_sure: parse.is_some(),
            is_in_shell,
            looks_for_reports: parse.is_none(),
            patterns,
        });
        Ok(self)
    }

    /// Its words may name [`places::NAMES`], which are replaced by paths when it starts.
    #[must_use]
    pub fn with_places(mut self) -> Self {
        self.has_places = true;
        self
    }

    /// It runs as this user, with no other rights.
    pub fn with_user(mut self, name: Option<&str>) -> Result<Self> {
        self.user = name.map(User::find).transpose()?;
        Ok(self)
    }

    /// The arguments of one round: pgbench's log goes to the round's directory.
    fn argv_in(&self, round: &Execution<'_>) -> Result<Vec<OsString>> {
        let mut argv = self.argv.clone();
        if self.has_places {
            argv = places::fill(&argv, round)?;
        }
        let logs = self.benchmark.as_ref().filter(|found| !found.is_in_shell);
        if logs.is_some_and(|found| self.reads(found.program) && (found.program.logs)(&found.words))
        {
            let mut prefix = OsString::from("--log-prefix=");
            prefix.push(output::transactions(round.directory));
            argv.push(prefix);
        }
        Ok(argv)
    }

    fn reads(&self, program: &Program) -> bool {
        let reads = self.sources.program;
        reads.is_some_and(|read| read.name == program.name)
    }

    /// Whether numbers are read from its output: then it is to be in no other language.
    fn is_read(&self) -> bool {
        let is_beside = || programs::find(&self.name).is_some_and(programs::wrappers::is_beside);
        self.sources.program.is_some() || !self.sources.patterns.is_empty() || is_beside()
    }

    fn reports(&self) -> Reports {
        let program = self.sources.program;
        let Some((program, names)) = program.and_then(|it| Some((it, known::names_of(it)?))) else {
            return Reports::Anything;
        };
        let own = self.sources.patterns.iter().map(Pattern::name);
        Reports::Known {
            of: program.name.to_owned(),
            patterns: names.into_iter().chain(own.map(str::to_owned)).collect(),
            // A benchmark does not write to $IOSCHED_METRICS, and a script that runs it may.
            is_all: self.parse.is_none() && is_called(&self.argv[0], program.name),
        }
    }
}

/// Whether the first word of a command is that program.
fn is_called(word: &OsStr, name: &str) -> bool {
    Path::new(word).file_name().is_some_and(|it| it == name)
}

fn unknown_parser(name: &str) -> anyhow::Error {
    Failure::usage(
        format!("there is no parser {name}"),
        format!("choose one of: {NONE}, {}", programs::names().join(", ")),
    )
}

/// Runs a user's command in the foreground, with our input and output, and returns its exit code (128 plus the number
/// for a signal, 127 if it could not be run). If this process receives a signal, the command is killed and waited for,
/// so that none of its processes remains.
pub fn foreground(journal: &Journal, launcher: &Path, argv: &[OsString]) -> Result<i32> {
    let group = Group::create(journal, "foreground")?;
    let mut child = launch::foreground(launcher, argv, &group)?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(interrupted) = interrupt::check() {
            child.kill()?;
            child.wait()?;
            return Err(interrupted);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    group.end()?;
    Ok(status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

impl Workload for CommandLine {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Value {
        let argv = self.argv.iter().map(|word| word.to_string_lossy().into());
        let regexes = self.sources.patterns.iter().map(Pattern::text);
        Description::Command {
            argv: argv.collect(),
            limit_ms: self.limit.map(|limit| limit.as_millis() as u64),
            places: self.has_places,
            user: self.user.as_ref().map(|user| user.name.clone()),
            parse: self.parse.clone(),
            parser: self.sources.program.map(|program| program.name.to_owned()),
            metric_regexes: regexes.map(str::to_owned).collect(),
        }
        .value()
    }

    fn properties(&self) -> Properties {
        let group = Part {
            label: "command".to_owned(),
            does: None,
        };
        let found = self.benchmark.as_ref();
        Properties {
            writes: self.writes,
            may_claim_the_device: true,
            without_latency: Some("a command does not report the latency of its I/Os".to_owned()),
            may_report: true,
            ends_by_the_clock: found.is_some_and(|found| (found.program.is_timed)(&found.words)),
            profile: Profile {
                groups: vec![group],
                reports: self.reports(),
                ..Profile::default()
            },
            ..Properties::new(Fixed::Work)
        }
    }

    fn check(&self) -> Result<()> {
        let program = &self.argv[0];
        let is_name = |program: &OsString| !program.to_string_lossy().contains(['/', '{']);
        // Otherwise the start of the first round tells.
        if !self.has_places || !is_name(program) || launch::is_in_path(program) {
            return Ok(());
        }
        Err(Failure::runtime(
            format!("{} is not in PATH", program.display()),
            "install it, or add its directory to PATH (Debian has PostgreSQL's in /usr/lib/postgresql/*/bin)",
        ))
    }

    fn start(&mut self, round: &Execution<'_>) -> Result<Box<dyn Running>> {
        let group = round.group("command")?;
        let user = self.user.as_ref();
        output::make_own(round.directory, user.map(User::ids))
            .context("making the command's own directory")?;
        let scratch = match (user, round.scratch_file) {
            (Some(user), Some(scratch)) => Some(scratch.of_user(user.ids())?),
            (None, Some(scratch)) => Some(scratch.directory().to_owned()),
            (_, None) => None,
        };
        let process = launch::start(
            &Launch {
                launcher: round.launcher,
                argv: &self.argv_in(round)?,
                rights: user.map_or(Rights::All, Rights::Of),
                environment: &environment(round, scratch, self.is_read()),
                working_directory: None,
                stdout: &round.directory.join(output::STDOUT),
                stderr: round.directory.join(output::STDERR),
            },
            &group,
        )?;
        Ok(Box::new(RunningCommand {
            name: self.name.clone(),
            reference: group.reference(),
            group: Some(group),
            process,
            started: Instant::now(),
            limit: self.limit,
            outcome: None,
            directory: round.directory.to_owned(),
            sources: Rc::clone(&self.sources),
        }))
    }
}

fn environment(
    round: &Execution<'_>,
    scratch: Option<PathBuf>,
    is_read: bool,
) -> Vec<(&'static str, OsString)> {
    let nodes: Vec<&OsStr> = round.device_nodes.iter().map(|n| n.as_os_str()).collect();
    let mut variables = vec![
        (
            "IOSCHED_DEVICE",
            nodes.first().copied().unwrap_or_default().into(),
        ),
        ("IOSCHED_DEVICES", nodes.join(OsStr::new(" "))),
        ("IOSCHED_ARM", round.arm.map_or("", |arm| &arm.label).into()),
        ("IOSCHED_BLOCK", round.block.to_string().into()),
        ("IOSCHED_ROUND", round.index.to_string().into()),
        ("IOSCHED_SEED", round.seed.to_string().into()),
        ("IOSCHED_METRICS", output::metrics(round.directory).into()),
    ];
    if is_read {
        // Decimal points, and the words that the readers know.
        variables.push(("LC_ALL", "C".into()));
    }
    if let Some(scratch) = scratch {
        variables.push(("IOSCHED_SCRATCH", scratch.into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::failure::{Kind, kind_of};
    use serde_json::json;

    #[test]
    fn a_command_is_described_as_it_was_given() {
        let argv = vec!["/usr/bin/cp".into(), "a b".into(), "$HOME".into()];
        let command = CommandLine::new(argv, false, Some(Duration::from_secs(2))).unwrap();
        assert_eq!(command.name(), "cp");
        assert_eq!(
            command.description(),
            json!({ "kind": "command", "argv": ["/usr/bin/cp", "a b", "$HOME"], "limit_ms": 2000 })
        );
        assert_eq!(command.properties().fixed, Fixed::Work);
    }

    #[test]
    fn a_benchmark_is_found_behind_what_runs_it() {
        for (line, expected) in [
            ("perf stat -d fio --name=a", Some("fio")),
            ("/usr/bin/time -v nice pgbench -T 5", Some("pgbench")),
            ("time -v cp a b", None),
            ("perf stat cp a b", None),
            ("./ycsb.sh run basic", Some("ycsb")),
            ("mariadb-slap -a", Some("mysqlslap")),
            ("cp fio x", None),
        ] {
            let argv = line.split(' ').map(OsString::from).collect();
            let command = CommandLine::new(argv, false, None).unwrap();
            let found = command.sources.program.map(|program| program.name);
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_no_command() {
        for argv in [vec![], vec![OsString::new()]] {
            let Err(error) = CommandLine::new(argv, false, None) else {
                panic!("an empty command was accepted")
            };
            assert_eq!(kind_of(&error), Kind::Usage);
        }
    }
}
