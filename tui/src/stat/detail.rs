//! Renders what `--detail` adds to the text of `iosched stat`. Pure.

use std::fmt::Write;

use iosched_result::measured::snapshot::{Log2Histogram, OwnerKind};
use iosched_result::report::page::{Column, Page};
use iosched_result::report::{escape, units};
use iosched_result::stat::{HardwareQueue, LatencySummary, LiveDevice, LiveOrder, LiveProcess};

use super::text::{p50, p99};
use super::waits;
use crate::cli::DetailChoice;

pub fn device_lines(page: &mut Page, device: &LiveDevice, wanted: &[DetailChoice]) {
    for detail in wanted {
        match detail {
            DetailChoice::Order => page.lines(&device.order.as_ref().map_or(String::new(), order)),
            DetailChoice::Fairness => page.lines(&fairness(device)),
            DetailChoice::Merges => page.lines(&merges(device)),
            DetailChoice::Stages => stages(page, device),
            DetailChoice::Waits => page.lines(&waits::of_device(device)),
            DetailChoice::Asked => page.lines(&asked(device)),
            DetailChoice::Syncs => {}
        }
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

fn range(histogram: &Log2Histogram, p: f64) -> String {
    match histogram.quantile_range(p) {
        None => "-".to_owned(),
        Some((low, high)) if low == high => low.to_string(),
        Some((low, high)) => format!("{low}-{high}"),
    }
}

fn order(order: &LiveOrder) -> String {
    let burst = order.burst.as_ref().map_or(String::new(), |burst| {
        format!(
            "\n         last {} issues: overtaken by {} on average, p99 {}; extent at most {}{}",
            burst.issued,
            number(burst.overtakes_mean),
            units::optional(burst.overtakes_p99),
            units::optional(burst.extent_max),
            hardware_queues(&burst.hardware_queues),
        )
    });
    let runs = |mean, lengths| {
        let (median, p99) = (range(lengths, 0.5), range(lengths, 0.99));
        format!("{} (p50 {median} p99 {p99})", number(mean))
    };
    format!(
        "  order  {} of {} issues reordered; late by p50 {} p99 {}, early by p99 {} places{burst}\n\
         {}mean seek {} sectors as started, {} as issued: gain {}; sequential {}\n\
         {}runs of {} reads, {} writes\n",
        units::share(order.reordered_share),
        order.issued,
        range(&order.late, 0.5),
        range(&order.late, 0.99),
        range(&order.early, 0.99),
        " ".repeat(9),
        number(order.mean_insert_seek_sectors),
        number(order.mean_issue_seek_sectors),
        number(order.scheduler_gain),
        units::share(order.sequential_share),
        " ".repeat(9),
        runs(order.mean_read_run, &order.read_run),
        runs(order.mean_write_run, &order.write_run),
    )
}

/// Only the least and the most reordered queue, because there may be hundreds.
fn hardware_queues(queues: &[HardwareQueue]) -> String {
    let share = |queue: &HardwareQueue| queue.reordered_share.unwrap_or(0.0);
    let by_share = |a: &&HardwareQueue, b: &&HardwareQueue| share(a).total_cmp(&share(b));
    let said = |queue: &HardwareQueue| {
        let share = units::share(queue.reordered_share);
        format!("{share} (queue {})", queue.index)
    };
    let least = queues.iter().min_by(by_share).map(said);
    let most = queues.iter().rev().max_by(by_share).map(said); // the first of equals
    let (Some(least), Some(most)) = (least, most) else {
        return String::new();
    };
    let count = queues.len();
    format!("\n         within each of {count} hardware queues: {least} to {most} reordered")
}

fn fairness(device: &LiveDevice) -> String {
    let Some(fairness) = &device.fairness else {
        return "  fairness  no I/O\n".to_owned();
    };
    let index = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    format!(
        "  fairness  Jain's index {} of device time, {} of bytes, {} of I/Os; {} compared, {} left out\n",
        index(fairness.jain_device_time),
        index(fairness.jain_bytes),
        index(fairness.jain_ios),
        fairness.flows,
        fairness.left_out,
    )
}

fn bios(per_request: Option<f64>) -> String {
    per_request.map_or("-".to_owned(), |n| format!("{n:.2}"))
}

fn size(bytes: Option<f64>) -> String {
    bytes.map_or("-".to_owned(), |n| format!("{:.1} KiB", n / 1024.0))
}

fn merges(device: &LiveDevice) -> String {
    let mut text = format!(
        "  merges  {} of the bios; {} bios and {} per request\n",
        units::share(device.merge_ratio),
        bios(device.bios_per_request),
        size(device.mean_request_bytes),
    );
    for op in device.ops.iter().filter(|op| op.bios > op.ios) {
        let _ = writeln!(
            text,
            "          {}: wait p50 {} p99 {} per request, p50 {} p99 {} per bio",
            op.op.name(),
            p50(&op.queue_wait),
            p99(&op.queue_wait),
            p50(&op.queue_wait_per_bio),
            p99(&op.queue_wait_per_bio),
        );
    }
    text
}

/// The median and the 99th percentile of each stage: where both have no room, the latter stays.
const STAGES: [Column; 10] = [
    Column::quantity("Q2G p50", 2),
    Column::quantity("Q2G p99", 1),
    Column::quantity("G2D p50", 2),
    Column::quantity("G2D p99", 0),
    Column::quantity("I2D p50", 2),
    Column::quantity("I2D p99", 1),
    Column::quantity("D2C p50", 2),
    Column::quantity("D2C p99", 0),
    Column::quantity("Q2C p50", 2),
    Column::quantity("Q2C p99", 0),
];

fn stages(page: &mut Page, device: &LiveDevice) {
    let named = [Column::name("OP", 0), Column::count("I/Os", 0)];
    let rows = device.ops.iter().map(|op| {
        let named = [op.op.name().to_owned(), op.ios.to_string()];
        let stages = [&op.q2g, &op.g2d, &op.i2d, &op.device, &op.total];
        named.into_iter().chain(quantiles(stages)).collect()
    });
    page.table(&[&named[..], &STAGES].concat(), &rows.collect::<Vec<_>>());
    page.lines(&fsyncs(device));
}

fn fsyncs(device: &LiveDevice) -> String {
    let mut text = String::new();
    let flushes = &device.flushes;
    let mean = |sum: u64, n: u64| units::time((n > 0).then(|| sum as f64 / n as f64));
    let empty = device
        .ops
        .iter()
        .find(|op| op.op == iosched_result::measured::snapshot::Op::Flush);
    if flushes.asked + flushes.before_data + flushes.after_data + flushes.journal_writes > 0 {
        let _ = writeln!(
            text,
            "  fsync  count and mean: sync data writes {} with device time {}, journal writes {} with {}, queue wait of both {}; \
             flushes before data {} at {}, after data {} at {}, without data {} at {}",
            device.data_writes,
            mean(device.data_write_ns, device.data_writes),
            flushes.journal_writes,
            mean(flushes.journal_ns, flushes.journal_writes),
            mean(
                device.sync_write_wait_ns,
                device.data_writes + flushes.journal_writes
            ),
            flushes.before_data,
            mean(flushes.before_data_ns, flushes.before_data),
            flushes.after_data,
            mean(flushes.after_data_ns, flushes.after_data),
            flushes.asked,
            units::time(empty.and_then(|op| op.total.mean_ns)),
        );
    }
    text
}

fn asked(device: &LiveDevice) -> String {
    let Some(asked) = &device.asked else {
        return String::new();
    };
    let spread = |stage: &LatencySummary| {
        let (median, p99) = (p50(stage), p99(stage));
        format!("p50 {median} p99 {p99}")
    };
    format!(
        "  asked  to queued {}; to issued {}; to completed {}\n",
        spread(&asked.a2q),
        spread(&asked.a2d),
        spread(&asked.a2c),
    )
}

/// The median and the 99th percentile of each stage.
fn quantiles<const N: usize>(stages: [&LatencySummary; N]) -> impl Iterator<Item = String> {
    stages
        .into_iter()
        .flat_map(|stage| [p50(stage), p99(stage)])
}

pub fn process_lines(page: &mut Page, rows: &[&LiveProcess], wanted: &[DetailChoice]) {
    for detail in wanted {
        match detail {
            DetailChoice::Fairness => fairness_of(page, rows),
            DetailChoice::Merges => merges_of(page, rows),
            DetailChoice::Stages => stages_of(page, rows),
            DetailChoice::Waits => waits::of_processes(page, rows),
            DetailChoice::Asked => asked_of(page, rows),
            DetailChoice::Order | DetailChoice::Syncs => {}
        }
    }
}

/// A table of processes: their names, and the cells of those that have some.
fn processes(
    page: &mut Page,
    columns: &[Column],
    rows: &[&LiveProcess],
    cells: impl Fn(&LiveProcess) -> Option<Vec<String>>,
) {
    let names = [Column::count("PID", 0), Column::name("COMM", 0)];
    let rows = rows.iter().filter_map(|row| {
        let cells = cells(row)?;
        Some(named(row).into_iter().chain(cells).collect())
    });
    page.table(&[&names[..], columns].concat(), &rows.collect::<Vec<_>>());
}

/// PID and name of a process; a row per control group shows the group's path instead.
pub fn named(row: &LiveProcess) -> [String; 2] {
    let is_group = row.pid.is_none() && row.kind == OwnerKind::Process;
    let path = row.cgroup.as_ref().filter(|_| is_group);
    let name = path.unwrap_or(&row.comm);
    let name = match &row.file {
        Some(file) => format!("{name} {}", file.label()),
        None => name.clone(),
    };
    [units::optional(row.pid), escape::line(&name)]
}

fn fairness_of(page: &mut Page, rows: &[&LiveProcess]) {
    let columns = [
        Column::count("DEVICE TIME", 0),
        Column::count("BYTES", 0),
        Column::count("BACKLOGGED", 2),
        Column::quantity("STARVED max", 0),
        Column::count(">100 ms", 3),
        Column::count(">1 s", 4),
        Column::count("PRIO", 1),
    ];
    processes(page, &columns, rows, |row| {
        let fairness = row.fairness.as_ref()?;
        Some(vec![
            units::share(fairness.device_time_share),
            units::share(fairness.bytes_share),
            units::share(Some(fairness.backlogged_share)),
            units::time(fairness.starvation_max_ns.map(|ns| ns as f64)),
            fairness.starved_100ms.to_string(),
            fairness.starved_1s.to_string(),
            priority(row.ioprio),
        ])
    });
}

fn stages_of(page: &mut Page, rows: &[&LiveProcess]) {
    processes(page, &STAGES, rows, |row| {
        let stages = row.stages.as_ref()?;
        let stages = [
            &stages.q2g,
            &stages.g2d,
            &stages.i2d,
            &row.device_time,
            &stages.total,
        ];
        Some(quantiles(stages).collect())
    });
}

fn asked_of(page: &mut Page, rows: &[&LiveProcess]) {
    let columns = [
        Column::quantity("A2Q p50", 1),
        Column::quantity("A2Q p99", 0),
        Column::quantity("A2D p50", 1),
        Column::quantity("A2D p99", 0),
        Column::quantity("A2C p50", 1),
        Column::quantity("A2C p99", 0),
    ];
    processes(page, &columns, rows, |row| {
        let asked = row.asked.as_ref()?;
        Some(quantiles([&asked.a2q, &asked.a2d, &asked.a2c]).collect())
    });
}

fn merges_of(page: &mut Page, rows: &[&LiveProcess]) {
    let columns = [
        Column::count("BACK", 1),
        Column::count("FRONT", 1),
        Column::count("RQ", 1),
        Column::count("MERGED", 0),
        Column::count("BIOS/REQ", 0),
        Column::quantity("REQ SIZE", 0),
    ];
    processes(page, &columns, rows, |row| {
        Some(vec![
            row.merges.back.to_string(),
            row.merges.front.to_string(),
            row.merges.rq.to_string(),
            units::share(row.merge_ratio),
            bios(row.bios_per_request),
            size(row.mean_request_bytes),
        ])
    });
}

fn priority((class, level): (u8, u8)) -> String {
    match class {
        0 => "-".to_owned(),
        1 => format!("rt/{level}"),
        2 => format!("be/{level}"),
        _ => "idle".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use iosched_result::measured::snapshot::Order;
    use iosched_result::stat::Burst;

    use super::*;

    #[test]
    fn runs_and_hardware_queues_are_a_line_each() {
        let queue = |(index, share): (u16, f64)| HardwareQueue {
            index,
            issued: 200,
            reordered_share: Some(share),
            overtakes_mean: Some(share),
        };
        let shares = [0.015, 0.0, 0.03, 0.0, 0.03];
        let burst = Burst {
            issued: 1000,
            reordered_share: Some(0.015),
            overtakes_mean: Some(0.015),
            overtakes_p99: Some(1),
            extent_max: Some(3),
            hardware_queues: (0..).zip(shares).map(queue).collect(),
        };
        let counted = Order {
            runs: [4, 0],
            run_ios: [14, 0],
            run_length: [Log2Histogram(vec![0, 1, 2, 0, 1]), Log2Histogram::default()],
            ..Order::default()
        };
        let text = order(&LiveOrder::of(&counted, Some(burst.clone())));
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let queues =
            "within each of 5 hardware queues: 0.00 % (queue 1) to 3.00 % (queue 2) reordered";
        let runs = "runs of 3.5 (p50 2-3 p99 8-15) reads, - (p50 - p99 -) writes";
        assert_eq!((lines[2], lines[4]), (queues, runs), "{text}");
        let one = Burst {
            hardware_queues: Vec::new(),
            ..burst
        };
        let text = order(&LiveOrder::of(&counted, Some(one)));
        assert!(!text.contains("hardware queue"), "{text}");
    }
}
