//! dd with different buffer sizes, with and without readahead. Pure.

use serde::Deserialize;

use super::{Judged, excess, range, table};
use crate::failure::Failure;

pub const CSV: &str = include_str!("../../../../data/originals/read-buffer.csv");
const FILE: &str = "data/originals/read-buffer.csv";

/// Size of the file that dd reads: "100 MB".
const FILE_BYTES: f64 = 100.0 * 1024.0 * 1024.0;
pub const PAGE_BYTES: f64 = 4096.0;
const SECTOR_BYTES: f64 = 512.0;
/// From this buffer on, the time of dd hardly changes.
const LARGE_BYTES: u32 = 1024;

#[derive(Deserialize)]
pub struct Row {
    pub readahead_sectors: u32,
    pub buffer_bytes: u32,
    #[serde(deserialize_with = "table::positive_or_empty")]
    user_s: Option<f64>,
    #[serde(deserialize_with = "table::positive_or_empty")]
    system_s: Option<f64>,
    #[serde(deserialize_with = "table::positive_or_empty")]
    wall_s: Option<f64>,
    #[serde(deserialize_with = "table::positive_or_empty")]
    pub disk_reads: Option<f64>,
    #[serde(deserialize_with = "table::positive_or_empty")]
    io_time_s: Option<f64>,
}

impl Row {
    pub fn cpu_s(&self) -> Option<f64> {
        Some(self.user_s? + self.system_s?)
    }

    pub fn mean_read_bytes(&self) -> Option<f64> {
        Some(FILE_BYTES / self.disk_reads?)
    }
}

pub fn read(csv: &str) -> anyhow::Result<Vec<Row>> {
    table::parse(FILE, csv)
}

pub fn judge(csv: &str) -> anyhow::Result<Judged> {
    let rows = read(csv)?;
    let findings = findings(&rows).ok_or_else(|| {
        Failure::invalid(
            format!("{FILE}: needs rows with and without readahead, with times"),
            "",
        )
    })?;
    let measured: Vec<&Row> = rows.iter().filter(|row| row.disk_reads.is_some()).collect();
    let timed = measured.iter().filter(|row| row.io_time_s.is_some());
    let odd = measured.iter().map(|row| row.buffer_bytes);
    let odd = odd.filter(|bytes| !bytes.is_power_of_two());
    let odd: Vec<String> = odd.map(|bytes| bytes.to_string()).collect();
    let reasons = vec![
        "n = 1: each buffer size was read once, so no difference has an interval. Only changes of \
         many times the size of any noise can be believed."
            .to_owned(),
        "The disk reads are those of the whole disk (/proc/diskstats), which others used too: they include reads that \
         dd did not ask for."
            .to_owned(),
        format!(
            "The disk's own time is missing in {} of {} rows.",
            measured.len() - timed.count(),
            measured.len(),
        ),
        format!(
            "The times include the writes of dd. Buffer sizes that are no power of two, as printed: {}.",
            odd.join(", ")
        ),
        "No scheduler is compared: one process that reads one page at a time gives a scheduler nothing to reorder."
            .to_owned(),
    ];
    Ok(Judged {
        name: "read-buffer",
        title: "the buffer of a sequential reader, and readahead",
        source: "a blog, 2016-05-05: 100 MB by dd, caches dropped, readahead 0 and 256 sectors",
        claim: "a larger buffer saves CPU and time; a read larger than a block never becomes one I/O, because of \
                fragmentation.",
        comparisons: Vec::new(),
        findings,
        reasons,
        conclusion: "the first half is supported in its direction, without an interval for its size. The second is \
                     contradicted by the row with readahead: it is readahead 0 that makes every I/O one page."
            .to_owned(),
    })
}

/// None when a row that they need is not there.
fn findings(rows: &[Row]) -> Option<Vec<String>> {
    let complete = |row: &&Row| row.cpu_s().is_some() && row.wall_s.is_some();
    let (without, with): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .filter(complete)
        .partition(|row| row.readahead_sectors == 0);
    let smallest = without.first()?;
    let page = without
        .iter()
        .find(|row| f64::from(row.buffer_bytes).total_cmp(&PAGE_BYTES).is_eq())?;
    let ahead = with.first()?;
    let falls = without.windows(2);
    let falls = falls.filter(|pair| pair[1].cpu_s() < pair[0].cpu_s());
    let large = without.iter().filter(|row| row.buffer_bytes >= LARGE_BYTES);
    let (fast, slow) = range(large.filter_map(|row| row.wall_s));
    let (few, many) = range(without.iter().filter_map(|row| row.disk_reads));
    let pages = FILE_BYTES / PAGE_BYTES;
    Some(vec![
        format!(
            "Readahead 0, buffer from {} to {} bytes: CPU time (user and system) from {:.2} to {:.2} s, {:.0} times \
             less; it falls in {} of {} steps to the next buffer. Wall time from {:.1} to {:.1} s.",
            smallest.buffer_bytes,
            page.buffer_bytes,
            smallest.cpu_s()?,
            page.cpu_s()?,
            smallest.cpu_s()? / page.cpu_s()?,
            falls.count(),
            without.len() - 1,
            smallest.wall_s?,
            page.wall_s?,
        ),
        format!(
            "From {LARGE_BYTES} bytes on, the wall time is {fast:.2} to {slow:.2} s: they differ by {}, and no \
             repeat says whether that is noise.",
            excess(slow / fast)
        ),
        format!(
            "Readahead 0: {few:.0} to {many:.0} disk reads for {pages:.0} pages of the file, whatever the buffer: one \
             page per read, and {} to {} more.",
            excess(few / pages),
            excess(many / pages)
        ),
        format!(
            "Readahead {} sectors ({:.0} KiB), buffer {} byte: {:.0} disk reads, {:.0} KiB each. The same file is read \
             in I/Os of many pages, so its fragments are not what limits them.",
            ahead.readahead_sectors,
            f64::from(ahead.readahead_sectors) * SECTOR_BYTES / 1024.0,
            ahead.buffer_bytes,
            ahead.disk_reads?,
            ahead.mean_read_bytes()? / 1024.0
        ),
    ])
}
