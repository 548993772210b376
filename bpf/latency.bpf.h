/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long did each stage take? Log-linear histograms and sums, updated once per request, at its end. */
#ifndef IOSCHED_LATENCY_BPF_H
#define IOSCHED_LATENCY_BPF_H

#include "cell.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards x OP_COUNT x LATENCY_COUNT, set before the load */
	__type(key, __u32);
	__type(value, struct device_histogram);
} histograms SEC(".maps");

static __always_inline void count_cell(__u32 *cells, __u32 cell, __u32 cell_count)
{
	cell = clamp_cell(cell, cell_count);
	keep(cell);
	if (cell < cell_count)
		__sync_fetch_and_add(&cells[cell], 1);
}

static __noinline int count_device(__u32 shard, __u32 op, __u32 latency, __u64 ns)
{
	__u32 key = (shard * OP_COUNT + op) * LATENCY_COUNT + latency;
	struct device_histogram *histogram = bpf_map_lookup_elem(&histograms, &key);

	if (histogram)
		count_cell(histogram->cells, cell_of(ns, DEVICE_UNIT_SHIFT, DEVICE_SUB_BITS), DEVICE_CELLS);
	return 0;
}

static __always_inline void count_owner(__u32 *cells, __u64 ns)
{
	count_cell(cells, cell_of(ns, OWNER_UNIT_SHIFT, OWNER_SUB_BITS), OWNER_CELLS);
}

/* A plain store: two CPUs may race and one maximum be lost, never a false one shown. */
static __always_inline void raise(__u64 *maximum, __u64 ns)
{
	if (ns > *maximum)
		*maximum = ns;
}

static __always_inline bool is_negative(struct device_stats *device, __u64 later, __u64 earlier)
{
	if (later >= earlier)
		return false;
	add(&device->negative, 1);
	return true;
}

/* Q2G, G2D, Q2D: from the bio to the issue. */
static __always_inline void count_wait(__u32 shard, struct device_stats *device, struct owner *owner,
				       __u32 op, const struct inflight *state)
{
	struct owner_op *sums = &owner->op[op];
	__u64 q = state->q_ns, g = state->g_ns, d = state->d_ns;
	__u64 wait;

	if (!d || !g || is_negative(device, d, g))
		return;
	if (!q || is_negative(device, g, q)) {
		count_device(shard, op, G2D_ALONE, d - g);
		wait = d - g;
	} else if (g == q) {
		count_device(shard, op, Q2D_DIRECT, d - q);
		wait = d - q;
	} else {
		count_device(shard, op, Q2G_WAITED, g - q);
		count_device(shard, op, G2D_WAITED, d - g);
		count_device(shard, op, Q2D_WAITED, d - q);
		wait = d - q;
	}
	add(&sums->waits, 1);
	add(&sums->q2d_ns, wait);
	raise(&sums->q2d_max_ns, wait);
	if (op == OP_READ)
		count_owner(owner->q2d[0].cells, wait);
	else if (op == OP_WRITE)
		count_owner(owner->q2d[1].cells, wait);
}

static __always_inline void count_service(__u32 shard, struct device_stats *device, struct owner *owner,
					  __u32 op, const struct inflight *state, __u64 now)
{
	struct owner_op *sums = &owner->op[op];
	__u64 end = state->c_ns ? state->c_ns : now;
	__u64 service = end - state->d_ns;

	if (!state->d_ns || is_negative(device, end, state->d_ns))
		return;
	count_device(shard, op, D2C, service);
	add(&sums->d2c_ns, service);
	raise(&sums->d2c_max_ns, service);
	if (op == OP_READ)
		count_owner(owner->d2c[0].cells, service);
	else if (op == OP_WRITE)
		count_owner(owner->d2c[1].cells, service);
}

static __always_inline void count_total(__u32 shard, struct device_stats *device, struct owner *owner,
					__u32 op, const struct inflight *state, __u64 now)
{
	struct owner_op *sums = &owner->op[op];
	__u64 total = now - state->q_ns;

	if (!state->q_ns || is_negative(device, now, state->q_ns))
		return;
	count_device(shard, op, Q2C, total);
	add(&sums->q2c_ns, total);
	raise(&sums->q2c_max_ns, total);
}

#endif
