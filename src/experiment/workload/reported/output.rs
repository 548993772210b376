//! Output and files of a command in its round, read with limits.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use iosched_files::input;
use iosched_files::output::new_private_directory;
use iosched_result::types::outcome::{Excerpt, Output};

/// Names of the files in the round's directory.
pub const STDOUT: &str = "command.stdout";
pub const STDERR: &str = "command.stderr";
/// Directory of the files that the command itself writes; it may belong to another user.
const OWN: &str = "own";
const METRICS: &str = "metrics";
/// Prefix of pgbench's transaction logs.
const TRANSACTIONS: &str = "transactions";

/// `$IOSCHED_METRICS`.
pub fn metrics(round: &Path) -> PathBuf {
    round.join(OWN).join(METRICS)
}

/// Prefix of the paths of pgbench's transaction logs.
pub fn transactions(round: &Path) -> PathBuf {
    round.join(OWN).join(TRANSACTIONS)
}

/// Makes the command's own directory, and gives it to the user and group.
pub fn make_own(round: &Path, owner: Option<(u32, u32)>) -> std::io::Result<()> {
    let own = round.join(OWN);
    new_private_directory(&own)?;
    let Some((uid, gid)) = owner else {
        return Ok(());
    };
    chown(&own, Some(uid), Some(gid))?;
    // Nothing else in it can be listed, or written.
    fs::set_permissions(round, Permissions::from_mode(0o711))
}

/// Only the end of longer output is parsed.
const LONGEST_OUTPUT: u64 = 16 << 20;
const LONGEST_METRICS_FILE: u64 = 1 << 20;
const LONGEST_LOG: u64 = 1 << 30;
/// Number of bytes kept in the result from the beginning and from the end of the output.
const HEAD_BYTES: usize = 1000;
const TAIL_BYTES: usize = 3000;

/// All sources of metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    pub metrics_file: String,
    /// Paths of the transaction logs, which are not read here.
    pub logs: Vec<PathBuf>,
}

/// Reads the round's directory. Err: which file cannot be used, and why.
pub fn read(directory: &Path) -> Result<(Printed, Output), String> {
    let (stdout, of_stdout) = read_end(directory, STDOUT)?;
    let (stderr, of_stderr) = read_end(directory, STDERR)?;
    let metrics_file = match input::read_output(&metrics(directory), LONGEST_METRICS_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("the file $IOSCHED_METRICS cannot be read: {error}")),
    };
    let printed = Printed {
        stdout,
        stderr,
        metrics_file,
        logs: logs(directory)?,
    };
    let output = Output {
        stdout: of_stdout,
        stderr: of_stderr,
    };
    Ok((printed, output))
}

/// A missing file counts as empty: the command may not have been started.
fn read_end(directory: &Path, name: &str) -> Result<(String, Excerpt), String> {
    let path = &directory.join(name);
    let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
    let (text, _) = match input::tail(path, LONGEST_OUTPUT) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
        other => other.map_err(|error| format!("{name} of the command cannot be read: {error}"))?,
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let excerpt = if bytes > LONGEST_OUTPUT {
        let head = input::head(path, HEAD_BYTES as u64).unwrap_or_default();
        excerpt(bytes, &String::from_utf8_lossy(&head), &text)
    } else {
        excerpt(bytes, &text, &text)
    };
    Ok((text, excerpt))
}

fn excerpt(bytes: u64, beginning: &str, end: &str) -> Excerpt {
    if bytes <= (HEAD_BYTES + TAIL_BYTES) as u64 {
        return Excerpt {
            bytes,
            head: end.to_owned(),
            tail: None,
        };
    }
    let mut head = HEAD_BYTES.min(beginning.len());
    while !beginning.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = end.len().saturating_sub(TAIL_BYTES);
    while !end.is_char_boundary(tail) {
        tail += 1;
    }
    Excerpt {
        bytes,
        head: beginning[..head].to_owned(),
        tail: Some(end[tail..].to_owned()),
    }
}

fn logs(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory.join(OWN))
        .into_iter()
        .flatten()
        .flatten();
    let is_log = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(TRANSACTIONS))
    };
    let mut logs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_log).collect();
    logs.sort();
    let sizes = logs
        .iter()
        .map(|log| fs::metadata(log).map_or(0, |of| of.len()));
    if sizes.sum::<u64>() > LONGEST_LOG {
        return Err("the log of transactions is longer than 1 GiB".to_owned());
    }
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_and_the_tail_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(STDOUT), "short\n").unwrap();
        let long = format!("begin{}ü the end", "é".repeat(5000));
        fs::write(directory.path().join(STDERR), &long).unwrap();
        let (printed, output) = read(directory.path()).unwrap();
        assert_eq!(
            (printed.stdout.as_str(), printed.stderr),
            ("short\n", long.clone())
        );
        assert_eq!(
            (output.stdout.head.as_str(), output.stdout.tail),
            ("short\n", None)
        );
        assert!(output.stderr.head.starts_with("beginé") && output.stderr.head.len() <= HEAD_BYTES);
        let tail = output.stderr.tail.unwrap();
        assert!(tail.ends_with("ü the end") && tail.len() <= TAIL_BYTES);
        assert_eq!(output.stderr.bytes, long.len() as u64);
    }

    #[test]
    fn a_pipe_in_the_place_of_the_output_is_named_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join(STDOUT);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let why = read(directory.path()).unwrap_err();
        let says = "command.stdout of the command cannot be read: it is a pipe, not a file";
        assert_eq!(why, says);
    }

    #[test]
    fn metrics_that_are_not_text_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        make_own(directory.path(), None).unwrap();
        fs::write(metrics(directory.path()), b"\xff\xfe").unwrap();
        let why = read(directory.path()).unwrap_err();
        assert!(
            why.contains("$IOSCHED_METRICS") && why.contains("UTF-8"),
            "{why}"
        );
    }
}
