//! HammerDB's command line: new orders and transactions per minute of a timed TPROC-C run.

use super::report::{failure, lines, only};
use super::{Metrics, Program, number};
use crate::workload::reported::Found;
use crate::workload::reported::output::Printed;
use iosched_result::metric::reported::Better;

pub static HAMMERDB: Program = Program {
    name: "hammerdbcli",
    parse,
    // The minutes are in its script.
    is_timed: |_| true,
    logs: |_| false,
};

const RESULT: &str = "TEST RESULT : System achieved ";
const PER_MINUTE: &str = "1/min";

fn parse(printed: &Printed) -> Result<Found, String> {
    let all = || lines(&printed.stdout).chain(lines(&printed.stderr));
    // Every virtual user counts: the others go on without one that failed.
    failure(all(), "HammerDB", |line| {
        line.contains(":FINISHED FAILED") || line.starts_with("Error in Virtual User")
    })?;
    let line = only(all(), |line| line.contains(RESULT))?;
    let (nopm, tpm) = line
        .and_then(|line| rates(line.split_once(RESULT)?.1.trim()))
        .ok_or("there is no line \"TEST RESULT : System achieved N NOPM from N TPM\"")?;
    if nopm == 0.0 {
        return Err("there were no new orders".to_owned());
    }
    let mut metrics = Metrics::of("hammerdbcli");
    metrics.add("nopm", nopm, PER_MINUTE, Some(Better::Higher));
    metrics.headline();
    // 0 where the database did not count them.
    if tpm > 0.0 {
        metrics.add("tpm", tpm, PER_MINUTE, Some(Better::Higher));
    }
    metrics.end()
}

/// "8204 NOPM from 19009 PostgreSQL TPM", before version 4.0 "19009 PostgreSQL TPM at 8204 NOPM". The name of a database may
/// have two words.
fn rates(text: &str) -> Option<(f64, f64)> {
    if let Some(rest) = text.strip_suffix(" TPM") {
        let (nopm, rest) = rest.split_once(" NOPM from ")?;
        return Some((number(nopm)?, super::first_number(rest)?));
    }
    let (tpm, nopm) = text.strip_suffix(" NOPM")?.split_once(" TPM at ")?;
    Some((number(nopm)?, super::first_number(tpm)?))
}
