//! What each disk is, its scheduler in force and its settings. Pure.

use super::families::{Family, Value, View, gauge, label, labels};

pub fn families(view: &View<'_>) -> Vec<Family> {
    let mut about = Vec::new();
    let mut schedulers = Vec::new();
    let mut settings = Vec::new();
    for (device, disk) in &view.disks {
        let known = [
            ("identity", &disk.identity),
            ("model", &disk.model),
            ("firmware", &disk.firmware),
        ];
        let mut own = labels(&device.name, None);
        own.extend(
            known
                .into_iter()
                .filter_map(|(name, value)| Some((name, label(value.as_ref()?)))),
        );
        about.push((own, Value::Count(1)));
        if let Some(scheduler) = &disk.scheduler {
            let mut own = labels(&device.name, None);
            own.push(("scheduler", label(scheduler)));
            schedulers.push((own, Value::Count(1)));
        }
        for (name, value) in &disk.settings {
            let mut own = labels(&device.name, None);
            own.push(("setting", label(name)));
            settings.push((own, Value::Number(*value)));
        }
    }
    vec![
        Family {
            samples: about,
            ..gauge(
                "iosched_disk_info",
                "1; its labels say which disk it is. The identity stays when the kernel calls it otherwise.",
                None,
            )
        },
        Family {
            samples: schedulers,
            ..gauge(
                "iosched_scheduler_info",
                "1; its label is the scheduler in force.",
                None,
            )
        },
        Family {
            samples: settings,
            ..gauge(
                "iosched_setting",
                "Numeric settings below queue/ of the disk, as in sysfs.",
                None,
            )
        },
    ]
}
