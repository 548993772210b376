/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A2Q, A2D, A2C: counted at a request's completion, like the other stages. */
#ifndef IOSCHED_ASKED_STAGES_BPF_H
#define IOSCHED_ASKED_STAGES_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as owner_latencies, if used; set before the load */
	__type(key, __u32);
	__type(value, struct owner_asked);
} owner_asked SEC(".maps");

enum { NOT_KNOWN = -1 };

static __always_inline void count_asked_stage(__u32 row, struct owner_asked *lines, __u32 which, __u64 ns)
{
	struct span span = span_of(ns);

	count_device(row, 1, span);
	if (lines)
		count_in_lines(lines, ASKED_COUNT * 2, which, span);
}

/* Global, so that it is verified separately; `owner` is twice the owner's index, plus 1 for writes. */
__noinline int count_asked_stages(__u32 row, __u32 owner, __u64 a2q_ns, __u64 a2d_ns, __u64 a2c_ns)
{
	__u32 index = owner >> 1, direction = owner & 1;
	struct owner_asked *lines = bpf_map_lookup_elem(&owner_asked, &index);

	count_asked_stage(row + A2Q, lines, A2Q * 2 + direction, a2q_ns);
	count_asked_stage(row + A2C, lines, A2C * 2 + direction, a2c_ns);
	if (a2d_ns != (__u64)NOT_KNOWN)
		count_asked_stage(row + A2D, lines, A2D * 2 + direction, a2d_ns);
	return 0;
}

/* If the program did not ask before the bio was queued, A equals Q. An unknown A is in no histogram. */
static __always_inline void count_asked(const struct ledger *to, const struct inflight *state, __u32 place,
					bool has_wait, __u64 now)
{
	__u64 *known = bpf_map_lookup_elem(&asked, &place);
	__u64 q = state->q_ns, a = known && *known ? *known : q;
	__u32 row = first_row(to->shard, 0) + HISTOGRAM_ROWS + to->op * ASKED_COUNT;

	if (!q || a == A_UNKNOWN || is_negative(to->device, q, a))
		return;
	count_asked_stages(row, to->index << 1 | direction(to->op), q - a,
			   has_wait ? state->d_ns - a : (__u64)NOT_KNOWN, now - a);
}

#endif
