//! fio job files: read far enough to know what they would do, and written anew from what was read, so that
//! fio sees what was checked and nothing else. Pure.
//!
//! fio applies its command line before the job file, so a job file would override it: duration, device and seed
//! are therefore set in the text itself. Options are accepted by the table in `fio_options`, by name and value; all
//! others are refused, by file and line: they could change the scheduler, start programs, leave the control group, or
//! read and write elsewhere.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::fio_options::{self, Rule};
use super::{fio_values, names};
use crate::failure::Failure;

/// fio reads a line in pieces of 4096 bytes or more, and takes each piece for a line of its own.
const LONGEST_LINE: usize = 2048;

#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    name: String,
    options: Vec<Setting>,
    /// Of a job: what the global sections before it and itself say together.
    start_delay: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// As fio calls it first.
    option: &'static str,
    /// As the file calls it.
    pub(super) key: String,
    value: Option<String>,
    pub(super) line: usize,
}

impl Section {
    /// What stands behind the opening bracket.
    fn begin(line: &str) -> Result<Self, String> {
        let name = line
            .strip_suffix(']')
            .ok_or("has a section without an end")?;
        let name = name.trim();
        if !names::is_plain(name) {
            return Err(format!("[{name}] names files and {}", names::MUST_BE_PLAIN));
        }
        Ok(Section {
            name: name.to_owned(),
            options: Vec::new(),
            start_delay: Duration::ZERO,
        })
    }

    /// As fio has it: any section whose name begins so.
    fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// What a round sets.
pub struct Window<'a> {
    /// The devices, which share the I/O, each in its turn; or a scratch file.
    pub targets: &'a [PathBuf],
    pub ramp: Duration,
    pub time: Duration,
    /// The longest start delay of all jobs of the round: jobs that start earlier have a longer ramp,
    /// so that all are measured over the same time.
    pub lead: Duration,
}

impl JobFile {
    /// `file` is named in refusals; a `filename=` is accepted if it is one of `devices`.
    pub fn parse(file: &str, text: &str, devices: &[PathBuf]) -> Result<Self> {
        let mut sections: Vec<Section> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            read_line(&mut sections, line, number, devices)
                .map_err(|what| refuse(file, number, &what))?;
        }
        let mut file_of_jobs = JobFile { sections };
        file_of_jobs.settle_delays(file)?;
        if file_of_jobs.jobs().next().is_none() {
            return Err(Failure::refused(
                format!("{file}: has no job"),
                "begin a job with its name in brackets: [job]",
            ));
        }
        Ok(file_of_jobs)
    }

    /// Each job with all that applies to it: global sections apply to the jobs after them.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (&Section, HashMap<&'static str, &Setting>)> {
        let mut globals: HashMap<&'static str, &Setting> = HashMap::new();
        self.sections.iter().filter_map(move |section| {
            let own = section.options.iter().map(|s| (s.option, s));
            if section.is_global() {
                globals.extend(own);
                return None;
            }
            let mut all = globals.clone();
            all.extend(own);
            Some((section, all))
        })
    }

    fn settle_delays(&mut self, file: &str) -> Result<()> {
        let delays: Vec<Duration> = self
            .jobs()
            .map(|(_, all)| match all.get("startdelay") {
                None => Ok(Duration::ZERO),
                Some(setting) => seconds(setting.value()).ok_or_else(|| {
                    refuse(
                        file,
                        setting.line,
                        "has a start delay that is not plain seconds or milliseconds",
                    )
                }),
            })
            .collect::<Result<_>>()?;
        let jobs = self
            .sections
            .iter_mut()
            .filter(|section| !section.is_global());
        for (section, delay) in jobs.zip(delays) {
            section.start_delay = delay;
        }
        Ok(())
    }

    /// Whether any job writes or trims.
    pub fn writes(&self) -> bool {
        self.jobs().any(|(_, all)| {
            let direction = all.get("rw").map_or("read", |setting| setting.value());
            !matches!(direction.split(':').next(), Some("read" | "randread"))
        })
    }

    /// Whether any job hands in I/Os without waiting for the ones before: then it is worth knowing since when they were
    /// asked for.
    pub fn is_asynchronous(&self) -> bool {
        self.jobs().any(|(_, all)| {
            let engine = all.get("ioengine").map(|setting| setting.value());
            matches!(engine, Some("libaio" | "io_uring"))
        })
    }

    pub fn longest_start_delay(&self) -> Duration {
        let delays = self.sections.iter().map(|section| section.start_delay);
        delays.max().unwrap_or_default()
    }

    /// How many entries fio will report; None where groups or odd numbers make it fio's affair.
    pub fn entries(&self) -> Option<usize> {
        self.jobs()
            .map(|(_, all)| match all.get("group_reporting") {
                Some(setting) if setting.value() != "0" => None,
                // More than fio itself allows by far.
                _ => all.get("numjobs").map_or(Some(1), |setting| {
                    setting.value().parse::<u16>().ok().map(usize::from)
                }),
            })
            .sum()
    }

    /// The job file without what rounds set.
    pub fn text(&self) -> String {
        self.write(|_| String::new())
    }

    /// The job file of one round.
    pub fn for_round(&self, window: &Window<'_>) -> String {
        let ramp = |delay: Duration| (window.ramp + window.lead.saturating_sub(delay)).as_millis();
        // A colon separates file names.
        let targets = window.targets.iter();
        let targets: Vec<String> = targets
            .map(|path| path.display().to_string().replace(':', "\\:"))
            .collect();
        let global = format!(
            "[global]\nfilename={}\nallow_file_create=0\ntime_based=1\nruntime={}ms\n\n",
            targets.join(":"),
            window.time.as_millis()
        );
        global
            + &self.write(|section| {
                let ramp_ms = ramp(section.start_delay);
                // Percentiles of the whole latency, beside those without the submission.
                format!("ramp_time={ramp_ms}ms\nlat_percentiles=1\n")
            })
    }

    fn write(&self, last_of_job: impl Fn(&Section) -> String) -> String {
        let mut text = String::new();
        for section in &self.sections {
            // Writing to a String does not fail.
            let _ = writeln!(text, "[{}]", section.name);
            for setting in &section.options {
                let _ = match &setting.value {
                    Some(value) => writeln!(text, "{}={value}", setting.key),
                    None => writeln!(text, "{}", setting.key),
                };
            }
            if !section.is_global() {
                text.push_str(&last_of_job(section));
            }
        }
        text
    }
}

/// Err says what is wrong with the line.
fn read_line(
    sections: &mut Vec<Section>,
    line: &str,
    number: usize,
    devices: &[PathBuf],
) -> Result<(), String> {
    // For fio a line ends at a NUL.
    if line.contains(|c: char| c.is_control() && c != '\t') {
        return Err("has a control character".to_owned());
    }
    let line = line.split([';', '#']).next().unwrap_or_default().trim();
    if line.len() > LONGEST_LINE {
        return Err(format!(
            "has more than {LONGEST_LINE} bytes, of which fio would make several lines"
        ));
    }
    if line.is_empty() {
        return Ok(());
    }
    if let Some(name) = line.strip_prefix('[') {
        sections.push(Section::begin(name)?);
        return Ok(());
    }
    if line.starts_with("include") {
        return Err("includes another file".to_owned());
    }
    let section = sections
        .last_mut()
        .ok_or("has an option before the first section")?;
    if let Some(setting) = Setting::parse(line, number, devices)? {
        // fio sorts a section's options, and the last of two need not stay the last.
        section
            .options
            .retain(|earlier| earlier.option != setting.option);
        section.options.push(setting);
    }
    Ok(())
}

impl Setting {
    /// None if rounds set that option. Err says what is wrong with it.
    fn parse(line: &str, number: usize, devices: &[PathBuf]) -> Result<Option<Self>, String> {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let (option, rule) = fio_options::find(key).ok_or_else(|| unknown(key))?;
        fio_values::check(key, value, rule, devices)?;
        let setting = Setting {
            option,
            key: key.to_owned(),
            value: value.map(str::to_owned),
            line: number,
        };
        Ok((!matches!(rule, Rule::Ours | Rule::Device)).then_some(setting))
    }

    pub(super) fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

fn unknown(key: &str) -> String {
    let guess = fio_options::similar(key);
    let guess = guess.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    format!("{key} is not an option of fio that iosched knows{guess}")
}

/// fio's times: seconds unless a unit follows. Ranges and long units are not for rounds.
fn seconds(text: &str) -> Option<Duration> {
    let (digits, milliseconds_per_unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').unwrap_or(text), 1000),
    };
    let count: u32 = digits.parse().ok()?;
    Some(Duration::from_millis(
        u64::from(count) * milliseconds_per_unit,
    ))
}

pub(super) fn refuse(file: &str, line: usize, what: &str) -> anyhow::Error {
    Failure::refused(
        format!("{file}:{line}: {what}"),
        "change that line; iosched gives the device, the duration and the control group",
    )
}

#[cfg(test)]
#[path = "job_file_tests.rs"]
mod tests;
