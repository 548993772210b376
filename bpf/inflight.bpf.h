/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The only per-request state: an array indexed by hardware queue and tag, checked by the request's address. */
#ifndef IOSCHED_INFLIGHT_BPF_H
#define IOSCHED_INFLIGHT_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before the load */
	__type(key, __u32);
	__type(value, struct inflight);
} inflight SEC(".maps");

static __always_inline __u32 op_of(__u32 cmd_flags)
{
	__u32 op = cmd_flags & REQ_OP_MASK;

	switch (op) {
	case REQ_OP_READ:
		return OP_READ;
	case REQ_OP_WRITE:
		return cmd_flags & (REQ_SYNC | REQ_PREFLUSH | REQ_FUA) ? OP_WRITE_SYNC : OP_WRITE_ASYNC;
	case REQ_OP_FLUSH:
		return OP_FLUSH;
	case REQ_OP_DISCARD:
		return OP_DISCARD; /* a secure erase is none to /sys/block/X/stat */
	default:
		if (op >= REQ_OP_FIRST_PASSTHROUGH)
			return OP_PASSTHROUGH;
		return zone_ops >> op & 1 ? OP_ZONE : OP_OTHER;
	}
}

static __always_inline bool is_flush(__u32 cmd_flags)
{
	return (cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH;
}

/* A flush, also one with data, moves the request past the scheduler. */
static __always_inline bool goes_by_scheduler(__u32 opf)
{
	return op_of(opf) < OP_ZONE && !(opf & (REQ_PREFLUSH | REQ_FUA)) && !is_flush(opf);
}

enum { NO_PLACE = 0xffffffff };

/*
 * Where a request stands in `inflight`. A flush command borrows the tag of the request that it is sent for, which is
 * still pending. There is at most one of them in flight per hardware queue: they have a row of their own behind the
 * tags. Behind those, if passthrough is measured, its tags: it passes the scheduler by, whose tags are others than the
 * driver's.
 */
static __always_inline __u32 place_of(const struct queue *queue, struct request *rq)
{
	const struct target *target = &queue->target;
	struct blk_mq_hw_ctx *hctx = rq->mq_hctx;
	__u32 hardware_queue, cmd_flags, key;
	int tag;

	if (!hctx)
		return NO_PLACE;
	hardware_queue = hctx->queue_num;
	cmd_flags = rq->cmd_flags;
	if (hardware_queue >= target->hardware_queues)
		return NO_PLACE;
	key = target->inflight_base;
	if (is_flush(cmd_flags))
		return key + target->hardware_queues * target->depth + hardware_queue;
	tag = rq->internal_tag;
	if (tag < 0)
		tag = rq->tag;
	if (tag < 0 || (__u32)tag >= target->depth)
		return NO_PLACE;
	key += hardware_queue * target->depth + tag;
	if (with_passthrough && is_passthrough(cmd_flags))
		key += target->hardware_queues * (target->depth + 1);
	return key;
}

static __always_inline struct inflight *state_at(__u32 place)
{
	return bpf_map_lookup_elem(&inflight, &place); /* none at NO_PLACE */
}

static __always_inline struct inflight *state_of(const struct queue *queue, struct request *rq)
{
	return state_at(place_of(queue, rq));
}

#endif
