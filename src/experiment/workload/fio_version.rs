//! Asks fio for its version, and refuses one that is too old.

use std::ffi::OsStr;
use std::time::Duration;

use anyhow::Result;

use iosched_host::system::ask::{self, Limits};
use iosched_result::failure::{Failure, Kind, kind_of};

/// fio 3.0 introduced histogram bins in ns and the `json+` format read here. Versions before 3.1 lack
/// `lat_percentiles`, and those before 3.18 print no completion latency percentiles together with it.
const OLDEST: (u32, u32) = (3, 18);
/// Limits of time and output for `fio --version`.
const VERSION_LIMITS: Limits = Limits {
    time: Duration::from_secs(10),
    bytes: 4096,
};
const HINT: &str = "install it: `apt install fio` or `dnf install fio`";

/// The output of `fio --version`.
pub(super) fn version(program: &OsStr) -> Result<String> {
    let name = program.to_string_lossy();
    let answer = ask::ask(program, &["--version".as_ref()], VERSION_LIMITS);
    let answer = answer.map_err(|error| match kind_of(&error) {
        Kind::Interrupted(_) => error,
        _ => Failure::runtime(format!("{error:#}"), HINT),
    })?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    require_new_enough(&name, &text)?;
    Ok(text)
}

/// `text`: the output of `fio --version`.
fn require_new_enough(program: &str, text: &str) -> Result<()> {
    match version_of(text) {
        Some(version) if version >= OLDEST => Ok(()),
        Some(_) => {
            let (major, minor) = OLDEST;
            Err(Failure::runtime(
                format!(
                    "{program} is {text}, but {major}.{minor} or later is needed: earlier versions do not report percentiles of the \
                     total latency and of the completion latency together"
                ),
                "install a newer version, and put it first in PATH",
            ))
        }
        None => Err(Failure::runtime(
            format!("{program} --version prints {text:?}, so it is not fio"),
            HINT,
        )),
    }
}

/// Parses `fio-3.33` and `fio-3.16-64-gfd988`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("fio-")?.split(['.', '-']);
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::workload::fio::Fio;

    #[test]
    fn versions_of_fio() {
        assert_eq!(version_of("fio-3.33"), Some((3, 33)));
        assert_eq!(version_of("fio-3.16-64-gfd988"), Some((3, 16)));
        assert_eq!(version_of("fio-2.2.10"), Some((2, 2)));
        assert_eq!(version_of("fio 3"), None);
        assert_eq!(version_of("3.33"), None);
    }

    #[test]
    fn a_fio_that_cannot_give_both_latencies_is_refused() {
        for text in ["fio-3.18", "fio-3.18-1-g5f8d", "fio-3.42", "fio-4.0"] {
            require_new_enough("fio", text).unwrap();
        }
        for text in ["fio-2.99", "fio-3.0", "fio-3.1", "fio-3.17"] {
            let error = require_new_enough("fio", text).unwrap_err().to_string();
            let says = format!("fio is {text}, but 3.18 or later is needed");
            assert!(error.contains(&says), "{error}");
        }
    }

    #[test]
    fn a_missing_fio_names_the_package() {
        let missing = Fio::new("x", Vec::new()).with_program("fio-that-is-not-there");
        let error = missing.check().unwrap_err().to_string();
        assert!(
            error.contains("fio-that-is-not-there") && error.contains("apt install fio"),
            "{error}"
        );
        let other = Fio::new("x", Vec::new()).with_program("true");
        assert!(
            other
                .check()
                .unwrap_err()
                .to_string()
                .contains("is not fio")
        );
    }
}
