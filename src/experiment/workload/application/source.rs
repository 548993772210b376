//! Where metrics of the application are read: what a command prints, a file, a page on this or another machine.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use iosched_files::{input, interrupt};
use iosched_host::system::ask::{self, Limits};
use iosched_result::failure::{Failure, Kind, kind_of};

use crate::workload::fio_result::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Command(Vec<String>),
    File(PathBuf),
    Url(String),
}

/// A reading is one of two, and what comes later than this belongs to another moment.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(5),
    bytes: 16 << 20,
};

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Command(words) => f.write_str(&crate::workload::recorded::shown(words)),
            Source::File(path) => path.display().fmt(f),
            Source::Url(url) => f.write_str(url),
        }
    }
}

impl Source {
    /// All of its text. Outer error: this program was interrupted.
    pub fn read(&self) -> Result<Result<String, String>> {
        let read = match self {
            Source::Command(words) => told(words),
            Source::File(path) => input::read_text(path, LIMITS.bytes as u64).map_err(Into::into),
            Source::Url(url) => fetched(url),
        };
        interrupt::check()?;
        match read {
            Ok(text) => Ok(Ok(text)),
            Err(error) if matches!(kind_of(&error), Kind::Interrupted(_)) => Err(error),
            Err(error) => Ok(Err(format!("{error:#}"))),
        }
    }
}

fn told(words: &[String]) -> Result<String> {
    let (program, arguments) = words.split_first().context("a command without words")?;
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let answer = ask::ask(OsStr::new(program), &arguments, LIMITS)?;
    if !answer.status.success() {
        let said = one_line(&String::from_utf8_lossy(&answer.stderr));
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        return Err(Failure::runtime(format!("{}{said}", answer.status), ""));
    }
    String::from_utf8(answer.stdout).context("what it printed is not UTF-8")
}

/// A redirection is no page, and a proxy would be another machine than the one that is named.
fn fetched(url: &str) -> Result<String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(LIMITS.time))
        .max_redirects(0)
        .proxy(None)
        .build()
        .into();
    let mut answer = agent.get(url).call().map_err(in_words)?;
    let status = answer.status();
    if !status.is_success() {
        return Err(Failure::runtime(format!("the answer is {status}"), ""));
    }
    let body = answer.body_mut().with_config().limit(LIMITS.bytes as u64);
    body.read_to_string().map_err(in_words)
}

fn in_words(error: ureq::Error) -> anyhow::Error {
    match error {
        ureq::Error::Timeout(_) => Failure::runtime(
            format!("no whole answer within {} s", LIMITS.time.as_secs()),
            "",
        ),
        ureq::Error::Io(error) => Failure::runtime(format!("the answer is cut: {error}"), ""),
        other => other.into(),
    }
}
