//! Where the files are that the terminal UI writes: rounds, intervals, tables and pictures.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use iosched_files::way;
use iosched_result::failure::Failure;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// `named`: by the user. Else the place of the XDG Base Directory Specification; where there is none, or it cannot be written
/// to, or another user could give its path another meaning, the working directory.
pub fn directory(named: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(named) = named {
        let name = named.display();
        if named.exists() && !named.is_dir() {
            return Err(Failure::usage(
                format!("{name} is no directory"),
                "name a directory with --directory, or in the configuration",
            ));
        }
        let path = std::path::absolute(&named).with_context(|| format!("finding {name}"))?;
        return match write_error(&path) {
            None => Ok(path),
            Some(error) => Err(Failure::usage(
                format!("{name} cannot be written to: {error}"),
                "name another directory with --directory, or in the configuration",
            )),
        };
    }
    let usual = usual(|name| std::env::var(name).ok());
    let usual = usual.filter(|path| matches!(way::doubt(path), Ok(None)));
    let usual = usual.filter(|path| write_error(path).is_none());
    match usual {
        Some(path) => Ok(path),
        None => std::env::current_dir().context("finding the working directory"),
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
        let error = directory(Some(file.path().to_owned())).unwrap_err();
        assert!(error.to_string().contains("is no directory"), "{error}");
        // Where nobody can write, also root cannot.
        let error = directory(Some("/proc/1/none/at/all".into())).unwrap_err();
        assert!(
            error.to_string().contains("cannot be written to"),
            "{error}"
        );
    }
}
