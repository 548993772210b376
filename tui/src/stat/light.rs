//! `iosched stat --light`: the device time of each disk, with two programs per I/O.

use anyhow::Result;
use iosched_result::failure::Failure;
use iosched_result::report::page::Page;
use iosched_result::report::{escape, units};
use iosched_result::stat::{LightDevice, LightRecord};

use super::text::{p50, p99};
use crate::cli::{Output, Stat};

/// What is asked for beside `--light` and is not measured then.
pub fn refuse_more(arguments: &Stat) -> Result<()> {
    if matches!(arguments.output, Output::Csv) {
        return Err(Failure::usage(
            "--light writes a table or JSON, not CSV",
            "take --json, and `jq` for rows",
        ));
    }
    Ok(())
}

pub fn render(record: &LightRecord, width: Option<usize>) -> Page {
    let mut page = Page::new(width);
    for device in &record.devices {
        page.lines(&lines(device, &record.time));
    }
    page
}

fn lines(device: &LightDevice, time: &str) -> String {
    let depth = device
        .hardware_depth
        .map_or("-".to_owned(), |depth| depth.to_string());
    let now = device
        .at_device
        .map_or("-".to_owned(), |requests| requests.to_string());
    let ops = device.ops.iter().map(|of| {
        format!(
            "\n    {:<11} {:>9} I/Os {:>10}   p50 {} p99 {} max {}",
            of.op.name(),
            of.ios,
            units::bytes(of.bytes as f64),
            p50(&of.device_time),
            p99(&of.device_time),
            units::time(of.device_time.max_ns)
        )
    });
    format!(
        "{}  {}  depth {depth}  {} IOPS  {}  {time}\n  \
         device p50 {} p99 {} max {}   at the device {:.1} on average; now {now}{}\n  {}\n",
        device.device,
        escape::line(device.scheduler.as_deref().unwrap_or("(gone)")),
        units::count(device.iops),
        units::throughput(device.bytes_per_s),
        p50(&device.device_time),
        p99(&device.device_time),
        units::time(device.device_time.max_ns),
        device.mean_at_device,
        ops.collect::<String>(),
        lost(device)
    )
}

/// The loss counters, and what else is rare.
fn lost(device: &LightDevice) -> String {
    let losses = device.losses;
    let counts = [
        ("lost (tags outside the table)", losses.lost),
        ("evicted", losses.evicted),
        ("unseen", losses.unseen),
        ("negative", losses.negative),
        ("unrecorded", losses.unrecorded),
        ("skipped by the kernel", losses.skipped),
        ("errors", device.errors),
        ("requeues", device.requeues),
        ("passthrough", device.passthrough),
    ];
    super::text::those_seen(&counts, &device.statuses)
}
