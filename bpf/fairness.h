/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What did each owner get of the device, and how long did it go without? Constant work per event. Plain C, so that a
 * test can replay sequences through it. Wants the types of wire.h, cell.h and keep.
 *
 * The counters are exact; the times that are kept between events may miss what two CPUs do at the same moment.
 */
#ifndef IOSCHED_FAIRNESS_H
#define IOSCHED_FAIRNESS_H

/* Brings the virtual clock up to `ns` and returns it. */
static __always_inline __u64 clock_advance(struct device_clock *clock, __u64 ns)
{
	__u64 under_way = clock->issued - clock->ended;
	__u64 last = clock->last_ns;

	if (ns <= last)
		return clock->now;
	clock->last_ns = ns;
	if (under_way == 1)
		clock->now += (ns - last) << CLOCK_SHIFT;
	else if (under_way > 1 && under_way < (1U << 20)) /* above that: negative, a race */
		clock->now += ((ns - last) << CLOCK_SHIFT) / under_way;
	return clock->now;
}

static __always_inline __u64 clock_issue(struct device_clock *clock, __u64 ns)
{
	__u64 now = clock_advance(clock, ns);

	__sync_fetch_and_add(&clock->issued, 1);
	return now;
}

static __always_inline __u64 clock_end(struct device_clock *clock, __u64 ns)
{
	__u64 now = clock_advance(clock, ns);

	__sync_fetch_and_add(&clock->ended, 1);
	return now;
}

/* The owner asked for a request at `q_ns` and got it now: if it had none, it is busy since then. */
static __always_inline void owner_start(struct owner *owner, __u64 q_ns)
{
	if (owner->started == owner->ended && q_ns > owner->busy_since_ns)
		owner->busy_since_ns = q_ns; /* else it has been waiting since its last request ended */
	__sync_fetch_and_add(&owner->started, 1);
}

/* One of the owner's requests is over, one way or another; `busy_since_ns` is then where the next time may begin. */
static __always_inline void owner_end(struct owner *owner, __u64 now_ns)
{
	__sync_fetch_and_add(&owner->ended, 1);
	if (owner->started != owner->ended)
		return;
	if (now_ns > owner->busy_since_ns)
		__sync_fetch_and_add(&owner->busy_ns, now_ns - owner->busy_since_ns);
	owner->busy_since_ns = now_ns;
}

/* A request that was asked for at `q_ns` is issued: how long had none of the owner's been? */
static __always_inline void owner_issue(struct owner *owner, __u64 q_ns, __u64 d_ns)
{
	__u64 since = owner->last_issue_ns > q_ns ? owner->last_issue_ns : q_ns;
	__u64 gap = d_ns > since ? d_ns - since : 0;
	__u32 cell;

	if (d_ns > owner->last_issue_ns)
		owner->last_issue_ns = d_ns;
	if (gap > owner->gap_max_ns)
		owner->gap_max_ns = gap;
	if (gap >> GAP_UNIT_SHIFT == 0)
		return;
	cell = clamp_cell(cell_of(gap, GAP_UNIT_SHIFT, GAP_SUB_BITS), GAP_CELLS);
	keep(cell);
	if (cell < GAP_CELLS)
		__sync_fetch_and_add(&owner->gaps[cell], 1);
}

#endif
