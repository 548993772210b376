use super::*;

fn of(stdout: &str) -> Printed {
    Printed {
        stdout: stdout.to_owned(),
        ..Printed::default()
    }
}

#[track_caller]
fn pattern(text: &str) -> Pattern {
    text.parse().unwrap_or_else(|why| panic!("{why}"))
}

#[track_caller]
fn finds(text: &str, output: &str, value: f64, unit: &str) {
    let found = pattern(text).find(&of(output));
    let found = found.unwrap_or_else(|why| panic!("{text} in {output:?}: {why:?}"));
    assert!(
        (found.value - value).abs() <= value.abs() * 1e-12,
        "{found:?}"
    );
    assert_eq!(found.unit, unit, "{output}");
}

#[track_caller]
fn misreads(text: &str, output: &str, says: &str) {
    match pattern(text).find(&of(output)) {
        Err(NoValue::Misread(why)) => assert!(why.contains(says), "{why}"),
        other => panic!("{text} in {output:?}: {other:?}"),
    }
}

#[test]
fn the_last_match_counts() {
    let pattern: Pattern = "tps=tps = ([0-9.]+):higher:1/s".parse().unwrap();
    let found = pattern
        .find(&of("tps = 5\ntps = 7.5 (including)\n"))
        .unwrap();
    assert_eq!(
        found,
        Reported::new("tps", 7.5, "1/s", Some(Better::Higher)).headline()
    );
    let printed = Printed {
        stderr: "tps = 8\n".to_owned(),
        ..Printed::default()
    };
    assert!((pattern.find(&printed).unwrap().value - 8.0).abs() < 1e-12);
    let time: Pattern = r"wait=at ([0-9,]+):00:lower".parse().unwrap();
    let found = time.find(&of("at 1,204:00")).unwrap();
    assert_eq!(
        found,
        Reported::new("wait", 1204.0, "1", Some(Better::Lower)).headline()
    );
    let lines: Pattern = "x=^x ([0-9]+)$".parse().unwrap();
    assert_eq!(lines.find(&of("y\nx 4\ny")).unwrap().better, None);
    finds("x=^x ([0-9]+)$", "y\r\nx 4\r\nx 5\r\n", 5.0, "1");
    finds("x=^x ([0-9]+)$", "x 3\rx 4\rx 6\r", 6.0, "1");
}

#[test]
fn a_number_is_read_whole() {
    finds("p99=p99 ([0-9.,]+) ms:lower:ms", "p99 9,87 ms", 9.87, "ms");
    finds("p99=p99 ([0-9.,]+) ms:lower:ms", "p99 10,5 ms", 10.5, "ms");
    finds(
        "p99=p99 ([0-9.,]+) ms:lower:ms",
        "p99 1.234,5 ms",
        1234.5,
        "ms",
    );
    finds(r"x=speed (\S+)", "speed 1.22e+04", 12200.0, "1");
    finds(
        "x=speed ([0-9.]+ ?[a-zA-Z/]*):higher:1/s",
        "speed 12.20k/s",
        12200.0,
        "1/s",
    );
    finds("x=lag ([0-9.]+ [mu]s):lower", "lag 1.2 ms", 1.2, "ms");
    finds("x=lag ([0-9.]+ [mu]s):lower:us", "lag 1.2 ms", 1200.0, "us");
    finds("x=is ([0-9.]+)", "it is 12.5. Then", 12.5, "1");
    finds("x=is ( *[-0-9.]+)", "it is -5\n", -5.0, "1");
    // Text that the expression itself names beside the group.
    finds("x=lat=([0-9]+)ms:lower:ms", "lat=12ms", 12.0, "ms");
    finds("x=^read,([0-9]+),", "read,123,456", 123.0, "1");
    finds("x=,([0-9]+)$", "read,123,456", 456.0, "1");
    finds("x=used ([0-9]+)%", "used 12%", 12.0, "1");
    // Neither is another one where the number is larger.
    finds("x=used ([0-9]+)", "used 12%", 12.0, "1");
    finds("x=speed ([0-9.]+)", "speed 9780/s", 9780.0, "1");
}

/// It may be another one in the next round.
#[test]
fn a_unit_behind_the_number_is_its_unit() {
    finds("x=lat ([0-9.]+):lower", "lat 900 us", 900.0, "us");
    finds("x=lat ([0-9.]+):lower", "lat 1.2 ms, all", 1.2, "ms");
    finds("x=lat ([0-9.]+) ms:lower", "lat 1.2 ms", 1.2, "ms");
    finds("x=lat ([0-9.]+):lower:us", "lat 1.2 ms", 1200.0, "us");
    finds("x=bw ([0-9.]+)", "bw 12.5 MiB/s (13 MB/s)", 12.5, "MiB/s");
    // Other words are words.
    finds("x=([0-9.]+)", "5 requests", 5.0, "1");
    finds("x=took ([0-9.]+)", "took 5 min", 5.0, "1");
    finds("x=tps ([0-9.]+):higher:1/s", "tps 5 ms", 5.0, "1/s");
}

#[test]
fn what_may_be_more_of_the_number_is_refused_unless_it_is_named() {
    for (output, says) in [
        ("v 1 234 567", "matched 1 of \"1 234 567\""),
        ("v 1_000", "matched 1 of \"1_000\""),
        ("v 12:34", "matched 12 of \"12:34\""),
    ] {
        misreads("v=v ([0-9.]+):lower", output, says);
    }
    finds("v=v ([0-9.]+) ", "v 12 345 678", 12.0, "1");
    finds("v=v ([0-9.]+):", "v 12:34", 12.0, "1");
    for other in [
        "v 12 34",
        "v 12 3456",
        "v 1234 567",
        "v 0.25 125",
        "v 12 345.5",
        "v 12: 34",
    ] {
        assert!(pattern("v=v ([0-9.]+)").find(&of(other)).is_ok(), "{other}");
    }
}

/// The expression that a refusal advises takes each number as it is.
#[test]
fn the_advice_takes_the_whole_number() {
    for (output, value, unit) in [
        ("speed 12.5 MB/s", 12.5, "MB/s"),
        ("speed 9.780e+03", 9780.0, "1"),
        ("speed -1.5E-3 s", -0.0015, "s"),
        ("speed 12.3k", 12300.0, "1"),
        ("speed 1,234.5 us", 1234.5, "us"),
    ] {
        finds(r"x=speed ([-+0-9.,eE]+ *[a-zA-Z/]*)", output, value, unit);
    }
}

/// A part of a number is worse than none.
#[test]
fn a_part_of_a_number_is_refused() {
    for (text, output, says) in [
        (
            "speed=speed ([0-9.]+):higher",
            "speed 12.20k/s",
            "matched 12.20 of \"12.20k/s\"",
        ),
        (
            "speed=speed ([0-9.]+):higher",
            "speed 1.22e+04/s",
            "matched 1.22 of \"1.22e+04\"",
        ),
        (
            "speed=speed ([0-9.,]+ *[a-zA-Z/]*):higher",
            "speed 9.780e+03",
            "matched 9.780e of \"9.780e+03\"",
        ),
        (
            "speed=speed ([0-9.e+]+?)[0-9]*:higher",
            "speed 9.780e+03",
            "matched 9 of \"9.780e+03\"",
        ),
        (
            "speed=speed ([0-9.]+):higher",
            "speed 12,21 MB/s",
            "matched 12 of \"12,21\"",
        ),
        (
            "speed=speed ([0-9]+)",
            "speed 12.5",
            "matched 12 of \"12.5\"",
        ),
        (
            "speed=([0-9]+) MB",
            "speed 12.5 MB",
            "matched 5 of \"12.5\"",
        ),
        (
            "speed=.*([0-9]+) MB",
            "speed 125 MB",
            "matched 5 of \"125\"",
        ),
        (
            "speed=speed .*?([0-9.]+)",
            "speed -5",
            "matched 5 of \"-5\"",
        ),
        (
            "iops=IOPS=([0-9.]+).*BW",
            "IOPS=12.3k, BW=4",
            "matched 12.3 of \"12.3k\"",
        ),
        (
            "iops=IOPS=([0-9.]+)k?,",
            "IOPS=12.3k, BW=4",
            "matched 12.3 of \"12.3k\"",
        ),
        (
            "lat=lat ([0-9.]+)(?:ms|us)",
            "lat 12ms",
            "matched 12 of \"12ms\"",
        ),
        ("x=x ([0-9.]+ [km])", "x 12 kB", "matched 12 k of \"12 kB\""),
        ("x=x ([0-9.]+)", "x 1\u{202f}234", "matched 1 of"),
    ] {
        misreads(text, output, says);
    }
    misreads("x=x ([0-9.]+ [a-z]+):lower:MB/s", "x 5 ms", "\"ms\"");
    misreads("x=x (.*)", "x 5 of very many", "a unit has");
}

#[test]
fn what_is_no_number_is_absent() {
    let absent = |text: &str, output: &str| match pattern(text).find(&of(output)) {
        Err(NoValue::Absent(why)) => why,
        other => panic!("{other:?}"),
    };
    for output in ["x fast", "x inf", "x nan", "x 1e999"] {
        assert!(
            absent("a=x (.*)", output).contains("not a finite number"),
            "{output}"
        );
    }
    let why = absent("tps=tps = ([0-9.]+)", "latency 4\ntps: 5\n");
    assert!(
        why.contains("no match for tps") && why.contains("the nearest line is \"tps: 5\""),
        "{why}"
    );
    assert_eq!(
        absent("tps=tps ([0-9]+)", "nothing"),
        "no match for tps (tps ([0-9]+))"
    );
}

#[test]
fn what_is_no_pattern_is_refused() {
    for (text, says) in [
        ("tps", "no = after the name"),
        ("=x", "the name of a metric"),
        ("a=(", "the regular expression is invalid"),
        ("a=tps = [0-9]+", "has 0 groups"),
        ("a=(1)(2)", "has 2 groups"),
        ("a=(x{1000}){1000}", "is invalid"),
        ("a=(x):higher:a b", "a unit has"),
    ] {
        let error = text.parse::<Pattern>().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_is_promised_compiles() {
    assert_eq!(self_check(), Ok(PROMISED.len()));
}
