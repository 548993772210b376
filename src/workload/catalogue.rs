//! The built-in workloads: what tells schedulers apart, each in a few lines of fio's own language.
//! All bypass the page cache, and none repeats its random sequence.

use anyhow::Result;

use super::fio::{Fio, Part};
use super::job_file::JobFile;
use crate::failure::Failure;

/// One line of `--workload list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub description: &'static str,
    /// Job options by process; more than one process means a control group each.
    processes: &'static [(&'static str, &'static str)],
}

const ENTRIES: [Entry; 8] = [
    Entry {
        name: "randread",
        description: "random reads of 4 KiB, 32 in flight",
        processes: &[(
            "randread",
            "rw=randread\nbs=4k\nioengine=libaio\niodepth=32",
        )],
    },
    Entry {
        name: "randread-qd1",
        description: "random reads of 4 KiB, one at a time: latency without a queue",
        processes: &[("randread", "rw=randread\nbs=4k\nioengine=psync")],
    },
    Entry {
        name: "seqread",
        description: "sequential reads of 1 MiB, 8 in flight",
        processes: &[("seqread", "rw=read\nbs=1m\nioengine=libaio\niodepth=8")],
    },
    Entry {
        name: "readers",
        description: "16 threads, each with one random read of 4 KiB at a time",
        processes: &[("readers", "rw=randread\nbs=4k\nioengine=psync\nnumjobs=16")],
    },
    Entry {
        name: "randwrite",
        description: "random writes of 4 KiB, 32 in flight",
        processes: &[(
            "randwrite",
            "rw=randwrite\nbs=4k\nioengine=libaio\niodepth=32",
        )],
    },
    Entry {
        name: "seqwrite",
        description: "sequential writes of 1 MiB, 8 in flight",
        processes: &[("seqwrite", "rw=write\nbs=1m\nioengine=libaio\niodepth=8")],
    },
    Entry {
        name: "randrw",
        description: "16 threads, 70 % random reads and 30 % random writes of 4 KiB",
        processes: &[(
            "randrw",
            "rw=randrw\nrwmixread=70\nbs=4k\nioengine=psync\nnumjobs=16",
        )],
    },
    Entry {
        name: "probe-hog",
        description: "a reader of 4 KiB at a time beside a greedy sequential writer, in control groups of their own",
        processes: &[
            ("hog", "rw=write\nbs=256k\nioengine=libaio\niodepth=32"),
            // Queues that begin together share their fate under bfq; real services do not begin together.
            ("probe", "rw=randread\nbs=4k\nioengine=psync\nstartdelay=1"),
        ],
    },
];

/// `thread`: fio's threads end with fio, its processes need not.
const COMMON: &str = "direct=1\nthread\nnorandommap\nrandrepeat=0\ngroup_reporting";

pub fn list() -> &'static [Entry] {
    &ENTRIES
}

pub fn find(name: &str) -> Result<Fio> {
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
            Failure::usage(
                format!("there is no workload {name}"),
                format!(
                    "take one of {}; or --job FILE.fio, or -- COMMAND",
                    names.join(", ")
                ),
            )
        })?;
    let job = |label: &str, options: &str| {
        let text = format!("[{label}]\n{COMMON}\n{options}\n");
        JobFile::parse(entry.name, &text, &[])
    };
    let jobs = entry
        .processes
        .iter()
        .map(|(label, options)| Ok((*label, job(label, options)?)))
        .collect::<Result<Vec<_>>>()?;
    let lead = jobs
        .iter()
        .map(|(_, job)| job.longest_start_delay())
        .max()
        .unwrap_or_default();
    let parts = jobs.into_iter().map(|(label, job)| Part {
        label: label.to_owned(),
        // Who comes first must not be the first to go.
        is_background: job.longest_start_delay() < lead,
        job,
    });
    Ok(Fio::new(entry.name, parts.collect()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::failure::{Kind, kind_of};
    use crate::workload::{Fixed, Workload};

    #[test]
    fn every_entry_can_be_made_and_says_whether_it_writes() {
        for entry in list() {
            let workload = find(entry.name).unwrap();
            assert_eq!(workload.name(), entry.name);
            assert_eq!(workload.fixed(), Fixed::Time);
            let says_so = entry.description.contains("writ");
            assert_eq!(workload.writes(), says_so, "{}", entry.name);
        }
    }

    #[test]
    fn the_probe_comes_a_second_after_the_hog() {
        let workload = find("probe-hog").unwrap();
        assert_eq!(workload.lead(), Duration::from_secs(1));
        assert_eq!(find("randread").unwrap().lead(), Duration::ZERO);
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
