//! An interval in the form in which memory and files hold it: one line of JSON, compressed as a gzip member. Members one
//! after the other are a gzip file.

use std::io::{BufWriter, Write};
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
    let out = GzEncoder::new(Vec::new(), Compression::fast());
    // In parts: the whole text of an interval may take megabytes.
    let mut text = BufWriter::with_capacity(32 << 10, out);
    serde_json::to_writer(&mut text, value).context("making the JSON of an interval")?;
    text.write_all(b"\n").context("compressing an interval")?;
    let out = text.into_inner().context("compressing an interval")?;
    let mut bytes = out.finish().context("compressing an interval")?;
    bytes.shrink_to_fit();
    Ok(bytes)
}
