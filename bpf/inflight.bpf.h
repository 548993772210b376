/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only state per request: an array indexed by hardware queue and tag, validated by the request's
 * address.
 */
#ifndef IOSCHED_INFLIGHT_BPF_H
#define IOSCHED_INFLIGHT_BPF_H

/* CLOCK_MONOTONIC at the load. */
const volatile __u64 loaded_ns;

/* Measure the driver's own commands too; set before the load. */
const volatile bool with_passthrough;

/* Measure only D2C, with no program before the issue; set before the load. */
const volatile bool light;

/* Measure I2D, from insert to issue: the scheduler alone; set before the load. */
const volatile bool with_i2d;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before the load */
	__type(key, __u32);
	__type(value, struct inflight);
} inflight SEC(".maps");

/* Indexed like `inflight`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as `inflight`, if used; set before the load */
	__type(key, __u32);
	__type(value, struct extra);
} extras SEC(".maps");

/* A request begins at this place. */
static __always_inline void set_extra(__u32 place, __u64 a_ns)
{
	struct extra *extra = bpf_map_lookup_elem(&extras, &place);

	if (extra) {
		extra->a_ns = a_ns;
		extra->i_ns = 0;
	}
}

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
		return OP_DISCARD; /* /sys/block/X/stat does not count a secure erase as a discard */
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

/* Flushes and writes with PREFLUSH or FUA bypass the scheduler. */
static __always_inline bool goes_by_scheduler(__u32 opf)
{
	return op_of(opf) < OP_ZONE && !(opf & (REQ_PREFLUSH | REQ_FUA)) && !is_flush(opf);
}

enum { NO_PLACE = 0xffffffff };

/*
 * Index of a request in `inflight`. A flush command borrows the tag of the request for which it is sent, and which
 * is still pending. At most one of them is in flight per hardware queue: they have a row of their own behind the
 * tags. If passthrough is measured, another set of tags follows: passthrough requests bypass the scheduler and have
 * driver tags, whose numbers may equal those of scheduler tags.
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
	return bpf_map_lookup_elem(&inflight, &place); /* null for NO_PLACE */
}

static __always_inline struct inflight *state_of(const struct queue *queue, struct request *rq)
{
	return state_at(place_of(queue, rq));
}

/* `event`: one of the events of enum inflight_flags, possibly with other flags. */
static __always_inline void note_event(struct inflight *state, enum inflight_flags event, __u64 ns)
{
	state->event_ns = ns;
	state->flags |= event;
}

#endif
