//! Reads the environment of a run, and the load of the CPUs.

use std::fs;

use iosched_result::types::environment::{Environment, Load};

/// `fio_version`: as fio says it.
pub fn read(fio_version: Option<String>) -> Environment {
    let name = rustix::system::uname();
    let text = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    Environment {
        hostname: hostname(&name.nodename().to_string_lossy()),
        iosched_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: name.release().to_string_lossy().into_owned(),
        kernel_version: name.version().to_string_lossy().into_owned(),
        architecture: name.machine().to_string_lossy().into_owned(),
        cpu_model: text("/proc/cpuinfo")
            .as_deref()
            .and_then(|text| field(text, "model name")),
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_bytes: text("/proc/meminfo").as_deref().and_then(memory_bytes),
        cpu_governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        fio_version,
    }
}

/// The kernel says `(none)` until a name is set.
fn hostname(nodename: &str) -> Option<String> {
    (!matches!(nodename, "" | "(none)")).then(|| nodename.to_owned())
}

/// CPU times from /proc/stat at one moment; two of them yield a [`Load`].
#[derive(Clone, Debug)]
pub struct CpuTimes {
    ticks: Vec<u64>,
}

impl CpuTimes {
    pub fn read() -> Option<Self> {
        parse_cpu_times(&fs::read_to_string("/proc/stat").ok()?)
    }

    pub fn until(&self, later: &CpuTimes) -> Option<Load> {
        let spent: Vec<u64> = later
            .ticks
            .iter()
            .zip(&self.ticks)
            .map(|(later, earlier)| later.saturating_sub(*earlier))
            .collect();
        let total: f64 = spent.iter().map(|ticks| *ticks as f64).sum();
        let share = |ticks: u64| ticks as f64 / total;
        let [_, _, _, idle, iowait, _, _, steal] = spent.get(..8)?.try_into().ok()?;
        (total > 0.0).then(|| Load {
            busy_share: 1.0 - share(idle.saturating_add(iowait)),
            steal_share: share(steal),
        })
    }
}

/// The fields: user nice system idle iowait irq softirq steal; user includes guest time.
pub(crate) fn parse_cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|n| n.parse().ok())
        .collect();
    (ticks.len() == 8).then_some(CpuTimes { ticks })
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

pub(crate) fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_what_was_not_idle() {
        let times = |line: &str| parse_cpu_times(line).unwrap();
        let earlier = times("cpu  10 0 10 100 5 0 0 0 0 0\ncpu0 1 2 3 4");
        let later = times("cpu  30 0 20 150 15 0 0 10 7 0\n");
        let load = earlier.until(&later).unwrap();
        assert!((load.busy_share - 0.4).abs() < 1e-9, "{load:?}");
        assert!((load.steal_share - 0.1).abs() < 1e-9, "{load:?}");
        assert!(
            earlier.until(&earlier).is_none(),
            "no time has passed: no share"
        );
        assert!(parse_cpu_times("cpu 1 2 3").is_none());
    }

    #[test]
    fn a_machine_without_a_name_has_none() {
        assert_eq!(hostname("(none)"), None);
        assert_eq!(hostname("lab-3"), Some("lab-3".to_owned()));
        let named = std::process::Command::new("uname").arg("-n").output();
        let named = String::from_utf8(named.unwrap().stdout).unwrap();
        assert_eq!(read(None).hostname, hostname(named.trim()));
    }

    #[test]
    fn memory_in_bytes() {
        assert_eq!(
            memory_bytes("MemFree: 1 kB\nMemTotal:       24684084 kB\n"),
            Some(24_684_084 * 1024)
        );
    }
}
