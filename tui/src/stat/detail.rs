//! What `--detail` adds to the text of `iosched stat`. Pure.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use iosched::report::live::{LiveDevice, LiveProcess};
use iosched::report::{escape, units};
use iosched::snapshot::Log2Histogram;

use crate::cli::Detail;

pub fn device_lines(device: &LiveDevice, wanted: &[Detail]) -> String {
    let mut text = String::new();
    for detail in wanted {
        text += &match detail {
            Detail::Order => order(device),
            Detail::Fairness => fairness(device),
            Detail::Merges => merges(device),
            Detail::Stages => stages(device),
        };
    }
    text
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

fn order(device: &LiveDevice) -> String {
    let Some(order) = &device.order else {
        return String::new();
    };
    let burst = order.burst.as_ref().map_or(String::new(), |burst| {
        format!(
            "\n         of the last {}: overtaken by {} on average, p99 {}; extent at most {}",
            burst.issued,
            number(burst.overtakes_mean),
            units::optional(burst.overtakes_p99),
            units::optional(burst.extent_max),
        )
    });
    format!(
        "  order  {} of {} issues reordered; late by p50 {} p99 {}, early by p99 {} places{burst}\n\
         {}seek {} sectors in the order of the starts, {} of the issues: gain {}; sequential {}\n\
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
        number(order.mean_read_run),
        number(order.mean_write_run),
    )
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
        "  merges  {} of the bios; {} bios and {} a request\n",
        units::share(device.merge_ratio),
        bios(device.bios_per_request),
        size(device.mean_request_bytes),
    );
    for op in device.ops.iter().filter(|op| op.bios > op.ios) {
        let _ = writeln!(
            text,
            "          {}: wait p50 {} p99 {} a request, {} {} a bio",
            op.op.name(),
            units::time(op.queue_wait.p50_ns),
            units::time(op.queue_wait.p99_ns),
            units::time(op.queue_wait_per_bio.p50_ns),
            units::time(op.queue_wait_per_bio.p99_ns),
        );
    }
    text
}

fn stages(device: &LiveDevice) -> String {
    let mut table = plain([
        "OP", "I/Os", "Q2G p50", "p99", "G2D p50", "p99", "I2D p50", "p99", "D2C p50", "p99",
        "Q2C p50", "p99",
    ]);
    for op in &device.ops {
        let mut row = vec![op.op.name().to_owned(), op.ios.to_string()];
        for stage in [&op.q2g, &op.g2d, &op.i2d, &op.device, &op.total] {
            row.extend([units::time(stage.p50_ns), units::time(stage.p99_ns)]);
        }
        table.add_row(row);
    }
    let mut text = if device.ops.is_empty() {
        String::new()
    } else {
        format!("{table}\n")
    };
    let flushes = &device.flushes;
    let mean = |sum: u64, n: u64| units::time((n > 0).then(|| sum as f64 / n as f64));
    let empty = device
        .ops
        .iter()
        .find(|op| op.op == iosched::snapshot::Op::Flush);
    if flushes.asked + flushes.before_data + flushes.after_data + flushes.journal_writes > 0 {
        let _ = writeln!(
            text,
            "  fsync  journal writes {} at {}; flushes before data {} at {}, after it {} at {}, empty {} at {}",
            flushes.journal_writes,
            mean(flushes.journal_ns, flushes.journal_writes),
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

pub fn process_lines(rows: &[&LiveProcess], wanted: &[Detail]) -> String {
    let lines = wanted.iter().map(|detail| match detail {
        Detail::Fairness => fairness_of(rows),
        Detail::Merges => merges_of(rows),
        Detail::Order | Detail::Stages => String::new(),
    });
    lines.collect()
}

fn fairness_of(rows: &[&LiveProcess]) -> String {
    let mut table = plain([
        "PID",
        "COMM",
        "DEVICE TIME",
        "BYTES",
        "BACKLOGGED",
        "STARVED max",
        ">100 ms",
        ">1 s",
        "PRIO",
    ]);
    for row in rows {
        let Some(fairness) = &row.fairness else {
            continue;
        };
        table.add_row([
            units::optional(row.pid),
            escape::line(&row.comm),
            units::share(fairness.device_time_share),
            units::share(fairness.bytes_share),
            units::share(Some(fairness.backlogged_share)),
            units::time(fairness.starvation_max_ns.map(|ns| ns as f64)),
            fairness.starved_100ms.to_string(),
            fairness.starved_1s.to_string(),
            priority(row.ioprio),
        ]);
    }
    format!("{table}\n")
}

fn merges_of(rows: &[&LiveProcess]) -> String {
    let mut table = plain([
        "PID", "COMM", "BACK", "FRONT", "RQ", "MERGED", "BIOS/REQ", "REQ SIZE",
    ]);
    for row in rows {
        table.add_row([
            units::optional(row.pid),
            escape::line(&row.comm),
            row.merges.back.to_string(),
            row.merges.front.to_string(),
            row.merges.rq.to_string(),
            units::share(row.merge_ratio),
            bios(row.bios_per_request),
            size(row.mean_request_bytes),
        ]);
    }
    format!("{table}\n")
}

fn priority((class, level): (u8, u8)) -> String {
    match class {
        0 => "-".to_owned(),
        1 => format!("rt/{level}"),
        2 => format!("be/{level}"),
        _ => "idle".to_owned(),
    }
}

/// Numbers to the right, names (the column COMM) to the left.
fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for (index, name) in header.iter().enumerate() {
        if *name == "COMM" || *name == "OP" {
            continue;
        }
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
