/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device time, backlog and starvation per owner: fairness.h applied to the maps. */
#ifndef IOSCHED_FAIRNESS_BPF_H
#define IOSCHED_FAIRNESS_BPF_H

#include "fairness.h"

/* Set before the load: the verifier removes disabled code. */
const volatile bool with_fairness;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* devices */
	__type(key, __u32);
	__type(value, struct device_clock);
} clocks SEC(".maps");

/* At G. */
static __always_inline void note_start(const struct inflight *state)
{
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);

		if (owner)
			owner_start(owner, state->q_ns ? state->q_ns : state->g_ns);
	}
}

/*
 * At the first issue of a request without an owner: it takes part in the device time, but its share is
 * charged to nobody.
 */
static __always_inline void note_unowned_service(const struct queue *queue, struct inflight *state)
{
	if (with_fairness) {
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (clock)
			state->clock = clock_issue(clock, state->d_ns);
	}
}

/* At the first issue. */
static __always_inline void note_service(const struct queue *queue, struct inflight *state)
{
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (clock)
			state->clock = clock_issue(clock, state->d_ns);
		if (owner && state->g_ns)
			owner_issue(owner, state->d_ns);
	}
}

/* The request has ended, and its device time is unknown or has no owner. */
static __always_inline void note_uncounted_end(const struct queue *queue, const struct inflight *state,
					       __u64 now)
{
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (owner && state->g_ns) {
			if (!state->d_ns)
				owner_leave(owner);
			owner_end(owner, now);
		}
		if (clock && state->d_ns)
			clock_end(clock, now);
	}
}

/* The data is complete, or the request had none: it no longer counts for the device and its owner. */
static __always_inline void note_end(const struct queue *queue, const struct inflight *state, __u64 now)
{
	struct device_clock *clock;
	struct owner *owner;

	if (!with_fairness)
		return;
	owner = bpf_map_lookup_elem(&owners, &state->owner);
	clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);
	if (!owner)
		return;
	if (clock && state->d_ns)
		add(&owner->device_time, clock_end(clock, now) - state->clock);
	if (!state->g_ns)
		return;
	if (!state->d_ns)
		owner_leave(owner);
	owner_end(owner, now);
}

#endif
