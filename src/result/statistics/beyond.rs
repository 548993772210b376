//! How many samples must lie beyond a percentile.

/// With fewer it is not reported for a round, and marked for an interval: single samples would move it.
pub const TO_REPORT: f64 = 100.0;
/// With fewer it is not compared on a screen.
pub const TO_COMPARE: f64 = 10.0;

/// Whether at least `wanted` of `count` samples lie beyond the percentile with probability `p`.
pub fn has(count: f64, p: f64, wanted: f64) -> bool {
    // Allows for rounding: 10,000 * (1 - 0.99) is 100.00000000000009, and 1,000 * (1 - 0.9) is 99.99999999999997.
    count * (1.0 - p) >= wanted * (1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_whole() {
        for (count, p) in [
            (200.0, 0.5),
            (1e3, 0.9),
            (1e4, 0.99),
            (1e5, 0.999),
            (1e5, 99.9 / 100.0),
        ] {
            assert!(has(count, p, TO_REPORT), "{count} {p}");
            assert!(!has(count - 1.0, p, TO_REPORT), "{count} {p}");
        }
    }
}
