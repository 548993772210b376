//! Percentiles with few I/Os beyond them are unstable. With fewer than 100 they are marked with `~`; with fewer than
//! 10 a comparison does not show them.

use iosched_result::measured::histogram::Histogram;
use iosched_result::report::units::time;
use iosched_result::stat::LatencySummary;
use iosched_result::statistics::beyond;

/// Whether a comparison shows this percentile.
pub fn is_compared(count: u64, p: f64) -> bool {
    beyond::has(count as f64, p, beyond::TO_COMPARE)
}

/// The percentile `p` of `count` I/Os of an interval.
fn marked(ns: Option<f64>, count: u64, p: f64) -> String {
    let is_of_few = ns.is_some() && !beyond::has(count as f64, p, beyond::TO_REPORT);
    format!("{}{}", if is_of_few { "~" } else { "" }, time(ns))
}

/// The percentile in a comparison.
pub fn compared(histogram: &Histogram, p: f64) -> String {
    let count = histogram.count();
    if count > 0 && !is_compared(count, p) {
        return "few".to_owned();
    }
    quantile(histogram, p)
}

pub fn quantile(histogram: &Histogram, p: f64) -> String {
    marked(histogram.quantile_ns(p), histogram.count(), p)
}

/// At most `longest_ns`, which may be more exact than the histogram's cell.
pub fn quantile_up_to(histogram: &Histogram, p: f64, longest_ns: Option<f64>) -> String {
    let ns = histogram.quantile_ns(p);
    let ns = ns.map(|ns| longest_ns.map_or(ns, |longest| ns.min(longest)));
    marked(ns, histogram.count(), p)
}

pub fn p50(latency: &LatencySummary) -> String {
    marked(latency.p50_ns, latency.count, 0.5)
}

pub fn p99(latency: &LatencySummary) -> String {
    marked(latency.p99_ns, latency.count, 0.99)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosched_result::measured::histogram::DEVICE;

    #[test]
    fn a_percentile_of_few_is_marked_and_not_compared() {
        let p99 = |count| marked(Some(2e6), count, 0.99);
        assert_eq!([9999, 10_000].map(p99), ["~2.00 ms", "2.00 ms"]);
        let p50 = |count| marked(Some(2e6), count, 0.5);
        assert_eq!([1, 199, 200].map(p50), ["~2.00 ms", "~2.00 ms", "2.00 ms"]);
        assert_eq!(marked(None, 0, 0.5), "-");
        let compared = |count| {
            let mut histogram = Histogram::new(DEVICE);
            histogram.record_n(2_000_000, count);
            compared(&histogram, 0.99)
        };
        assert_eq!(compared(0), "-");
        assert_eq!(compared(999), "few");
        assert!(compared(1000).starts_with('~') && compared(10_000).starts_with('2'));
    }
}
