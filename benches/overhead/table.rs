//! Formats the numbers, with a legend. Pure.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use crate::record::{Record, Slice};
use crate::{BASELINES, SCHEDULERS};

const LEGEND: &str = "\
IOPS     IOPS of fio with the kernel's BPF statistics off, median over the rounds; for A/A, of the baselines' means.
ratio    IOPS with the tool attached, divided by the mean of the two baselines of the same round and scheduler.
         Median over the rounds [quartiles]. `A/A`: one baseline divided by the other, nothing attached in either.
         A ratio that differs from 1 by no more than A/A's quartiles is noise.
ns/IO    run time of the tool's BPF programs per I/O of fio, by the kernel's statistics, from separate slices with
         the statistics on. Median [quartiles]. Includes about 30 ns per run for the statistics themselves.
runs/IO  number of program runs per I/O.
net      ns/IO minus 30 ns per run: an estimate without the statistics. Neither includes entering a program, about
         20 ns per run, nor the tool's work in user space.
         Peers without -d watch every device: other activity is in their numbers, and visible in runs/IO.
rounds   rounds in which the variant and both baselines were measured; a round is one slice of 1 s of each.
";
const CLOCK_NS: f64 = 30.0;

pub fn render(record: &Record) -> String {
    let mut text = format!(
        "Overhead of watching: fio randread 4 KiB, QD 32, one thread, loop device on memory\n\
         kernel {}, {} CPUs, load {:.2} at the start, {} foreign BPF programs, seed {}\n\n",
        record.kernel, record.cpus, record.load, record.foreign_programs, record.seed
    );
    let names = variants(record);
    let _ = writeln!(text, "{}\n{LEGEND}", overview(record, &names));
    let _ = writeln!(text, "By program:\n{}", by_program(record, &names));
    for name in &names {
        let bytes = of(record, name).filter_map(|slice| slice.map_bytes).max();
        if let Some(bytes) = bytes {
            let kib = bytes.div_ceil(1024);
            let _ = writeln!(text, "kernel memory of the maps of {name}: {kib} KiB");
        }
    }
    for failed in &record.cannot_run {
        let _ = writeln!(text, "{}: cannot run: {}", failed.variant, failed.reason);
    }
    text
}

/// In the order of first appearance, `iosched` before its peers.
fn variants(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for slice in &record.slices {
        if slice.programs.is_some() && !names.contains(&slice.variant) {
            names.push(slice.variant.clone());
        }
    }
    names.sort_by_key(|name| (!name.starts_with("iosched"), name.clone()));
    names
}

fn overview(record: &Record, names: &[String]) -> Table {
    let mut table = empty(&[
        "scheduler",
        "variant",
        "IOPS",
        "ratio",
        "rounds",
        "ns/IO",
        "runs/IO",
        "net",
    ]);
    for scheduler in SCHEDULERS {
        let [a, b] = BASELINES.map(|name| iops(record, scheduler, name));
        let base: Vec<(u32, f64)> = joined(&a, &b, f64::midpoint);
        let twice = joined(&a, &b, |a, b| b / a);
        table.add_row([
            scheduler.to_owned(),
            "A/A".to_owned(),
            format!("{:.0}", quantile(&values(&base), 0.5)),
            spread(&values(&twice), 3),
            twice.len().to_string(),
        ]);
        for name in names {
            let own = iops(record, scheduler, name);
            let ratios = joined(&base, &own, |base, own| own / base);
            let counted =
                || of(record, name).filter(|s| s.scheduler == scheduler && s.programs.is_some());
            let per_io = |n: fn(&Slice) -> u64| {
                counted()
                    .map(|s| n(s) as f64 / s.ios as f64)
                    .collect::<Vec<_>>()
            };
            let (ns, runs) = (per_io(Slice::run_time_ns), per_io(Slice::runs));
            let net = quantile(&ns, 0.5) - CLOCK_NS * quantile(&runs, 0.5);
            table.add_row([
                scheduler.to_owned(),
                name.clone(),
                format!("{:.0}", quantile(&values(&own), 0.5)),
                spread(&values(&ratios), 3),
                ratios.len().to_string(),
                spread(&ns, 0),
                format!("{:.2}", quantile(&runs, 0.5)),
                format!("{net:.0}"),
            ]);
        }
    }
    table
}

fn by_program(record: &Record, names: &[String]) -> Table {
    let mut table = empty(&[
        "scheduler",
        "variant",
        "program",
        "runs/IO",
        "ns/run",
        "ns/IO",
    ]);
    for scheduler in SCHEDULERS {
        for name in names {
            let slices: Vec<&Slice> = of(record, name)
                .filter(|s| s.scheduler == scheduler)
                .collect();
            let mut programs: Vec<&str> = Vec::new();
            for program in slices
                .iter()
                .flat_map(|slice| slice.programs.iter().flatten())
            {
                if program.runs > 0 && !programs.contains(&program.name.as_str()) {
                    programs.push(&program.name);
                }
            }
            for wanted in programs {
                let (mut runs, mut each, mut ns) = (Vec::new(), Vec::new(), Vec::new());
                for slice in &slices {
                    let same = slice.programs.iter().flatten().filter(|p| p.name == wanted);
                    let (time, count) =
                        same.fold((0, 0), |sum, p| (sum.0 + p.run_time_ns, sum.1 + p.runs));
                    if count > 0 {
                        runs.push(count as f64 / slice.ios as f64);
                        each.push(time as f64 / count as f64);
                        ns.push(time as f64 / slice.ios as f64);
                    }
                }
                // Rare runs, caused by other devices.
                if quantile(&runs, 0.5) < 0.01 {
                    continue;
                }
                table.add_row([
                    scheduler.to_owned(),
                    name.clone(),
                    wanted.to_owned(),
                    format!("{:.2}", quantile(&runs, 0.5)),
                    spread(&each, 0),
                    spread(&ns, 0),
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
        if header[index].contains("/IO")
            || ["IOPS", "rounds", "net", "ns/run"].contains(&header[index])
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn of<'a>(record: &'a Record, variant: &'a str) -> impl Iterator<Item = &'a Slice> {
    record
        .slices
        .iter()
        .filter(move |slice| slice.variant == variant)
}

/// Values by round, from the slices without statistics.
fn iops(record: &Record, scheduler: &str, variant: &str) -> Vec<(u32, f64)> {
    let plain = of(record, variant)
        .filter(|slice| slice.scheduler == scheduler && slice.programs.is_none());
    plain.map(|slice| (slice.round, slice.iops)).collect()
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

fn spread(values: &[f64], digits: usize) -> String {
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|p| quantile(values, p));
    format!("{middle:.digits$} [{low:.digits$}-{high:.digits$}]")
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
