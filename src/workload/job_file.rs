//! fio job files: read far enough to know what they would do, and written anew from what was read, so that
//! fio sees what was checked and nothing else. Pure.
//!
//! fio applies its command line before the job file, so a job file would override it: duration, device and seed
//! are therefore set in the text itself. A job file that would change the scheduler, start programs, leave its
//! control group or do I/O elsewhere is refused, by file and line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::failure::Failure;

/// Set by us for every job; what the file says of them is left out.
const OURS: [&str; 7] = [
    "runtime",
    "timeout",
    "time_based",
    "ramp_time",
    "randseed",
    "allow_file_create",
    "filename",
];

const ELSEWHERE: &str = "would do I/O elsewhere than on the device under test";
const IN_ORDER: &str = "would run jobs one after another, and a round has one window for all";
const OWN_GROUP: &str = "would leave the control group by which its I/O is told apart";
const PROGRAM: &str = "would start a program beside the measurement";

/// Key and what it would do.
const REFUSED: [(&str, &str); 12] = [
    ("ioscheduler", "would change the scheduler under test"),
    ("exec_prerun", PROGRAM),
    ("exec_postrun", PROGRAM),
    ("directory", ELSEWHERE),
    ("opendir", ELSEWHERE),
    ("filename_format", ELSEWHERE),
    ("read_iolog", ELSEWHERE),
    ("merge_blktrace_file", ELSEWHERE),
    ("profile", ELSEWHERE),
    ("cgroup", OWN_GROUP),
    ("cgroup_weight", OWN_GROUP),
    ("wait_for", IN_ORDER),
];

/// As above, unless switched off by `0` or `none`.
const REFUSED_IF_ON: [(&str, &str); 7] = [
    ("stonewall", IN_ORDER),
    ("wait_for_previous", IN_ORDER),
    ("unlink", "would remove the device node"),
    ("unlink_each_loop", "would remove the device node"),
    ("allow_mounted_write", "would write to a mounted device"),
    ("create_only", "would do no I/O"),
    (
        "unified_rw_reporting",
        "would mix reads and writes in the result",
    ),
];

/// May name a file: to be mapped as memory, or, between quotes, to be read for a pattern.
const MAY_NAME_A_FILE: [&str; 4] = ["mem", "iomem", "buffer_pattern", "verify_pattern"];

/// Engines whose I/O passes through the scheduler of the device.
const ENGINES: [&str; 12] = [
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "linuxaio", "aio", "posixaio",
    "io_uring", "mmap", "splice",
];

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
    key: String,
    value: Option<String>,
    pub(super) line: usize,
}

impl Section {
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
            let at = |what: &str| refuse(file, index + 1, what);
            // For fio a line ends at a NUL.
            if line.contains(|c: char| c.is_control() && c != '\t') {
                return Err(at("has a control character"));
            }
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let name = name
                    .strip_suffix(']')
                    .ok_or_else(|| at("has a section without an end"))?;
                if name.contains('/') {
                    return Err(at(
                        "has a job whose name is a path: its logs would go there",
                    ));
                }
                sections.push(Section {
                    name: name.to_owned(),
                    options: Vec::new(),
                    start_delay: Duration::ZERO,
                });
                continue;
            }
            if line.starts_with("include") {
                return Err(at("includes another file"));
            }
            let section = sections
                .last_mut()
                .ok_or_else(|| at("has an option before the first section"))?;
            let setting = Setting::parse(line, index + 1);
            setting.check(devices).map_err(|what| at(&what))?;
            if !OURS.contains(&setting.key.as_str()) {
                section.options.push(setting);
            }
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
    pub(super) fn jobs(&self) -> impl Iterator<Item = (&Section, HashMap<&str, &Setting>)> {
        let mut globals: HashMap<&str, &Setting> = HashMap::new();
        self.sections.iter().filter_map(move |section| {
            let own = section.options.iter().map(|s| (s.canonical_key(), s));
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
        global + &self.write(|section| format!("ramp_time={}ms\n", ramp(section.start_delay)))
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

impl Setting {
    fn parse(line: &str, number: usize) -> Self {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key, Some(value.trim().to_owned())),
            None => (line, None),
        };
        Setting {
            key: key.trim().to_owned(),
            value,
            line: number,
        }
    }

    fn canonical_key(&self) -> &str {
        match self.key.as_str() {
            "readwrite" => "rw",
            key => key,
        }
    }

    pub(super) fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// Err says what is wrong with it.
    fn check(&self, devices: &[PathBuf]) -> Result<(), String> {
        let (key, value) = (self.key.to_ascii_lowercase(), self.value());
        if value.contains('$') {
            return Err(format!(
                "{key}={value} depends on the environment; write the value out"
            ));
        }
        let off = matches!(value, "0" | "none");
        let on = REFUSED_IF_ON.iter().filter(|_| !off);
        if let Some((_, why)) = REFUSED
            .iter()
            .chain(on)
            .find(|(refused, _)| *refused == key)
        {
            return Err(format!("{key} {why}"));
        }
        match key.as_str() {
            "filename" if !devices.iter().any(|device| device.as_os_str() == value) => Err(
                format!("filename={value} {ELSEWHERE}; leave it out, the device is given"),
            ),
            // By plain names logs stay in the round's directory.
            key if is_log(key) && (value.contains('/') || value.starts_with('.')) => Err(format!(
                "{key}={value} would write a file elsewhere; give a plain name"
            )),
            key if MAY_NAME_A_FILE.contains(&key) && value.contains(['/', ':', '\'']) => {
                Err(format!("{key}={value} would open a file"))
            }
            "ioengine" if !ENGINES.contains(&value) => Err(format!(
                "ioengine={value} does not go through the scheduler of a block device; use one of {}",
                ENGINES.join(", ")
            )),
            "rw" | "readwrite" if !is_direction(value) => {
                Err(format!("{key}={value} is no direction that fio knows"))
            }
            _ => Ok(()),
        }
    }
}

fn is_log(key: &str) -> bool {
    key == "write_iolog" || (key.starts_with("write_") && key.ends_with("_log"))
}

fn is_direction(value: &str) -> bool {
    let name = value.split(':').next().unwrap_or_default();
    let known = [
        "read",
        "write",
        "trim",
        "randread",
        "randwrite",
        "randtrim",
        "rw",
        "readwrite",
        "randrw",
        "trimwrite",
        "randtrimwrite",
    ];
    known.contains(&name)
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
