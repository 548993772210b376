//! Formats the numbers, with a legend. Pure.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use iosched_result::statistics::estimate::hodges_lehmann;
use iosched_result::statistics::signed_rank::{self, Difference};

use crate::record::{Condition, Record, Slice, Window};
use crate::{BASELINES, PEER};

const LEGEND: &str = "\
All values compare slices of the same round; medians over the rounds [95 % interval, or all that the rounds allow].
IOPS      of the load, with the kernel's BPF statistics off, divided by that of the two slices with nothing attached.
          `nothing B` divides one of these by the other, and `iosched, again` is the same program as `iosched`: what
          those two differ by is noise, in every column.
BPF       run time of the tool's BPF programs per I/O, by the kernel's statistics, divided by that of biolatency, which
          watches all disks. The statistics add about 30 ns per run, and do not count entering a program.
CPU       CPU time per I/O that the tool adds, with the statistics off, divided by that of biolatency: the load's, the
          kernel threads' and the tool's own, minus that of the slices with nothing attached. This is what users pay.
user      CPU time of the tool's process per I/O, a part of CPU, divided by the BPF time of biolatency.
";
const LEGEND_ABSOLUTE: &str =
    "ns        the same per I/O in nanoseconds; they hold for this machine and this hour only.\n";

pub fn render(record: &Record, is_absolute: bool) -> String {
    let mut text = format!(
        "Overhead of watching: fio randread 4 KiB on a loop device on memory\n\
         {}, {} CPUs, kernel {}, load {:.2} at the start, {} foreign BPF programs, seed {}\n\n",
        record.processor,
        record.cpus,
        record.kernel,
        record.load,
        record.foreign_programs,
        record.seed
    );
    let names = variants(record);
    for condition in conditions(record) {
        let load = condition.load.name();
        let iops = values(&of(record, condition, BASELINES[0], |slice| {
            Some(slice.plain.iops())
        }));
        let _ = writeln!(
            text,
            "{load} load under {}, {} rounds\n{}\n",
            condition.scheduler,
            iops.len(),
            overview(record, condition, &names, is_absolute)
        );
    }
    text.push_str(LEGEND);
    if is_absolute {
        let _ = writeln!(text, "{LEGEND_ABSOLUTE}\n{}", by_program(record, &names));
    }
    text.push('\n');
    for name in &names {
        let bytes = |slice: &Slice| slice.counted.as_ref().map(|counted| counted.map_bytes);
        let mut slices = record.slices.iter().filter(|slice| slice.variant == *name);
        if let Some(bytes) = slices.find_map(bytes) {
            let kib = bytes / 1024;
            let _ = writeln!(text, "kernel memory of the maps of {name}: {kib} KiB");
        }
    }
    if record.refused > 0 {
        let _ = writeln!(
            text,
            "{} slices were left out: other disks had more than 1 % of the load's I/Os",
            record.refused
        );
    }
    for failed in &record.cannot_run {
        let _ = writeln!(text, "{}: cannot run: {}", failed.variant, failed.reason);
    }
    text
}

pub fn conditions(record: &Record) -> Vec<Condition> {
    let mut found: Vec<Condition> = Vec::new();
    for slice in &record.slices {
        if !found.contains(&slice.condition) {
            found.push(slice.condition);
        }
    }
    found.sort_by_key(|condition| (condition.load as u8, condition.scheduler != "none"));
    found
}

/// In the order of first appearance, `iosched` before its peers.
fn variants(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for slice in &record.slices {
        if slice.counted.is_some() && !names.contains(&slice.variant) {
            names.push(slice.variant.clone());
        }
    }
    names.sort_by_key(|name| (!name.starts_with("iosched"), name.clone()));
    names
}

fn overview(record: &Record, condition: Condition, names: &[String], is_absolute: bool) -> Table {
    let ratios = ["variant", "IOPS", "BPF", "CPU", "user"];
    let levels = ["BPF, ns", "CPU, ns", "user, ns"];
    let levels = if is_absolute { &levels[..] } else { &[] };
    let mut table = empty(&[&ratios[..], levels].concat());
    let iops = |name: &str| of(record, condition, name, |slice| Some(slice.plain.iops()));
    let cpu = |name: &str| {
        of(record, condition, name, |slice| {
            Window::cpu_ns_per_io(&slice.plain)
        })
    };
    let [iops_a, iops_b] = BASELINES.map(iops);
    let [cpu_a, cpu_b] = BASELINES.map(cpu);
    let iops_base = joined(&iops_a, &iops_b, f64::midpoint);
    let cpu_base = joined(&cpu_a, &cpu_b, f64::midpoint);
    table.add_row([
        BASELINES[1].to_owned(),
        ratio(&joined(&iops_a, &iops_b, |a, b| b / a)),
    ]);
    let bpf = |name: &str| {
        of(record, condition, name, |slice| {
            Some(slice.counted.as_ref()?.ns_per_io())
        })
    };
    let added = |name: &str| joined(&cpu_base, &cpu(name), |base, own| own - base);
    let (bpf_of_peer, added_of_peer) = (bpf(PEER), added(PEER));
    for name in names {
        let user = of(record, condition, name, |slice| {
            slice.plain.tool_ns_per_io()
        });
        let to = |peer: &[(u32, f64)], own| ratio(&joined(peer, own, |peer, own| own / peer));
        let mut row = vec![
            name.clone(),
            ratio(&joined(&iops_base, &iops(name), |base, own| own / base)),
            to(&bpf_of_peer, &bpf(name)),
            to(&added_of_peer, &added(name)),
            to(&bpf_of_peer, &user),
        ];
        if is_absolute {
            row.extend([level(&bpf(name)), level(&added(name)), level(&user)]);
        }
        table.add_row(row);
    }
    table
}

fn by_program(record: &Record, names: &[String]) -> Table {
    let mut table = empty(&[
        "load",
        "scheduler",
        "variant",
        "program",
        "runs/IO",
        "ns/run",
        "ns/IO",
    ]);
    for condition in conditions(record) {
        for name in names {
            let slices: Vec<_> = record
                .slices
                .iter()
                .filter(|slice| slice.condition == condition && slice.variant == *name)
                .filter_map(|slice| slice.counted.as_ref())
                .collect();
            let mut programs: Vec<&str> = Vec::new();
            for program in slices.iter().flat_map(|counted| &counted.programs) {
                if program.runs > 0 && !programs.contains(&program.name.as_str()) {
                    programs.push(&program.name);
                }
            }
            for wanted in programs {
                let (mut runs, mut each, mut ns) = (Vec::new(), Vec::new(), Vec::new());
                for counted in &slices {
                    let same = counted.programs.iter().filter(|p| p.name == wanted);
                    let (time, count) =
                        same.fold((0, 0), |sum, p| (sum.0 + p.run_time_ns, sum.1 + p.runs));
                    if count > 0 {
                        let ios = counted.window.ios as f64;
                        runs.push(count as f64 / ios);
                        each.push(time as f64 / count as f64);
                        ns.push(time as f64 / ios);
                    }
                }
                // Rare runs, caused by other devices.
                if quantile(&runs, 0.5) < 0.01 {
                    continue;
                }
                table.add_row([
                    condition.load.name().to_owned(),
                    condition.scheduler.to_owned(),
                    name.clone(),
                    wanted.to_owned(),
                    format!("{:.2}", quantile(&runs, 0.5)),
                    format!("{:.0}", quantile(&each, 0.5)),
                    format!("{:.0}", quantile(&ns, 0.5)),
                ]);
            }
        }
    }
    table
}

fn empty(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if !["load", "scheduler", "variant", "program"].contains(&header[index]) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A value by round; rounds without one are left out.
fn of(
    record: &Record,
    condition: Condition,
    variant: &str,
    value: impl Fn(&Slice) -> Option<f64>,
) -> Vec<(u32, f64)> {
    let same = |slice: &&Slice| slice.condition == condition && slice.variant == variant;
    let slices = record.slices.iter().filter(same);
    slices
        .filter_map(|slice| Some((slice.round, value(slice)?)))
        .collect()
}

/// Values of the rounds that both have.
fn joined(a: &[(u32, f64)], b: &[(u32, f64)], op: impl Fn(f64, f64) -> f64) -> Vec<(u32, f64)> {
    let partner = |round| b.iter().find(|(other, _)| *other == round);
    a.iter()
        .filter_map(|&(round, x)| partner(round).map(|&(_, y)| (round, op(x, y))))
        .collect()
}

fn values(rounds: &[(u32, f64)]) -> Vec<f64> {
    rounds.iter().map(|(_, value)| *value).collect()
}

/// Estimates a ratio on a logarithmic scale, where noise is symmetric.
fn ratio(rounds: &[(u32, f64)]) -> String {
    let all = values(rounds);
    if all.iter().any(|ratio| *ratio <= 0.0) {
        return level_with(&all, 2); // differences of CPU times may be negative
    }
    let logs: Vec<f64> = all.iter().map(|ratio| ratio.ln()).collect();
    let Some((estimate, low, high)) = estimate(&logs) else {
        return String::new();
    };
    format!(
        "{:.2} [{:.2}, {:.2}]",
        estimate.exp(),
        low.exp(),
        high.exp()
    )
}

fn level(rounds: &[(u32, f64)]) -> String {
    level_with(&values(rounds), 0)
}

fn level_with(values: &[f64], digits: usize) -> String {
    let Some((estimate, low, high)) = estimate(values) else {
        return String::new();
    };
    format!("{estimate:.digits$} [{low:.digits$}, {high:.digits$}]")
}

/// The estimate of Hodges and Lehmann with its exact interval; of few rounds, their extremes.
fn estimate(values: &[f64]) -> Option<(f64, f64, f64)> {
    let estimate = hodges_lehmann(values)?;
    let exact: Vec<Difference> = values
        .iter()
        .map(|&value| Difference::exact(value))
        .collect();
    Some(match signed_rank::interval(&exact, 0.05) {
        Some(interval) => (estimate, interval.lower, interval.upper),
        None => (estimate, quantile(values, 0.0), quantile(values, 1.0)),
    })
}

/// Interpolated between the two nearest values; NaN without values.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = p * (sorted.len() as f64 - 1.0);
    let (Some(&low), Some(&high)) = (
        sorted.get(place.floor() as usize),
        sorted.get(place.ceil() as usize),
    ) else {
        return f64::NAN;
    };
    low + (high - low) * place.fract()
}
