//! Names in the words of a command, which become paths, or the length of the round, when it starts.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use super::Execution;
use iosched_host::scratch::file::ScratchFile;
use iosched_result::failure::Failure;

/// The first device, the scratch directory, the scratch file, what was prepared for all rounds, this program, and the
/// length of the round in whole seconds, rounded up.
pub const NAMES: [&str; 6] = [
    DEVICE,
    "{scratch}",
    FILE,
    "{prepared}",
    "{iosched-ab}",
    "{round_seconds}",
];
pub const DEVICE: &str = "{device}";
pub const FILE: &str = "{file}";

/// Whether a word names something on a file system.
pub fn is_of_files(word: &str) -> bool {
    NAMES[1..4].iter().any(|name| word.contains(name))
}

/// The words with values instead of names.
pub fn fill(argv: &[OsString], round: &Execution<'_>) -> Result<Vec<OsString>> {
    let scratch = round.scratch_file;
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let values = [
        round.device_nodes.first().and_then(|it| text(it)),
        scratch.and_then(|it| text(it.directory())),
        scratch
            .and_then(ScratchFile::file)
            .and_then(|it| text(&it.path)),
        scratch.and_then(|it| text(&it.prepared())),
        text(round.launcher),
        Some(round.time.as_millis().div_ceil(1000).to_string()),
    ];
    let words = argv.iter().map(|word| match word.to_str() {
        Some(text) => with_values(text, &values).map(OsString::from),
        None => Ok(word.clone()),
    });
    words.collect()
}

fn with_values(text: &str, values: &[Option<String>; 6]) -> Result<String> {
    let mut text = text.to_owned();
    for (name, value) in NAMES.iter().zip(values) {
        if !text.contains(name) {
            continue;
        }
        let value = value.as_deref().ok_or_else(|| {
            Failure::usage(
                format!("the command names {name}, which does not exist here"),
                "name a mount point, or no device for a simulated disk",
            )
        })?;
        text = text.replace(name, value);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_values_and_what_is_missing_is_refused() {
        let values = [
            Some("/dev/sda".to_owned()),
            Some("/mnt/scratch".to_owned()),
            None,
            None,
            None,
            Some("6".to_owned()),
        ];
        let fill = |text| with_values(text, &values).map_err(|error| error.to_string());
        assert_eq!(fill("if={device}"), Ok("if=/dev/sda".to_owned()));
        assert_eq!(fill("{scratch}/a {b}"), Ok("/mnt/scratch/a {b}".to_owned()));
        assert_eq!(
            fill("--runtime={round_seconds}"),
            Ok("--runtime=6".to_owned())
        );
        assert!(fill("{file}").unwrap_err().contains("{file}"));
        assert!(is_of_files("-f{file}") && !is_of_files("{device}"));
    }
}
