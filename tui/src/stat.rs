//! `iosched stat`: attach, wait, print the difference of two snapshots.

mod csv_rows;
mod detail;
mod light;
mod presence;
mod syncs;
mod text;
mod throttled;
mod waits;

use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use iosched_experiment::workload::participants::{self, Participants};
use iosched_files::interrupt;
use iosched_files::stdout::{self, Stdout};
use iosched_host::safety::privileges;
use iosched_host::scheduler;
use iosched_host::system::cgroup::names::Names;
use iosched_host::system::device::Device;
use iosched_measure::probe::{self, Probe};
use iosched_read::fit;
use iosched_result::failure::Failure;
use iosched_result::measured::snapshot::{FileKey, Interval, OwnerNumbers};
use iosched_result::report::escape;
use iosched_result::report::page::Page;
use iosched_result::stat::{self, Burst, DeviceState, LightRecord, LiveRecord, Rows, Selection};
use iosched_result::types::participant::Named;
use serde::Serialize;

use crate::cli::{By, DetailChoice, Output, Stat, Whose};
use crate::syncs::Syncs;
use presence::Presence;

pub fn run(arguments: &Stat) -> Result<()> {
    let cgroup = group(&arguments.whose)?;
    let devices = devices(&arguments.devices)?;
    refuse_combinations(arguments)?;
    let mut syncs = wants(arguments, DetailChoice::Syncs)
        .then(Syncs::attach)
        .transpose()?;
    say(&syncs.as_ref().map_or_else(Vec::new, Syncs::notes));
    let mut probe = Probe::attach(&devices, 0, detail(arguments))?;
    say(&probe.notes());
    let mut presence = Presence::new(&devices, !arguments.devices.is_empty());
    let selection = Filter {
        rows: match arguments.by {
            By::Process | By::File => Rows::Processes,
            By::Cgroup => Rows::Cgroups,
            By::Device => Rows::Nothing,
        },
        pid: arguments.whose.pid,
        cgroup,
        names: RefCell::new(Names::default()),
    };
    let output = if arguments.json {
        Output::Json
    } else {
        arguments.output
    };
    let mut out = Printer::new(output, arguments);
    let mut earlier = probe.snapshot()?;
    if let Some(syncs) = &mut syncs {
        syncs.begin()?;
    }
    privileges::keep_those_of_a_watch()?;
    let mut next = Instant::now();
    let mut left = arguments.count;
    while left != Some(0) {
        next += Duration::from_secs_f64(arguments.interval);
        // Ctrl-C is the normal end: the current interval is still shown.
        let interrupted = interrupt::sleep_until(next);
        let later = probe.snapshot()?;
        let interval = Interval::between(&earlier, &later)?;
        let states: Vec<DeviceState> = devices
            .iter()
            .map(|device| state(device, &probe, &interval))
            .collect();
        selection.names.borrow_mut().forget_weights();
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        if arguments.light {
            let record = stat::light(&interval, time, &states);
            out.print_light(&record)?;
        } else {
            let mut record = stat::record(
                &interval,
                time,
                !probe.measures_q2g(),
                &states,
                &WithFiles(&selection, &probe),
            );
            if let Some(syncs) = &mut syncs {
                record.syncs = Some(syncs.next(&devices, &selection)?);
            }
            out.print(&record)?;
        }
        interrupted?;
        say(&presence.news());
        probe.recycle()?;
        probe.reuse(std::mem::replace(&mut earlier, later));
        left = left.map(|count| count - 1);
    }
    Ok(())
}

fn wants(arguments: &Stat, detail: DetailChoice) -> bool {
    arguments.detail.contains(&detail)
}

fn refuse_combinations(arguments: &Stat) -> Result<()> {
    if arguments.light {
        light::refuse_more(arguments)?;
    }
    if arguments.by == By::File && wants(arguments, DetailChoice::Fairness) {
        return Err(Failure::usage(
            "--by file cannot be combined with --detail fairness",
            "a file takes no turns: fairness is between processes or control groups",
        ));
    }
    if arguments.output == Output::Csv && wants(arguments, DetailChoice::Syncs) {
        return Err(Failure::usage(
            "--detail syncs has no form in CSV",
            "use --json: it has the waits of each process under `syncs`",
        ));
    }
    Ok(())
}

fn detail(arguments: &Stat) -> probe::Detail {
    let wants = |detail| wants(arguments, detail);
    probe::Detail {
        light: arguments.light,
        without_q2g: arguments.no_q2g,
        order: wants(DetailChoice::Order),
        fairness: wants(DetailChoice::Fairness),
        i2d: wants(DetailChoice::Stages) || wants(DetailChoice::Waits),
        owner_stages: wants(DetailChoice::Stages),
        asked: wants(DetailChoice::Asked),
        passthrough: arguments.passthrough,
        writeback: arguments.writeback_owner,
        files: arguments.by == By::File,
    }
}

/// The control group that is asked for. What does not exist is an error: an empty table would say that it did no I/O.
pub fn group(whose: &Whose) -> Result<Option<String>> {
    let (cgroup, unit) = (whose.cgroup.as_ref(), whose.unit.as_ref());
    let pid = whose.pid.map(Named::Pid);
    // All processes are below the root.
    let group = cgroup
        .cloned()
        .filter(|path| !path.trim_matches('/').is_empty());
    let named: Vec<Named> = pid.into_iter().chain(group.map(Named::Cgroup)).collect();
    Participants::resolve(&named)?;
    let unit = unit.cloned().map(Named::Unit);
    let named = unit.or(cgroup.cloned().map(Named::Cgroup));
    // As the kernel writes it, however it was typed.
    match named {
        Some(Named::Cgroup(root)) if root.trim_matches('/').is_empty() => Ok(Some(root)),
        Some(named) => participants::group_of(&named).map(Some),
        None => Ok(None),
    }
}

pub fn say(notes: &[String]) {
    let mut err = std::io::stderr();
    for note in notes {
        let _ = writeln!(err, "iosched: note: {}", escape::line(note));
    }
}

pub fn devices(names: &[String]) -> Result<Vec<Device>> {
    let mut devices: Vec<Device> = Vec::new();
    for name in names {
        let level = Device::measured(name)?;
        say(&level.notes);
        for device in level.devices {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
    }
    if names.is_empty() {
        let choice = Device::lowest()?;
        say(&choice.notes);
        devices = choice.devices;
    }
    if devices.is_empty() {
        return Err(Failure::usage(
            "no disk was found",
            "name one; `lsblk` lists them",
        ));
    }
    Ok(devices)
}

fn state(device: &Device, probe: &Probe, interval: &Interval) -> DeviceState {
    let mut dispatches = probe.dispatches(&device.name);
    dispatches.retain(|dispatch| dispatch.issue_ns >= interval.start_ns);
    DeviceState {
        scheduler: scheduler::choice(device).ok().map(|choice| choice.active),
        hardware_depth: device.hardware_depth().map(|hardware| hardware.depth),
        burst: Burst::of(&dispatches),
    }
}

/// Whether a control group is this one or below it.
pub fn is_below(path: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    path == wanted || path.starts_with(&format!("{wanted}/"))
}

struct Filter {
    rows: Rows,
    pid: Option<u32>,
    cgroup: Option<String>,
    names: RefCell<Names>,
}

impl Selection for Filter {
    fn rows(&self) -> Rows {
        self.rows
    }

    fn keeps(&self, owner: &OwnerNumbers) -> bool {
        self.keeps_process(owner.key.tgid, owner.key.cgroup_id)
    }

    fn keeps_process(&self, pid: u32, cgroup_id: u64) -> bool {
        let in_group = |wanted: &String| {
            let path = self.cgroup_path(cgroup_id).unwrap_or_default();
            is_below(&path, wanted)
        };
        self.pid.is_none_or(|wanted| pid == wanted) && self.cgroup.as_ref().is_none_or(in_group)
    }

    fn cgroup_path(&self, id: u64) -> Option<String> {
        self.names.borrow_mut().path(id)
    }

    fn cgroup_weight(&self, id: u64, device: &str) -> f64 {
        self.names.borrow_mut().weight(id, device)
    }
}

/// The probe knows the paths of files.
struct WithFiles<'a>(&'a Filter, &'a Probe);

impl Selection for WithFiles<'_> {
    fn rows(&self) -> Rows {
        self.0.rows()
    }

    fn keeps(&self, owner: &OwnerNumbers) -> bool {
        self.0.keeps(owner)
    }

    fn cgroup_path(&self, id: u64) -> Option<String> {
        self.0.cgroup_path(id)
    }

    fn cgroup_weight(&self, id: u64, device: &str) -> f64 {
        self.0.cgroup_weight(id, device)
    }

    fn file_path(&self, file: &FileKey) -> Option<String> {
        self.1.file_path(file).map(str::to_owned)
    }
}

struct Printer {
    output: Output,
    detail: Vec<DetailChoice>,
    /// All columns, however narrow the terminal is.
    is_wide: bool,
    has_told_of_wide: bool,
    csv: csv::Writer<Stdout>,
    is_first: bool,
}

impl Printer {
    fn new(output: Output, arguments: &Stat) -> Self {
        Printer {
            output,
            detail: arguments.detail.clone(),
            is_wide: arguments.wide,
            has_told_of_wide: false,
            csv: csv::Writer::from_writer(Stdout),
            is_first: true,
        }
    }

    fn print(&mut self, record: &LiveRecord) -> Result<()> {
        match self.output {
            Output::Json => print_json(record)?,
            Output::Text => self.print_page(&text::render(record, &self.detail, self.width()))?,
            Output::Csv => self.print_csv(record)?,
        }
        self.is_first = false;
        Ok(())
    }

    fn print_light(&mut self, record: &LightRecord) -> Result<()> {
        match self.output {
            Output::Json => print_json(record),
            _ => self.print_page(&light::render(record, self.width())),
        }
    }

    /// The terminal's, which may change at any time.
    fn width(&self) -> Option<usize> {
        fit::columns(&std::io::stdout()).filter(|_| !self.is_wide)
    }

    fn print_page(&mut self, page: &Page) -> Result<()> {
        if page.has_left_out && !std::mem::replace(&mut self.has_told_of_wide, true) {
            say(&["columns without room are left out; --wide has them".to_owned()]);
        }
        let mut out = stdout::lines();
        if !self.is_first {
            writeln!(out)?;
        }
        out.write_all(page.text.as_bytes())?;
        Ok(())
    }

    /// One row per device (empty pid) and one per process; the loss counters are in the device's row.
    fn print_csv(&mut self, record: &LiveRecord) -> Result<()> {
        if self.is_first {
            self.csv.write_record(csv_rows::HEADER)?;
        }
        for row in csv_rows::rows(record) {
            self.csv.write_record(row)?;
        }
        self.csv.flush()?;
        Ok(())
    }
}

fn print_json(record: &impl Serialize) -> Result<()> {
    let line = escape::json(&serde_json::to_string(record)?);
    writeln!(stdout::lines(), "{line}")?;
    Ok(())
}
