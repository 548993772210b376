/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each owner's share of the device, and how long it was starved, with constant work per event. Plain C, so
 * that a test can replay sequences through it. Needs the types of wire.h, cell.h and keep.
 *
 * The counters are exact; times between events may be slightly off if two CPUs update them at the same
 * moment.
 */
#ifndef IOSCHED_FAIRNESS_H
#define IOSCHED_FAIRNESS_H

/*
 * The virtual clock of a device: it runs at 1/n of real time with n requests issued, and stands still with
 * none.
 */
struct device_clock {
	__u64 now; /* ns << CLOCK_SHIFT */
	__u64 last_ns;
	__u64 issued; /* requests issued to the driver */
	__u64 ended;
	__u64 pad[12];
};

/* Advances the virtual clock to `ns` and returns it. */
static __always_inline __u64 clock_advance(struct device_clock *clock, __u64 ns)
{
	__u64 under_way = clock->issued - clock->ended;
	__u64 last = clock->last_ns;

	if (ns <= last)
		return clock->now;
	clock->last_ns = ns;
	if (under_way == 1)
		clock->now += (ns - last) << CLOCK_SHIFT;
	else if (under_way > 1 && under_way < (1U << 20)) /* above that: a negative count, by a race */
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

/*
 * The owner queued an I/O at `q_ns` and got its request now: if it had none in flight, it is busy since
 * `q_ns`.
 */
static __always_inline void owner_start(struct owner *owner, __u64 q_ns)
{
	if (owner->started == owner->ended && q_ns > owner->busy_since_ns)
		owner->busy_since_ns = q_ns; /* otherwise it is busy since its last request ended */
	if (owner->started == owner->left || q_ns < owner->waiting_since_ns)
		owner->waiting_since_ns = q_ns;
	__sync_fetch_and_add(&owner->started, 1);
}

/*
 * One of the owner's requests has ended, in any way; the next busy period begins at `busy_since_ns` or
 * later.
 */
static __always_inline void owner_end(struct owner *owner, __u64 now_ns)
{
	__sync_fetch_and_add(&owner->ended, 1);
	if (owner->started != owner->ended)
		return;
	if (now_ns > owner->busy_since_ns)
		__sync_fetch_and_add(&owner->busy_ns, now_ns - owner->busy_since_ns);
	owner->busy_since_ns = now_ns;
}

/* A request has ended without an issue: it was merged, is an empty flush, or was lost. */
static __always_inline void owner_leave(struct owner *owner)
{
	__sync_fetch_and_add(&owner->left, 1);
}

/*
 * A request is issued: counts the time for which one of the owner's waited, this one or another, and none was
 * issued.
 */
static __always_inline void owner_issue(struct owner *owner, __u64 d_ns)
{
	__u64 waiting = owner->waiting_since_ns, last = owner->last_issue_ns;
	__u64 since = last > waiting ? last : waiting;
	__u64 gap = d_ns > since ? d_ns - since : 0;
	__u32 cell;

	owner_leave(owner);

	if (d_ns > owner->last_issue_ns)
		owner->last_issue_ns = d_ns;
	if (gap > owner->gap_max_ns)
		owner->gap_max_ns = gap;
	if (gap >> GAP_UNIT_SHIFT == 0)
		return;
	cell = clamp_cell(cell_of(span_of(gap), GAP_UNIT_SHIFT, GAP_SUB_BITS), GAP_CELLS);
	keep(cell);
	if (cell < GAP_CELLS)
		__sync_fetch_and_add(&owner->gaps[cell], 1);
}

#endif
