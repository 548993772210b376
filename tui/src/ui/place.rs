//! The directory and the names of the files that the terminal UI writes: rounds, intervals, tables and pictures.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use iosched_files::way;
use iosched_result::failure::Failure;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::config::Config;
use crate::cli::Look;

/// The directory that the command line or else the configuration names, or that of the XDG Base Directory Specification. The
/// working directory takes its place if there is none, if it cannot be written to, and if another user could give its path
/// another meaning.
pub fn directory(look: &Look, config: &Config) -> Result<PathBuf> {
    let named = look.directory.as_ref().or(config.directory.as_ref());
    if let Some(named) = named {
        return directory_named(named);
    }
    let usual = usual(|name| std::env::var(name).ok());
    let usual = usual.filter(|path| matches!(way::doubt(path), Ok(None)));
    let usual = usual.filter(|path| write_error(path).is_none());
    match usual {
        Some(path) => Ok(path),
        None => std::env::current_dir().context("finding the working directory"),
    }
}

fn directory_named(named: &Path) -> Result<PathBuf> {
    let advice = "name another directory with --directory, or in the configuration";
    let name = named.display();
    if named.exists() && !named.is_dir() {
        return Err(Failure::usage(format!("{name} is no directory"), advice));
    }
    let path = std::path::absolute(named).with_context(|| format!("finding {name}"))?;
    match write_error(&path) {
        None => Ok(path),
        Some(error) => Err(Failure::usage(
            format!("{name} cannot be written to: {error}"),
            advice,
        )),
    }
}

/// Why nothing can be written there, or made where a part of the path is missing.
fn write_error(path: &Path) -> Option<Errno> {
    let there = path.ancestors().find(|part| part.exists())?;
    access(there, Access::WRITE_OK | Access::EXEC_OK).err()
}

fn usual(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let state = absolute(&variable, "XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute(&variable, "HOME")?.join(".local/state")))?;
    Some(state.join("iosched"))
}

/// The specification ignores relative paths.
pub fn absolute(variable: impl Fn(&str) -> Option<String>, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(variable(name)?);
    path.is_absolute().then_some(path)
}

/// `iosched-WHAT-TIME.ENDING` in a directory.
pub fn file(directory: &Path, what: &str, ending: &str) -> PathBuf {
    let stamp: String = time_of_day()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    directory.join(format!("iosched-{what}-{stamp}.{ending}"))
}

/// RFC 3339.
pub fn time_of_day() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_specification() {
        let path = |variables: &[(&str, &str)]| {
            usual(|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let home = ("HOME", "/home/ada");
        let is = |found: Option<PathBuf>, wanted: &str| assert_eq!(found, Some(wanted.into()));
        is(path(&[home]), "/home/ada/.local/state/iosched");
        is(
            path(&[home, ("XDG_STATE_HOME", "/var/ada")]),
            "/var/ada/iosched",
        );
        is(
            path(&[home, ("XDG_STATE_HOME", "here")]),
            "/home/ada/.local/state/iosched",
        );
        assert_eq!(path(&[]), None);
    }

    #[test]
    fn a_file_is_no_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = directory_named(file.path()).unwrap_err();
        assert!(error.to_string().contains("is no directory"), "{error}");
        // Nobody can write there, not even root.
        let error = directory_named(Path::new("/proc/1/none/at/all")).unwrap_err();
        assert!(
            error.to_string().contains("cannot be written to"),
            "{error}"
        );
    }
}
