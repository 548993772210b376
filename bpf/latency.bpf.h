/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long did each stage take? Log-linear histograms and sums, updated once per request, at its end. */
#ifndef IOSCHED_LATENCY_BPF_H
#define IOSCHED_LATENCY_BPF_H

/* Keeps clang from proving a bounds check away that the verifier cannot prove. */
#define keep(value) asm volatile("" : "+r"(value))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards x OP_COUNT x LATENCY_COUNT, set before the load */
	__type(key, __u32);
	__type(value, struct device_histogram);
} histograms SEC(".maps");

static __always_inline __u32 cell_of(__u64 ns, __u32 unit_shift, __u32 sub_bits)
{
	__u64 units = ns >> unit_shift;
	__u32 octave;

	if (units < (2U << sub_bits))
		return units;
	octave = 63 - __builtin_clzll(units);
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

static __always_inline void count_device(__u32 shard, __u32 op, __u32 latency, __u64 ns)
{
	__u32 key = (shard * OP_COUNT + op) * LATENCY_COUNT + latency;
	struct device_histogram *histogram = bpf_map_lookup_elem(&histograms, &key);

	if (histogram)
		count_cell(histogram->cells, cell_of(ns, DEVICE_UNIT_SHIFT, DEVICE_SUB_BITS), DEVICE_CELLS);
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

/* The stages of one finished request. Unknown ones are false in `has_`. */
struct stages {
	__u64 q2g, g2d, q2d, d2c, q2c;
	bool has_q, has_wait, has_d2c, has_q2c;
};

static __always_inline bool is_negative(struct device_stats *device, __u64 later, __u64 earlier)
{
	if (later >= earlier)
		return false;
	add(&device->negative, 1);
	return true;
}

static __always_inline void count_stages(__u32 shard, struct owner *owner, __u32 op, const struct stages *s)
{
	struct owner_op *o = &owner->op[op];
	__u32 direction = op == OP_WRITE;

	if (s->has_wait && s->has_q) {
		if (s->q2g) {
			count_device(shard, op, Q2D_WAITED, s->q2d);
			count_device(shard, op, Q2G_WAITED, s->q2g);
			count_device(shard, op, G2D_WAITED, s->g2d);
		} else {
			count_device(shard, op, Q2D_DIRECT, s->q2d);
		}
	} else if (s->has_wait) {
		count_device(shard, op, G2D_ALONE, s->g2d);
	}
	if (s->has_wait) {
		__u64 wait = s->has_q ? s->q2d : s->g2d;

		add(&o->waits, 1);
		add(&o->q2d_ns, wait);
		raise(&o->q2d_max_ns, wait);
		if (op <= OP_WRITE)
			count_owner(owner->q2d[direction].cells, wait);
	}
	if (s->has_d2c) {
		count_device(shard, op, D2C, s->d2c);
		add(&o->d2c_ns, s->d2c);
		raise(&o->d2c_max_ns, s->d2c);
		if (op <= OP_WRITE)
			count_owner(owner->d2c[direction].cells, s->d2c);
	}
	if (s->has_q2c) {
		count_device(shard, op, Q2C, s->q2c);
		add(&o->q2c_ns, s->q2c);
		raise(&o->q2c_max_ns, s->q2c);
	}
}

#endif
