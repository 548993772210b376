//! Units of metrics that a command reports, and factors between those of one kind. Pure.

use super::number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number of things.
    Count,
    Time,
    Bytes,
    Bits,
}

/// The kind, whether it is per second, and how many ns, bytes, bits or things one of the unit is.
type Known = (Kind, bool, f64);

const TIMES: [(&[&str], f64); 6] = [
    (&["ns", "nsec"], 1.0),
    (&["us", "µs", "μs", "usec"], 1e3),
    (&["ms", "msec"], 1e6),
    (&["s", "sec", "secs", "seconds"], 1e9),
    (&["min"], 60e9),
    (&["h", "hour", "hours"], 3600e9),
];
/// A k, with or without a B behind it, is 1000, and a Ki is 1024.
const PREFIXES: [(&str, f64); 12] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("", 1.0),
];
const PER_SECOND: [&str; 3] = ["/second", "/sec", "/s"];

fn known(unit: &str) -> Option<Known> {
    let time = TIMES.iter().find(|(names, _)| names.contains(&unit));
    if let Some((_, ns)) = time {
        return Some((Kind::Time, false, *ns));
    }
    let rate = PER_SECOND.iter().find_map(|end| unit.strip_suffix(end));
    // "MBps" and "Mbps", but not "ps".
    let rate = rate.or_else(|| {
        unit.strip_suffix("ps")
            .filter(|rest| rest.ends_with(['B', 'b']))
    });
    let quantity = rate.unwrap_or(unit);
    if quantity.to_ascii_lowercase().ends_with("iops") && rate.is_none() {
        let (kind, _, factor) = known(&quantity[..quantity.len() - 4])?;
        return (kind == Kind::Count).then_some((kind, true, factor));
    }
    let (_, factor, rest) = PREFIXES.iter().find_map(|(prefix, factor)| {
        let rest = quantity.strip_prefix(prefix)?;
        Some((prefix, *factor, kind(rest)?))
    })?;
    Some((rest, rate.is_some(), factor))
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "" | "1" | "io" | "IO" | "ios" | "IOs" | "op" | "ops" => Some(Kind::Count),
        "B" | "byte" | "bytes" => Some(Kind::Bytes),
        "b" | "bit" | "bits" => Some(Kind::Bits),
        _ => None,
    }
}

pub fn is_time(unit: &str) -> bool {
    known(unit).is_some_and(|(kind, is_rate, _)| kind == Kind::Time && !is_rate)
}

/// How many of `to` one of `from` is; None if they are not of one kind.
pub fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let (from, to) = (known(from)?, known(to)?);
    ((from.0, from.1) == (to.0, to.1)).then_some(from.2 / to.2)
}

/// A number with its unit. A unit that is named beside the number wins over one behind it, to which it must be convertible.
/// A prefix alone is part of the number: 12.3k is 12300.
pub fn read(text: &str, wanted: Option<&str>) -> Result<(f64, String), String> {
    let number::Written { value, unit } = number::read(text)?;
    match (wanted, unit) {
        (Some(wanted), "") => Ok((value, wanted.to_owned())),
        (Some(wanted), unit) => {
            let scaled = prefix(unit).or_else(|| factor(unit, wanted));
            let factor = scaled
                .ok_or_else(|| format!("{text:?} has the unit {unit:?}, which is no {wanted}"))?;
            Ok((value * factor, wanted.to_owned()))
        }
        (None, unit) => Ok(match prefix(unit) {
            Some(factor) => (value * factor, "1".to_owned()),
            None => (value, unit.to_owned()),
        }),
    }
}

/// The unit that follows a number behind a blank. Only what can be nothing else: `min` may be a minimum.
pub fn behind(rest: &str) -> Option<&str> {
    let word = rest.strip_prefix(' ')?;
    let is_end = |c: char| !(c.is_alphanumeric() || c == '/');
    let word = &word[..word.find(is_end).unwrap_or(word.len())];
    let (kind, _, _) = known(word).filter(|_| !["min", "h", "hour", "b"].contains(&word))?;
    (kind != Kind::Count).then_some(word)
}

/// Factor of a prefix alone, or of nothing.
fn prefix(unit: &str) -> Option<f64> {
    let (_, factor) = PREFIXES.iter().find(|(prefix, _)| *prefix == unit)?;
    Some(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_kind_are_converted() {
        for (from, to, expected) in [
            ("ms", "us", 1000.0),
            ("us", "ms", 0.001),
            ("µs", "ns", 1000.0),
            ("s", "msec", 1000.0),
            ("MB/s", "bytes/s", 1e6),
            ("MiB/s", "KiB/s", 1024.0),
            ("KiB/s", "B/s", 1024.0),
            ("MBps", "MB/sec", 1.0),
            ("Mbps", "kbit/s", 1000.0),
            ("k/s", "1/s", 1000.0),
            ("kIOPS", "io/s", 1000.0),
            ("IOPS", "1/s", 1.0),
            ("GiB", "MiB", 1024.0),
            ("%", "%", 1.0),
            ("widgets", "widgets", 1.0),
        ] {
            let found = factor(from, to).unwrap_or_else(|| panic!("{from} to {to}"));
            assert!(
                (found - expected).abs() <= expected * 1e-12,
                "{from} to {to}: {found}"
            );
        }
        for (from, to) in [
            ("1", "ms"),
            ("MB/s", "MB"),
            ("MB/s", "Mb/s"),
            ("s", "1/s"),
            ("%", "1"),
            ("widgets", "gadgets"),
            ("m", "s"),
            ("", "us"),
        ] {
            assert_eq!(factor(from, to), None, "{from} to {to}");
        }
    }

    #[test]
    fn a_number_has_one_unit() {
        for (text, wanted, value, unit) in [
            ("12.20k", None, 12200.0, "1"),
            ("4Ki", None, 4096.0, "1"),
            ("900 us", None, 900.0, "us"),
            ("1.2ms", Some("us"), 1200.0, "us"),
            ("12.2k", Some("1/s"), 12200.0, "1/s"),
            ("12.2k/s", Some("1/s"), 12200.0, "1/s"),
            ("9,87", Some("ms"), 9.87, "ms"),
            ("5", None, 5.0, "1"),
        ] {
            let (found, of) = read(text, wanted).unwrap_or_else(|why| panic!("{why}"));
            assert!((found - value).abs() <= value * 1e-12, "{text}: {found}");
            assert_eq!(of, unit, "{text}");
        }
        let why = read("5 ms", Some("MB/s")).expect_err("another kind");
        assert!(why.contains("\"ms\"") && why.contains("MB/s"), "{why}");
        assert!(read("nan ms", Some("ms")).is_err());
    }
}
