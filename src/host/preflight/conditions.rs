//! Machine states that add noise to measurements: clock source, CPU frequency, heat, load. These checks never refuse.

use std::fs;
use std::path::Path;

use super::{Findings, Severity};
use crate::system::device::names_in;

pub(super) fn check(findings: &mut Findings) {
    let read = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned())
    };
    let clock = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if let Some(clock) = clock.filter(|clock| is_slow(clock)) {
        findings.add(
            Severity::Warning,
            format!("the clock source is {clock}: each read takes about 1 us"),
            "the kernel log says why it does not use tsc",
        );
    }
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if let Some(governor) = governor.filter(|governor| governor != "performance") {
        findings.add(
            Severity::Note,
            format!("the CPU governor is {governor}: the CPU frequency depends on the load"),
            "`cpupower frequency-set -g performance` keeps it constant",
        );
    }
    let throttled = throttled(Path::new("/sys/devices/system/cpu"));
    if throttled > 0 {
        findings.add(
            Severity::Note,
            format!("the CPUs were thermally throttled {throttled} times since boot"),
            "improve the cooling, or expect drift",
        );
    }
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = read("/proc/loadavg");
    if let Some(load) = load.as_deref().and_then(busy_load(cpus)) {
        findings.add(
            Severity::Warning,
            format!("the machine is busy: load {load} on {cpus} CPUs"),
            "wait until it is idle; all measured times include waiting for a CPU",
        );
    }
}

fn is_slow(clock: &str) -> bool {
    ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(&clock)
}

fn throttled(cpus: &Path) -> u64 {
    let names = names_in(cpus).unwrap_or_default();
    let counts = names.iter().filter_map(|name| {
        let path = cpus.join(name).join("thermal_throttle/core_throttle_count");
        fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    });
    counts.sum()
}

/// The load average of the last minute, if it exceeds the number of CPUs.
fn busy_load(cpus: usize) -> impl Fn(&str) -> Option<f64> {
    move |loadavg| {
        let load: f64 = loadavg.split(' ').next()?.parse().ok()?;
        (load > cpus as f64).then_some(load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_has_more_to_run_than_cpus() {
        assert_eq!(busy_load(2)("2.00 9.9 9.9 1/200 99"), None);
        assert_eq!(busy_load(2)("2.50 0.1 0.1 1/200 99"), Some(2.5));
        assert_eq!(busy_load(2)(""), None);
    }

    #[test]
    fn throttling_is_summed_over_the_cpus() {
        let cpus = tempfile::tempdir().unwrap();
        for (cpu, count) in [("cpu0", "3\n"), ("cpu1", "4\n")] {
            let directory = cpus.path().join(cpu).join("thermal_throttle");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("core_throttle_count"), count).unwrap();
        }
        assert_eq!(throttled(cpus.path()), 7);
        assert_eq!(throttled(Path::new("/no/such")), 0);
        assert!(is_slow("hpet") && !is_slow("tsc") && !is_slow("kvm-clock"));
    }
}
