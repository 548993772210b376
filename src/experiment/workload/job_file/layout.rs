//! Which part of the target each job uses. Jobs that share a file share a part; jobs with different files get parts
//! that do not overlap, because two jobs on the same blocks would be another workload: the page cache would join
//! their writes, and a verifying job would read what another wrote. Nothing but the place and the size of a file is
//! changed, and each change is a note. Pure.

use super::super::Target;
use super::JobFile;
use super::amount::{Amount, amount, mebibytes, needed};
use super::files::{Files, length};
use super::place::{Key, Place, Refusal, places};

/// The options that [`Layout::lines`] writes.
pub(super) const SETS: [&str; 5] = ["size", "filesize", "io_size", "offset", "offset_increment"];
/// Files and their parts begin and end at multiples of this.
pub(super) const ALIGNMENT: u64 = 4096;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Lines for fio, one list per job.
    jobs: Vec<String>,
    /// Differences from the job file.
    pub notes: Vec<String>,
}

impl Layout {
    pub(super) fn lines(&self, job: usize) -> &str {
        self.jobs.get(job).map_or("", String::as_str)
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

/// Err is a line and what is wrong with it.
pub(super) fn lay_out(jobs: &JobFile, target: &Target) -> Result<Layout, Refusal> {
    if target.is_file {
        refuse_outside_of_file(jobs)?;
    }
    let places = places(jobs);
    let mut layout = Layout::default();
    let files = Files::of(&places, target)?;
    for place in &places {
        let lines = match (&files, target.disks) {
            (Some(files), _) if place.key != Key::Target => {
                in_part(place, files, target, &mut layout)?
            }
            // fio divides a size between several disks.
            (_, 2..) => as_written(place),
            _ => in_whole(place, target, &mut layout)?,
        };
        layout.jobs.push(lines);
    }
    if let Some(files) = files {
        layout.note(files.text(target));
        let whole = places.iter().filter(|place| place.key == Key::Target);
        for place in whole {
            let job = place.job;
            layout.note(format!(
                "[{job}] names no file and no size, or an offset_increment: it uses all of {target}"
            ));
        }
    }
    Ok(layout)
}

/// fio would create these files anew, fill the file system, or not do the I/O at all.
fn refuse_outside_of_file(jobs: &JobFile) -> Result<(), Refusal> {
    const REFUSED_IF_ON: [(&str, &str); 2] = [
        ("file_append", "would change the size of the scratch file"),
        ("fill_device", "would fill the file system"),
    ];
    for (_, settings) in jobs.jobs() {
        for (option, why) in REFUSED_IF_ON {
            if let Some(setting) = settings.get(option).filter(|setting| setting.is_on()) {
                return Err((setting.line, format!("{} {why}", setting.key)));
            }
        }
        if let Some(rw) = settings.get("rw")
            && rw.value().contains("trim")
        {
            let why = "trims, which fio only does on devices";
            return Err((rw.line, why.to_owned()));
        }
    }
    Ok(())
}

/// One file for all jobs.
fn in_whole(place: &Place<'_>, target: &Target, layout: &mut Layout) -> Result<String, Refusal> {
    if target.bytes == 0 {
        return Ok(as_written(place));
    }
    let offset = place.offset.and_then(amount);
    let increment = place.increment.and_then(amount);
    let first = offset.map_or(0, |it| it.bytes(target.bytes));
    let step = increment.map_or(0, |it| it.bytes(target.bytes));
    let last = step
        .saturating_mul(place.clones.unwrap_or(1) - 1)
        .saturating_add(first);
    if last >= target.bytes {
        return Err(beyond(place, first, target));
    }
    let must_be_known = target.is_file || place.filesize.is_some();
    let length = match length(place) {
        Err(refusal) if must_be_known => return Err(refusal),
        length => length.ok().flatten(),
    };
    let room = (target.bytes - last) / ALIGNMENT * ALIGNMENT;
    let setting = place.filesize.or(place.size);
    let bytes = match (length, setting) {
        (Some(Amount::Bytes(bytes)), Some(setting)) if bytes > room && room > 0 => {
            let hint = if target.is_file {
                "; --scratch-size makes it larger"
            } else {
                ""
            };
            layout.note(format!(
                "{} in line {} is more than {target} has: [{}] uses {}{hint}",
                setting.text(),
                setting.line,
                place.job,
                mebibytes(room)
            ));
            room
        }
        (Some(length), _) if place.filesize.is_some() => length.bytes(target.bytes),
        _ => return Ok(as_written(place)),
    };
    let mut lines = sized(place, bytes);
    for setting in [place.offset, place.increment].into_iter().flatten() {
        push(&mut lines, &setting.text());
    }
    Ok(lines)
}

fn beyond(place: &Place<'_>, first: u64, target: &Target) -> Refusal {
    let is_first = first >= target.bytes;
    let setting = if is_first {
        place.offset
    } else {
        place.increment
    };
    setting.map_or((0, String::new()), |setting| {
        let text = format!(
            "{} reaches beyond {target}, which has {}",
            setting.text(),
            mebibytes(target.bytes)
        );
        (setting.line, text)
    })
}

fn as_written(place: &Place<'_>) -> String {
    let mut lines = String::new();
    let all = [
        place.size,
        place.filesize,
        place.io_size,
        place.offset,
        place.increment,
    ];
    for setting in all.into_iter().flatten() {
        push(&mut lines, &setting.text());
    }
    lines
}

/// The range that a job uses, and how much I/O it does there before it begins anew.
fn sized(place: &Place<'_>, bytes: u64) -> String {
    let mut lines = format!("size={bytes}\n");
    let amount = match (place.io_size, place.filesize, place.size) {
        (Some(io_size), ..) => Some(io_size.text()),
        (None, Some(_), Some(size)) => Some(format!("io_size={}", size.value())),
        _ => None,
    };
    if let Some(amount) = amount {
        push(&mut lines, &amount);
    }
    lines
}

fn push(lines: &mut String, line: &str) {
    lines.push_str(line);
    lines.push('\n');
}

fn in_part(
    place: &Place<'_>,
    files: &Files<'_>,
    target: &Target,
    layout: &mut Layout,
) -> Result<String, Refusal> {
    let Some(part) = files.parts.iter().find(|part| *part.key == place.key) else {
        return in_whole(place, target, layout);
    };
    let offset = needed(place.offset)?.map_or(0, |it| it.bytes(part.length));
    let increment = needed(place.increment)?.map_or(0, |it| it.bytes(part.length));
    let last = increment
        .saturating_mul(place.clones.unwrap_or(1) - 1)
        .saturating_add(offset);
    if last >= part.length {
        return Err(beyond_part(place, part.length));
    }
    let room = part.length - last;
    let length = length(place)?.map_or(room, |it| it.bytes(part.length));
    let length = match place.filesize {
        Some(_) => length.saturating_sub(offset),
        None => length,
    };
    let mut lines = sized(place, length.min(room));
    push(&mut lines, &format!("offset={}", part.begin + offset));
    let step = match place.key {
        Key::Own(_) if place.clones > Some(1) => part.length + increment,
        _ => increment,
    };
    if step > 0 {
        push(&mut lines, &format!("offset_increment={step}"));
    }
    Ok(lines)
}

fn beyond_part(place: &Place<'_>, length: u64) -> Refusal {
    let setting = place.increment.or(place.offset);
    setting.map_or((0, String::new()), |setting| {
        let text = format!(
            "{} reaches beyond the job's part, which has {}",
            setting.text(),
            mebibytes(length)
        );
        (setting.line, text)
    })
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
