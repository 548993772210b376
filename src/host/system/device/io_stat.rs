//! The counters of `/sys/block/X/stat`: cumulative since the disk appeared, kept by the kernel while `queue/iostats` is
//! 1. They cross-check our own counts.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// All 17 fields. A request counts when it completes; `*_ticks_ms` are summed over requests in flight at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoStat {
    pub reads: u64,
    pub read_merges: u64,
    pub read_sectors: u64,
    pub read_ticks_ms: u64,
    pub writes: u64,
    pub write_merges: u64,
    pub write_sectors: u64,
    pub write_ticks_ms: u64,
    /// The only field that is not cumulative.
    pub in_flight: u64,
    /// Time with at least one request in flight.
    pub io_ticks_ms: u64,
    pub time_in_queue_ms: u64,
    pub discards: u64,
    pub discard_merges: u64,
    pub discard_sectors: u64,
    pub discard_ticks_ms: u64,
    pub flushes: u64,
    pub flush_ticks_ms: u64,
}

/// Later kernels may append fields; fewer than 17 mean a kernel before 5.5.
pub(crate) fn parse(text: &str) -> Result<IoStat> {
    let mut fields = text.split_ascii_whitespace();
    let mut next = || -> Result<u64> {
        let field = fields.next().context("fewer than 17 fields")?;
        field
            .parse()
            .with_context(|| format!("{field:?} is not a number"))
    };
    // Struct fields are evaluated in the order written, which is the order of the file.
    Ok(IoStat {
        reads: next()?,
        read_merges: next()?,
        read_sectors: next()?,
        read_ticks_ms: next()?,
        writes: next()?,
        write_merges: next()?,
        write_sectors: next()?,
        write_ticks_ms: next()?,
        in_flight: next()?,
        io_ticks_ms: next()?,
        time_in_queue_ms: next()?,
        discards: next()?,
        discard_merges: next()?,
        discard_sectors: next()?,
        discard_ticks_ms: next()?,
        flushes: next()?,
        flush_ticks_ms: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_in_the_order_of_the_file() {
        let text = "  1 2 3 4 5 6 7 8  9 10 11 12 13 14 15 16 17 ";
        let stat = parse(text).expect("17 fields");
        assert_eq!((stat.reads, stat.read_ticks_ms, stat.writes), (1, 4, 5));
        assert_eq!((stat.in_flight, stat.time_in_queue_ms), (9, 11));
        assert_eq!((stat.discard_sectors, stat.flush_ticks_ms), (14, 17));
        assert_eq!(parse(&format!("{text} 18")).expect("a later kernel"), stat);
    }

    #[test]
    fn an_older_or_broken_file_is_an_error_not_zeros() {
        assert!(parse("1 2 3 4 5 6 7 8 9 10 11").is_err());
        assert!(parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 x").is_err());
    }
}
