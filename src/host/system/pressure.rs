//! `/proc/pressure/io`.

use std::fs;

use iosched_result::measured::syncs::Pressure;

/// None if this kernel does not count it: CONFIG_PSI, `psi=1`.
pub fn io() -> Option<Pressure> {
    parse(&fs::read_to_string("/proc/pressure/io").ok()?)
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds, and the same for `full`.
fn parse(text: &str) -> Option<Pressure> {
    let total_ns = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        let total = line.split(' ').find_map(|word| word.strip_prefix("total="));
        total?.parse::<u64>().ok()?.checked_mul(1000)
    };
    Some(Pressure {
        some_ns: total_ns("some ")?,
        full_ns: total_ns("full ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_totals_are_read() {
        let text = "some avg10=1.53 avg60=0.87 avg300=0.73 total=1088168194\n\
            full avg10=0.00 avg60=0.13 avg300=0.50 total=931387000\n";
        let pressure = Pressure {
            some_ns: 1_088_168_194_000,
            full_ns: 931_387_000_000,
        };
        assert_eq!(parse(text), Some(pressure));
        for broken in ["", "some total=1\n", "some total=x\nfull total=1\n"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
