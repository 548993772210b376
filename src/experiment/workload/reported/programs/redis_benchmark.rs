//! redis-benchmark: requests per second and latency of each test, from its normal output, `-q` or `--csv`.

use super::report::{failure, lines};
use super::{Metrics, NS_PER_MS, Program, first_number, number, plain};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static REDIS_BENCHMARK: Program = Program {
    name: "redis-benchmark",
    parse,
    // It makes -n requests.
    is_timed: |_| false,
    logs: |_| false,
};

/// Longest name of a test; that of a command of the user's own is the command.
const LONGEST_TEST: usize = 30;
/// The columns of the newer CSV, and of "latency summary (msec)".
const COLUMNS: [(&str, &str); 6] = [
    ("avg", "latency_mean"),
    ("min", "latency_min"),
    ("p50", "latency_p50"),
    ("p95", "latency_p95"),
    ("p99", "latency_p99"),
    ("max", "latency_max"),
];

#[derive(Default)]
struct Test {
    /// As printed.
    title: String,
    /// Unknown with -q and --csv.
    requests: f64,
    per_s: Option<f64>,
    /// Metrics' names, and ms.
    latencies: Vec<(&'static str, f64)>,
}

impl Test {
    fn of(title: &str) -> Self {
        Test {
            title: title.trim().to_owned(),
            ..Test::default()
        }
    }

    fn counts(&self) -> bool {
        !self.title.contains("(needed to benchmark")
    }

    /// "MSET (10 keys)" is MSET.
    fn name(&self) -> String {
        let name = self.title.split(" (").next().unwrap_or_default();
        plain(name).chars().take(LONGEST_TEST).collect()
    }
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = lines(&printed.stdout).chain(lines(&printed.stderr));
    failure(all, "redis-benchmark", |line| {
        let line = line.to_ascii_lowercase();
        line.contains("error from server")
            || line.starts_with("error")
            || line.contains("could not connect")
    })?;
    let mut tests = tests(&printed.stdout)?;
    // It fills a list, by the name of another test.
    tests.retain(Test::counts);
    let mut metrics = Metrics::of("redis-benchmark");
    for test in tests {
        let name = test.name();
        let per_s = test.per_s.filter(|rate| *rate > 0.0);
        let per_s = per_s.ok_or_else(|| format!("its test {name} has no rate"))?;
        metrics.per_second(&format!("{name}.ops_per_s"), per_s);
        metrics.headline();
        for (of, ms) in test.latencies.iter().filter(|(_, ms)| *ms > 0.0) {
            let metric = format!("{name}.{of}");
            match of.strip_prefix("latency_p").and_then(number) {
                Some(percent) => {
                    let p = percent / 100.0;
                    metrics.percentile_ns(&metric, ms * NS_PER_MS, test.requests, p);
                }
                None => metrics.time_ns(&metric, ms * NS_PER_MS),
            }
        }
    }
    metrics.end()
}

/// The test whose result a line is, or begins: a run has each once.
pub(super) fn result_of(line: &str, _: &[&str]) -> Option<String> {
    let line = line.trim();
    let test = begun(line).ok().flatten()?;
    (test.counts() && !line.contains("rps=")).then(|| test.name())
}

/// With -q and --csv, the line is all of it.
fn begun(line: &str) -> Result<Option<Test>, String> {
    if let Some(title) = line.strip_prefix("====== ") {
        let title = title.strip_suffix(" ======");
        Ok(Some(Test::of(title.ok_or("a title is incomplete")?)))
    } else if line.starts_with('"') {
        row(line)
    } else if let Some((title, rest)) = line.split_once(": ")
        && rest.contains(" requests per second")
        && title != "throughput summary"
    {
        Ok(Some(quiet(title, rest)))
    } else {
        Ok(None)
    }
}

fn tests(text: &str) -> Result<Vec<Test>, String> {
    let mut found: Vec<Test> = Vec::new();
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.contains("rps=") {
            continue;
        }
        if let Some(test) = begun(line)? {
            found.push(test);
        } else if let Some(test) = found.last_mut() {
            if let Some((requests, _)) = line.split_once(" requests completed in ") {
                test.requests = number(requests).unwrap_or(0.0);
            } else if let Some((rate, "")) = line.split_once(" requests per second") {
                // Versions before 6.2 have no label.
                let rate = rate.strip_prefix("throughput summary: ").unwrap_or(rate);
                test.per_s = number(rate);
            } else if line == "latency summary (msec):" {
                let (header, values) = (lines.next(), lines.next());
                test.latencies = summary(header.unwrap_or(""), values.unwrap_or(""))
                    .ok_or("the summary of a test's latency is incomplete")?;
            }
        }
    }
    Ok(found)
}

fn summary(header: &str, values: &str) -> Option<Vec<(&'static str, f64)>> {
    let names = COLUMNS.map(|(name, _)| name);
    let is_known = header.split_whitespace().eq(names);
    let values: Option<Vec<f64>> = values.split_whitespace().map(number).collect();
    let values = values.filter(|values| is_known && values.len() == COLUMNS.len())?;
    Some(COLUMNS.iter().map(|(_, name)| *name).zip(values).collect())
}

/// "26315.79 requests per second, p50=0.367 msec"; the second is missing before version 6.2.
fn quiet(title: &str, rest: &str) -> Test {
    let p50 = rest
        .split_once("p50=")
        .and_then(|(_, ms)| number(ms.strip_suffix(" msec")?));
    Test {
        per_s: first_number(rest),
        latencies: p50.map(|ms| ("latency_p50", ms)).into_iter().collect(),
        ..Test::of(title)
    }
}

/// A row of the CSV: test and rate, from version 6.2 on also latencies.
fn row(line: &str) -> Result<Option<Test>, String> {
    let fields: Vec<&str> = line.trim_matches('"').split("\",\"").collect();
    if fields[0] == "test" {
        return Ok(None);
    }
    let values: Option<Vec<f64>> = fields[1..].iter().map(|field| number(field)).collect();
    let values = values.filter(|values| [1, 1 + COLUMNS.len()].contains(&values.len()));
    let values = values.ok_or_else(|| format!("a row of its CSV cannot be read: {line:?}"))?;
    let names = COLUMNS.iter().map(|(_, name)| *name);
    Ok(Some(Test {
        per_s: Some(values[0]),
        latencies: names.zip(values[1..].iter().copied()).collect(),
        ..Test::of(fields[0])
    }))
}
