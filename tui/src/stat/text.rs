//! Renders a record of `iosched stat` as a table. Pure.

use comfy_table::{CellAlignment, Table, presets};
use iosched::measure::snapshot::{Edges, InFlight, Quality, StatusCount};
use iosched::report::{escape, units};
use iosched::stat::{LatencySummary, LiveDevice, LiveProcess, LiveRecord};

use super::{detail, throttled};
use crate::cli::DetailChoice;

pub fn render(record: &LiveRecord, wanted: &[DetailChoice]) -> String {
    let mut text = String::new();
    for device in &record.devices {
        text += &device_lines(device, record);
        text += &detail::device_lines(device, wanted);
        let rows: Vec<&LiveProcess> = record
            .processes
            .iter()
            .filter(|row| row.device == device.device)
            .collect();
        if !rows.is_empty() {
            text += &table(&rows);
            text += &detail::process_lines(&rows, wanted);
        }
    }
    let others: Vec<&LiveProcess> = record
        .processes
        .iter()
        .filter(|row| row.device.is_empty())
        .collect();
    if !others.is_empty() {
        text += "all devices\n";
        text += &table(&others);
    }
    text
}

fn device_lines(device: &LiveDevice, record: &LiveRecord) -> String {
    let depth = device
        .hardware_depth
        .map_or("-".to_owned(), |depth| depth.to_string());
    let wait = if record.queue_wait_is_g2d {
        "queue wait (G2D)"
    } else {
        "queue wait"
    };
    format!(
        "{}  {}  depth {depth}  {} IOPS  {}  {}\n  \
         {wait} {}   device {}\n  \
         waiting {:.1}, at the device {:.1} on average; now {}\n  \
         {} waited, submitters stalled {}{}   merges {} back {} front {} rq   {}\n{}",
        device.device,
        device.scheduler.as_deref().unwrap_or("(gone)"),
        units::count(device.iops),
        units::throughput(device.bytes_per_s),
        record.time,
        spread(&device.queue_wait),
        spread(&device.device_time),
        device.mean_waiting,
        device.mean_at_device,
        now(device.in_flight),
        units::share(device.waited_share),
        units::share(Some(device.stalled_share)),
        blocked(device.in_flight).map_or_else(String::new, |blocked| format!(", {blocked}")),
        device.merges.back,
        device.merges.front,
        device.merges.rq,
        lost(
            &device.quality,
            &device.edges,
            device.without_queue_wait,
            &device.statuses
        ),
        throttled::line(device, record),
    )
}

fn oldest(in_flight: Option<InFlight>) -> String {
    units::time(in_flight.and_then(|now| now.oldest_ns).map(|ns| ns as f64))
}

/// Threads that wait for a request, if there are any.
fn blocked(in_flight: Option<InFlight>) -> Option<String> {
    let threads = in_flight?.blocked.filter(|threads| *threads > 0)?;
    Some(format!("{threads} blocked"))
}

/// Requests waiting + at the device, at the end of the interval.
fn now(in_flight: Option<InFlight>) -> String {
    let Some(now) = in_flight else {
        return "-".to_owned();
    };
    match now.queued + now.issued {
        0 => "0 + 0".to_owned(),
        _ => format!(
            "{} + {}, oldest {}",
            now.queued,
            now.issued,
            oldest(in_flight)
        ),
    }
}

/// Marked with `~` if few I/Os determine it.
pub(super) fn p50(latency: &LatencySummary) -> String {
    units::quantile(latency.p50_ns, latency.p50_is_of_few)
}

pub(super) fn p99(latency: &LatencySummary) -> String {
    units::quantile(latency.p99_ns, latency.p99_is_of_few)
}

fn spread(latency: &LatencySummary) -> String {
    format!(
        "p50 {} p99 {} max {}",
        p50(latency),
        p99(latency),
        units::time(latency.max_ns)
    )
}

/// The loss counters. Printed even if all are zero, to show that nothing was lost.
fn lost(q: &Quality, e: &Edges, without_queue_wait: u64, statuses: &[StatusCount]) -> String {
    let counts = [
        ("lost (tags outside the table)", q.lost),
        ("evicted", q.evicted),
        ("negative", q.negative),
        ("started late", q.started_late),
        ("unseen", q.unseen),
        ("unissued", q.unissued),
        ("owner overflow", q.owner_overflow),
        ("skipped by the kernel", q.skipped),
        ("errors", e.errors),
        ("requeues", e.requeues),
        ("partial", e.partial_completions),
        ("passthrough", e.passthrough),
        ("straddlers", e.straddlers),
        ("scheduler changes", e.switches),
        ("nowait retries", e.nowait_retries),
        ("failed over", e.failed_over),
        ("without queue wait", without_queue_wait),
    ];
    let statuses = statuses
        .iter()
        .map(|status| (status.status.as_str(), status.count));
    let seen: Vec<String> = counts
        .into_iter()
        .chain(statuses)
        .filter(|(_, n)| *n > 0)
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    if seen.is_empty() {
        "nothing lost".to_owned()
    } else {
        seen.join(", ")
    }
}

fn table(rows: &[&LiveProcess]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "PID", "COMM", "READ/s", "WRITE/s", "BYTES/s", "WAIT p50", "p99", "max", "STALL",
        "DEV p50", "p99", "max", "MERGES", "NOW", "OLDEST", "CGROUP",
    ]);
    let seconds = |row: &LiveProcess, n: u64| {
        if row.ios == 0 {
            0.0
        } else {
            row.iops * n as f64 / row.ios as f64
        }
    };
    for row in rows {
        table.add_row([
            row.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            escape::line(&row.comm),
            units::count(seconds(row, row.reads)),
            units::count(seconds(row, row.writes)),
            units::throughput(row.bytes_per_s),
            p50(&row.queue_wait),
            p99(&row.queue_wait),
            units::time(row.queue_wait.max_ns),
            units::share(Some(row.stalled_share)),
            p50(&row.device_time),
            p99(&row.device_time),
            units::time(row.device_time.max_ns),
            (row.merges.back + row.merges.front + row.merges.rq).to_string(),
            row.in_flight.map_or("-".to_owned(), |now| {
                let requests = format!("{} + {}", now.queued, now.issued);
                match blocked(row.in_flight) {
                    Some(blocked) => format!("{blocked}, {requests}"),
                    None => requests,
                }
            }),
            oldest(row.in_flight),
            escape::line(row.cgroup.as_deref().unwrap_or("-")),
        ]);
    }
    for index in (0..15).filter(|index| *index != 1) {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use iosched::measure::snapshot::{
        DeviceNumbers, Interval, Merges, Op, OwnerKey, OwnerKind, OwnerNumbers, OwnerStages,
    };
    use iosched::stat::{self, DeviceState};
    use serde_json::{Map, Value};

    use super::*;

    /// A record of one second with this disk and these processes.
    fn watched(device: DeviceNumbers, owners: Vec<OwnerNumbers>) -> LiveRecord {
        let interval = Interval {
            start_ns: 0,
            end_ns: 1_000_000_000,
            devices: vec![device],
            owners,
        };
        let states = [DeviceState {
            scheduler: Some("mq-deadline".to_owned()),
            hardware_depth: Some(128),
            burst: None,
        }];
        let time = "2026-02-03T04:05:06.789Z".to_owned();
        stat::record(&interval, time, false, &states, &())
    }

    #[test]
    fn what_is_in_flight_stands_beside_what_is_on_average() {
        let mut device = DeviceNumbers::new("loop0");
        let op = &mut device.ops[Op::Read as usize];
        (op.q2d_sum_ns, op.d2c_sum_ns) = (128_000_000_000, 127_500_000_000);
        let mut line = |queued, issued, oldest_ns| {
            device.in_flight = Some(InFlight {
                queued,
                blocked: None,
                issued,
                oldest_ns,
            });
            let text = render(&watched(device.clone(), Vec::new()), &[]);
            text.lines().nth(2).expect("a line").to_owned()
        };
        let full = line(256, 128, Some(1_040_000));
        assert_eq!(
            full,
            "  waiting 128.0, at the device 127.5 on average; now 256 + 128, oldest 1.04 ms"
        );
        assert!(full.len() <= 80, "{full}");
        assert!(
            line(0, 0, None).ends_with("; now 0 + 0"),
            "nothing is not old"
        );
        assert!(
            line(0, 1, None).ends_with("; now 0 + 1, oldest -"),
            "not seen"
        );
        device.in_flight = None;
        let text = render(&watched(device, Vec::new()), &[]);
        assert!(text.contains("on average; now -\n"), "{text}");
    }

    #[test]
    fn who_waits_for_a_request_is_said() {
        let mut device = DeviceNumbers::new("loop0");
        let mut line = |blocked| {
            device.in_flight = Some(InFlight {
                blocked,
                ..InFlight::default()
            });
            let text = render(&watched(device.clone(), Vec::new()), &[]);
            text.lines().nth(3).expect("a line").to_owned()
        };
        assert!(line(Some(3)).contains("%, 3 blocked   merges"));
        assert!(!line(Some(0)).contains("blocked"));
        assert!(!line(None).contains("blocked"));
    }

    #[test]
    fn a_percentile_of_few_says_so() {
        for (ios, mark) in [(6, "~"), (199, "~"), (200, "")] {
            let mut device = DeviceNumbers::new("loop0");
            device.ops[Op::Read as usize].d2c.record_n(2_000_000, ios);
            let mut reader = owner(7, "reader");
            reader.ops[Op::Read as usize].ios = ios;
            reader.d2c[0].record_n(2_000_000, ios);
            let record = watched(device, vec![reader]);
            let latency = &record.processes[0].device_time;
            assert_eq!(
                (latency.p50_is_of_few, latency.p99_is_of_few),
                (ios < 200, true)
            );
            let text = render(&record, &[]);
            assert!(text.contains(&format!("device p50 {mark}2.")), "{text}");
            let row = text
                .lines()
                .find(|line| line.contains("reader"))
                .expect("a row");
            assert_eq!(row.matches('~').count(), 1 + mark.len(), "{row}");
        }
        let nothing = watched(DeviceNumbers::new("loop0"), Vec::new());
        assert!(!render(&nothing, &[]).contains('~'));
    }

    fn owner(tgid: u32, comm: &str) -> OwnerNumbers {
        let key = OwnerKey {
            device: "loop0".to_owned(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 1,
            cgroup_id: 1,
        };
        OwnerNumbers::new(key, comm)
    }

    #[test]
    fn the_stages_are_told_of_each_process_that_has_them() {
        let mut stages = OwnerStages::default();
        stages.q2g[0].record(3_000_000);
        stages.g2d[0].record(40_000);
        stages.q2c[0].record(8_000_000);
        let mut reader = owner(7, "reader");
        reader.ops[Op::Read as usize].ios = 1;
        reader.d2c[0].record(5_000_000);
        let record = watched(
            DeviceNumbers::new("loop0"),
            vec![
                OwnerNumbers {
                    stages: Some(stages),
                    ..reader
                },
                owner(8, "without"),
            ],
        );
        let text = render(&record, &[DetailChoice::Stages]);
        let rows: Vec<String> = text
            .lines()
            .skip_while(|line| !line.contains("Q2G p50"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let wanted = [
            "PID COMM Q2G p50 p99 G2D p50 p99 I2D p50 p99 D2C p50 p99 Q2C p50 p99",
            "7 reader ~2.95 ms ~2.95 ms ~39.9 us ~39.9 us - - ~5.11 ms ~5.11 ms ~8.00 ms ~8.00 ms",
        ];
        assert_eq!(rows, wanted, "{text}");
    }

    #[test]
    fn merging_is_told_of_each_process() {
        let mut writer = owner(4_194_303, "a-name-of-15-ch");
        let op = &mut writer.ops[Op::WriteSync as usize];
        (op.ios, op.bytes, op.bios) = (4, 12 * 4096, 12);
        writer.merges = Merges {
            back: 10,
            front: 5,
            rq: 1,
        };
        let record = watched(DeviceNumbers::new("loop0"), vec![writer, owner(7, "idle")]);
        let plain = render(&record, &[]);
        let text = render(&record, &[DetailChoice::Fairness, DetailChoice::Merges]);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip_while(|line| !line.contains("BIOS/REQ"))
            .inspect(|line| assert!(line.len() <= 80, "{line}"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            rows,
            [
                &[
                    "PID", "COMM", "BACK", "FRONT", "RQ", "MERGED", "BIOS/REQ", "REQ", "SIZE"
                ][..],
                &[
                    "4194303",
                    "a-name-of-15-ch",
                    "10",
                    "5",
                    "1",
                    "75.0",
                    "%",
                    "3.00",
                    "12.0",
                    "KiB"
                ],
                &["7", "idle", "0", "0", "0", "-", "-", "-"],
            ],
            "{text}"
        );
        assert!(!plain.contains("BIOS/REQ"), "{plain}");
    }

    /// A loss counter that is added to the record must also be printed.
    #[test]
    fn every_counter_of_loss_is_printed() {
        let counters = |names: Value, first: u64| -> Map<String, Value> {
            let names = names.as_object().expect("counters").clone();
            let numbered = names.into_iter().zip(first..);
            numbered.map(|((name, _), n)| (name, n.into())).collect()
        };
        let losses = counters(serde_json::to_value(Quality::default()).unwrap(), 101);
        let quality: Quality = serde_json::from_value(losses.clone().into()).unwrap();
        let text = lost(&quality, &Edges::default(), 99, &[]);
        assert!(text.contains("without queue wait 99"), "{text}");
        for (name, n) in &losses {
            assert!(text.contains(&format!(" {n}")), "{name} {n}: {text}");
        }
        assert_eq!(
            lost(&Quality::default(), &Edges::default(), 0, &[]),
            "nothing lost"
        );
    }
}
