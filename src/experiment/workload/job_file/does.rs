//! Which I/O each job does, and under which name fio reports it. Pure.

use std::collections::{BTreeMap, HashMap};

use super::place::Refusal;
use super::{JobFile, Section, Setting};
use iosched_result::metric::profile::{Does, Part};

const SYNCS: [&str; 5] = [
    "fsync",
    "fdatasync",
    "sync_file_range",
    "end_fsync",
    "fsync_on_close",
];

type Options<'a> = HashMap<&'static str, &'a Setting>;

impl JobFile {
    /// All jobs together.
    pub fn does(&self) -> Does {
        let jobs = self.jobs().map(|(_, all)| of_job(&all));
        jobs.reduce(Does::or).unwrap_or_default()
    }

    /// The entries of fio's report, in which clones have one name: with `group_reporting`, a job is in the entry of the
    /// one before.
    pub fn reported(&self) -> Vec<Part> {
        let mut entries: Vec<(String, Does)> = Vec::new();
        for (section, all) in self.jobs() {
            let does = of_job(&all);
            match entries.last_mut().filter(|_| is_grouped(&all)) {
                Some((_, of_entry)) => *of_entry = of_entry.or(does),
                None => entries.push((name(section, &all).to_owned(), does)),
            }
        }
        let parts = entries.into_iter().map(|(label, does)| Part {
            label,
            does: Some(does),
        });
        parts.collect()
    }
}

fn is_grouped(all: &Options<'_>) -> bool {
    all.get("group_reporting").is_some_and(|it| it.is_on())
}

fn name<'a>(section: &'a Section, all: &Options<'a>) -> &'a str {
    all.get("name").map_or(&section.name, |it| it.value())
}

fn of_job(all: &Options<'_>) -> Does {
    let has = |option: &str| all.get(option).is_some_and(|it| it.is_on());
    let rw = all.get("rw").map_or("read", |it| it.value());
    let rw = rw.split(':').next().unwrap_or_default();
    let is_mixed = matches!(rw, "rw" | "readwrite" | "randrw");
    let writes = is_mixed || rw.contains("write");
    // The page cache may read around what is written, and what is verified is read.
    let is_direct = has("direct") || has("atomic");
    let reads_back = writes && (!is_direct || all.keys().any(|key| key.starts_with("verify")));
    Does {
        reads: is_mixed || matches!(rw, "read" | "randread") || reads_back || has("pre_read"),
        writes,
        discards: rw.contains("trim") || has("trim_percentage"),
        syncs: SYNCS.into_iter().any(has),
    }
}

/// Jobs whose results could not be told apart.
pub(super) fn equal_names(jobs: &JobFile) -> Vec<Refusal> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (section, all) in jobs.jobs() {
        let name = name(section, &all);
        let first = lines.insert(name, section.line);
        if let Some(first) = first.filter(|_| !is_grouped(&all)) {
            wrong.push((
                section.line,
                format!("two jobs are called [{name}], the other one in line {first}: their metrics could not be told apart"),
            ));
        }
    }
    wrong
}
