//! A line of blkparse's default columns. Pure.

use crate::measured::snapshot::Op;

/// So that the first moment is not 0, which means never.
const OFFSET_NS: u64 = 1 << 40;

/// A line with blkparse's columns.
pub struct Event<'a> {
    pub disk: &'a str,
    pub time_ns: u64,
    pub pid: u32,
    pub action: &'a str,
    pub flags: &'a str,
    /// Absent if it is not about sectors: plugs, messages, and requests that carry a command of their own.
    pub sectors: Option<Sectors>,
    pub name: &'a str,
}

#[derive(Clone, Copy)]
pub struct Sectors {
    pub first: u64,
    /// How many; of a split, the first one of the second half.
    pub count: u64,
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
        let (first, sign, count) = (next(), next(), next());
        // `sector + sectors` and, of a split, `sector / the second half's`.
        let numbers = match sign {
            Some("+" | "/") => first?.parse().ok().zip(count?.parse().ok()),
            _ => None,
        };
        let name = line.find('[').zip(line.rfind(']'));
        Some(Event {
            disk,
            time_ns: time_ns(time)?,
            pid: pid.parse().ok()?,
            action,
            flags,
            sectors: numbers.map(|(first, count)| Sectors { first, count }),
            name: name
                .and_then(|(begin, end)| line.get(begin + 1..end))
                .unwrap_or_default(),
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

/// `12.345678901`
fn time_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let fraction_ns: u64 = (fraction.len() == 9).then(|| fraction.parse().ok())??;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction_ns)?
        .checked_add(OFFSET_NS)
}

/// Events that blktrace had no room for: `Skips: 5 forward (1,234 -  0.1%)` in blkparse's summary.
pub fn skips(line: &str) -> Option<u64> {
    let count = line
        .trim_start()
        .strip_prefix("Skips: ")?
        .split(' ')
        .next()?;
    count.replace(',', "").parse().ok()
}
