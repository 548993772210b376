//! Names of places in the words of a command, which become paths when it starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Execution;
use iosched_host::scratch::file::ScratchFile;
use iosched_result::failure::Failure;

/// The first device, the scratch directory, the scratch file, what was prepared for all rounds, and this program.
pub const NAMES: [&str; 5] = [DEVICE, "{scratch}", FILE, "{prepared}", "{iosched-ab}"];
pub const DEVICE: &str = "{device}";
pub const FILE: &str = "{file}";

/// Whether a word names something on a file system.
pub fn is_of_files(word: &str) -> bool {
    NAMES[1..4].iter().any(|name| word.contains(name))
}

/// The words with paths instead of names.
pub fn fill(argv: &[OsString], round: &Execution<'_>) -> Result<Vec<OsString>> {
    let scratch = round.scratch_file;
    let paths: [Option<PathBuf>; 5] = [
        round.device_nodes.first().cloned(),
        scratch.map(|it| it.directory().to_owned()),
        scratch
            .and_then(ScratchFile::file)
            .map(|it| it.path.clone()),
        scratch.map(ScratchFile::prepared),
        Some(round.launcher.to_owned()),
    ];
    let words = argv.iter().map(|word| match word.to_str() {
        Some(text) => with_paths(text, &paths).map(OsString::from),
        None => Ok(word.clone()),
    });
    words.collect()
}

fn with_paths(text: &str, paths: &[Option<PathBuf>; 5]) -> Result<String> {
    let mut text = text.to_owned();
    for (name, path) in NAMES.iter().zip(paths) {
        if !text.contains(name) {
            continue;
        }
        let path = path.as_deref().and_then(Path::to_str).ok_or_else(|| {
            Failure::usage(
                format!("the command names {name}, which does not exist here"),
                "name a mount point, or no device for a simulated disk",
            )
        })?;
        text = text.replace(name, path);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_and_what_is_missing_is_refused() {
        let paths = [
            Some("/dev/sda".into()),
            Some("/mnt/scratch".into()),
            None,
            None,
            None,
        ];
        let fill = |text| with_paths(text, &paths).map_err(|error| error.to_string());
        assert_eq!(fill("if={device}"), Ok("if=/dev/sda".to_owned()));
        assert_eq!(fill("{scratch}/a {b}"), Ok("/mnt/scratch/a {b}".to_owned()));
        assert!(fill("{file}").unwrap_err().contains("{file}"));
        assert!(is_of_files("-f{file}") && !is_of_files("{device}"));
    }
}
