//! The user's configuration of the terminal UI: a TOML file, read once at the start.
//!
//! The file is input like any other: it is read up to a limit and checked, and it cannot switch anything. A switch is
//! asked for in a dialog, and the keys of dialogs cannot be changed.

mod file;
mod print;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iosched_files::{input, interrupt, stdout, way};
use iosched_result::failure::Failure;
use iosched_result::report::escape;

use super::place;
use super::state::appearance::{Colors, Theme};
use super::state::keymap::Keymap;
use super::state::model::{Model, Sort};
use crate::cli;

/// Far more than every key and column takes.
const LIMIT: u64 = 1 << 20;
const NAME: &str = "iosched/config.toml";

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub theme: Theme,
    /// In seconds.
    pub interval: f64,
    pub has_mouse: bool,
    /// Whether intervals are kept, to go back to them.
    pub has_history: bool,
    /// The directory of the files that the UI writes, if the file names it.
    pub directory: Option<PathBuf>,
    pub colors: Colors,
    /// Columns of Processes, by their names; empty: as many as fit.
    pub columns: Vec<&'static str>,
    pub sort: Sort,
    pub is_reversed: bool,
    pub keys: Keymap,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            theme: Theme::Dark,
            interval: 1.0,
            has_mouse: true,
            has_history: true,
            directory: None,
            colors: Colors::default(),
            columns: Vec::new(),
            sort: Sort::Ios,
            is_reversed: false,
            keys: Keymap::default(),
        }
    }
}

impl Config {
    pub fn apply(self, model: &mut Model) {
        model.palette.theme = self.theme;
        model.palette.colors = self.colors;
        model.table.columns = self.columns;
        model.table.sort = self.sort;
        model.table.reversed = self.is_reversed;
        model.keys = self.keys;
    }
}

/// The file that is in force without `--config`; None if this user has no home directory.
fn usual_path(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name| place::absolute(&variable, name);
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join(NAME))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Reads the file; if there is none, the defaults are in force.
pub fn load(wanted: &cli::ConfigFile) -> Result<Config> {
    if wanted.no_config {
        return Ok(Config::default());
    }
    if let Some(path) = &wanted.config {
        return read(path);
    }
    match usual_path(variable) {
        Some(path) if is_there(&path) => {
            refuse_replaceable(&path)?;
            read(&path)
        }
        _ => Ok(Config::default()),
    }
}

/// Root uses no file that nobody named and that another user could put there: HOME and XDG_CONFIG_HOME may still be
/// those of who called su.
fn refuse_replaceable(path: &Path) -> Result<()> {
    let name = path.display();
    let of_way = way::doubt(path).with_context(|| format!("reading the path {name}"))?;
    let of_file = || input::read_with_doubt(path, LIMIT).ok()?.1;
    of_way.or_else(of_file).map_or(Ok(()), |why| {
        Err(Failure::refused(
            format!("another user can replace the configuration {name}: {why}"),
            "name it with --config FILE, or start with --no-config",
        ))
    })
}

/// Also a link to nowhere, which is an error. Not what another user's home directory hides: HOME may still be that of who
/// called su.
fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn read(path: &Path) -> Result<Config> {
    let name = path.display();
    let text = input::read_text(path, LIMIT).map_err(|error| {
        if let Some(signal) = interrupt::received() {
            return Failure::interrupted(signal);
        }
        Failure::usage(
            format!("the configuration {name} cannot be read: {error}"),
            "fix the file, or start with --no-config",
        )
    })?;
    file::parse(&name.to_string(), &text)
}

/// `iosched config`.
pub fn run(arguments: &cli::Config) -> Result<()> {
    let config = load(&arguments.file)?;
    let text = if arguments.print {
        print::text(&config)
    } else {
        status(arguments)
    };
    stdout::write_all(escape::page(&text).as_bytes()).context("writing the configuration")
}

/// Says which file is in force. The caller has read it without an error.
fn status(arguments: &cli::Config) -> String {
    let usual = usual_path(variable);
    let used = arguments.file.config.clone().or(usual.clone());
    match used {
        _ if arguments.file.no_config => "the defaults are in force\n".to_owned(),
        Some(path) if is_there(&path) => format!("{} is in force\n", path.display()),
        Some(path) => {
            let directory = path.parent().unwrap_or(&path).display();
            let path = path.display();
            let [directory, file] =
                [directory.to_string(), path.to_string()].map(|name| quoted(&name));
            format!(
                "{path} does not exist: the defaults are in force. To make it:\n  \
                 mkdir -p {directory} && iosched config --no-config --print > {file}\n"
            )
        }
        None => "neither XDG_CONFIG_HOME nor HOME is set: the defaults are in force\n".to_owned(),
    }
}

/// As a word of a shell.
fn quoted(name: &str) -> String {
    shlex::try_quote(name).map_or_else(|_| name.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_specification() {
        let path = |variables: &[(&str, &str)]| {
            usual_path(|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let home = ("HOME", "/home/ada");
        let is = |found: Option<PathBuf>, wanted: &str| assert_eq!(found, Some(wanted.into()));
        is(path(&[home]), "/home/ada/.config/iosched/config.toml");
        is(
            path(&[home, ("XDG_CONFIG_HOME", "/etc/ada")]),
            "/etc/ada/iosched/config.toml",
        );
        is(
            path(&[home, ("XDG_CONFIG_HOME", "here")]),
            "/home/ada/.config/iosched/config.toml",
        );
        assert_eq!(path(&[]), None);
    }
}
