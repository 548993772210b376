//! A line of blkparse's default columns. Pure.

use crate::measured::snapshot::Op;

/// So that the first moment is not 0, which means never.
const OFFSET_NS: u64 = 1 << 40;

/// A line about sectors, or about a flush, which has none.
pub struct Event<'a> {
    pub disk: &'a str,
    pub time_ns: u64,
    pub pid: u32,
    pub action: &'a str,
    pub flags: &'a str,
    pub sector: u64,
    pub sectors: u64,
    pub name: &'a str,
}

impl<'a> Event<'a> {
    /// `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`
    pub fn of(line: &'a str) -> Option<Event<'a>> {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next();
        let (disk, _cpu, _number, time, pid, action, flags) = (
            next()?,
            next()?,
            next()?,
            next()?,
            next()?,
            next()?,
            next()?,
        );
        let (major, minor) = disk.split_once(',')?;
        let _: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        let (seconds, nanoseconds) = time.split_once('.')?;
        let fraction_ns: u64 = match nanoseconds.len() {
            9 => nanoseconds.parse().ok()?,
            _ => return None,
        };
        let seconds: u64 = seconds.parse().ok()?;
        let time_ns = seconds
            .checked_mul(1_000_000_000)?
            .checked_add(fraction_ns)?
            .checked_add(OFFSET_NS)?;
        let (sector, sign, sectors) = (next(), next(), next());
        // `sector + sectors` and, of a split, `sector / the second half's`.
        let numbers = match sign {
            Some("+" | "/") => sector?.parse().ok().zip(sectors?.parse().ok()),
            _ => None,
        };
        let (sector, sectors) = match numbers {
            Some(numbers) => numbers,
            // `FN [name]`, or `FN 0 [0]` at its end.
            None if is_flush(flags) => (0, 0),
            None => return None,
        };
        let name = line.find('[').zip(line.rfind(']'));
        Some(Event {
            disk,
            time_ns,
            pid: pid.parse().ok()?,
            action,
            flags,
            sector,
            sectors,
            name: name.and_then(|(begin, end)| line.get(begin + 1..end))?,
        })
    }

    pub fn op(&self) -> Op {
        let kind = self.flags.trim_start_matches('F').chars().next();
        match kind {
            Some('R') => Op::Read,
            Some('W') if self.flags[1..].contains(['S', 'F']) => Op::WriteSync,
            Some('W') => Op::WriteAsync,
            Some('D') => Op::Discard,
            _ if is_flush(self.flags) => Op::Flush,
            _ => Op::Other,
        }
    }
}

/// The command of the flush machinery: neither a read nor a write.
pub fn is_flush(flags: &str) -> bool {
    flags.strip_prefix('F').is_some_and(|of| !of.contains('W'))
}
