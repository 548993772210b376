//! Numbers as people read them: three significant digits and a unit.

/// A time with its unit: `850 ns`, `12.3 us`, `1.04 ms`, `2.50 s`; `-` where there is none. Up to a u64 of nanoseconds it
/// has no more than seven characters.
pub fn time(ns: Option<f64>) -> String {
    let Some(ns) = ns else { return "-".to_owned() };
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{} us", three(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", three(ns / 1e6)),
        _ if ns < 1e12 => format!("{} s", three(ns / 1e9)),
        _ if ns < YEAR_NS => format!("{} h", three(ns / 3.6e12)),
        _ => format!("{} y", three(ns / YEAR_NS)),
    }
}

/// A percentile: `~1.04 ms` where single I/Os move it.
pub fn quantile(ns: Option<f64>, is_of_few: bool) -> String {
    let mark = if is_of_few && ns.is_some() { "~" } else { "" };
    format!("{mark}{}", time(ns))
}

const YEAR_NS: f64 = 8766.0 * 3.6e12;

/// Bytes per second, in powers of ten as storage is sold: `4.10 MB/s`. Up to a u64 it has no more than nine characters.
pub fn throughput(bytes_per_s: f64) -> String {
    match bytes_per_s {
        b if b < 1e3 => format!("{b:.0} B/s"),
        b if b < 1e6 => format!("{} kB/s", three(b / 1e3)),
        b if b < 1e9 => format!("{} MB/s", three(b / 1e6)),
        b if b < 1e12 => format!("{} GB/s", three(b / 1e9)),
        b if b < 1e15 => format!("{} TB/s", three(b / 1e12)),
        b if b < 1e18 => format!("{} PB/s", three(b / 1e15)),
        b => format!("{} EB/s", three(b / 1e18)),
    }
}

/// A count or a rate: `0`, `0.50`, `998`, `12.3k`, `1.25M`, then G, T, P and E. Up to a u64 it has no more than five
/// characters.
pub fn count(n: f64) -> String {
    match n {
        _ if n.fract() == 0.0 && n < 1e4 => format!("{n:.0}"),
        _ if n < 1e3 => three(n),
        _ if n < 1e6 => format!("{}k", three(n / 1e3)),
        _ if n < 1e9 => format!("{}M", three(n / 1e6)),
        _ if n < 1e12 => format!("{}G", three(n / 1e9)),
        _ if n < 1e15 => format!("{}T", three(n / 1e12)),
        _ if n < 1e18 => format!("{}P", three(n / 1e15)),
        _ => format!("{}E", three(n / 1e18)),
    }
}

/// How long people wait: `45 s`, `7 min`, `2.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A metric's value with its unit, see `Metric::unit`; `-` where there is none.
pub fn value(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    match unit {
        "ns" => time(Some(value)),
        "s" => time(Some(value * 1e9)),
        "bytes/s" => throughput(value),
        "bytes" => throughput(value).replace("/s", ""),
        "1" => format!("{value:.3}"),
        _ => format!("{}/s", count(value)),
    }
}

/// A difference of shares or indices.
pub fn difference(difference: f64) -> String {
    format!("{difference:+.3}")
}

/// A relative change from a ratio: `-12.4 %`; beyond a factor of two the factor itself: `x22.3`.
pub fn change(ratio: f64) -> String {
    if (0.5..2.0).contains(&ratio) {
        format!("{:+.1} %", (ratio - 1.0) * 100.0)
    } else {
        format!("x{}", three(ratio))
    }
}

/// A share in percent, `-` where there is none: `12.3 %`.
pub fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| {
        format!("{} %", three(share * 100.0))
    })
}

pub fn optional<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Two of them, in the same form.
pub fn change_range(lower: f64, upper: f64) -> String {
    let is_small = |ratio: f64| (0.5..2.0).contains(&ratio);
    if is_small(lower) && is_small(upper) {
        format!("{} .. {}", change(lower), change(upper))
    } else {
        format!("x{} .. x{}", three(lower), three(upper))
    }
}

fn three(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_wider_than_its_column() {
        for power in 0..64 {
            for n in [
                1u64 << power,
                (1 << power) - 1,
                (1 << power) + (1 << power) / 3,
            ] {
                let n = n as f64;
                assert!(time(Some(n)).len() <= 7, "{}", time(Some(n)));
                assert!(throughput(n).len() <= 9, "{}", throughput(n));
                assert!(count(n).len() <= 5, "{}", count(n));
            }
        }
        for power in 3..20 {
            let n = 10f64.powi(power) * 0.999_99;
            assert!(time(Some(n)).len() <= 7 && throughput(n).len() <= 9, "{n}");
            assert!(count(n.round()).len() <= 5, "{}", count(n.round()));
        }
    }

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(time(Some(850.0)), "850 ns");
        assert_eq!(time(Some(12_345.0)), "12.3 us");
        assert_eq!(time(Some(1_040_960.0)), "1.04 ms");
        assert_eq!(time(Some(2.5e9)), "2.50 s");
        assert_eq!(time(None), "-");
        assert_eq!(throughput(4_096_000.0), "4.10 MB/s");
        assert_eq!(count(998.0), "998");
        assert_eq!(count(12_345.0), "12.3k");
        assert_eq!(count(0.5), "0.50");
        assert_eq!(change(0.876), "-12.4 %");
        assert_eq!(change(22.33), "x22.3");
        assert_eq!(change(0.25), "x0.25");
        assert_eq!(time(Some(99_960.0)), "100 us");
        assert_eq!(value(Some(4_096.0), "bytes"), "4.10 kB");
        assert_eq!(value(Some(0.98765), "1"), "0.988");
        assert_eq!(value(Some(1.5), "s"), "1.50 s");
        assert_eq!(value(None, "ns"), "-");
        assert_eq!(difference(-0.0204), "-0.020");
        assert_eq!(time(Some(1e12)), "0.28 h");
        assert_eq!(time(Some(u64::MAX as f64)), "585 y");
        assert_eq!(throughput(u64::MAX as f64), "18.4 EB/s");
        assert_eq!(count(u64::MAX as f64), "18.4E");
        assert_eq!(change_range(0.9, 1.1), "-10.0 % .. +10.0 %");
        assert_eq!(change_range(0.25, 1.1), "x0.25 .. x1.10");
        assert_eq!(duration(45.2), "45 s");
        assert_eq!(duration(420.0), "7 min");
        assert_eq!(duration(9000.0), "2.5 h");
    }
}
