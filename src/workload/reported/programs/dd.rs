//! dd: bytes per second, from the last line that it writes to standard error in any language.

use std::sync::LazyLock;

use regex::Regex;

use super::{Metrics, Program, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;

pub static DD: Program = Program {
    name: "dd",
    parse,
    is_timed: |_| false,
    logs: |_| false,
};

/// "67108864 bytes (67 MB, 64 MiB) copied, 0.0735 s, 913 MB/s". Translations keep the order, the unit s and the unit of the
/// rate; some have a decimal comma, a full-width comma between the parts, or a no-break space.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0-9]+)\s.*?(?:,\s|，|、\s?)([0-9][0-9.,e+-]*)\ss(?:,\s|，|、\s?)[0-9.,]+\s[A-Za-z]+/s$")
        .expect("a valid expression")
});
/// "64+0 records out" precedes the summary, but not the lines of status=progress.
static RECORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(^|\s)[0-9]+\+[0-9]+\s").expect("a valid expression"));

fn parse(printed: &Printed) -> Result<Found, String> {
    let text = &printed.stderr;
    if let Some(error) = text.lines().find(|line| is_error(line)) {
        return Err(format!("dd failed: {error:?}"));
    }
    let lines: Vec<&str> = text.split(['\n', '\r']).collect();
    let summaries: Vec<_> = lines
        .windows(2)
        .filter(|pair| RECORDS.is_match(pair[0]))
        .filter_map(|pair| SUMMARY.captures(pair[1]))
        .collect();
    let summary = match &summaries[..] {
        [summary] => summary,
        [] => {
            return Err(
                "there is no line \"N bytes copied, N s, N MB/s\" on standard error; status=none and status=noxfer \
                 suppress it, and LC_ALL=C gives it this form"
                    .to_owned(),
            );
        }
        several => return Err(format!("it has the results of {} copies", several.len())),
    };
    // The printed rate has only three digits.
    let bytes = number(&summary[1]).filter(|bytes| *bytes > 0.0);
    let bytes = bytes.ok_or("dd copied nothing")?;
    let seconds = number(&summary[2].replace(',', ".")).filter(|seconds| *seconds > 0.0);
    let seconds = seconds.ok_or("dd copied in no time")?;
    let mut metrics = Metrics::of("dd");
    metrics.bytes_per_second("bytes_per_s", bytes / seconds);
    metrics.headline();
    metrics.end()
}

fn is_error(line: &str) -> bool {
    line.starts_with("dd: ") && !line.to_lowercase().contains("warn")
}
