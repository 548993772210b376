/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency per stage: log-linear histograms and sums, updated once per request at its completion. Needs
 * with_asked.
 */
#ifndef IOSCHED_LATENCY_BPF_H
#define IOSCHED_LATENCY_BPF_H

/* With very many devices their histograms have an owner's layout, COARSE of them per element. */
const volatile bool devices_are_coarse;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards x HISTOGRAM_ROWS, set before the load */
	__type(key, __u32);
	__type(value, struct device_histogram);
} histograms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* at most the number of owners, set before the load */
	__type(key, __u32);
	__type(value, struct owner_latency);
} owner_latencies SEC(".maps");

/* Histograms of all stages per owner, not only of Q2D and D2C; set before the load. */
const volatile bool with_owner_stages;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as owner_latencies, if used; set before the load */
	__type(key, __u32);
	__type(value, struct owner_stages);
} owner_stages SEC(".maps");

/* Whether Q is measured; otherwise the queue wait is G2D. */
const volatile bool with_q;

/* Everything that a completion updates. */
struct ledger {
	struct device_stats *device;
	struct op_counters *device_op;
	struct owner *owner;
	struct owner_op *owner_op;
	struct owner_latency *latency; /* null if the owner has no row */
	struct owner_stages *stages; /* also null unless requested */
	__u32 shard;
	__u32 first_row;
	__u32 op;
	__u32 index; /* of the owner */
};

static __always_inline __u32 first_row(__u32 shard, __u32 op)
{
	__u32 row = shard * (with_asked ? HISTOGRAM_ROWS + ASKED_ROWS : HISTOGRAM_ROWS);

	if (op < DATA_OPS)
		return row + op * LATENCY_COUNT;
	return row + DATA_OPS * LATENCY_COUNT + (op - DATA_OPS) * OTHER_LATENCIES;
}

/* Called only at completions, except for I2D: see add_alone. */
static __always_inline void count_device(__u32 row, __u32 n, struct span span)
{
	__u32 element = devices_are_coarse ? row / COARSE : row;
	struct device_histogram *histogram = bpf_map_lookup_elem(&histograms, &element);
	__u32 cell;

	if (devices_are_coarse)
		cell = row % COARSE * OWNER_CELLS +
		       clamp_cell(cell_of(span, OWNER_UNIT_SHIFT, OWNER_SUB_BITS), OWNER_CELLS);
	else
		cell = clamp_cell(cell_of(span, DEVICE_UNIT_SHIFT, DEVICE_SUB_BITS), DEVICE_CELLS);
	keep(cell);
	if (histogram && cell < DEVICE_CELLS)
		add_alone(&histogram->cells[cell], n);
}

static __always_inline __u32 owner_cell(struct span span)
{
	__u32 cell = clamp_cell(cell_of(span, OWNER_UNIT_SHIFT, OWNER_SUB_BITS), OWNER_CELLS);

	keep(cell);
	return cell;
}

static __always_inline void count_owner(struct owner_histogram *histogram, struct span span)
{
	__u32 cell = owner_cell(span);

	if (cell < OWNER_CELLS)
		__sync_fetch_and_add(&histogram->cells[cell], 1);
}

/* Updates a histogram in struct owner_stages or owner_asked. */
#define count_in_lines(lines, count, which, span)                                                            \
	do {                                                                                                 \
		__u32 cell__ = owner_cell(span);                                                             \
		if (cell__ < OWNER_CELLS && (which) < (count)) {                                             \
			(lines)->occupied[which][cell__ / LINE_CELLS] = 1;                                   \
			__sync_fetch_and_add(&(lines)->histograms[which].cells[cell__], 1);                  \
		}                                                                                            \
	} while (0)

static __always_inline void count_owner_stage(struct owner_stages *stages, __u32 stage, struct span span)
{
	count_in_lines(stages, OWNER_STAGES, stage, span);
}

/* A plain store: if two CPUs race, one maximum may be lost, but no false one appears. */
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

static __always_inline struct owner_stages *owner_stages_of(__u32 owner)
{
	return with_owner_stages ? bpf_map_lookup_elem(&owner_stages, &owner) : 0;
}

/* Index of the operation in an owner's pairs of histograms: 0 for reads, 1 for all others. */
static __always_inline __u32 direction(__u32 op)
{
	return op != OP_READ;
}

static __always_inline void count_owner_wait(const struct ledger *to, const struct inflight *state,
					     struct span wait)
{
	__u32 which = direction(to->op);

	if (!to->stages || (state->q_ns && state->q_ns == state->g_ns)) {
		count_owner(&to->latency->q2d[which], wait);
		return;
	}
	count_owner_stage(to->stages, OWNER_Q2D_INDIRECT + which, wait);
	count_owner_stage(to->stages, OWNER_G2D_INDIRECT + which, span_of(state->d_ns - state->g_ns));
	if (state->q_ns && state->q_ns <= state->g_ns)
		count_owner_stage(to->stages, OWNER_Q2G_INDIRECT + which, span_of(state->g_ns - state->q_ns));
}

/* Q2G, G2D and Q2D: from queued to issued. False if the wait is not known. */
static __always_inline bool count_wait(const struct ledger *to, const struct inflight *state)
{
	__u64 q = state->q_ns, g = state->g_ns, d = state->d_ns;
	struct op_counters *device = to->device_op;
	struct owner_op *owner = to->owner_op;
	__u32 row = to->first_row;
	struct span wait;

	if (!d || !g || is_negative(to->device, d, g))
		return false;
	if (state->flags & STATE_PREFLUSH) {
		/* This is a wait for the flush, not for the scheduler. */
		add(&to->device->preflushes, 1);
		add(&to->device->preflush_ns, d - g);
		add(&to->owner->preflushes, 1);
		add(&owner->flush_ns, d - g);
		count_device(first_row(to->shard, OP_FLUSH) + Q2D_DIRECT, 1, span_of(d - g));
		return false;
	}
	if (q && is_negative(to->device, g, q))
		q = 0;
	wait = span_of(d - (q ? q : g));
	if (q) {
		if (g == q || to->op >= DATA_OPS) {
			count_device(row + Q2D_DIRECT, 1, wait);
		} else {
			count_device(row + Q2G_WAITED, 1, span_of(g - q));
			count_device(row + G2D_WAITED, 1, span_of(d - g));
			count_device(row + Q2D_WAITED, 1, wait);
		}
	} else if (to->op < DATA_OPS) {
		count_device(row + G2D_ALONE, 1, wait);
		if (with_q)
			return false; /* Q2G is missing */
	}
	add_alone(&device->waits, 1);
	add_alone(&device->q2d_ns, wait.ns);
	add(&owner->q2d_ns, wait.ns);
	raise(&owner->q2d_max_ns, wait.ns);
	if (to->op < DATA_OPS) {
		if (to->latency)
			count_owner_wait(to, state, wait);
		if (state->bios > 1)
			count_device(row + Q2D_MERGED, state->bios - 1, wait);
	}
	return true;
}

/* D2C, from the first issue to the completion of the data. */
static __always_inline __u64 count_service(const struct ledger *to, const struct inflight *state, __u64 end)
{
	struct owner_op *owner = to->owner_op;
	struct span service;

	if (!state->d_ns || is_negative(to->device, end, state->d_ns))
		return 0;
	service = span_of(end - state->d_ns);
	count_device(to->first_row + D2C, 1, service);
	add_alone(&to->device_op->d2c_ns, service.ns);
	add(&owner->d2c_ns, service.ns);
	raise(&owner->d2c_max_ns, service.ns);
	if (to->op < DATA_OPS) {
		if (to->latency)
			count_owner(&to->latency->d2c[direction(to->op)], service);
		if (state->bios > 1)
			count_device(to->first_row + D2C_MERGED, state->bios - 1, service);
	}
	return service.ns;
}

static __always_inline void count_total(const struct ledger *to, const struct inflight *state, __u64 now)
{
	struct span total;

	if (!state->q_ns || is_negative(to->device, now, state->q_ns))
		return;
	total = span_of(now - state->q_ns);
	count_device(to->first_row + Q2C, 1, total);
	add_alone(&to->device_op->q2c_ns, total.ns);
	if (to->op == OP_FLUSH) {
		add(&to->owner->op[OP_FLUSH].flush_ns, total.ns);
	} else if (to->op < DATA_OPS) {
		if (to->stages)
			count_owner_stage(to->stages, OWNER_Q2C + direction(to->op), total);
		if (state->bios > 1)
			count_device(to->first_row + Q2C_MERGED, state->bios - 1, total);
	}
}

#endif
