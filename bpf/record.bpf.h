/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The completion program writes a record per request into a ring of its CPU, which user space reads without system calls.
 * Where the kernel runs it again on the same CPU before it has ended (see counts_alone), each level of interrupts has a
 * ring of its own.
 */
#ifndef IOSCHED_RECORD_BPF_H
#define IOSCHED_RECORD_BPF_H

/* A power of two, and 1 or RING_LEVELS; set before the load. */
const volatile __u32 ring_records = 1;
const volatile __u32 ring_levels = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* CPUs x levels, set before the load */
	__type(key, __u32);
	__type(value, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* rings x ring_records, set before the load */
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

static __always_inline struct ring *ring_at(__u32 index)
{
	return bpf_map_lookup_elem(&rings, &index);
}

/* Appends a record to the ring at this index. False if it is full. */
static __always_inline bool append_at(__u32 index, const struct record *from)
{
	struct ring *ring = ring_at(index);
	struct record *to;
	__u32 place;

	if (!ring)
		return false;
	if (ring->written - *(volatile __u64 *)&ring->read >= ring_records) {
		ring->lost++;
		return false;
	}
	place = index * ring_records + ((__u32)ring->written & (ring_records - 1));
	to = bpf_map_lookup_elem(&records, &place);
	if (!to)
		return false;
	*to = *from;
	/* User space sees the record once it is counted: the compiler must not move this up. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&ring->written = ring->written + 1;
	return true;
}

static __always_inline bool append(__u32 cpu, const struct record *record)
{
	struct ring *first;
	__u32 level;
	bool is_written;

	if (counts_alone)
		return append_at(cpu, record);
	first = ring_at(cpu * ring_levels);
	if (!first)
		return false;
	/* An interrupt leaves it as it found it. */
	level = *(volatile __u64 *)&first->level;
	if (level >= ring_levels)
		return false;
	*(volatile __u64 *)&first->level = level + 1;
	asm volatile("" ::: "memory");
	is_written = append_at(cpu * ring_levels + level, record);
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&first->level = level;
	return is_written;
}

/* The request has ended: `data_ns` is when its data was complete. */
static __always_inline void write_record(const struct queue *queue, __u32 cpu, struct device_stats *device,
					 struct request *rq, const struct inflight *state, __u32 place,
					 enum record_flags flags, __u64 data_ns, __u64 now)
{
	struct record record;

	record.a_ns = 0;
	record.i_ns = 0;
	if (with_asked || with_i2d) {
		struct extra *extra = bpf_map_lookup_elem(&extras, &place);

		if (extra) {
			record.a_ns = extra->a_ns;
			record.i_ns = extra->i_ns;
		}
	}
	record.q_ns = state->q_ns;
	record.g_ns = state->g_ns;
	record.d_ns = state->d_ns;
	record.data_ns = data_ns;
	record.c_ns = now;
	record.sector = state->sector; /* the request's own moves on when a part of it completes */
	record.bytes = state->bytes;
	record.owner = state->owner;
	record.slot = queue->target.slot;
	record.hardware_queue = state->hardware_queue;
	record.bios = state->bios;
	record.op = state->op;
	record.flags = flags |
		       (state->flags & (STATE_PREFLUSH | STATE_JOURNAL | STATE_POSTFLUSH | STATE_SLEPT)) |
		       (state->flags & STATE_SCHEDULED ? RECORD_SCHEDULED : 0);
	if (!append(cpu, &record))
		count_unrecorded(device, &record);
}

#endif
