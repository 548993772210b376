//! Parses fio job files and writes new ones from what was parsed, so that fio only sees what was checked. Pure.
//!
//! fio applies its command line before the job file, so a job file would override it: duration, device and seed are
//! therefore set in the text. Options are accepted by the table in `fio_options`, by name and value; all others are
//! refused with file and line: they could change the scheduler, start programs, leave the control group, or do I/O
//! elsewhere.

mod amount; // sizes and offsets as numbers
mod does; // which I/O each job does
mod files; // parts of the target that serve as files
mod layout; // which part of the target each job uses
mod line; // one line: a section or an option
mod phase; // jobs that would run one after another
mod place; // which file each job names

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::Target;
use iosched_result::failure::Failure;
pub use layout::Layout;
pub(super) use line::{Section, Setting};

#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    sections: Vec<Section>,
}

/// The values that a round sets.
pub struct Window<'a> {
    /// The devices, used in turn, or a scratch file.
    pub targets: &'a [PathBuf],
    pub ramp: Duration,
    pub time: Duration,
    /// The longest start delay of all jobs of the round: jobs that start earlier get a longer ramp, so that all are
    /// measured over the same time.
    pub lead: Duration,
    /// Which part of the target each job uses; None leaves sizes and offsets as they are.
    pub layout: Option<&'a Layout>,
}

impl JobFile {
    /// Errors name `file`. If any are `chosen`, the other jobs are left out.
    pub fn parse(file: &str, text: &str, chosen: &[String]) -> Result<Self> {
        let mut reader = line::Reader::new(chosen);
        let mut wrong = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if let Err(what) = reader.read(line, index + 1) {
                wrong.push((index + 1, what));
            }
        }
        phase::ensure_present(file, chosen, &reader)?;
        let mut file_of_jobs = JobFile {
            sections: reader.sections,
        };
        wrong.extend(phase::settle(&mut file_of_jobs).err());
        wrong.extend(file_of_jobs.settle_delays().err());
        file_of_jobs.settle_latencies();
        wrong.extend(place::several_files(&file_of_jobs));
        wrong.extend(does::equal_names(&file_of_jobs));
        refuse_all(file, wrong)?;
        if file_of_jobs.jobs().next().is_none() {
            return Err(Failure::refused(
                format!("{file}: contains no job"),
                "start each job with its name in brackets: [job]",
            ));
        }
        Ok(file_of_jobs)
    }

    /// Each job with all options in force for it: global sections apply to the jobs after them.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (&Section, HashMap<&'static str, &Setting>)> {
        let mut globals: HashMap<&'static str, &Setting> = HashMap::new();
        self.sections.iter().filter_map(move |section| {
            if section.is_global() {
                section.overlay(&mut globals);
                return None;
            }
            let mut all = globals.clone();
            section.overlay(&mut all);
            Some((section, all))
        })
    }

    fn settle_delays(&mut self) -> Result<(), place::Refusal> {
        let delays: Vec<Duration> = self
            .jobs()
            .map(|(_, all)| match all.get("startdelay") {
                None => Ok(Duration::ZERO),
                Some(setting) => seconds(setting.value()).ok_or_else(|| {
                    let what = "has a start delay that is not a number of seconds or milliseconds";
                    (setting.line, what.to_owned())
                }),
            })
            .collect::<Result<_, _>>()?;
        let jobs = self
            .sections
            .iter_mut()
            .filter(|section| !section.is_global());
        for (section, delay) in jobs.zip(delays) {
            section.start_delay = delay;
        }
        Ok(())
    }

    /// fio reads no clock at the completion of such a job's I/Os and would report a wrong latency: the job gets
    /// `disable_lat=1` and reports none.
    fn settle_latencies(&mut self) {
        let unmeasured: Vec<_> = self
            .jobs()
            .map(|(section, all)| {
                let setting = *ends_latency(&all)?;
                let (name, line) = (&section.name, setting.line);
                let text = format!("[{name}] has {}=1 in line {line}", setting.key);
                Some((text, line))
            })
            .collect();
        let jobs = self
            .sections
            .iter_mut()
            .filter(|section| !section.is_global());
        for (section, unmeasured) in jobs.zip(unmeasured) {
            let Some((text, line)) = unmeasured else {
                continue;
            };
            section.unmeasured = Some(text);
            let is_other = |setting: &Setting| setting.option != DISABLE_LAT;
            section.options.retain(is_other);
            section.options.push(Setting {
                option: DISABLE_LAT,
                key: DISABLE_LAT.to_owned(),
                value: Some("1".to_owned()),
                line,
            });
        }
    }

    /// The first job whose latency fio does not measure, with the reason.
    pub fn without_latency(&self) -> Option<&str> {
        let mut sections = self.sections.iter();
        sections.find_map(|section| section.unmeasured.as_deref())
    }

    /// Whether any job writes or trims.
    pub fn writes(&self) -> bool {
        self.jobs().any(|(_, all)| {
            let direction = all.get("rw").map_or("read", |setting| setting.value());
            !matches!(direction.split(':').next(), Some("read" | "randread"))
        })
    }

    /// Whether any job submits I/Os without waiting for earlier ones: then it matters when the program asked for them.
    pub fn is_asynchronous(&self) -> bool {
        self.jobs().any(|(_, all)| {
            let engine = all.get("ioengine").map(|setting| setting.value());
            matches!(engine, Some("libaio" | "io_uring"))
        })
    }

    /// The first job whose I/O goes through the page cache, with the reason.
    pub fn through_page_cache(&self) -> Option<String> {
        self.jobs().find_map(|(section, all)| {
            let name = &section.name;
            let engine = all.get("ioengine").map_or("", |setting| setting.value());
            if matches!(engine, "mmap" | "splice") {
                return Some(format!(
                    "[{name}] has ioengine={engine}, which uses the page cache"
                ));
            }
            let is_on = |option: &str| all.get(option).is_some_and(|setting| setting.is_on());
            let is_unbuffered = all.get("buffered").is_some_and(|setting| !setting.is_on());
            let is_direct = is_on("direct") || is_on("atomic") || is_unbuffered;
            (!is_direct).then(|| format!("[{name}] has no direct=1"))
        })
    }

    pub fn longest_start_delay(&self) -> Duration {
        let delays = self.sections.iter().map(|section| section.start_delay);
        delays.max().unwrap_or_default()
    }

    /// The number of entries that fio will report; None if that depends on groups or on unusual numbers.
    pub fn entries(&self) -> Option<usize> {
        self.jobs()
            .map(|(_, all)| match all.get("group_reporting") {
                Some(setting) if setting.value() != "0" => None,
                // u16 is far more than fio itself allows.
                _ => all.get("numjobs").map_or(Some(1), |setting| {
                    setting.value().parse::<u16>().ok().map(usize::from)
                }),
            })
            .sum()
    }

    /// Which part of the target each job uses. Errors name `file`.
    pub fn lay_out(&self, file: &str, target: &Target) -> Result<Layout> {
        layout::lay_out(self, target).map_err(|(line, what)| refuse(file, line, &what))
    }

    /// One line for the options that name a place, and one for the others that rounds set instead.
    pub fn replaced(&self, target: &Target) -> Vec<String> {
        place::notes(&self.sections, target)
    }

    /// The job file without the options that rounds set.
    pub fn text(&self) -> String {
        self.write(|_| true, |_, _| String::new())
    }

    /// The job file of one round.
    pub fn for_round(&self, window: &Window<'_>) -> String {
        let ramp = |delay: Duration| (window.ramp + window.lead.saturating_sub(delay)).as_millis();
        // A colon separates file names in fio, so it must be escaped.
        let targets = window.targets.iter();
        let targets: Vec<String> = targets
            .map(|path| path.display().to_string().replace(':', "\\:"))
            .collect();
        let global = format!(
            "[global]\nfilename={}\nallow_file_create=0\ntime_based=1\nruntime={}ms\n\n",
            targets.join(":"),
            window.time.as_millis()
        );
        let keeps = |setting: &Setting| {
            let is_laid_out = window.layout.is_some() && layout::SETS.contains(&setting.option);
            !(is_laid_out || place::is_place(setting))
        };
        global
            + &self.write(keeps, |index, section| {
                let ramp_ms = ramp(section.start_delay);
                let part = window.layout.map(|layout| layout.lines(index));
                // Percentiles of the total latency, in addition to those of the completion latency.
                let part = part.unwrap_or_default();
                format!("{part}ramp_time={ramp_ms}ms\nlat_percentiles=1\n")
            })
    }

    /// `last_of_job` gets the job's number and section.
    fn write(
        &self,
        keeps: impl Fn(&Setting) -> bool,
        last_of_job: impl Fn(usize, &Section) -> String,
    ) -> String {
        let mut text = String::new();
        let mut job = 0;
        for section in &self.sections {
            // Writing to a String does not fail.
            let _ = writeln!(text, "[{}]", section.name);
            for setting in section.options.iter().filter(|setting| keeps(setting)) {
                let _ = writeln!(text, "{}", setting.text());
            }
            if !section.is_global() {
                text.push_str(&last_of_job(job, section));
                job += 1;
            }
        }
        text
    }
}

const DISABLE_LAT: &str = "disable_lat";
/// With all of these fio reads no clock either.
const DISABLE_OTHERS: [&str; 3] = ["disable_clat", "disable_slat", "disable_bw_measurement"];

/// The option because of which fio does not measure a job's latency.
fn ends_latency<'a, 'b>(all: &'b HashMap<&'static str, &'a Setting>) -> Option<&'b &'a Setting> {
    let on = |option: &str| all.get(option).filter(|setting| setting.is_on());
    let others =
        || on(DISABLE_OTHERS[0]).filter(|_| DISABLE_OTHERS.iter().all(|o| on(o).is_some()));
    on("gtod_reduce")
        .or_else(|| on(DISABLE_LAT))
        .or_else(others)
}

/// fio's times: seconds unless a unit follows. Ranges and longer units are not accepted.
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

/// One error with every line that must change.
fn refuse_all(file: &str, mut wrong: Vec<place::Refusal>) -> Result<()> {
    wrong.sort();
    wrong.dedup();
    match wrong.as_slice() {
        [] => Ok(()),
        [(line, what)] => Err(refuse(file, *line, what)),
        all => {
            let lines = all
                .iter()
                .map(|(line, what)| format!("\n  {file}:{line}: {what}"));
            let lines: String = lines.collect();
            Err(Failure::refused(
                format!("{file}: {} lines must change:{lines}", all.len()),
                "change those lines; iosched sets the place, the duration and the control group",
            ))
        }
    }
}

pub(super) fn refuse(file: &str, line: usize, what: &str) -> anyhow::Error {
    Failure::refused(
        format!("{file}:{line}: {what}"),
        "change that line; iosched sets the place, the duration and the control group",
    )
}

#[cfg(test)]
#[path = "job_file_tests.rs"]
mod tests;
