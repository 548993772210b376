//! Known sequences through bpf/fairness.h itself. Times in the events are milliseconds.

use super::{Compiled, by_all, run};

/// Reads events of a time and of one of two owners (0, 1): `q OWNER ASKED NOW` asks for a request and gets it, `d OWNER
/// ASKED NOW` issues one, `c OWNER CLOCK NOW` ends one, `m OWNER ASKED NOW` merges one into another. Writes after each issue the clock; at the end for each owner
/// its device time, busy time and longest gap in microseconds, and its gaps.
const PROGRAM: &str = r#"
#include "fairness.h"

int main(void)
{
	static struct device_clock clock;
	static struct owner owners[2];
	static __u64 issued_at[2][64];
	static int first[2], next[2];
	unsigned int who;
	double asked_ms, now_ms;
	char event;

	while (scanf(" %c %u %lf %lf", &event, &who, &asked_ms, &now_ms) == 4) {
		struct owner *owner = &owners[who];
		__u64 asked = asked_ms * 1e6, now = now_ms * 1e6;

		if (event == 'q') {
			owner_start(owner, asked);
		} else if (event == 'd') {
			issued_at[who][next[who]++] = clock_issue(&clock, now);
			owner_issue(owner, now);
		} else if (event == 'm') {
			owner_leave(owner);
			owner_end(owner, now);
		} else {
			owner->device_time += clock_end(&clock, now) - issued_at[who][first[who]++];
			owner_end(owner, now);
		}
	}
	for (who = 0; who < 2; who++) {
		struct owner *owner = &owners[who];
		__u32 gaps = 0;

		for (int i = 0; i < GAP_CELLS; i++)
			gaps += owner->gaps[i];
		printf("%llu %llu %llu %u\n", (owner->device_time >> CLOCK_SHIFT) / 1000,
		       owner->busy_ns / 1000, owner->gap_max_ns / 1000, gaps);
	}
	return 0;
}
"#;

/// Numbers of each owner: device time, busy time, longest gap in microseconds; gaps of 1.05 ms and more.
type Seen = [[u64; 4]; 2];

fn replay(events: &str, program: &Compiled) -> Seen {
    let text = run(&program.binary, events.to_owned());
    let numbers = |line: &str| -> [u64; 4] {
        let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    let rows: Vec<[u64; 4]> = text.lines().map(numbers).collect();
    rows.try_into().unwrap()
}

#[test]
fn alone_an_owner_has_all_of_the_time() {
    for program in by_all(PROGRAM) {
        let seen = replay("q 0 1 1\nd 0 1 2\nc 0 0 12\n", &program);
        assert_eq!(seen[0], [10_000, 11_000, 1_000, 0]);
        assert_eq!(seen[1], [0, 0, 0, 0]);
    }
}

/// The parts add up to the time that the device was busy: 2 to 22.
#[test]
fn together_the_time_is_shared() {
    let events = "q 0 1 1\nq 1 1 1\nd 0 1 2\nd 1 1 12\nc 0 0 22\nc 1 0 22\n";
    for program in by_all(PROGRAM) {
        let seen = replay(events, &program);
        assert_eq!(seen[0][0], 15_000, "10 alone, half of 10");
        assert_eq!(seen[1][0], 5_000);
        assert_eq!(seen[1][2], 11_000, "waited from 1 to 12");
    }
}

/// Starvation: a request waits, and none of the owner's is issued. While others of it are, it does not starve.
#[test]
fn a_gap_is_a_time_without_any_issue() {
    let events = "q 0 0.5 0.5\nq 0 0.5 0.5\nd 0 0.5 10\nd 0 0.5 14\nc 0 0 15\nc 0 0 16\n";
    for program in by_all(PROGRAM) {
        let seen = replay(events, &program);
        assert_eq!(seen[0][2], 9_500);
        assert_eq!(seen[0][3], 2, "9.5 ms, then 4 ms");
    }
}

/// Another one than the one that is issued waits longest.
#[test]
fn the_request_that_waits_longest_counts_whichever_is_issued() {
    let events = "q 0 0.5 0.5\nq 0 10 10\nd 0 10 20\nd 0 0.5 23\nc 0 0 24\nc 0 0 25\n";
    for program in by_all(PROGRAM) {
        let seen = replay(events, &program);
        assert_eq!(seen[0][2..], [19_500, 2], "0.5 to 20, then 3 ms");
    }
}

/// It waited for its request since before the others, and got it last.
#[test]
fn waiting_begins_with_the_oldest_question() {
    let events = "q 0 5 5\nq 0 1 6\nd 0 5 9\nd 0 1 10\nc 0 0 11\nc 0 0 12\n";
    for program in by_all(PROGRAM) {
        assert_eq!(replay(events, &program)[0][2], 8_000, "1 to 9");
    }
}

/// A merged request waits no longer, and a time without any that waits is no gap.
#[test]
fn what_is_merged_does_not_wait() {
    let events = "q 0 1 1\nq 0 2 2\nm 0 2 2\nd 0 1 3\nc 0 0 4\nq 0 50 50\nd 0 50 51\nc 0 0 52\n";
    for program in by_all(PROGRAM) {
        assert_eq!(replay(events, &program)[0][2], 2_000, "1 to 3");
    }
}

#[test]
fn busy_is_from_the_first_question_to_the_last_end() {
    let events =
        "q 0 1 1\nd 0 1 1\nq 0 3 3\nc 0 0 4\nd 0 3 5\nc 0 0 6\nq 0 10 10\nd 0 10 10\nc 0 0 11\n";
    for program in by_all(PROGRAM) {
        let seen = replay(events, &program);
        assert_eq!(seen[0][1], 6_000, "1 to 6, and 10 to 11");
    }
}

/// A thread that waited for its request since before the owner's last one ended: it was never idle.
#[test]
fn waiting_for_a_request_is_busy_too() {
    let events = "q 0 1 1\nd 0 1 1\nc 0 0 4\nq 0 2 7\nd 0 2 7\nc 0 0 9\n";
    for program in by_all(PROGRAM) {
        let seen = replay(events, &program);
        assert_eq!(seen[0][1], 8_000, "1 to 9 without a break");
    }
}
