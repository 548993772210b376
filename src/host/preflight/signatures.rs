//! Finds what is stored on an unused disk before it is overwritten: file systems, members of arrays and pools,
//! partition tables. Uses libblkid through `wipefs`, which unlike `blkid` also reports a partition table of which only
//! the backup at the end is left, and several signatures at once.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::system::ask::{Limits, ask};
use crate::system::device::RawTarget;

const PROGRAM: &str = "wipefs";
const LIMITS: Limits = Limits {
    // It reads only a few sectors, but a disk may take seconds to spin up for the first.
    time: Duration::from_secs(30),
    bytes: 1 << 20,
};

#[derive(Deserialize)]
struct ProbedSignatures {
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    #[serde(rename = "type")]
    kind: String,
    label: Option<String>,
}

/// One line per signature, with the name of the disk or partition.
pub(super) fn found(target: &RawTarget) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let parts = target.inside().into_iter().map(|part| part.name);
    for name in [target.name().to_owned()].into_iter().chain(parts) {
        let node = Path::new("/dev").join(name.replace('!', "/"));
        let what = on(&node).with_context(|| format!("running {PROGRAM} on {name}"))?;
        found.extend(
            what.into_iter()
                .map(|what| format!("{name} contains {what}")),
        );
    }
    Ok(found)
}

/// Without `--all` or `--offset` `wipefs` erases nothing: it opens the disk read-only.
fn on(node: &Path) -> Result<BTreeSet<String>> {
    let arguments = [OsStr::new("--json"), node.as_os_str()];
    let answer = ask(OsStr::new(PROGRAM), &arguments, LIMITS)?;
    ensure!(
        answer.status.success(),
        "{}",
        String::from_utf8_lossy(&answer.stderr).trim()
    );
    parse(&answer.stdout)
}

fn parse(output: &[u8]) -> Result<BTreeSet<String>> {
    // Old versions print nothing if they find nothing.
    if output.trim_ascii().is_empty() {
        return Ok(BTreeSet::new());
    }
    let answer: ProbedSignatures =
        serde_json::from_slice(output).context("parsing its JSON output")?;
    let words = answer.signatures.into_iter();
    Ok(words
        .map(|Signature { kind, label }| match label {
            Some(label) => format!("{kind} (label {label:?})"),
            None => kind,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wipefs_says_is_told_once() {
        let text = br#"{"signatures": [
            {"device": "sdb", "offset": "0x200", "type": "gpt", "uuid": null, "label": null},
            {"device": "sdb", "offset": "0x3fffe00", "type": "gpt", "uuid": null, "label": null},
            {"device": "sdb", "offset": "0x438", "type": "ext4", "uuid": "1-2", "label": "my \"data\""}]}"#;
        let found: Vec<String> = parse(text).unwrap().into_iter().collect();
        assert_eq!(found, ["ext4 (label \"my \\\"data\\\"\")", "gpt"]);
        assert!(parse(b"\n").unwrap().is_empty());
        assert!(parse(b"{\"signatures\": []}").unwrap().is_empty());
        assert!(parse(b"no JSON").is_err());
    }
}
