/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits by process and file system, and the sleeps in them by stack. */
#ifndef IOSCHED_SYNC_COUNT_BPF_H
#define IOSCHED_SYNC_COUNT_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SYNC_ROWS);
	__type(key, struct sync_key);
	__type(value, struct sync_row);
} sync_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SYNC_SLEEPS);
	__type(key, struct sync_sleep_key);
	__type(value, struct sync_sleep);
} sync_sleeps SEC(".maps");

/* A new row; too large for the programs' stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sync_row);
} blank_row SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sync_losses);
} sync_losses SEC(".maps");

static __always_inline struct sync_losses *losses(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&sync_losses, &first);
}

#define LOSE(what)                                                                                           \
	do {                                                                                                 \
		struct sync_losses *lost = losses();                                                         \
		if (lost)                                                                                    \
			__sync_fetch_and_add(&lost->what, 1);                                                \
	} while (0)

static __always_inline __u32 cell_of(__u64 ns)
{
	__u64 units = ns >> SYNC_UNIT_SHIFT, rest = units;
	__u32 log = 0, cell;

	if (units < 2 << SYNC_SUB_BITS)
		return units;
#pragma unroll
	for (__u32 step = 32; step; step >>= 1) {
		if (rest >> step) {
			rest >>= step;
			log += step;
		}
	}
	log -= SYNC_SUB_BITS;
	cell = (log << SYNC_SUB_BITS) + (units >> log);
	return cell < SYNC_CELLS ? cell : SYNC_CELLS - 1;
}

static __noinline int count_wait(struct sync_thread *thread, __u64 ns)
{
	struct sync_row *row, *blank;
	struct sync_key key;
	__u32 cell = cell_of(ns), first = 0;

	if (!thread)
		return 0;
	key = thread->key;
	row = bpf_map_lookup_elem(&sync_rows, &key);
	if (!row) {
		blank = bpf_map_lookup_elem(&blank_row, &first);
		if (!blank)
			return 0;
		bpf_map_update_elem(&sync_rows, &key, blank, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&sync_rows, &key);
	}
	if (!row) {
		LOSE(rows);
		return 0;
	}
#pragma unroll
	for (__u32 byte = 0; byte < COMM_BYTES; byte++)
		row->comm[byte] = thread->comm[byte]; /* after exec it is another one */
	__sync_fetch_and_add(&row->count, 1);
	__sync_fetch_and_add(&row->ns, ns);
	if (cell < SYNC_CELLS)
		__sync_fetch_and_add(&row->cells[cell], 1);
	return 1;
}

static __noinline int complete_wait(struct sync_thread *thread, __u64 asleep_ns)
{
	struct sync_row *row;
	struct sync_key key;

	if (!thread)
		return 0;
	key = thread->key;
	row = bpf_map_lookup_elem(&sync_rows, &key);
	if (row) {
		__sync_fetch_and_add(&row->asleep_ns, asleep_ns);
		__sync_fetch_and_add(&row->complete, 1);
	}
	return 0;
}

static __noinline int count_sleeps(struct sync_thread *thread, __u32 place, __u64 count, __u64 ns)
{
	struct sync_sleep_key key = {};
	struct sync_sleep fresh = {}, *sleep;

	if (!thread)
		return 0;
	key.key = thread->key;
	key.stack = place < SYNC_PARTS ? thread->part[place].stack : thread->stack;
	if (key.stack < 0)
		LOSE(sleeps);
	sleep = bpf_map_lookup_elem(&sync_sleeps, &key);
	if (!sleep) {
		bpf_map_update_elem(&sync_sleeps, &key, &fresh, BPF_NOEXIST);
		sleep = bpf_map_lookup_elem(&sync_sleeps, &key);
	}
	if (!sleep) {
		LOSE(sleeps);
		return 0;
	}
	__sync_fetch_and_add(&sleep->count, count);
	__sync_fetch_and_add(&sleep->ns, ns);
	return 0;
}

#endif
