/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is measured only when asked for. The constants are set before the load: what is off is not even there. */
#ifndef IOSCHED_DETAIL_BPF_H
#define IOSCHED_DETAIL_BPF_H

const volatile bool with_order;
const volatile bool with_fairness;
const volatile bool with_i2d;
const volatile bool with_passthrough;

#include "order.h"
#include "fairness.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards, set before the load */
	__type(key, __u32);
	__type(value, struct order_stats);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* devices */
	__type(key, __u32);
	__type(value, struct order_state);
} order_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x DISPATCHES */
	__type(key, __u32);
	__type(value, struct dispatch);
} dispatches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* devices */
	__type(key, __u32);
	__type(value, struct device_clock);
} clocks SEC(".maps");

static __always_inline struct order_state *order_state_of(const struct queue *queue)
{
	return bpf_map_lookup_elem(&order_states, &queue->target.slot);
}

/* The next place among those who ask. False if that is not measured. */
static __always_inline bool take_turn(const struct queue *queue, __u64 sector, __u32 bytes, __u32 *sequence)
{
	struct order_state *order;
	struct order_stats *stats;
	__u32 shard;

	if (!with_order)
		return false;
	order = order_state_of(queue);
	shard = shard_of(queue);
	stats = bpf_map_lookup_elem(&orders, &shard);
	if (!order || !stats)
		return false;
	*sequence = order_start(order, stats, sector, bytes);
	return true;
}

static __always_inline void note_start(const struct inflight *state)
{
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);

		if (owner)
			owner_start(owner, state->q_ns ? state->q_ns : state->g_ns);
	}
}

static __always_inline void note_merge(const struct queue *queue, struct bio *bio)
{
	struct order_state *order;

	if (!with_order)
		return;
	order = order_state_of(queue);
	if (order)
		order_merge(order, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
}

static __always_inline struct dispatch *dispatch_at(__u32 slot, __u32 place)
{
	__u32 key = slot * DISPATCHES + (place & (DISPATCHES - 1));

	return bpf_map_lookup_elem(&dispatches, &key);
}

/* Said in the ring, too: what is missing there was lost. */
static __always_inline void note_leave(const struct queue *queue)
{
	struct order_state *order = order_state_of(queue);
	struct dispatch *dispatch;
	__u32 place;

	if (!order)
		return;
	place = order_leave(order);
	dispatch = dispatch_at(queue->target.slot, place);
	if (!dispatch)
		return;
	dispatch->kind = 2;
	dispatch->issue = place;
}

/* Of every request that starts and will not be issued, or not complete, or not be seen to. */
static __always_inline void note_loss(const struct queue *queue, struct inflight *state, __u64 now)
{
	if (with_order && state->flags & STATE_ORDERED && !state->d_ns)
		note_leave(queue);
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (owner && state->g_ns)
			owner_end(owner, now);
		if (clock && state->d_ns)
			clock_end(clock, now);
	}
}

static __always_inline void note_dispatch(const struct queue *queue, struct request *rq,
					  const struct inflight *state)
{
	__u32 slot = queue->target.slot, shard = shard_of(queue), place;
	struct order_state *order = bpf_map_lookup_elem(&order_states, &slot);
	struct order_stats *stats = bpf_map_lookup_elem(&orders, &shard);
	struct dispatch *dispatch;

	if (!order || !stats)
		return;
	place = order_issue(order, stats, state->sequence, state->op == OP_READ ? 1 : 2, rq->__sector,
			    state->bytes);
	dispatch = dispatch_at(slot, place);
	if (!dispatch)
		return;
	dispatch->g_ns = state->g_ns;
	dispatch->d_ns = state->d_ns;
	dispatch->sector = rq->__sector;
	dispatch->bytes = state->bytes;
	dispatch->sequence = state->sequence;
	dispatch->issue = place;
	dispatch->hardware_queue = rq->mq_hctx->queue_num;
	dispatch->op = state->op;
	dispatch->owner = state->owner;
	dispatch->kind = 1;
}

static __always_inline void note_first_issue(const struct queue *queue, struct request *rq,
					     struct inflight *state)
{
	if (with_order && state->flags & STATE_ORDERED)
		note_dispatch(queue, rq, state);
	if (with_fairness) {
		struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (clock)
			state->clock = clock_issue(clock, state->d_ns);
		if (owner && state->g_ns)
			owner_issue(owner, state->q_ns ? state->q_ns : state->g_ns, state->d_ns);
	}
}

/* The data is done, or the request never had any: the device is free of it, and its owner. */
static __always_inline void note_end(const struct queue *queue, struct owner *owner,
				     const struct inflight *state, __u64 now)
{
	struct device_clock *clock;

	if (!with_fairness)
		return;
	clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);
	if (clock && state->d_ns)
		add(&owner->device_time, clock_end(clock, now) - state->clock);
	if (state->g_ns)
		owner_end(owner, now);
}

#endif
