//! `iosched restore`.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use iosched_files::stdout;
use iosched_host::safety::journal::{self, Found, LeftBehind, Origin, Suspect, Undo};
use iosched_result::failure::Failure;
use iosched_result::report::escape;

use crate::cli::Restore;

pub fn run(arguments: &Restore) -> Result<()> {
    if let Some(path) = &arguments.trust {
        return put_back_trusted(path);
    }
    if let Some(path) = &arguments.set_aside {
        return set_aside(path);
    }
    let left_behind = journal::left_behind()?;
    if !arguments.list {
        journal::remove_unfinished_of_the_dead()?;
    }
    if left_behind.is_empty() {
        say("Nothing to restore.");
        return Ok(());
    }
    let mut problems = Vec::new();
    for found in left_behind {
        match found {
            Found::Suspect(suspect) => {
                show_suspect(&suspect);
                problems.push(format!("{suspect}\n  {}", suspect.remedy()));
            }
            Found::LeftBehind(left) => {
                show(&left);
                if !arguments.list {
                    problems.extend(put_back(left));
                }
            }
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::runtime(
        problems.join("\n"),
        "`iosched restore --list` still shows what was not restored",
    ))
}

/// Returns the errors.
fn put_back(left: LeftBehind) -> Vec<String> {
    let (mut restored, mut left_alone) = (0, 0);
    let mut tell = |undo: &Undo, why: Option<&str>| {
        match why {
            Some(_) => left_alone += 1,
            None => restored += 1,
        }
        let what = why.unwrap_or("restored");
        say(&format!("  {}: {what}", undo.describe()));
    };
    let outcome = left.restore_and_tell(&mut tell);
    let errors = outcome.unwrap_or_else(|error| vec![error]);
    if errors.is_empty() {
        say(match (restored, left_alone) {
            (_, 0) => "Everything was restored.",
            (0, _) => "Nothing was restored: there was nothing left to restore.",
            _ => "The rest was restored; what was left alone is named above.",
        });
    }
    errors.iter().map(|error| format!("{error:#}")).collect()
}

fn put_back_trusted(path: &Path) -> Result<()> {
    let left = journal::trusted(path)?;
    show(&left);
    let problems = put_back(left);
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::runtime(
        problems.join("\n"),
        "fix the cause and try again",
    ))
}

fn set_aside(path: &Path) -> Result<()> {
    let aside = journal::set_aside(path)?;
    say(&format!(
        "Nothing was restored. The journal was renamed to {}",
        aside.display()
    ));
    Ok(())
}

fn show(left: &LeftBehind) {
    let when = match left.origin() {
        Origin::ThisBoot => "",
        Origin::EarlierBoot => ", before the last boot",
        Origin::AnotherMachine => ", on another machine",
    };
    let since = match left.started() {
        "" => String::new(),
        time => format!(", started {time}"),
    };
    say(&format!(
        "Process {} ({}){since}{when} left behind:",
        left.pid,
        left.command()
    ));
    for line in left.describe() {
        say(&format!("  {line}"));
    }
}

fn show_suspect(suspect: &Suspect) {
    match suspect.content() {
        Some(content) => show(content),
        None => say(&format!("{} cannot be read.", suspect.path.display())),
    }
}

/// Ignores write errors: a closed pipe must not stop the restore.
fn say(line: &str) {
    let _ = writeln!(stdout::lines(), "{}", escape::line(line));
}
