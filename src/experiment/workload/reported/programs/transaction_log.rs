//! pgbench's log of transactions (`-l`): how many transactions took how long.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use iosched_files::input;

/// Longer lines are not pgbench's.
const LONGEST_LINE: u64 = 1000;
const LONGEST_LOG: u64 = 1 << 30;

/// Transactions by their latency in us.
#[derive(Debug, Default, PartialEq)]
pub struct Latencies {
    counts: BTreeMap<u64, u64>,
    total: u64,
}

impl Latencies {
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The smallest latency that a share `p` of the transactions does not exceed.
    pub fn quantile_us(&self, p: f64) -> Option<u64> {
        let rank = ((p * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        self.counts.iter().find_map(|(us, count)| {
            seen += count;
            (seen >= rank).then_some(*us)
        })
    }

    /// A line: the third column is the latency; a failed or skipped transaction has a word there.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let third = line.split_ascii_whitespace().nth(2);
        match third.ok_or("a line has fewer than three columns")? {
            "failed" | "skipped" | "serialization" | "deadlock" | "other" => {}
            word => {
                let us: u64 = word
                    .parse()
                    .map_err(|_| format!("{word:?} is not a latency"))?;
                *self.counts.entry(us).or_default() += 1;
                self.total += 1;
            }
        }
        Ok(())
    }
}

/// Latencies of all logs together: each of pgbench's threads writes one.
pub fn read(logs: &[PathBuf]) -> Result<Latencies, String> {
    let mut latencies = Latencies::default();
    for log in logs {
        add_file(log, &mut latencies)
            .map_err(|why| format!("the log of transactions {}: {why}", log.display()))?;
    }
    Ok(latencies)
}

fn add_file(log: &Path, latencies: &mut Latencies) -> Result<(), String> {
    let log = input::reader(log, LONGEST_LOG).map_err(|error| error.to_string())?;
    let mut log = BufReader::new(log);
    let mut line = String::new();
    loop {
        line.clear();
        let mut limited = Read::take(&mut log, LONGEST_LINE);
        if limited
            .read_line(&mut line)
            .map_err(|error| error.to_string())?
            == 0
        {
            return Ok(());
        }
        latencies.add(&line)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_logs_count_together() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a log");
            path
        };
        // Written by pgbench 15.
        let first = log(
            "a.1",
            "0 1 1908 0 1795393686 451124\n0 2 406 0 1795393686 451547\n0 3 333 0 1795393686 451886\n",
        );
        let second = log(
            "a.1.1",
            "1 1 skipped 0 1795393686 1\n1 1 other 0 1795393686 1\n1 2 406 0 1795393686 2\n",
        );
        let latencies = read(&[first, second]).expect("latencies");
        assert_eq!(latencies.count(), 4);
        assert_eq!(latencies.quantile_us(0.0), Some(333));
        assert_eq!(latencies.quantile_us(0.5), Some(406));
        assert_eq!(latencies.quantile_us(0.75), Some(406));
        assert_eq!(latencies.quantile_us(0.76), Some(1908));
        assert_eq!(Latencies::default().quantile_us(0.5), None);
        for (text, says) in [
            ("0 1\n", "fewer than three columns"),
            ("0 1 fast 0\n", "\"fast\" is not a latency"),
            ("0 1 -5 0\n", "is not a latency"),
        ] {
            let why = read(&[log("bad", text)]).expect_err(text);
            assert!(why.contains(says) && why.contains("bad"), "{why}");
        }
        let gone = read(&[directory.path().join("gone")]).expect_err("no file");
        assert!(gone.contains("No such file"), "{gone}");
    }
}
