//! Says on what a result was measured, in the same words in every export. Pure.

use crate::types::result::ResultFile;

/// The facts by which a history is kept apart: host, disk and workload. The disk has its lasting name, so that a history goes
/// on when the kernel numbers the disks otherwise.
pub fn series(result: &ResultFile) -> Vec<(&'static str, String)> {
    let host = result.environment.hostname.clone();
    let all = [
        ("host", host),
        ("device", Some(result.device.lasting_name())),
        ("workload", Some(result.workload.name.clone())),
    ];
    known(all)
}

/// What [`series`] and [`circumstances`] may have.
pub const ALL: [&str; 9] = [
    "host", "device", "workload", "disk", "model", "firmware", "kernel", "fio", "iosched",
];

/// What may change while a history goes on.
pub fn circumstances(result: &ResultFile) -> Vec<(&'static str, String)> {
    let disks = result.device.disks();
    let firmware: Vec<&str> = disks
        .iter()
        .filter_map(|it| it.firmware.as_deref())
        .collect();
    let environment = &result.environment;
    let all = [
        ("disk", Some(result.device.name())),
        ("model", result.device.models()),
        (
            "firmware",
            (!firmware.is_empty()).then(|| firmware.join(",")),
        ),
        ("kernel", Some(environment.kernel_release.clone())),
        ("fio", environment.fio_version.clone()),
        ("iosched", Some(environment.iosched_version.clone())),
    ];
    known(all)
}

/// The scheduler of an arm: its label may be any word.
pub fn scheduler<'a>(result: &'a ResultFile, arm: &str) -> &'a str {
    let mut arms = result.design.arms.iter();
    arms.find(|it| it.label == arm)
        .map_or("", |it| it.scheduler.as_str())
}

fn known<const N: usize>(all: [(&'static str, Option<String>); N]) -> Vec<(&'static str, String)> {
    let known = all
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{benchfmt, bmf, csv, fixture, junit, openmetrics};

    /// A run on a disk that the kernel calls so.
    fn on(name: &str) -> ResultFile {
        let mut result = fixture::sample();
        result.environment.hostname = Some("db07".into());
        result.device.device.name = name.into();
        result.device.identity = Some("A_disk_eui.0025385b01418a2b".into());
        let first = &mut result.design.arms[result.design.reference];
        let old = std::mem::replace(&mut first.label, "as-today".into());
        for round in &mut result.rounds {
            if round.arm == old {
                round.arm = "as-today".into();
            }
        }
        for row in &mut result.comparisons {
            row.reference = "as-today".into();
        }
        result
    }

    fn exports(result: &ResultFile) -> Vec<(&'static str, String)> {
        vec![
            ("csv", csv::render(&[result])),
            ("openmetrics", openmetrics::render(&[result])),
            ("junit", junit::render(&[result])),
            ("benchfmt", benchfmt::render(&[result])),
            ("bmf", bmf::render(&[result])),
        ]
    }

    #[test]
    fn every_export_says_where_it_is_from() {
        let result = on("nvme0n1");
        let scheduler = scheduler(&result, "as-today").to_owned();
        for (format, text) in exports(&result) {
            for what in [
                "db07",
                "A_disk_eui.0025385b01418a2b",
                "randread",
                &scheduler,
            ] {
                assert!(text.contains(what), "{format} lacks {what}: {text}");
            }
            // Its names are those of histories.
            let has_kernel = text.contains("6.12.1-test");
            assert_eq!(has_kernel, format != "bmf", "{format}: {text}");
        }
    }

    #[test]
    fn a_history_goes_on_when_the_kernel_numbers_disks_otherwise() {
        let without_kernel_name = |result: &ResultFile| {
            let lines = |text: String| -> Vec<String> {
                let lines = text.lines().map(str::to_owned);
                let other = |line: &String| {
                    !line.starts_with("iosched_ab_about{")
                        && !line.starts_with("disk: ")
                        && !line.contains("name=\"disk\"")
                        // A title for people.
                        && !line.contains("<testsuite ")
                };
                lines.filter(other).collect()
            };
            exports(result)
                .into_iter()
                .map(|(format, text)| (format, lines(text)))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            without_kernel_name(&on("nvme0n1")),
            without_kernel_name(&on("nvme3n1"))
        );
    }
}
