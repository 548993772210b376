//! The CPU time of a control group. Pure.

/// User and system time in nanoseconds, from `cpu.stat` of version 2, which exists without any controller.
pub fn parse(text: &str) -> Option<(u64, u64)> {
    let value = |key| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok())
    };
    let ns = |key| value(key)?.checked_mul(1000);
    Some((ns("user_usec ")?, ns("system_usec ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_version_2() {
        let text = "usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\n";
        assert_eq!(parse(text), Some((10_000, 20_000)));
        assert_eq!(parse("usage_usec 30\n"), None);
    }
}
