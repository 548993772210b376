//! `iosched stat`: attach, wait, print the difference of two snapshots.

mod text;

use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched::cgroups::Names;
use iosched::device::Device;
use iosched::failure::Failure;
use iosched::interrupt;
use iosched::probe::Probe;
use iosched::report::live::{self, DeviceState, LiveRecord, Selection};
use iosched::scheduler;
use iosched::snapshot::{self, Interval, OwnerNumbers};

use crate::cli::{By, Output, Stat};

pub fn run(arguments: &Stat) -> Result<()> {
    let devices = devices(&arguments.devices)?;
    let mut probe = Probe::attach(&devices, 0)?;
    let mut err = std::io::stderr();
    for note in probe.notes() {
        let _ = writeln!(err, "iosched: note: {note}");
    }
    let selection = Filter {
        pid: arguments.pid,
        cgroup: arguments.cgroup.clone(),
        names: RefCell::new(Names::default()),
    };
    let mut out = Printer::new(arguments.output);
    let mut earlier = probe.snapshot()?;
    let mut next = Instant::now();
    let mut left = arguments.count;
    while left != Some(0) {
        next += Duration::from_secs_f64(arguments.interval);
        // Ctrl-C is how a watch ends: the interval begun is still shown.
        let interrupted = interrupt::sleep_until(next);
        let later = probe.snapshot()?;
        let mut interval = Interval::between(&earlier, &later)?;
        match arguments.by {
            By::Process => {}
            By::Cgroup => interval.owners = snapshot::by_cgroup(&interval.owners),
            By::Device => interval.owners.clear(),
        }
        let states: Vec<DeviceState> = devices.iter().map(state).collect();
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        out.print(&live::record(
            &interval,
            time,
            !probe.measures_q2g(),
            &states,
            &selection,
        ))?;
        interrupted?;
        earlier = later;
        left = left.map(|count| count - 1);
    }
    Ok(())
}

fn devices(names: &[String]) -> Result<Vec<Device>> {
    let mut err = std::io::stderr();
    let mut devices: Vec<Device> = Vec::new();
    for name in names {
        let resolved = Device::resolve(name)?;
        for note in resolved.notes {
            let _ = writeln!(err, "iosched: note: {note}");
        }
        if !devices.contains(&resolved.device) {
            devices.push(resolved.device);
        }
    }
    if names.is_empty() {
        // Empty loop devices and the like have no I/O to show.
        devices = Device::all()?
            .into_iter()
            .filter(|d| d.size_bytes().is_ok_and(|size| size > 0))
            .collect();
    }
    if devices.is_empty() {
        return Err(Failure::usage(
            "there is no disk to look at",
            "name one; `lsblk` lists them",
        ));
    }
    Ok(devices)
}

fn state(device: &Device) -> DeviceState {
    DeviceState {
        scheduler: scheduler::choice(device).ok().map(|choice| choice.active),
        hardware_depth: device.hardware_depth().map(|hardware| hardware.depth),
    }
}

struct Filter {
    pid: Option<u32>,
    cgroup: Option<String>,
    names: RefCell<Names>,
}

impl Selection for Filter {
    fn keeps(&self, owner: &OwnerNumbers) -> bool {
        let in_group = |wanted: &String| {
            let path = self.cgroup_path(owner.key.cgroup_id).unwrap_or_default();
            let wanted = wanted.trim_end_matches('/');
            path == wanted || path.starts_with(&format!("{wanted}/"))
        };
        self.pid.is_none_or(|pid| pid == owner.key.tgid)
            && self.cgroup.as_ref().is_none_or(in_group)
    }

    fn cgroup_path(&self, id: u64) -> Option<String> {
        self.names.borrow_mut().path(id)
    }
}

struct Printer {
    output: Output,
    csv: csv::Writer<std::io::Stdout>,
    is_first: bool,
}

impl Printer {
    fn new(output: Output) -> Self {
        Printer {
            output,
            csv: csv::Writer::from_writer(std::io::stdout()),
            is_first: true,
        }
    }

    fn print(&mut self, record: &LiveRecord) -> Result<()> {
        match self.output {
            Output::Json => {
                let mut out = std::io::stdout().lock();
                let line = serde_json::to_string(record)?;
                writeln!(out, "{line}")?;
            }
            Output::Text => {
                let mut out = std::io::stdout().lock();
                if !self.is_first {
                    writeln!(out)?;
                }
                out.write_all(text::render(record).as_bytes())?;
            }
            Output::Csv => self.print_csv(record)?,
        }
        self.is_first = false;
        Ok(())
    }

    /// A row per device (pid empty) and one per process; the counters of loss stand in the device's row.
    fn print_csv(&mut self, record: &LiveRecord) -> Result<()> {
        if self.is_first {
            self.csv.write_record(text::CSV_HEADER)?;
        }
        for row in text::csv_rows(record) {
            self.csv.write_record(row)?;
        }
        self.csv.flush()?;
        Ok(())
    }
}
