//! A file of intervals: lines of JSON, compressed by gzip. The first line is the head, each other one an interval.
//! docs/history.md describes it for readers.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::buffer::{Buffer, MOST};
use super::frame::Frame;
use super::packed::{self, Packed};
use iosched_files::{input, interrupt, output};
use iosched_result::failure::Failure;
use iosched_result::types::environment::Environment;

pub const SCHEMA_VERSION: u32 = 1;
/// File name of the schema in `docs/`.
pub const SCHEMA: &str = "history-1.schema.json";

/// Several times what a history holds, compressed and as text.
const FILE_BYTES: u64 = 64 << 20;
const LINE_BYTES: u64 = 64 << 20;
const TEXT_BYTES: u64 = 2 << 30;
const DISKS: usize = 4096;
/// Far more than a machine has, or an interval.
const ENTRIES: usize = 1 << 16;
const STRING_BYTES: usize = 4096;
/// Up to here every JSON reader represents a count exactly.
const LARGEST: u64 = 1 << 53;
/// Numbers that are not added up.
const STAMPS: [&str; 7] = [
    "start_ns",
    "end_ns",
    "issue_ns",
    "sector",
    "id",
    "cgroup_id",
    "start_ms",
];

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Head {
    /// Version of this format; raised when a field is removed or changes its meaning.
    pub history_version: u32,
    /// When the file was written, RFC 3339, UTC.
    pub written: String,
    pub environment: Environment,
    /// The watched disks.
    pub disks: Vec<Disk>,
    /// Notes on what this kernel cannot measure.
    pub notes: Vec<String>,
    /// Number of earlier intervals that are not in the file, because memory is bounded. Of those that are, older ones
    /// may be several as one: see their `interval_s`.
    pub dropped: u64,
}

/// Properties that do not change while iosched watches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disk {
    pub name: String,
    pub model: Option<String>,
    /// The multipath NVMe disk, if this one is a path of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_of: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub hardware_queues: usize,
}

/// The content of a file.
#[derive(Debug)]
pub struct History {
    pub head: Head,
    /// In the order of time.
    pub frames: Vec<Packed>,
    /// Why the rest of the file was not read.
    pub cut: Option<String>,
}

/// Writes the file completely or not at all.
pub fn write(path: &Path, head: &Head, kept: &Buffer) -> Result<()> {
    let mut bytes = packed::line(head)?;
    bytes.reserve_exact(kept.bytes());
    for block in kept.since(0) {
        bytes.extend_from_slice(block.packed.bytes());
    }
    output::write_whole(path, &bytes).with_context(|| format!("writing {}", path.display()))
}

pub fn read(path: &Path) -> Result<History> {
    let name = path.display();
    let bytes = input::read(path, FILE_BYTES).map_err(|error| {
        Failure::usage(
            format!("{name} cannot be read: {error}"),
            "name a file that `iosched snapshot` or the key W has written",
        )
    })?;
    parse(&bytes).map_err(|why| {
        Failure::usage(
            format!("{name} is not a history that this version can show: {why}"),
            "`iosched snapshot` and the key W write such files",
        )
    })
}

/// Err: why the bytes are no history.
pub fn parse(bytes: &[u8]) -> Result<History, String> {
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut lines = Lines::new(bytes);
    let first = lines.next_line()?.ok_or("it has no line")?;
    let version = serde_json::from_slice::<Version>(&first)
        .map_err(|_| "its first line has no history_version")?
        .history_version;
    if version != SCHEMA_VERSION {
        return Err(format!(
            "its format has version {version}, and this program reads version {SCHEMA_VERSION}"
        ));
    }
    let value: Value =
        serde_json::from_slice(&first).map_err(|error| format!("line 1: {error}"))?;
    bounded("the line", &value).map_err(|why| format!("line 1: {why}"))?;
    let head: Head = serde_json::from_slice(&first).map_err(|error| format!("line 1: {error}"))?;
    if head.disks.is_empty() || head.disks.len() > DISKS {
        return Err(format!("line 1: it has {} disks", head.disks.len()));
    }
    let disks: Vec<String> = head.disks.iter().map(|disk| disk.name.clone()).collect();
    let (mut frames, mut cut, mut number) = (Vec::new(), None, 1);
    loop {
        number += 1;
        if frames.len() as u64 == MOST {
            cut = Some(format!("it has more than {MOST} intervals"));
            break;
        }
        if interrupt::check().is_err() {
            cut = Some("it was interrupted".to_owned());
            break;
        }
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            // A copy that was interrupted: what came before is whole.
            Err(why) if !frames.is_empty() => {
                cut = Some(format!("line {number}: {why}"));
                break;
            }
            Err(why) => return Err(format!("line {number}: {why}")),
        };
        let frame = frame(&line, &disks).map_err(|why| format!("line {number}: {why}"))?;
        frames.push(Packed::of(&frame).map_err(|error| format!("line {number}: {error:#}"))?);
    }
    if frames.is_empty() {
        return Err("it has no interval".to_owned());
    }
    Ok(History { head, frames, cut })
}

fn frame(line: &[u8], disks: &[String]) -> Result<Frame, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    bounded("the line", &value)?;
    let mut frame: Frame = serde_json::from_value(value).map_err(|error| error.to_string())?;
    frame.check(disks)?;
    Ok(frame)
}

/// Whether all counts can be added up, and nothing is longer than anything real.
fn bounded(key: &str, value: &Value) -> Result<(), String> {
    let is_bounded = match value {
        Value::Number(number) => {
            STAMPS.contains(&key) || number.as_u64().is_none_or(|count| count <= LARGEST)
        }
        Value::String(text) => text.len() <= STRING_BYTES,
        Value::Array(values) => {
            values.iter().try_for_each(|value| bounded(key, value))?;
            values.len() <= ENTRIES
        }
        Value::Object(fields) => {
            fields
                .iter()
                .try_for_each(|(key, value)| bounded(key, value))?;
            fields.len() <= ENTRIES
        }
        Value::Null | Value::Bool(_) => true,
    };
    if is_bounded {
        return Ok(());
    }
    let key: String = key.chars().take(40).collect();
    Err(format!("{key} is too large"))
}

/// The field that files of every version have.
#[derive(Deserialize)]
struct Version {
    history_version: u32,
}

/// Lines of the compressed text, up to the limits.
struct Lines<'a> {
    text: BufReader<std::io::Take<MultiGzDecoder<&'a [u8]>>>,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Lines {
            text: BufReader::new(MultiGzDecoder::new(bytes).take(TEXT_BYTES)),
        }
    }

    /// None at the end.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, String> {
        let mut line = Vec::new();
        let mut limited = (&mut self.text).take(LINE_BYTES);
        limited
            .read_until(b'\n', &mut line)
            .map_err(|error| error.to_string())?;
        match line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(line)),
            Some(_) if line.len() as u64 == LINE_BYTES => {
                Err(format!("it is longer than {} MiB", LINE_BYTES >> 20))
            }
            Some(_) => Err("it has no end".to_owned()),
        }
    }
}
