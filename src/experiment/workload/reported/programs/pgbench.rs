//! pgbench: transactions per second, latency, and percentiles from its log of transactions (`-l`).

use super::arguments::{after_program, long, short};
use super::{
    Metrics, NS_PER_MS, NS_PER_US, PERCENTILES, Program, after, first_number, transaction_log,
};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

pub static PGBENCH: Program = Program {
    name: "pgbench",
    parse,
    is_timed: |words| has(after_program(words, "pgbench"), 'T', "--time"),
    logs: |words| {
        // Another user cannot write to the directory of the round.
        let switches_user =
            |word: &String| ["sudo", "su", "runuser", "setpriv"].contains(&word.as_str());
        let mut before = words.iter().take_while(|word| !word.ends_with("pgbench"));
        let arguments = after_program(words, "pgbench");
        !before.any(switches_user)
            && has(arguments, 'l', "--log")
            && long(arguments, "--log-prefix").is_none()
            && long(arguments, "--aggregate-interval").is_none()
    },
};

/// Short options with a value, by pgbench.c.
const WITH_VALUE: &str = "bcDfFhIjLMpPRstTU";

fn has(arguments: &[String], letter: char, name: &str) -> bool {
    short(arguments, letter, WITH_VALUE).is_some() || long(arguments, name).is_some()
}

/// "client 3 aborted in state 4: ..." on standard error: up to version 11, pgbench goes on without it and ends as if all had
/// succeeded.
fn has_aborted(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let client = line.split_once("client ").map(|(_, client)| client);
    client.is_some_and(|client| {
        let rest = client.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < client.len() && rest.contains(" aborted ")
    })
}

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stdout;
    let mut lines = printed.stderr.lines().chain(text.lines());
    if let Some(line) = lines.find(|line| line.contains("Run was aborted") || has_aborted(line)) {
        return Err(format!("pgbench failed: {line:?}"));
    }
    let of = |label| after(text, label).and_then(first_number);
    // Up to version 9.6, a mean that was not measured has a colon.
    let mean = of("latency average =").or(of("latency average:"));
    // Up to version 13 there are two. The first includes connecting, as that of later versions does with -C.
    let mut rates = text.lines().filter_map(|line| line.strip_prefix("tps ="));
    let tps = rates.next().and_then(first_number);
    let tps = tps.ok_or("there is no line \"tps = NUMBER\"")?;
    if tps <= 0.0 {
        // From version 15 on, there is a report if all have failed.
        return Err("no transaction succeeded".to_owned());
    }
    let mut metrics = Metrics::of("pgbench");
    // With -R the rate is given; the latency is the result.
    let is_paced = after(text, "rate limit schedule lag:").is_some();
    metrics.per_second("tps", tps);
    if !is_paced {
        metrics.headline();
    }
    for (ms, name) in [
        (mean, "latency_mean"),
        (of("latency stddev ="), "latency_sd"),
        (of("initial connection time ="), "connection_time"),
        (of("average connection time ="), "reconnection_time"),
        (of("rate limit schedule lag: avg"), "schedule_lag"),
    ] {
        // Up to 9.6.0, a mean is 0.000 where the number of transactions is given.
        if let Some(ms) = ms.filter(|ms| *ms > 0.0) {
            metrics.time_ns(name, ms * NS_PER_MS);
            if is_paced && name == "latency_mean" {
                metrics.headline();
            }
        }
    }
    for (label, name) in [
        ("number of failed transactions:", "failed_transactions"),
        ("number of transactions skipped:", "skipped_transactions"),
    ] {
        if let Some(count) = of(label) {
            metrics.add(name, count, "1", Some(Better::Lower));
        }
    }
    let latencies = transaction_log::read(&printed.logs)?;
    for (percentile, p) in PERCENTILES {
        if let Some(us) = latencies.quantile_us(p) {
            let name = format!("latency_{percentile}");
            metrics.percentile_ns(&name, us as f64 * NS_PER_US, latencies.count() as f64, p);
        }
    }
    metrics.end()
}
