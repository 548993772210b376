//! Metrics that a run can measure, as far as is known before its first round: a metric that it can never have is refused
//! then, with what there is in its place. Pure.

use super::table::{self, Found, Needs, Of};
use super::{Metric, Origin, REPORTED};
use crate::failure::Failure;
use crate::metric::profile::{Does, Part, Profile, Reports};
use crate::text::glob::glob;
use crate::text::similar::near;

#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // independent of each other
pub struct Offer {
    /// Name of the workload.
    pub name: String,
    pub profile: Profile,
    /// Labels of processes that ran before.
    pub participants: Vec<String>,
    pub order: bool,
    pub fairness: bool,
    pub is_live: bool,
    pub is_asynchronous: bool,
    /// Why fio does not measure the latency of every job.
    pub without_latency: Option<String>,
}

impl Offer {
    /// `[reported:]NAME[:MARGIN]`, if this run can have it.
    pub fn metric(&self, text: &str) -> anyhow::Result<Metric> {
        let may_report = self.profile.reports != Reports::Nothing;
        let mut metric = Metric::parse(text, may_report)?;
        // iosched has no such part, so it must be the command's.
        if may_report && metric.origin == Origin::Measured && self.is_of_nobody(&metric.name) {
            metric = Metric::parse(&format!("{REPORTED}{text}"), true)?;
        }
        let refusal = match metric.origin {
            Origin::Measured => table::find(&metric.name).and_then(|found| self.refusal(found)),
            Origin::Reported => self.refusal_of_report(metric.plain_name()),
        };
        match refusal {
            None => Ok(metric),
            Some((why, hint)) => Err(Failure::usage(
                format!("{} cannot be measured: {why}", metric.name),
                hint,
            )),
        }
    }

    fn is_of_nobody(&self, name: &str) -> bool {
        let label = table::find(name).and_then(|found| found.label);
        label.is_some_and(|label| !self.labels().contains(&label))
    }

    fn labels(&self) -> Vec<&str> {
        let parts = self.profile.jobs.iter().chain(&self.profile.groups);
        let mut labels: Vec<&str> = parts.map(|part| part.label.as_str()).collect();
        labels.extend(self.participants.iter().map(String::as_str));
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Why it has no value in any round, and what to do.
    fn refusal(&self, found: Found<'_>) -> Option<(String, String)> {
        if let Some(label) = found.label {
            return self.refusal_of_part(found, label);
        }
        let by_operation = || {
            // Others use the disk too.
            let is_alone = self.participants.is_empty() && !self.is_live;
            let does = self.profile.does.filter(|_| is_alone)?;
            lacks(found.name, does, &self.name)
        };
        self.unmet(found.row.needs).or_else(by_operation)
    }

    fn unmet(&self, needs: Needs) -> Option<(String, String)> {
        let has_groups = !self.profile.groups.is_empty();
        let says = |why: &str, hint: &str| Some((why.to_owned(), hint.to_owned()));
        match needs {
            Needs::Program => self.without_latency.clone().map(|why| {
                let hint = "remove that option from the job file, or choose another metric, such as throughput or device_p99";
                (why, hint.to_owned())
            }),
            Needs::Asynchronous if !self.is_asynchronous => says(
                "only for fio jobs with libaio or io_uring it is known when the program asked",
                "choose queue_wait, device or total in its place",
            ),
            Needs::DetailOrder if !self.order => {
                says("the dispatch order is measured with --detail order", "add --detail order")
            }
            Needs::DetailFairness if !self.fairness => says(
                "the device time of each process is measured with --detail fairness",
                "add --detail fairness",
            ),
            Needs::Sharing | Needs::DetailFairness if !has_groups && self.participants.is_empty() => says(
                "there is no workload whose parts could be compared",
                "name processes with --cgroup, --unit or --pid",
            ),
            Needs::Sharing | Needs::DetailFairness if self.participants.len() == 1 && !has_groups => says(
                "there is one part, and it shares with no other",
                "name a second one with --cgroup, --unit or --pid",
            ),
            Needs::OwnGroups if !has_groups => {
                says("there is no workload whose CPU time could be counted", "choose another metric")
            }
            Needs::OwnGroups if !self.participants.is_empty() => says(
                "the CPU time of processes that ran before is not known",
                "choose another metric, or leave out --cgroup, --unit and --pid",
            ),
            _ => None,
        }
    }

    fn refusal_of_part(&self, found: Found<'_>, label: &str) -> Option<(String, String)> {
        let Profile { jobs, groups, .. } = &self.profile;
        let is_participant = self.participants.iter().any(|it| it == label);
        let part = |parts: &[Part]| parts.iter().find(|part| part.label == label).cloned();
        let (of, what, others) = match found.row.of {
            Of::Whole => return None,
            Of::Job => (part(jobs), "job of fio", labels_of(jobs)),
            Of::Group => (
                part(groups),
                "control group of the workload",
                labels_of(groups),
            ),
            Of::Participant => (None, "--cgroup, --unit or --pid", self.participants.clone()),
            Of::Part => {
                let all = self.labels().into_iter().map(str::to_owned).collect();
                (
                    part(groups).or_else(|| part(jobs)),
                    "part of the workload",
                    all,
                )
            }
        };
        if matches!(found.row.of, Of::Participant | Of::Part) && is_participant {
            return None;
        }
        let Some(of) = of else {
            let hint = match others.as_slice() {
                [] => "this workload has none".to_owned(),
                some => format!(
                    "there {}: {}",
                    if some.len() == 1 { "is" } else { "are" },
                    some.join(", ")
                ),
            };
            return Some((format!("no {what} is called {label}"), hint));
        };
        lacks(found.name, of.does?, label)
    }

    fn refusal_of_report(&self, name: &str) -> Option<(String, String)> {
        let Reports::Known {
            of,
            patterns,
            is_all,
        } = &self.profile.reports
        else {
            return None;
        };
        let is_known = patterns.iter().any(|pattern| glob(pattern, name));
        if is_known || !(*is_all || name.starts_with(&format!("{of}."))) {
            return None;
        }
        let all = patterns.iter().map(String::as_str);
        let guesses = near(name, all.clone());
        let hint = match guesses.as_slice() {
            [] => format!("it reports {}", all.collect::<Vec<_>>().join(", ")),
            some => format!("did you mean {}?", some.join(" or ")),
        };
        Some((format!("{of} reports no metric of that name"), hint))
    }
}

fn labels_of(parts: &[Part]) -> Vec<String> {
    parts.iter().map(|part| part.label.clone()).collect()
}

/// Why something that does only this I/O has no such metric. `name`: without a label.
fn lacks(name: &str, does: Does, who: &str) -> Option<(String, String)> {
    const OF_DATA: [&str; 4] = ["iops", "throughput", "ios", "request_size"];
    let is = |prefix: &str| name.starts_with(prefix);
    let of_data = || {
        let is_latency = ["queue_wait_", "device_", "total_"]
            .iter()
            .any(|stage| is(stage));
        OF_DATA.contains(&name) || is_latency
    };
    let (is_done, what) = if is("read_") {
        (does.reads, "does not read")
    } else if is("write_") {
        (does.writes, "does not write")
    } else if is("discard_") || is("trim_") {
        (does.discards, "does not discard")
    } else if is("sync_lat_") {
        (does.syncs, "calls neither fsync nor fdatasync")
    } else if of_data() {
        (does.reads || does.writes, "only discards")
    } else {
        return None;
    };
    let of_discards = format!("discard_{name}");
    let is_there = what == "only discards" && table::find(&of_discards).is_some();
    let hint = if is_there {
        format!("choose {of_discards}")
    } else {
        "choose a metric of what it does; `iosched-ab metrics` lists all".to_owned()
    };
    (!is_done).then(|| (format!("{who} {what}"), hint))
}
