//! Formats numbers for people: three significant digits and a unit.

use super::escape;

/// A time with its unit: `850 ns`, `12.3 us`, `1.04 ms`, `2.50 s`; `-` if there is none. At most seven characters up to
/// `u64::MAX` ns.
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

/// A percentile: marked `~1.04 ms` where it depends on a few I/Os.
pub fn quantile(ns: Option<f64>, is_of_few: bool) -> String {
    let mark = if is_of_few && ns.is_some() { "~" } else { "" };
    format!("{mark}{}", time(ns))
}

/// From here on a number is written with its power of ten.
const BEYOND_PREFIXES: f64 = 1e21;
const YEAR_NS: f64 = 8766.0 * 3.6e12;

/// Bytes per second in powers of ten, as storage is sold: `4.10 MB/s`. At most nine characters up to `u64::MAX`.
pub fn throughput(bytes_per_s: f64) -> String {
    match bytes_per_s {
        b if b < 1e3 => format!("{b:.0} B/s"),
        b if b < 1e6 => format!("{} kB/s", three(b / 1e3)),
        b if b < 1e9 => format!("{} MB/s", three(b / 1e6)),
        b if b < 1e12 => format!("{} GB/s", three(b / 1e9)),
        b if b < 1e15 => format!("{} TB/s", three(b / 1e12)),
        b if b < 1e18 => format!("{} PB/s", three(b / 1e15)),
        b if b < BEYOND_PREFIXES => format!("{} EB/s", three(b / 1e18)),
        b => format!("{} B/s", three(b)),
    }
}

/// A number of bytes in powers of two, as memory and addresses are counted: `512 B`, `4.00 KiB`, `1.25 GiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024.0 {
        return format!("{bytes:.0} B");
    }
    let power = (bytes.log2() / 10.0).floor().clamp(1.0, UNITS.len() as f64);
    let unit = UNITS[power as usize - 1];
    format!("{} {unit}", three(bytes / 1024f64.powf(power)))
}

/// A count or a rate: `0`, `0.50`, `998`, `12.3k`, `1.25M`, then G, T, P and E. At most five characters up to
/// `u64::MAX`.
pub fn count(n: f64) -> String {
    match n {
        _ if n.fract() == 0.0 && n < 1e4 => format!("{n:.0}"),
        _ if n < 1e3 => three(n),
        _ if n < 1e6 => format!("{}k", three(n / 1e3)),
        _ if n < 1e9 => format!("{}M", three(n / 1e6)),
        _ if n < 1e12 => format!("{}G", three(n / 1e9)),
        _ if n < 1e15 => format!("{}T", three(n / 1e12)),
        _ if n < 1e18 => format!("{}P", three(n / 1e15)),
        _ if n < BEYOND_PREFIXES => format!("{}E", three(n / 1e18)),
        _ => three(n),
    }
}

/// A duration for people: `45 s`, `7 min`, `2.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A metric's value with its unit, see `Metric::unit`; `-` if there is none.
pub fn value(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    match unit {
        "ns" => time(Some(value)),
        // In nanoseconds it could be beyond every number.
        "s" if value > 1e20 => format!("{} y", three(value / (YEAR_NS / 1e9))),
        "s" => time(Some(value * 1e9)),
        "bytes/s" => throughput(value),
        "bytes" => throughput(value).replace("/s", ""),
        "1" if value.abs() < 10.0 => format!("{value:.3}"),
        "io/s" | "1/s" => format!("{}/s", count(value)),
        "1" => count(value),
        unit => format!("{} {}", count(value), escape::line(unit)),
    }
}

/// A difference of shares or indices.
pub fn difference(difference: f64) -> String {
    format!("{difference:+.3}")
}

/// How the ratios of a row are written, all of them alike: percent while all stay within a factor of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioForm {
    Percent,
    Times,
}

impl RatioForm {
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> RatioForm {
        let mut ratios = ratios.into_iter().filter(|ratio| ratio.is_finite());
        if ratios.all(|ratio| (0.5..2.0).contains(&ratio)) {
            RatioForm::Percent
        } else {
            RatioForm::Times
        }
    }

    /// `-12.4 %` or `x22.3`.
    pub fn change(self, ratio: f64) -> String {
        match self {
            _ if ratio.is_infinite() => format!("more than x{:.1e}", f64::MAX),
            RatioForm::Percent => format!("{:+.1} %", (ratio - 1.0) * 100.0),
            RatioForm::Times => format!("x{}", three(ratio)),
        }
    }

    /// Both ends; one that is not bounded is said so.
    pub fn range(self, lower: f64, upper: f64) -> String {
        range(lower, upper, |ratio| self.change(ratio))
    }
}

/// `1 .. 2`, `at least 1`, `at most 2`, or `unbounded`.
pub fn range(lower: f64, upper: f64, form: impl Fn(f64) -> String) -> String {
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => format!("{} .. {}", form(lower), form(upper)),
        (true, false) => format!("at least {}", form(lower)),
        (false, true) => format!("at most {}", form(upper)),
        (false, false) => "unbounded".to_owned(),
    }
}

/// A round time on an axis: `300 us`, `1 ms`.
pub fn tick(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "us"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", short(value))
}

/// The same with its sign.
pub fn signed(x: f64) -> String {
    format!("{}{}", if x > 0.0 { "+" } else { "" }, short(x))
}

/// At most four digits, without trailing zeros.
pub fn short(x: f64) -> String {
    let digits = (3 - x.abs().max(1e-6).log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A share in percent: `12.3 %`; `-` if there is none.
pub fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| {
        format!("{} %", three(share * 100.0))
    })
}

pub fn optional<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Three significant digits; two and a power of ten where the number would be wide, or its digits all zero.
pub(super) fn three(x: f64) -> String {
    match x.abs() {
        a if a >= 99_999.5 || (a > 0.0 && a < 0.005) => format!("{x:.1e}"),
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
        assert_eq!(RatioForm::Percent.change(0.876), "-12.4 %");
        assert_eq!(RatioForm::Times.change(22.33), "x22.3");
        assert_eq!(
            RatioForm::Percent.change(f64::INFINITY),
            "more than x1.8e308"
        );
        assert_eq!(
            (count(1e308), throughput(2e300)),
            ("1.0e308".into(), "2.0e300 B/s".into())
        );
        assert_eq!(RatioForm::of([0.9, 1.1, f64::INFINITY]), RatioForm::Percent);
        assert_eq!(RatioForm::of([0.25, 1.1]), RatioForm::Times);
        assert_eq!([3e5, 1e6, 2.5e9].map(tick), ["300 us", "1 ms", "2.5 s"]);
        assert_eq!(
            [0.95, 1.0, 20.0, 12_345.0, 0.0].map(short),
            ["0.95", "1", "20", "12345", "0"]
        );
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
        assert_eq!(RatioForm::Times.change(0.000_05), "x5.0e-5");
        assert_eq!(RatioForm::Times.change(1e300), "x1.0e300");
        assert_eq!(value(Some(1e300), "s"), "3.2e292 y");
        assert_eq!(value(Some(f64::MAX), "s").len(), 9);
        assert_eq!(RatioForm::Percent.range(0.9, 1.1), "-10.0 % .. +10.0 %");
        assert_eq!(RatioForm::Times.range(0.25, 1.1), "x0.25 .. x1.10");
        let open = f64::INFINITY;
        assert_eq!(RatioForm::Percent.range(1.1, open), "at least +10.0 %");
        assert_eq!(RatioForm::Percent.range(-open, 0.9), "at most -10.0 %");
        assert_eq!(RatioForm::Percent.range(-open, open), "unbounded");
        assert_eq!(duration(45.2), "45 s");
        assert_eq!(duration(420.0), "7 min");
        assert_eq!(duration(9000.0), "2.5 h");
    }
}
