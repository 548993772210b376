//! Compares a value read back from sysfs with the written one. Pure.
//! Strict on purpose: accepts the kernel's rounding to jiffies, but neither a clamped nor an ignored value.

/// The kernel's treatment of a written value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acceptance {
    AsWritten,
    /// A time, rounded to whole jiffies.
    Rounded,
    Not,
}

/// `jiffy_ns`: length of the kernel's timer tick.
pub(crate) fn acceptance(
    attribute: &str,
    written: &str,
    read_back: &str,
    jiffy_ns: u64,
) -> Acceptance {
    let (written, read_back) = (normal(written), normal(read_back));
    let as_written = match (written.parse::<i128>(), read_back.parse::<i128>()) {
        (Ok(written), Ok(read_back)) => {
            if written != read_back
                && may_be_a_time(attribute)
                && is_rounded_to_jiffies(written, read_back, i128::from(jiffy_ns))
            {
                return Acceptance::Rounded;
            }
            written == read_back
        }
        _ => {
            written == read_back
                || selected(&read_back) == Some(&written)
                || same_numbers(&written, &read_back)
        }
    };
    if as_written {
        Acceptance::AsWritten
    } else {
        Acceptance::Not
    }
}

/// Outside the schedulers only `io_timeout` and `throttle_sample_time` are times: `nr_requests=2`, which the kernel
/// raises to 4, must not pass because a jiffy happens to be 4 ms long.
fn may_be_a_time(attribute: &str) -> bool {
    attribute.starts_with("iosched/") || attribute.contains("time")
}

fn normal(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Extracts `b` from `a [b] c`.
pub(super) fn selected(text: &str) -> Option<&str> {
    let (_, after) = text.split_once('[')?;
    Some(after.split_once(']')?.0.trim())
}

/// The kernel stores attributes in milliseconds as jiffies, rounded up: 123 reads back as 124 if a jiffy is 4 ms. Only
/// that exact number is accepted, so that a 1 that became 8 is not accepted.
fn is_rounded_to_jiffies(written_ms: i128, read_back_ms: i128, jiffy_ns: i128) -> bool {
    const NS_PER_MS: i128 = 1_000_000;
    let in_range = 0 < written_ms && written_ms < i128::from(u32::MAX) && jiffy_ns > NS_PER_MS;
    if !in_range {
        return false;
    }
    let jiffies = (written_ms * NS_PER_MS + jiffy_ns - 1) / jiffy_ns;
    let exact_ns = jiffies * jiffy_ns;
    // If a jiffy is not a whole number of milliseconds, kernels differ in the direction of the second rounding.
    read_back_ms == exact_ns / NS_PER_MS || read_back_ms == (exact_ns + NS_PER_MS - 1) / NS_PER_MS
}

/// Out-of-tree schedulers print `100 20` as `base: 100 ns slope: 20 ns/KiB`.
fn same_numbers(written: &str, read_back: &str) -> bool {
    let all_numbers = written
        .split(' ')
        .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()));
    all_numbers
        && written.split(' ').eq(read_back
            .split(' ')
            .filter(|word| word.chars().all(|c| c.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(written: &str, read_back: &str, jiffy_ns: u64) -> bool {
        acceptance("iosched/x", written, read_back, jiffy_ns) != Acceptance::Not
    }

    const HZ_100: u64 = 10_000_000;
    const HZ_250: u64 = 4_000_000;
    const HZ_300: u64 = 3_333_333;
    const HZ_1000: u64 = 1_000_000;

    #[test]
    fn text_is_compared_without_blanks_and_case() {
        assert!(matches("write back", " write  back\n", HZ_250));
        assert!(matches("0200", "200", HZ_250));
        assert!(matches("-1", "-1\n", HZ_250));
        assert!(!matches("write back", "write through", HZ_250));
    }

    #[test]
    fn rounding_to_jiffies_is_forgiven() {
        assert!(matches("123", "124", HZ_250));
        assert!(matches("333", "336", HZ_250));
        assert!(matches("123", "130", HZ_100));
        assert!(matches("4", "7", HZ_300));
        assert!(matches("4", "6", HZ_300));
        assert!(!matches("123", "124", HZ_1000));
        assert!(!matches("123", "128", HZ_250));
        assert!(!matches("123", "120", HZ_250));
        assert!(!matches("124", "128", HZ_250));
    }

    #[test]
    fn only_times_are_rounded_and_rounding_is_told_apart() {
        assert_eq!(
            acceptance("iosched/read_expire", "123", "124", HZ_250),
            Acceptance::Rounded
        );
        assert_eq!(
            acceptance("iosched/read_expire", "124", "124", HZ_250),
            Acceptance::AsWritten
        );
        assert_eq!(
            acceptance("io_timeout", "30001", "30004", HZ_250),
            Acceptance::Rounded
        );
        assert_eq!(acceptance("nr_requests", "2", "4", HZ_250), Acceptance::Not);
        assert_eq!(
            acceptance("read_ahead_kb", "5", "8", HZ_250),
            Acceptance::Not
        );
    }

    #[test]
    fn a_clamped_or_ignored_value_is_not_the_same() {
        // fifo_batch=1 must never pass as 16, nor nr_requests=3 as 8.
        assert!(!matches("1", "16", HZ_250));
        assert!(!matches("1", "8", HZ_250));
        assert!(!matches("0", "4", HZ_250));
        assert!(!matches("-1", "75000", HZ_250));
        assert!(!matches("100000", "4096", HZ_250));
        assert!(!matches("5", "x5", HZ_250));
        assert!(!matches(
            &i128::MAX.to_string(),
            &i128::MIN.to_string(),
            HZ_250
        ));
    }

    #[test]
    fn the_selected_word_of_a_list_is_its_value() {
        assert!(matches("fast", "slow [fast] off", HZ_250));
        assert!(!matches("slow", "slow [fast] off", HZ_250));
        assert_eq!(selected("none ["), None);
    }

    #[test]
    fn decorated_numbers_are_the_same_numbers() {
        assert!(matches(
            "100 20",
            "base : 100 ns\nslope: 20 ns/KiB",
            HZ_1000
        ));
        assert!(!matches(
            "100 20",
            "base : 20 ns\nslope: 100 ns/KiB",
            HZ_1000
        ));
        assert!(!matches("100 20", "100", HZ_1000));
    }
}
