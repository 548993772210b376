//! The built-in workloads, each in a few lines of fio's job language, chosen to show differences between schedulers.
//! All bypass the page cache, and none repeats its random sequence.

use anyhow::Result;

use super::fio::{Fio, FioPart};
use super::group_settings::GroupSettings;
use super::job_file::JobFile;
use iosched_result::failure::Failure;
use iosched_result::text::similar::near;

/// One line of `--workload list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    pub name: &'static str,
    pub description: &'static str,
    /// Job options by process; several processes get a control group each.
    processes: &'static [(&'static str, &'static str)],
}

const ENTRIES: [CatalogueEntry; 8] = [
    CatalogueEntry {
        name: "randread",
        description: "random reads of 4 KiB, 32 in flight",
        processes: &[(
            "randread",
            "rw=randread\nbs=4k\nioengine=libaio\niodepth=32",
        )],
    },
    CatalogueEntry {
        name: "randread-qd1",
        description: "random reads of 4 KiB, one at a time: latency without a queue",
        processes: &[("randread", "rw=randread\nbs=4k\nioengine=psync")],
    },
    CatalogueEntry {
        name: "seqread",
        description: "sequential reads of 1 MiB, 8 in flight",
        processes: &[("seqread", "rw=read\nbs=1m\nioengine=libaio\niodepth=8")],
    },
    CatalogueEntry {
        name: "readers",
        description: "16 threads, each with one random read of 4 KiB at a time",
        processes: &[("readers", "rw=randread\nbs=4k\nioengine=psync\nnumjobs=16")],
    },
    CatalogueEntry {
        name: "randwrite",
        description: "random writes of 4 KiB, 32 in flight",
        processes: &[(
            "randwrite",
            "rw=randwrite\nbs=4k\nioengine=libaio\niodepth=32",
        )],
    },
    CatalogueEntry {
        name: "seqwrite",
        description: "sequential writes of 1 MiB, 8 in flight",
        processes: &[("seqwrite", "rw=write\nbs=1m\nioengine=libaio\niodepth=8")],
    },
    CatalogueEntry {
        name: "randrw",
        description: "16 threads, 70 % random reads and 30 % random writes of 4 KiB",
        processes: &[(
            "randrw",
            "rw=randrw\nrwmixread=70\nbs=4k\nioengine=psync\nnumjobs=16",
        )],
    },
    CatalogueEntry {
        name: "probe-hog",
        description: "a reader of 4 KiB at a time beside a greedy sequential writer, each in its own control group",
        processes: &[
            ("hog", "rw=write\nbs=256k\nioengine=libaio\niodepth=32"),
            // bfq may merge queues that are created within 180 ms; real services do not start together.
            (
                "probe",
                "rw=randread\nbs=4k\nioengine=psync\nstartdelay=300ms",
            ),
        ],
    },
];

/// `thread`: fio's threads end with fio, its child processes may not.
const COMMON: &str = "direct=1\nthread\nnorandommap\nrandrepeat=0\ngroup_reporting";

pub fn list() -> &'static [CatalogueEntry] {
    &ENTRIES
}

pub fn find(name: &str) -> Result<Fio> {
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
            let guesses = near(name, names.iter().copied());
            let meant = match guesses[..] {
                [] => String::new(),
                _ => format!("did you mean {}? ", guesses.join(" or ")),
            };
            Failure::usage(
                format!("unknown workload {name}"),
                format!(
                    "{meant}use one of {}, --job FILE.fio, or -- COMMAND",
                    names.join(", ")
                ),
            )
        })?;
    of_processes(entry.name, entry.processes.iter().copied())
}

/// One fio process for each label, with the common options and its own, in control groups of their own.
pub fn of_processes<'a>(
    name: &str,
    processes: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Fio> {
    let job = |label: &str, options: &str| {
        let text = format!("[{label}]\n{COMMON}\n{options}\n");
        JobFile::parse(name, &text, &[])
    };
    let jobs = processes
        .into_iter()
        .map(|(label, options)| Ok((label, job(label, options)?)))
        .collect::<Result<Vec<_>>>()?;
    let lead = jobs
        .iter()
        .map(|(_, job)| job.longest_start_delay())
        .max()
        .unwrap_or_default();
    let parts = jobs.into_iter().map(|(label, job)| FioPart {
        label: label.to_owned(),
        // A job that starts first must not be stopped first.
        is_background: job.longest_start_delay() < lead,
        job,
        group: GroupSettings::default(),
    });
    Ok(Fio::new(name, parts.collect()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workload::Workload;
    use iosched_result::failure::{Kind, kind_of};
    use iosched_result::types::outcome::Fixed;

    #[test]
    fn every_entry_can_be_made_and_says_whether_it_writes() {
        for entry in list() {
            let workload = find(entry.name).unwrap();
            assert_eq!(workload.name(), entry.name);
            assert_eq!(workload.properties().fixed, Fixed::Time);
            let says_so = entry.description.contains("writ");
            assert_eq!(workload.properties().writes, says_so, "{}", entry.name);
        }
    }

    #[test]
    fn the_probe_comes_after_the_hog() {
        let workload = find("probe-hog").unwrap();
        assert_eq!(workload.properties().lead, Duration::from_millis(300));
        assert_eq!(find("randread").unwrap().properties().lead, Duration::ZERO);
    }

    #[test]
    fn an_unknown_name_is_a_usage_error_that_lists_the_known() {
        let Err(error) = find("randreed") else {
            panic!("randreed was accepted")
        };
        assert_eq!(kind_of(&error), Kind::Usage);
        assert!(error.to_string().contains("randread-qd1"));
    }
}
