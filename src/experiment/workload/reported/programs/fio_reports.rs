//! How many runs of fio there are in its normal output: with `--status-interval`, fio prints a whole report every few seconds, of
//! which the last has everything. Pure.

use super::fio_text::{Job, STATUS, head, jobs};
use super::report::numbered;

/// The first line of each run.
const BANNER: &str = "fio-";

/// Where a report begins: its first job, or the status of its first group if no job has done I/O yet.
struct Start<'a> {
    at: usize,
    number: usize,
    line: &'a str,
}

/// The output from its last report on. Err: there are several runs.
pub fn only_run(text: &str) -> Result<&str, String> {
    let starts = starts(text);
    let ends = starts.iter().skip(1).map(|next| next.at);
    let reports: Vec<(&Start, &str)> = starts
        .iter()
        .zip(ends.chain([text.len()]))
        .map(|(start, end)| (start, &text[start.at..end]))
        .collect();
    let is_same = banners(text) <= 1;
    for pair in reports.windows(2) {
        if !(is_same && is_continued(pair[0].1, pair[1].1)) {
            let place = |(start, _): &(&Start, &str)| {
                format!(
                    "line {} of standard output {:?}",
                    start.number,
                    start.line.trim()
                )
            };
            return Err(format!(
                "it has {} reports: {} and {}; print one, or name the number with --metric-regex",
                reports.len(),
                place(&pair[0]),
                place(&pair[1])
            ));
        }
    }
    Ok(reports.last().map_or(text, |(_, last)| last))
}

fn starts(text: &str) -> Vec<Start<'_>> {
    let mut found: Vec<Start> = Vec::new();
    // A job behind the status of a group is of the next report, and so is the status of a first group.
    let (mut has_status, mut has_jobs) = (true, false);
    for (number, line) in numbered(text) {
        let is_first_status = line.starts_with("Run status group 0 ");
        let is_job = head(line).is_some();
        if (is_job && has_status) || (is_first_status && (has_status || !has_jobs)) {
            // Where a part of the text lies in it.
            let at = line.as_ptr() as usize - text.as_ptr() as usize;
            found.push(Start { at, number, line });
            (has_status, has_jobs) = (false, false);
        }
        has_jobs |= is_job;
        has_status |= line.starts_with(STATUS);
    }
    found
}

/// How many runs have begun.
fn banners(text: &str) -> usize {
    let is_banner = |line: &str| {
        let version = line.strip_prefix(BANNER).unwrap_or_default();
        version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(char::is_whitespace)
    };
    numbered(text).filter(|(_, line)| is_banner(line)).count()
}

/// Whether the second report is of the same run, later: all processes of the first have done no less. Those that had done
/// nothing yet are not printed. One that was cut off is refused as that.
fn is_continued(first: &str, second: &str) -> bool {
    if !second.lines().any(|line| line.starts_with(STATUS)) {
        return true;
    }
    let (Ok(first), Ok(second)) = (jobs(first), jobs(second)) else {
        return false;
    };
    let is_same = |a: &Job, b: &Job| (a.name, a.group, a.pid) == (b.name, b.group, b.pid);
    first.iter().all(|earlier| {
        let later = second.iter().find(|later| is_same(earlier, later));
        later.is_some_and(|later| has_done_no_less(earlier, later))
    })
}

fn has_done_no_less(earlier: &Job, later: &Job) -> bool {
    let mut both = earlier.directions.iter().zip(&later.directions);
    both.all(|both| match both {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(earlier), Some(later)) => earlier.ios <= later.ios && earlier.ms <= later.ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By stat.c of fio 3.33: `show_thread_status_normal`, `show_ddir_status`, `show_group_stats`.
    fn report(job: &str, pid: u32, ms: u32) -> String {
        format!(
            "\n{job}: (groupid=0, jobs=1): err= 0: pid={pid}: Wed Nov 25 12:41:42 2026\n  \
             read: IOPS=1000, BW=4000KiB/s (4096kB/s)({ms}KiB/{ms}msec)\n    \
             clat (usec): min=1, max=9, avg= 5.00, stdev= 1.00\n     \
             issued rwts: total={ms},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\nRun status group 0 (all jobs):\n   \
             READ: bw=4000KiB/s (4096kB/s), 4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), io={ms}KiB (1kB), run={ms}-{ms}msec\n"
        )
    }

    const START: &str =
        "a: (g=0): rw=read, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n";
    const NOTHING_YET: &str = "\n\nRun status group 0 (all jobs):\n";

    #[test]
    fn of_the_reports_of_one_run_the_last_counts() {
        let last = report("a", 7, 3000);
        let text = [
            START,
            NOTHING_YET,
            NOTHING_YET,
            &report("a", 7, 1000),
            &report("a", 7, 2000),
            &last,
        ]
        .concat();
        assert_eq!(only_run(&text), Ok(last.trim_start()));
        let alone = [START, &last].concat();
        assert_eq!(only_run(&alone), Ok(last.trim_start()));
        // A job that began later.
        let both = [&report("a", 7, 2000)[..1], &report("b", 8, 10), &last].concat();
        let both = both.replacen("\nRun status group 0 (all jobs):\n   READ", "   READ", 1);
        let text = [START, &report("a", 7, 1000), &both].concat();
        let found = only_run(&text).unwrap_or_else(|why| panic!("{why}"));
        assert!(
            found.starts_with("b: ") && found.contains("\na: "),
            "{found}"
        );
        for none in ["", "no report\n", START] {
            assert_eq!(only_run(none), Ok(none));
        }
    }

    #[test]
    fn reports_of_two_runs_are_refused_with_their_lines() {
        for second in [
            report("a", 8, 3000),
            report("b", 7, 3000),
            report("a", 7, 900),
            [START, &report("a", 7, 3000)].concat(),
            NOTHING_YET.to_owned(),
        ] {
            let text = [START, &report("a", 7, 1000), &second].concat();
            let why = only_run(&text).expect_err("two runs");
            assert!(
                why.contains("2 reports: line 5 of standard output \"a: (groupid=0"),
                "{why}"
            );
        }
    }
}
