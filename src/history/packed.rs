//! An interval in the form in which memory and files hold it: one line of JSON, compressed as a gzip member. Members one
//! after the other are a gzip file.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::frame::Frame;

#[derive(Clone, Debug)]
pub struct Packed(Arc<[u8]>);

impl Packed {
    pub fn of(frame: &Frame) -> Result<Packed> {
        Ok(Packed(line(frame)?.into()))
    }

    pub fn frame(&self) -> Result<Frame> {
        serde_json::from_reader(std::io::BufReader::new(GzDecoder::new(&*self.0)))
            .context("reading an interval from memory")
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A line of JSON as a gzip member.
pub(super) fn line<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    // The fastest level: this is done at every interval.
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    let mut text = serde_json::to_vec(value).context("making the JSON of an interval")?;
    text.push(b'\n');
    out.write_all(&text).context("compressing an interval")?;
    out.finish().context("compressing an interval")
}
