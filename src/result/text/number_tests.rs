use super::*;

#[track_caller]
fn reads(text: &str, value: f64, unit: &str) {
    let found = read(text).unwrap_or_else(|why| panic!("{why}"));
    assert!(
        (found.value - value).abs() <= value.abs() * 1e-12,
        "{text}: {found:?}"
    );
    assert_eq!(found.unit, unit, "{text}");
}

#[test]
fn a_number_is_read_whole() {
    for (text, value) in [
        ("12", 12.0),
        ("12.5", 12.5),
        (".5", 0.5),
        ("-3", -3.0),
        ("+3", 3.0),
        ("1.22e+04", 12200.0),
        ("1.2E5", 120_000.0),
        ("3e-3", 0.003),
        ("1234567.891", 1_234_567.891),
    ] {
        reads(text, value, "");
        reads(&format!(" {text}\r"), value, "");
    }
}

/// A comma is a decimal one unless exactly three digits follow each.
#[test]
fn separators_are_told_from_decimal_marks() {
    for (text, value) in [
        ("12,5", 12.5),
        ("9,87", 9.87),
        ("0,123", 0.123),
        ("12,3456", 12.3456),
        ("1234,567", 1234.567),
        ("12,345", 12345.0),
        ("1,234,567", 1_234_567.0),
        ("1,234,567.8", 1_234_567.8),
        ("1.234,5", 1234.5),
        ("1.234.567", 1_234_567.0),
        ("1.234.567,8", 1_234_567.8),
        ("1'234.5", 1234.5),
        ("1\u{202f}234,5", 1234.5),
        ("1\u{a0}234", 1234.0),
        ("1,5e3", 1500.0),
    ] {
        reads(text, value, "");
    }
    for text in [
        "1.2.3",
        "12,34,567",
        "1,2.3,4",
        "1,23,4",
        "1.2345.678",
        "12'34",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn what_follows_is_the_unit() {
    reads("12.3k", 12.3, "k");
    reads("900 us", 900.0, "us");
    reads("1.2ms", 1.2, "ms");
    reads("5 MB/s", 5.0, "MB/s");
    reads("98,5%", 98.5, "%");
    // No exponent without digits.
    reads("3 events", 3.0, "events");
    reads("1.", 1.0, "");
    reads("5 ms,", 5.0, "ms");
}

#[test]
fn a_part_of_a_number_is_none() {
    for text in ["3e", "3E.", "5..2", "5-2-1", "1,,2"] {
        let why = read(text).expect_err(text);
        assert!(why.contains("is not a"), "{text}: {why}");
    }
    assert!(read("1e-400").is_err(), "it is not 0");
    reads("0.000", 0.0, "");
    reads("0e5", 0.0, "");
}

#[test]
fn what_is_not_finite_is_no_number() {
    for text in [
        "", " ", "inf", "-inf", "nan", "NaN", "-nan", "Infinity", "1e999", "fast", ".", "-", "e5",
        "n/a", "--5",
    ] {
        let why = read(text).expect_err(text);
        assert!(why.contains("not a finite number"), "{why}");
    }
}

/// A part of a number is extended to the whole.
#[test]
fn the_whole_number_around_a_part() {
    for (text, part, expected) in [
        ("speed 12.20k/s", "12", "12.20"),
        ("speed 1.22e+04/s", "1.22", "1.22e+04"),
        ("speed 1.22e+04/s", "04", "1.22e+04"),
        ("speed 12,21 MB/s", "12", "12,21"),
        ("speed 12,21 MB/s", "21", "12,21"),
        ("in 125 MB", "5", "125"),
        ("= -5 ms", "5", "-5"),
        ("x .5", "5", ".5"),
        ("from 2024-05 on", "05", "05"),
        ("at 12:30", "30", "30"),
        ("p99 5", "5", "5"),
        ("12, 13", "12", "12"),
        ("5. Then", "5", "5"),
        ("1\u{a0}234 kB", "234", "1\u{a0}234"),
    ] {
        let start = text.rfind(part).expect("it is there");
        let found = whole(text, start..start + part.len());
        assert_eq!(&text[found], expected, "{text}");
    }
}
