use std::fmt::Write;

use super::*;
use crate::why::{DiskFacts, devices};

const MS: u64 = 1_000_000;

/// An owner, and times since the first line in ms: begin to wait, issued, ended.
type Times = (String, Option<i64>, Option<i64>, Option<i64>);

fn times(parsed: &Parsed) -> Vec<Times> {
    let begin_ns = parsed.stretch.begin_ns;
    let since = |ns: u64| {
        (ns > 0).then(|| (ns.cast_signed() - begin_ns.cast_signed()).div_euclid(MS as i64))
    };
    let requests = parsed.stretch.requests().iter();
    requests
        .map(|request| {
            let owner = &parsed.owners[request.owner as usize];
            let times = [request.queued_ns, request.issued_ns, request.done_ns].map(since);
            (owner.name.clone(), times[0], times[1], times[2])
        })
        .collect()
}

fn row(
    name: &str,
    queued: impl Into<Option<i64>>,
    issued: impl Into<Option<i64>>,
    ended: impl Into<Option<i64>>,
) -> Times {
    (name.to_owned(), queued.into(), issued.into(), ended.into())
}

/// Lines of `time_ms pid action flags what`, as blkparse writes them.
fn lines(rows: &[&str]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut words = row.splitn(5, ' ');
        let mut next = || words.next().expect("a word");
        let (ms, pid, action, flags): (u64, _, _, _) =
            (next().parse().expect("ms"), next(), next(), next());
        let (s, ns) = (ms / 1000, ms % 1000 * MS);
        let _ = writeln!(
            text,
            "  8,16   1 {:>8} {s:5}.{ns:09} {pid:>5} {action:>2} {flags:>3} {}",
            number + 1,
            next()
        );
    }
    text
}

fn parsed(rows: &[&str]) -> Parsed {
    parse(&lines(rows)).expect("lines of blkparse")
}

#[test]
fn a_request_is_queued_issued_and_completed() {
    let text = lines(&[
        "0 70 Q WS 100 + 8 [a [b] c]",
        "1 70 G WS 100 + 8 [a [b] c]",
        "1 70 P N [a]",
        "2 70 I WS 100 + 8 [a [b] c]",
        "2 70 U N [a] 1",
        "3 9 D WS 100 + 8 [kworker/0:1H]",
        "7 0 C WS 100 + 8 [0]",
    ]);
    let parsed = parse(&text).expect("lines of blkparse");
    assert_eq!(times(&parsed), [row("a [b] c", 0, 3, 7)]);
    let (reader, _) = read(&text).expect("lines of blkparse");
    let request = &reader.requests[0];
    assert_eq!((request.op, request.sector), (Op::WriteSync, 100));
    assert_eq!(request.g_ns - request.q_ns, MS);
    assert_eq!(parsed.owners[1].pid, 70);
    assert_eq!(
        (parsed.disks.as_slice(), parsed.stretch.missing),
        (["8,16".to_owned()].as_slice(), 0)
    );
}

/// What is merged has no request of its own, whichever side it is merged to; a request may be merged too.
#[test]
fn merges_lengthen_the_request() {
    let parsed = parsed(&[
        "0 1 Q R 100 + 8 [a]",
        "0 1 G R 100 + 8 [a]",
        "1 2 Q R 108 + 8 [b]",
        "1 2 M R 108 + 8 [b]",
        "2 3 Q R 92 + 8 [c]",
        "2 3 F R 92 + 8 [c]",
        "3 4 Q R 116 + 8 [d]",
        "3 4 G R 116 + 8 [d]",
        "4 4 M R 116 + 8 [d]",
        "5 1 D R 92 + 32 [a]",
        "9 0 C R 92 + 32 [0]",
    ]);
    assert_eq!(times(&parsed), [row("a", 0, 5, 9), row("d", 3, None, None)]);
    let second = parsed.stretch.requests().iter().nth(1).expect("d's");
    assert!(second.is_over);
}

#[test]
fn a_bio_that_is_split_waits_in_both_parts_from_its_beginning() {
    let parsed = parsed(&[
        "0 1 Q W 100 + 32 [a]",
        "1 1 X W 100 / 116 [a]",
        "1 1 G W 100 + 16 [a]",
        "2 1 G W 116 + 16 [a]",
        "3 1 D W 100 + 16 [a]",
        "4 1 D W 116 + 16 [a]",
        "8 0 C W 116 + 16 [0]",
        "9 0 C W 100 + 16 [0]",
    ]);
    assert_eq!(times(&parsed), [row("a", 0, 3, 9), row("a", 0, 4, 8)]);
}

#[test]
fn a_request_that_is_requeued_was_issued_the_first_time_and_one_in_parts_ends_with_the_last() {
    let parsed = parsed(&[
        "0 1 Q R 8 + 16 [a]",
        "0 1 G R 8 + 16 [a]",
        "1 1 D R 8 + 16 [a]",
        "2 0 R R 8 + 16 [0]",
        "5 1 D R 8 + 16 [a]",
        "6 0 C R 8 + 8 [0]",
        "7 0 C R 16 + 8 [0]",
    ]);
    assert_eq!(times(&parsed), [row("a", 0, 1, 7)]);
}

#[test]
fn flush_commands_are_requests_and_empty_flushes_are_not() {
    let parsed = parsed(&[
        "0 5 Q FWS [jbd2]",
        "0 5 G FWS [jbd2]",
        "1 6 D FN [kworker/1:1H]",
        "4 0 C FN 0 [0]",
        "5 5 Q FWS 64 + 8 [jbd2]",
        "5 5 G FWS 64 + 8 [jbd2]",
        "6 5 D WS 64 + 8 [jbd2]",
        "8 0 C WS 64 + 8 [0]",
    ]);
    assert_eq!(
        times(&parsed),
        [row("unknown", None, 1, 4), row("jbd2", 5, 6, 8)]
    );
    let flags: Vec<_> = parsed
        .stretch
        .requests()
        .iter()
        .map(|of| (of.is_flush_command, of.is_preflush))
        .collect();
    assert_eq!(flags, [(true, false), (false, true)]);
}

#[test]
fn what_began_before_the_text_is_missing_or_nobodys() {
    let parsed = parsed(&[
        "0 0 C R 500 + 8 [0]",
        "1 1 I R 600 + 8 [a]",
        "2 1 D R 600 + 8 [a]",
        "3 1 Q R 700 + 8 [a]",
        "3 1 G R 700 + 8 [a]",
    ]);
    assert_eq!(
        times(&parsed),
        [row("unknown", None, 2, None), row("a", 3, None, None)]
    );
    assert_eq!(parsed.stretch.missing, 1);
}

/// blkparse prints what a CPU recorded in one piece.
#[test]
fn lines_may_be_out_of_the_order_of_time() {
    let rows = [
        "3 0 C R 8 + 8 [0]",
        "0 1 Q R 8 + 8 [a]",
        "0 1 G R 8 + 8 [a]",
        "9 0 U N [a] 1",
        "1 1 D R 8 + 8 [a]",
    ];
    let parsed = parsed(&rows);
    assert_eq!(times(&parsed), [row("a", 0, 1, 3)]);
    let Stretch {
        begin_ns, end_ns, ..
    } = parsed.stretch;
    assert_eq!(end_ns - begin_ns, 9 * MS, "until the last line");
}

#[test]
fn a_flush_that_is_requeued_is_one_and_lost_events_are_missing() {
    let rows = [
        "0 5 D FN [kworker/0:1H]",
        "1 0 R FN 0 [0]",
        "2 5 D FN [kworker/0:1H]",
        "4 0 C FN 0 [0]",
    ];
    let text = lines(&rows) + "Events (sdb): 4 entries\nSkips: 1,205 forward (  4,321 -  99.1%)\n";
    let parsed = parse(&text).expect("lines");
    assert_eq!(times(&parsed), [row("unknown", None, 0, 4)]);
    assert_eq!(parsed.stretch.missing, 1205);
}

/// Beyond 2 TiB blkparse cuts the sector of a split.
#[test]
fn a_split_far_behind_has_its_second_half() {
    let parsed = parsed(&[
        "0 7 Q R 8589934592 + 16 [app]",
        "1 7 X R 8589934592 / 8 [app]",
        "2 7 G R 8589934592 + 8 [app]",
        "4 7 G R 8589934600 + 8 [app]",
        "5 7 D R 8589934592 + 8 [app]",
        "6 7 D R 8589934600 + 8 [app]",
    ]);
    assert_eq!(
        times(&parsed),
        [row("app", 0, 5, None), row("app", 0, 6, None)]
    );
}

/// Its wait ended at an unknown moment: it neither waits to the end, nor is anything in service for it.
#[test]
fn a_request_whose_issue_is_lost_is_missing() {
    let parsed = parsed(&[
        "0 1 Q R 8 + 8 [a]",
        "0 1 G R 8 + 8 [a]",
        "2 0 C R 8 + 8 [0]",
        "3 1 Q R 80 + 8 [a]",
        "4 0 C R 80 + 8 [0]",
        "9 1 U N [a] 1",
    ]);
    assert_eq!(parsed.stretch.missing, 2);
    let disks = [DiskFacts::default()];
    let found = devices(&parsed.stretch, &disks, &|_| named("a", 1), 16);
    assert!(found[0].owners.is_empty(), "{found:?}");
}

/// Its summary, messages and other lines say nothing; a text without any of its lines is not blkparse's.
#[test]
fn other_lines_are_passed_over() {
    let own = lines(&["0 1 Q R 8 + 8 [a]", "0 1 G R 8 + 8 [a]"]);
    let text = format!(
        "{own}CPU0 (sdb):\n Reads Queued:           1,        4KiB\tWrites Queued: 0\n\nThroughput (R/W): 1KiB/s\n  8,16   1        0     0.000000000     0  m   N cfq1 add_to_rr\n8,x 1 1 0.000000001 1 Q R 8 + 8 [a]\n"
    );
    assert_eq!(parse(&text).expect("lines").stretch.requests().len(), 1);
    for text in [
        "",
        "\n\n",
        "{\"schema_version\": 3}",
        "8,16 1 1 0.5 1 Q R 8 + 8 [a]",
    ] {
        assert!(parse(text).is_none(), "{text:?}");
    }
}

/// Numbers at their limits, in any order of actions.
#[test]
fn hostile_lines_are_survived() {
    let edge = u64::MAX;
    let mut text = String::new();
    for action in ["Q", "G", "X", "M", "F", "I", "D", "C", "R"] {
        for (sector, sectors) in [(0, edge), (edge, edge), (edge, 0), (5, 0), (0, 1)] {
            for flags in ["R", "W", "FWS", "FN", "D", "ü", "F"] {
                for sign in ["+", "/"] {
                    let _ = writeln!(
                        text,
                        "8,0 0 1 18446742973.000000000 1 {action} {flags} {sector} {sign} {sectors} [a]\n\
                         8,0 0 1 0.000000000 4294967295 {action} {flags} {sector} {sign} {sectors} ][\n\
                         8,0 0 1 0.000000000 4294967295 {action} {flags} {sector} {sign} {sectors} [ü]"
                    );
                }
            }
        }
    }
    for _ in 0..2 {
        text = format!("{text}{text}");
        let parsed = parse(&text);
        let parsed = parsed.expect("some lines are blkparse's");
        let disks: Vec<DiskFacts> = parsed.disks.iter().map(|_| DiskFacts::default()).collect();
        let devices = devices(&parsed.stretch, &disks, &|_| named("a", 1), 16);
        assert_eq!(devices.len(), 1);
    }
}
