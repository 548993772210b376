//! Which file each job names. fio never sees these names: the jobs run on the target of the round instead. They only
//! tell which jobs use the same file. Pure.

use super::super::Target;
use super::super::fio_options::{self, Rule};
use super::JobFile;
use super::line::{Section, Setting};

/// A line, and what is wrong with it.
pub(super) type Refusal = (usize, String);

/// Notes name at most this many options.
const MOST_NAMED: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The job names no file, and either no size or an `offset_increment`, which already keeps its clones apart: it
    /// uses the whole target.
    Target,
    /// All clones (`numjobs`) of the job, and all jobs with the same name, use one file.
    Named(String),
    /// Each clone of this job has a file of its own.
    Own(usize),
}

pub(super) struct Place<'a> {
    pub job: &'a str,
    pub key: Key,
    /// None if `numjobs` is not a plain number.
    pub clones: Option<u64>,
    pub size: Option<&'a Setting>,
    pub filesize: Option<&'a Setting>,
    pub io_size: Option<&'a Setting>,
    pub offset: Option<&'a Setting>,
    pub increment: Option<&'a Setting>,
}

/// Whether an option only names a place.
pub(super) fn is_place(setting: &Setting) -> bool {
    let rule = fio_options::find(setting.option).map(|(_, rule)| rule);
    matches!(rule, Some(Rule::File | Rule::Directory | Rule::Place))
}

/// One for each job.
pub(super) fn places(jobs: &JobFile) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for (index, (section, all)) in jobs.jobs().enumerate() {
        let of = |option: &str| all.get(option).copied();
        let (size, filesize) = (of("size"), of("filesize").filter(|it| it.value() != "0"));
        let directory = of("directory").map_or("", Setting::value);
        let key = if let Some(name) = of("filename") {
            Key::Named(format!("{directory}/{}", name.value()))
        } else {
            match of("filename_format").map(Setting::value) {
                Some(format) if !format.contains("$jobnum") => Key::Named(format!(
                    "{directory}/{}",
                    format.replace("$jobname", &section.name)
                )),
                None if of("directory").is_none()
                    && (size.or(filesize).is_none() || of("offset_increment").is_some()) =>
                {
                    Key::Target
                }
                _ => Key::Own(index),
            }
        };
        places.push(Place {
            job: &section.name,
            key,
            clones: clones(of("numjobs")),
            size,
            filesize,
            io_size: of("io_size"),
            offset: of("offset"),
            increment: of("offset_increment"),
        });
    }
    places
}

/// Jobs of several files. With a `filename`, fio itself ignores the number.
pub(super) fn several_files(jobs: &JobFile) -> Vec<Refusal> {
    let several = jobs.jobs().filter_map(|(_, all)| {
        let setting = all.get("nrfiles").filter(|_| !all.contains_key("filename"))?;
        let what = format!(
            "{} would spread the job over several files, and a job has one file here: numjobs has one for each clone, and \
             `-- sh -c 'fio --directory=$IOSCHED_SCRATCH FILE'` with --scratch DIR, or on a simulated file system, makes all of them",
            setting.text()
        );
        (!matches!(setting.value(), "0" | "1")).then_some((setting.line, what))
    });
    several.collect()
}

fn clones(setting: Option<&Setting>) -> Option<u64> {
    let Some(setting) = setting else {
        return Some(1);
    };
    // u16 is far more than fio itself allows.
    let count = setting.value().parse::<u16>().ok()?;
    Some(u64::from(count.max(1)))
}

/// Notes on replaced options: places first, then those that rounds set.
pub(super) fn notes(sections: &[Section], target: &Target) -> Vec<String> {
    let options = sections.iter().flat_map(|section| &section.options);
    let places: Vec<&Setting> = options.filter(|setting| is_place(setting)).collect();
    let times: Vec<&Setting> = sections.iter().flat_map(|it| &it.replaced).collect();
    let mut notes = Vec::new();
    if !places.is_empty() {
        notes.push(format!(
            "the job file's {} only {} a place: the jobs use {target} instead",
            listed(&places),
            if places.len() == 1 { "names" } else { "name" }
        ));
    }
    if !times.is_empty() {
        notes.push(format!(
            "the job file's {} {} not used: iosched sets time, ramp and seed of each round",
            listed(&times),
            if times.len() == 1 { "is" } else { "are" }
        ));
    }
    notes
}

fn listed(settings: &[&Setting]) -> String {
    let named = settings.iter().take(MOST_NAMED);
    let named: Vec<String> = named
        .map(|setting| format!("{} (line {})", setting.text(), setting.line))
        .collect();
    let more = settings.len().saturating_sub(MOST_NAMED);
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
