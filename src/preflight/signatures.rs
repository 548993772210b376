//! What lies on a disk that nothing uses: file systems, members of arrays and pools, partition tables. For people who are
//! about to overwrite it. libblkid knows them all; it is asked through `wipefs`, which, other than `blkid`, also tells of a
//! partition table of which only the backup at the end is left, and of several things at once.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::device::Device;
use crate::workload::ask::{Limits, ask};

const PROGRAM: &str = "wipefs";
const LIMITS: Limits = Limits {
    // It reads a few places; a disk that wakes up takes seconds for the first.
    time: Duration::from_secs(30),
    bytes: 1 << 20,
};

#[derive(Deserialize)]
struct Answer {
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    #[serde(rename = "type")]
    kind: String,
    label: Option<String>,
}

/// One line for each, by the name of the disk or of its partition.
pub(super) fn found(device: &Device) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let parts = device.partitions().into_iter().map(|part| part.name);
    for name in [device.name.clone()].into_iter().chain(parts) {
        let node = Path::new("/dev").join(name.replace('!', "/"));
        let what = on(&node).with_context(|| format!("asking {PROGRAM} what is on {name}"))?;
        found.extend(
            what.into_iter()
                .map(|what| format!("{name} carries {what}")),
        );
    }
    Ok(found)
}

/// `wipefs` erases nothing without `--all` or `--offset`: it opens the disk for reading.
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
    // An old one says nothing at all where it finds nothing.
    if output.trim_ascii().is_empty() {
        return Ok(BTreeSet::new());
    }
    let answer: Answer = serde_json::from_slice(output).context("its JSON")?;
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
