/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the order of issues with the order of starts, with constant work per event. Plain C, so that a
 * test can replay sequences through it. Needs the types of wire.h, cell.h, add and add_alone.
 *
 * Two CPUs that start requests at the same moment may get the same sequence: their order is undefined, and
 * counted as in order.
 */
#ifndef IOSCHED_ORDER_H
#define IOSCHED_ORDER_H

/* The sequence counters of a device. Starts and issues are on separate cache lines. */
struct order_state {
	__u32 started;
	__u32 unused;
	__u64 insert_end; /* the sector after the last start */
	__u64 pad[14];
	__u32 issued;
	__u32 next_expected; /* the highest issued sequence, plus 1 */
	__u64 issue_end;
	__u32 run_ios;
	__u32 run_kind; /* 0 none yet, 1 reads, 2 writes */
	__u64 more_pad[13];
};

/* 0 for 0, otherwise the number of binary digits. */
static __always_inline __u32 log2_cell(__u64 value)
{
	__u32 cell = value ? octave_of(value) + 1 : 0;

	return clamp_cell(cell, LOG2_CELLS);
}

#define count_log2(cells, value)                                                                             \
	do {                                                                                                 \
		__u32 cell__ = log2_cell(value);                                                             \
		keep(cell__);                                                                                \
		if (cell__ < LOG2_CELLS)                                                                     \
			add_alone(&(cells)[cell__], 1);                                                      \
	} while (0)

static __always_inline __u64 distance(__u64 a, __u64 b)
{
	return a > b ? a - b : b - a;
}

/* A request starts at `sector`; returns its sequence number. */
static __always_inline __u32 order_start(struct order_state *state, struct order_stats *stats, __u64 sector,
					 __u32 bytes)
{
	__u32 sequence = state->started;
	__u64 seek;

	__sync_fetch_and_add(&state->started, 1);
	if (sequence) {
		seek = distance(sector, state->insert_end);
		add_alone(&stats->insert_seeks, 1);
		add_alone(&stats->insert_sectors, seek);
		count_log2(stats->insert_seek, seek);
	}
	state->insert_end = sector + (bytes >> 9);
	return sequence;
}

/* A bio was merged at the end of a waiting request: move the end of the last start. */
static __always_inline void order_merge(struct order_state *state, __u64 sector, __u32 bytes)
{
	if (state->insert_end == sector)
		state->insert_end = sector + (bytes >> 9);
}

/* A request that will never be issued gives its place away. Returns the place. */
static __always_inline __u32 order_leave(struct order_state *state)
{
	__u32 place = state->issued;

	__sync_fetch_and_add(&state->issued, 1);
	return place;
}

/* The request with this sequence is issued; `kind` is 1 for a read, 2 for a write. Returns its place. */
static __always_inline __u32 order_issue(struct order_state *state, struct order_stats *stats, __u32 sequence,
					 __u32 kind, __u64 sector, __u32 bytes)
{
	__u32 place = state->issued;
	__s32 displacement = place - sequence;
	__u64 seek;

	__sync_fetch_and_add(&state->issued, 1);
	add_alone(&stats->issued, 1);
	if ((__s32)(sequence - state->next_expected) < 0)
		add_alone(&stats->reordered, 1);
	else
		state->next_expected = sequence + 1;
	if (displacement < 0)
		count_log2(stats->early, (__u64)-displacement);
	else
		count_log2(stats->late, (__u64)displacement);

	if (state->run_kind) {
		seek = distance(sector, state->issue_end);
		add_alone(&stats->issue_seeks, 1);
		add_alone(&stats->issue_sectors, seek);
		count_log2(stats->issue_seek, seek);
	}
	state->issue_end = sector + (bytes >> 9);

	if (state->run_kind == kind) {
		state->run_ios++;
		return place;
	}
	if (state->run_kind) {
		__u32 ended = state->run_kind == 2;

		add_alone(&stats->runs[ended], 1);
		add_alone(&stats->run_ios[ended], state->run_ios);
		count_log2(stats->run_length[ended], state->run_ios);
	}
	state->run_kind = kind;
	state->run_ios = 1;
	return place;
}

#endif
