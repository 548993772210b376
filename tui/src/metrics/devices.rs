//! Counts of each disk that are not by operation, and what is in flight. Pure.

use iosched_result::measured::snapshot::{DeviceNumbers, InFlight};

use super::families::{Family, Value, View, counter, gauge, labels};

pub fn counts(view: &View<'_>) -> Vec<Family> {
    let count = |name, help, of: fn(&DeviceNumbers) -> u64| Family {
        samples: view
            .disks
            .iter()
            .map(|(device, _)| (labels(&device.name, None), Value::Count(of(device))))
            .collect(),
        ..counter(name, help, None)
    };
    vec![
        count("iosched_merged_bios", "Bios merged into a request.", |it| {
            it.merges.bios()
        }),
        count(
            "iosched_merged_requests",
            "Requests merged into another request.",
            |it| it.merges.rq,
        ),
        count("iosched_errors", "Requests that failed.", |it| {
            it.edges.errors
        }),
        count(
            "iosched_requeues",
            "How often the driver returned a request.",
            |it| it.edges.requeues,
        ),
        count(
            "iosched_scheduler_changes",
            "Changes of the scheduler, made by any process.",
            |it| it.edges.switches,
        ),
        count(
            "iosched_straddlers",
            "Requests started under one scheduler and completed under another: in no other count.",
            |it| it.edges.straddlers,
        ),
        lost(view),
        count(
            "iosched_throttled_bios",
            "Bios that a limit of a control group (io.max) held back before they were queued.",
            |it| it.edges.throttled,
        ),
        Family {
            samples: view
                .disks
                .iter()
                .map(|(device, _)| {
                    let stalled = device.stalled_ns as f64 / 1e9;
                    (labels(&device.name, None), Value::Number(stalled))
                })
                .collect(),
            ..counter(
                "iosched_stalled",
                "Time that threads with other I/O in flight were blocked until they got a request for the next one, summed over threads.",
                Some("seconds"),
            )
        },
        waits(view),
    ]
}

pub fn in_flight(view: &View<'_>) -> Vec<Family> {
    let number = |name, help, unit, of: fn(InFlight) -> f64| Family {
        samples: view
            .disks
            .iter()
            .filter_map(|(device, _)| {
                let value = of(device.in_flight?);
                Some((labels(&device.name, None), Value::Number(value)))
            })
            .collect(),
        ..gauge(name, help, unit)
    };
    vec![
        number(
            "iosched_queued",
            "Requests that are started and not yet issued.",
            Some("requests"),
            |now| now.queued as f64,
        ),
        number(
            "iosched_issued",
            "Requests that are issued and not yet completed.",
            Some("requests"),
            |now| now.issued as f64,
        ),
        number(
            "iosched_oldest",
            "Age of the oldest request in flight; 0 without one.",
            Some("seconds"),
            |now| now.oldest_ns.unwrap_or(0) as f64 / 1e9,
        ),
    ]
}

fn lost(view: &View<'_>) -> Family {
    let each = view.disks.iter().flat_map(|(device, _)| {
        let quality = &device.quality;
        let causes = [
            ("no_room", quality.lost),
            ("end_unseen", quality.evicted),
            ("negative", quality.negative),
            ("start_unseen", quality.started_late),
            ("issue_unseen", quality.unissued),
            ("record_lost", quality.unrecorded),
            ("program_skipped", quality.skipped),
        ];
        causes.map(|(cause, count)| {
            let mut labels = labels(&device.name, None);
            labels.push(("cause", cause.to_owned()));
            (labels, Value::Count(count))
        })
    });
    Family {
        samples: each.collect(),
        ..counter(
            "iosched_lost",
            "Requests that counts or histograms lack because of the probe, by cause. Above 0.1 % of the I/Os, percentiles are doubtful.",
            None,
        )
    }
}

/// Threads that slept until they got a request, by the pool whose tag they waited for.
fn waits(view: &View<'_>) -> Family {
    let mut samples = Vec::new();
    for (device, _) in &view.disks {
        let waits = &device.waits;
        let tags = [
            ("driver_tag", waits.driver_tag),
            ("scheduler_tag", waits.scheduler_tag),
            ("reserved_tag", waits.reserved_tag),
        ];
        let known: u64 = tags.iter().map(|(_, wait)| wait.ns).sum();
        let other = waits.slept.ns.saturating_sub(known);
        let all = tags.map(|(name, wait)| (name, wait.ns));
        for (name, ns) in all.into_iter().chain([("other", other)]) {
            let mut labels = labels(&device.name, None);
            labels.push(("pool", name.to_owned()));
            samples.push((labels, Value::Number(ns as f64 / 1e9)));
        }
    }
    Family {
        samples,
        ..counter(
            "iosched_request_wait",
            "Time that requests' threads slept until they got them, by pool: a tag of the driver, of the scheduler (nr_requests), a reserved one, or something else (throttling, a change of the scheduler).",
            Some("seconds"),
        )
    }
}
