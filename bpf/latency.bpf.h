/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long did each stage take? Log-linear histograms and sums, updated once per request, at its end. */
#ifndef IOSCHED_LATENCY_BPF_H
#define IOSCHED_LATENCY_BPF_H

/* Keeps clang 19 from proving a bounds check away that the verifier cannot prove. */
#define keep(value) asm volatile("" : "+r"(value))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards x OP_COUNT x LATENCY_COUNT, set before the load */
	__type(key, __u32);
	__type(value, struct device_histogram);
} histograms SEC(".maps");

/* Position of the highest bit of a value above 0. */
static __always_inline __u32 octave_of(__u64 value)
{
#if __clang_major__ > 14
	return 63 - __builtin_clzll(value);
#else /* clang 14 never ends compiling that for BPF */
	for (__u32 step = 1; step < 64; step <<= 1)
		value |= value >> step;
	keep(value); /* all ones up to the highest bit; count them without branches for the verifier */
	value -= (value >> 1) & 0x5555555555555555ULL;
	value = (value & 0x3333333333333333ULL) + ((value >> 2) & 0x3333333333333333ULL);
	value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (__u32)((value * 0x0101010101010101ULL) >> 56) - 1;
#endif
}

static __always_inline __u32 cell_of(__u64 ns, __u32 unit_shift, __u32 sub_bits)
{
	__u64 units = ns >> unit_shift;
	__u32 octave;

	if (units < (2U << sub_bits))
		return units;
	octave = octave_of(units);
	return ((octave - sub_bits) << sub_bits) + (__u32)(units >> (octave - sub_bits));
}

static __always_inline void count_cell(__u32 *cells, __u32 cell, __u32 cell_count)
{
	if (cell > cell_count - 1)
		cell = cell_count - 1;
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
static __always_inline void count_wait(__u32 shard, struct device_stats *device, struct owner *owner, __u32 op,
				       const struct inflight *state)
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

static __always_inline void count_total(__u32 shard, struct device_stats *device, struct owner *owner, __u32 op,
					const struct inflight *state, __u64 now)
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
