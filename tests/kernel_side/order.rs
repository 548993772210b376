//! Known sequences of starts and issues through bpf/order.h itself.

use std::collections::HashMap;

use iosched_result::measured::order::reordering;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Compiled, by_all, run};

/// Reads events: `s SECTOR BYTES` starts a request, `i SEQUENCE KIND SECTOR BYTES` issues one, `m SECTOR BYTES` merges
/// a bio behind, `l` is a request that ends without an issue. Writes the places of those two, the counters, then the cells
/// that are not 0.
const PROGRAM: &str = r#"
#include "order.h"

static void cells(const char *name, const __u32 *cells)
{
	for (int i = 0; i < LOG2_CELLS; i++)
		if (cells[i])
			printf("%s%d %u\n", name, i, cells[i]);
}

int main(void)
{
	static struct order_state state;
	static struct order_stats stats;
	unsigned long long sector;
	unsigned int sequence, kind, bytes;
	char event;

	while (scanf(" %c", &event) == 1) {
		if (event == 's' && scanf("%llu %u", &sector, &bytes) == 2)
			order_start(&state, &stats, sector, bytes);
		else if (event == 'i' && scanf("%u %u %llu %u", &sequence, &kind, &sector, &bytes) == 4)
			printf("issue_at%u 1\n",
			       order_issue(&state, &stats, sequence, kind, sector, bytes));
		else if (event == 'm' && scanf("%llu %u", &sector, &bytes) == 2)
			order_merge(&state, sector, bytes);
		else if (event == 'l')
			printf("leave_at%u 1\n", order_leave(&state));
	}
	printf("issued %llu\nreordered %llu\n", stats.issued, stats.reordered);
	printf("insert_seeks %llu\ninsert_sectors %llu\n", stats.insert_seeks, stats.insert_sectors);
	printf("issue_seeks %llu\nissue_sectors %llu\n", stats.issue_seeks, stats.issue_sectors);
	printf("read_runs %llu\nread_run_ios %llu\n", stats.runs[0], stats.run_ios[0]);
	printf("write_runs %llu\nwrite_run_ios %llu\n", stats.runs[1], stats.run_ios[1]);
	cells("early", stats.early);
	cells("late", stats.late);
	cells("insert_seek", stats.insert_seek);
	cells("issue_seek", stats.issue_seek);
	cells("read_run", stats.run_length[0]);
	cells("write_run", stats.run_length[1]);
	return 0;
}
"#;

struct Counts(HashMap<String, u64>);

impl Counts {
    fn of(events: &str, program: &Compiled) -> Counts {
        let text = run(&program.binary, events.to_owned());
        let line = |line: &str| {
            let (name, count) = line.split_once(' ').unwrap();
            (name.to_owned(), count.parse().unwrap())
        };
        Counts(text.lines().map(line).collect())
    }

    fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    #[track_caller]
    fn are(&self, wanted: &[(&str, u64)]) {
        for (name, count) in wanted {
            assert_eq!(self.get(name), *count, "{name} of {:?}", self.0);
        }
    }
}

/// As many starts, and then the issues in that order.
fn permuted(issues: &[u32]) -> String {
    let starts = "s 0 512\n".repeat(issues.len());
    let issue = |sequence: &u32| format!("i {sequence} 1 0 512\n");
    starts + &issues.iter().map(issue).collect::<String>()
}

#[test]
fn known_sequences() {
    for program in by_all(PROGRAM) {
        Counts::of(&permuted(&[1, 2, 0, 3, 4]), &program).are(&[
            ("issued", 5),
            ("reordered", 1),
            ("early1", 2), // 1 and 2 were one place early
            ("late0", 2),
            ("late2", 1), // 0 was two places late
        ]);
        Counts::of(&permuted(&[4, 3, 2, 1, 0]), &program).are(&[("reordered", 4)]);
        Counts::of(&permuted(&[0, 3, 1, 2, 5, 4]), &program).are(&[("reordered", 3)]);
        Counts::of(&permuted(&[0, 1, 2]), &program).are(&[("reordered", 0), ("late0", 3)]);
    }
}

/// Constant work per event finds as many reordered requests as the exact way over all of them.
#[test]
fn any_sequence_as_the_exact_way() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for program in by_all(PROGRAM) {
        for _ in 0..20 {
            let mut issues: Vec<u32> = (0..random.random_range(1..200)).collect();
            issues.shuffle(&mut random);
            let wanted = reordering(&issues).reordered as u64;
            Counts::of(&permuted(&issues), &program).are(&[("reordered", wanted)]);
        }
    }
}

#[test]
fn seeks_and_the_schedulers_gain() {
    // Asked for as 0, 1000, 8, 1008; issued sorted.
    let events = "s 0 4096\ns 1000 4096\ns 8 4096\ns 1008 4096\n\
        i 0 1 0 4096\ni 2 1 8 4096\ni 1 1 1000 4096\ni 3 1 1008 4096\n";
    for program in by_all(PROGRAM) {
        Counts::of(events, &program).are(&[
            ("insert_seeks", 3),
            ("insert_sectors", 992 + 1000 + 992),
            ("issue_seeks", 3),
            ("issue_sectors", 984),
            ("issue_seek0", 2), // sequential
            ("issue_seek10", 1),
        ]);
    }
}

/// A request that grows at its end by merges is asked for in sequence, too.
#[test]
fn a_merge_moves_the_end_of_what_was_asked_for() {
    let events = "s 0 4096\nm 8 4096\nm 16 4096\ns 24 4096\n";
    for program in by_all(PROGRAM) {
        Counts::of(events, &program).are(&[("insert_seeks", 1), ("insert_seek0", 1)]);
        let apart = "s 0 4096\nm 800 4096\ns 24 4096\n";
        Counts::of(apart, &program).are(&[("insert_seek5", 1)]); // 24 less 8
    }
}

#[test]
fn runs_end_with_the_change_of_direction() {
    let kinds = [1, 1, 1, 2, 2, 1, 2]; // the last two runs: one ended, one not
    let starts = "s 0 512\n".repeat(kinds.len());
    let issue = |(i, kind): (usize, &u32)| format!("i {i} {kind} 0 512\n");
    let issues: String = kinds.iter().enumerate().map(issue).collect();
    for program in by_all(PROGRAM) {
        Counts::of(&(starts.clone() + &issues), &program).are(&[
            ("read_runs", 2),
            ("read_run_ios", 4),
            ("write_runs", 1),
            ("write_run_ios", 2),
            ("read_run2", 1),
            ("read_run1", 1),
            ("write_run2", 1),
        ]);
    }
}

/// A request that is merged into another gives its place away: those behind it are not early for ever.
#[test]
fn a_request_that_is_never_issued_leaves_no_trace() {
    let events =
        "s 0 512\ns 8 512\ns 16 512\nl\ni 0 1 0 512\ni 2 1 16 512\ns 24 512\ni 3 1 24 512\n";
    for program in by_all(PROGRAM) {
        let counts = Counts::of(events, &program);
        counts.are(&[("issued", 3), ("reordered", 0)]);
        assert_eq!(counts.get("late0"), 2, "{:?}", counts.0);
    }
}

/// Each place is somebody's, so that one that nobody has told of was lost.
#[test]
fn places_of_issues_and_of_what_left_are_without_a_gap() {
    let events = "s 0 512\ns 8 512\ns 16 512\ns 24 512\ns 32 512\n\
        i 0 1 0 512\nl\nl\ni 4 1 32 512\ni 3 1 24 512\n";
    for program in by_all(PROGRAM) {
        let places = [
            "issue_at0",
            "leave_at1",
            "leave_at2",
            "issue_at3",
            "issue_at4",
        ];
        Counts::of(events, &program).are(&places.map(|place| (place, 1)));
    }
}
