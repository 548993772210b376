//! Output that was changed: each parser gives the values that were printed, or refuses.

use super::*;

const PROGRAMS: [&str; 12] = [
    "ycsb",
    "hammerdbcli",
    "vdbench",
    "elbencho",
    "filebench",
    "mysqlslap",
    "memtier_benchmark",
    "redis-benchmark",
    "bonnie++",
    "perf",
    "time",
    "fio",
];

/// The samples of these programs that are no refusal, as text; fio's JSON has a parser of its own.
fn texts() -> Vec<(&'static str, bool, String, Found)> {
    let mut texts = Vec::new();
    for (program, printed) in samples() {
        let is_stderr = printed.stdout.is_empty();
        let text = if is_stderr {
            printed.stderr.clone()
        } else {
            printed.stdout.clone()
        };
        let is_json = text.lines().any(|line| line == "{");
        if PROGRAMS.contains(&program)
            && !is_json
            && let Ok(found) = parse(program, &printed)
        {
            texts.push((program, is_stderr, text, found));
        }
    }
    for program in PROGRAMS {
        assert!(texts.iter().any(|(of, ..)| *of == program), "{program}");
    }
    texts
}

fn again(program: &str, is_stderr: bool, text: &str) -> Result<Found, String> {
    parse(
        program,
        &if is_stderr {
            stderr(text)
        } else {
            stdout(text)
        },
    )
}

/// Whether it has no value that the whole output does not have.
#[track_caller]
fn has_no_other(program: &str, whole: &Found, changed: &Result<Found, String>, what: &str) {
    for metric in changed.iter().flat_map(|found| &found.metrics) {
        let bits = metric.value.to_bits();
        let others = || whole.metrics.iter();
        // A number in the name of a test may have changed too.
        let named = others().find(|other| other.name == metric.name);
        let same = match named {
            Some(other) => other.value.to_bits() == bits,
            None => others().any(|other| other.value.to_bits() == bits),
        };
        assert!(same, "{program}, {what}: {metric:?}");
    }
}

#[test]
fn two_reports_are_refused() {
    for (program, is_stderr, text, _) in texts() {
        let why = again(program, is_stderr, &text.repeat(2)).expect_err(program);
        assert!(why.contains("2 reports"), "{program}: {why}");
    }
}

#[test]
fn ends_of_lines_of_other_systems_change_nothing() {
    for (program, is_stderr, text, whole) in texts() {
        let found = again(program, is_stderr, &text.replace('\n', "\r\n"));
        assert_eq!(found, Ok(whole), "{program}");
    }
}

#[test]
fn colours_and_noise_give_no_other_value() {
    for (program, is_stderr, text, whole) in texts() {
        let coloured = text
            .lines()
            .map(|line| format!("\u{1b}[1m{line}\u{1b}[0m\n"));
        let shifted = text.lines().map(|line| format!("out| {line}\n"));
        let noisy = text
            .lines()
            .map(|line| format!("{line}\n[ 12.3] kernel: \u{0}\u{fffd} 17 42%\n"));
        for changed in [
            coloured.collect::<String>(),
            shifted.collect(),
            noisy.collect(),
        ] {
            has_no_other(
                program,
                &whole,
                &again(program, is_stderr, &changed),
                "noise",
            );
        }
    }
}

/// Cut at any character, in the middle of a number too.
#[test]
fn what_ended_half_way_gives_no_other_value() {
    for (program, is_stderr, text, whole) in texts() {
        let ends = (0..text.len()).filter(|end| text.is_char_boundary(*end));
        for end in ends {
            let found = again(program, is_stderr, &text[..end]);
            has_no_other(program, &whole, &found, &format!("cut at {end}"));
        }
    }
}

/// Each number of each sample in turn is no number, another language's, or too large.
#[test]
fn a_number_that_is_none_is_not_read_as_another() {
    let number = regex::Regex::new(r"[0-9]+(\.[0-9]+)?").expect("an expression");
    for (program, is_stderr, text, whole) in texts() {
        for found in number.find_iter(&text) {
            let (before, after) = (&text[..found.start()], &text[found.end()..]);
            let mut words = vec![
                "nan".to_owned(),
                "-nan".to_owned(),
                "inf".to_owned(),
                "1e999".to_owned(),
            ];
            words.push(format!("-{}", found.as_str()));
            // A comma between the whole and its part.
            words.extend(
                found
                    .as_str()
                    .contains('.')
                    .then(|| found.as_str().replace('.', ",")),
            );
            for word in words {
                let changed = again(program, is_stderr, &format!("{before}{word}{after}"));
                let what = format!("{word} for {} at {}", found.as_str(), found.start());
                has_no_other(program, &whole, &changed, &what);
            }
        }
    }
}
