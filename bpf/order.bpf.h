/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of issues compared with the order of starts: order.h applied to the maps. */
#ifndef IOSCHED_ORDER_BPF_H
#define IOSCHED_ORDER_BPF_H

#include "order.h"

/* Set before the load: the verifier removes disabled code. */
const volatile bool with_order;

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

static __always_inline struct order_state *order_state_of(const struct queue *queue)
{
	return bpf_map_lookup_elem(&order_states, &queue->target.slot);
}

/* Assigns the next sequence number at the start of a request. False if order is not measured. */
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

/*
 * A request with a sequence number will not be issued. Its place is recorded in the ring, so that any gap
 * means a loss.
 */
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
	dispatch->kind = DISPATCH_GIVEN_AWAY;
	dispatch->issue = place;
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
	dispatch->kind = DISPATCH_ISSUED;
}

#endif
