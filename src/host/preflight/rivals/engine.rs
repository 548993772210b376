//! Starts the programs whose settings are looked for, to ask them what they will do: systemd and TuneD know their own files
//! better than a copy of their rules does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::system::ask::{self, Answer, Limits};
use iosched_files::interrupt;

/// Not what a search path may lead to: doctor runs as root.
const DIRECTORIES: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "sbin"];
/// A manager or bus that hangs must not hang doctor.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(10),
    bytes: 8 << 20,
};
/// Such messages are a line of a report.
const MOST_OF_A_MESSAGE: usize = 200;

/// Who says what is known of one kind of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program that acts by them.
    Asked(String),
    /// Our own reading, and why.
    Reading(String),
}

/// A program's name and answer; or why it could not be asked.
pub type Said<T> = std::result::Result<(String, T), String>;

pub fn source<T>(said: &Said<T>) -> Source {
    match said {
        Ok((program, _)) => Source::Asked(program.clone()),
        Err(why) => Source::Reading(why.clone()),
    }
}

/// The program of this name, below `root`.
pub fn program(root: &Path, name: &str) -> Option<PathBuf> {
    let paths = DIRECTORIES.map(|directory| root.join(directory).join(name));
    paths.into_iter().find(|path| path.exists())
}

/// However it ends.
pub fn any_answer(program: &Path, words: &[&str]) -> Result<Answer> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let answer = ask::ask_alone(program.as_os_str(), &words, LIMITS);
    // The message leaves out the words: one of them may be a whole program.
    answer.map_err(|error| anyhow::anyhow!("{}: {}", name(program), error.root_cause()))
}

fn name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default();
    name.display().to_string()
}

/// Fails if it ends with anything but success.
pub fn answer(program: &Path, words: &[&str]) -> Result<Answer> {
    let answer = any_answer(program, words)?;
    if !answer.status.success() {
        let message = last_line(&answer.stderr);
        anyhow::bail!("{} ended with {}{message}", name(program), answer.status);
    }
    Ok(answer)
}

/// The text on its standard output.
pub fn text(program: &Path, words: &[&str]) -> Result<String> {
    let answer = answer(program, words)?;
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

fn last_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    line.map_or_else(String::new, |line| {
        let line: String = line.trim().chars().take(MOST_OF_A_MESSAGE).collect();
        format!(": {line}")
    })
}

/// Why there is no answer, unless it is that the user ended doctor.
pub fn no_answer(error: &anyhow::Error) -> Result<String> {
    interrupt::check()?;
    Ok(format!("it gave no answer: {error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_no_answer_is_what_the_program_said() {
        let sh = program(Path::new("/"), "sh").unwrap();
        let error = text(&sh, &["-c", "echo x; echo no bus >&2; echo >&2; exit 3"]).unwrap_err();
        let why = no_answer(&error).unwrap();
        assert_eq!(
            why,
            "it gave no answer: sh ended with exit status: 3: no bus"
        );
        assert_eq!(
            text(&sh, &["-c", "echo yes; echo no >&2"]).unwrap(),
            "yes\n"
        );
    }

    #[test]
    fn a_program_that_fails_is_named_without_its_words() {
        let sh = program(Path::new("/"), "sh").unwrap();
        let error = text(&sh, &["-c", "head -c 9000000 /dev/zero"]).unwrap_err();
        let why = no_answer(&error).unwrap();
        assert!(
            why.starts_with("it gave no answer: sh: it printed more than"),
            "{why}"
        );
    }

    #[test]
    fn a_program_is_not_searched_for_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(program(root.path(), "sh"), None);
        let own = root.path().join("usr/sbin/x");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "").unwrap();
        assert_eq!(program(root.path(), "x"), Some(own));
    }
}
