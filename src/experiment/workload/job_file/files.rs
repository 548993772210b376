//! The parts of the target that serve as the files of the jobs. Pure.

use super::super::Target;
use super::amount::{Amount, amount, mebibytes, needed};
use super::layout::ALIGNMENT;
use super::line::Setting;
use super::place::{Key, Place, Refusal};

const SMALLEST_PART: u64 = 1 << 20;

/// The file's size: `filesize`, or `size` of a job with one file.
pub(super) fn length(place: &Place<'_>) -> Result<Option<Amount>, Refusal> {
    needed(place.filesize.or(place.size))
}

/// The parts of the target that serve as the files of the jobs.
pub(super) struct Files<'a> {
    pub parts: Vec<Part<'a>>,
    /// They are smaller than in the job file.
    is_scaled: bool,
    /// Not all have a size in the job file.
    is_equal: bool,
}

pub(super) struct Part<'a> {
    pub key: &'a Key,
    /// Makes `count` files of the same length, one after another.
    count: u64,
    pub begin: u64,
    pub length: u64,
}

impl<'a> Files<'a> {
    /// None if all jobs use the same file.
    pub fn of(places: &'a [Place<'a>], target: &Target) -> Result<Option<Self>, Refusal> {
        let mut parts: Vec<Part<'a>> = Vec::new();
        let mut is_equal = false;
        for place in places.iter().filter(|place| place.key != Key::Target) {
            let count = match place.key {
                Key::Own(_) => place.clones.unwrap_or(0),
                _ => 1,
            };
            let needs = match length(place).unwrap_or(None) {
                Some(Amount::Bytes(bytes)) => extent(place, bytes),
                _ => None,
            };
            is_equal |= needs.is_none();
            let needs = needs.unwrap_or(0);
            match parts.iter_mut().find(|part| *part.key == place.key) {
                Some(part) => part.length = part.length.max(needs),
                None => parts.push(Part {
                    key: &place.key,
                    count,
                    begin: 0,
                    length: needs,
                }),
            }
        }
        let count: u64 = parts.iter().map(|part| part.count).sum();
        let is_unknown = parts.iter().any(|part| part.count == 0);
        if count <= 1 && !is_unknown {
            return Ok(None);
        }
        let line = places
            .iter()
            .filter_map(|it| it.size.or(it.filesize))
            .map(|it| it.line);
        let line = line.min().unwrap_or(1);
        let refused = |why: &str| Err((line, format!("the jobs use different files, {why}")));
        if target.disks > 1 {
            return refused(
                "which needs one disk or a scratch file: name the same filename= in all",
            );
        }
        if is_unknown {
            return refused("so numjobs must be a plain number");
        }
        let mut files = Files {
            parts,
            is_scaled: false,
            is_equal,
        };
        if !files.place(count, target.bytes) {
            return refused(&format!("and {target} is too small for {count} of them"));
        }
        Ok(Some(files))
    }

    /// False if they would be too small.
    fn place(&mut self, count: u64, bytes: u64) -> bool {
        let sum = self.parts.iter().try_fold(0_u64, |sum, part| {
            let length = part.length.checked_next_multiple_of(ALIGNMENT)?;
            sum.checked_add(length.checked_mul(part.count)?)
        });
        self.is_scaled = !self.is_equal && sum.is_none_or(|sum| sum > bytes);
        let sum: f64 = self
            .parts
            .iter()
            .map(|it| it.length as f64 * it.count as f64)
            .sum();
        let mut begin = 0;
        for part in &mut self.parts {
            let length = if self.is_equal {
                bytes / count
            } else if self.is_scaled {
                (part.length as f64 / sum * bytes as f64) as u64
            } else {
                part.length.next_multiple_of(ALIGNMENT)
            };
            let wanted = if self.is_equal { u64::MAX } else { part.length };
            let smallest = SMALLEST_PART.min(wanted.max(1));
            part.length = length / ALIGNMENT * ALIGNMENT;
            if part.length < smallest {
                return false;
            }
            part.begin = begin;
            begin += part.length * part.count;
        }
        begin <= bytes
    }

    pub fn text(&self, target: &Target) -> String {
        let count: u64 = self.parts.iter().map(|part| part.count).sum();
        let lengths = || self.parts.iter().map(|part| part.length);
        let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        let size = if least == most {
            format!("{} each", mebibytes(most))
        } else {
            format!("{} to {}", mebibytes(least), mebibytes(most))
        };
        let why = match (self.is_equal, self.is_scaled) {
            (true, _) => ", equal parts because not all have a size in the job file",
            (_, true) => ", smaller than in the job file because they would not fit",
            _ => "",
        };
        format!(
            "the {count} files of the jobs are parts of {target} that do not overlap: {size}{why}"
        )
    }
}

/// The end of what a job uses in its file.
fn extent(place: &Place<'_>, bytes: u64) -> Option<u64> {
    let number = |setting: Option<&Setting>| match setting.map(amount) {
        None => Some(0),
        Some(Some(Amount::Bytes(bytes))) => Some(bytes),
        Some(_) => None,
    };
    // A filesize includes the offset.
    let first = number(place.offset)?;
    let first = if place.filesize.is_some() { 0 } else { first };
    let steps = place.clones? - 1;
    let last = number(place.increment)?
        .checked_mul(steps)?
        .checked_add(first)?;
    last.checked_add(bytes)
}
