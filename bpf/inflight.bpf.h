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

/*
 * Where block_io_start is missing, the first that is seen of a write with a flush is in a kernel worker, and of an
 * empty flush its completion. What its submitter knew is kept here, by the bio.
 */
struct flush_bio {
	__u64 q_ns;
	__u32 owner;
	__u32 is_preflush; /* the request does not say so any more */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load, where needed */
	__type(key, __u64);
	__type(value, struct flush_bio);
} flush_bios SEC(".maps");

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
	case REQ_OP_SECURE_ERASE:
		return OP_DISCARD;
	default:
		if (op >= REQ_OP_FIRST_PASSTHROUGH)
			return OP_PASSTHROUGH;
		return zone_ops >> op & 1 ? OP_ZONE : OP_OTHER;
	}
}

static __always_inline bool is_passthrough(__u32 cmd_flags)
{
	return (cmd_flags & REQ_OP_MASK) >= REQ_OP_FIRST_PASSTHROUGH;
}

static __always_inline bool is_flush(__u32 cmd_flags)
{
	return (cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH;
}

/*
 * A flush command borrows the tag of the request that it is sent for, which is still pending. There is at most one of
 * them in flight per hardware queue: they have a row of their own behind the tags. Behind those, if passthrough is
 * measured, its tags: it passes the scheduler by, whose tags are others than the driver's.
 */
static __always_inline struct inflight *state_of(const struct queue *queue, struct request *rq)
{
	const struct target *target = &queue->target;
	struct blk_mq_hw_ctx *hctx = rq->mq_hctx;
	__u32 hardware_queue, cmd_flags, key;
	int tag;

	if (!hctx)
		return 0;
	hardware_queue = hctx->queue_num;
	cmd_flags = rq->cmd_flags;
	if (hardware_queue >= target->hardware_queues)
		return 0;
	key = target->inflight_base;
	if (is_flush(cmd_flags)) {
		key += target->hardware_queues * target->depth + hardware_queue;
	} else {
		tag = rq->internal_tag;
		if (tag < 0)
			tag = rq->tag;
		if (tag < 0 || (__u32)tag >= target->depth)
			return 0;
		key += hardware_queue * target->depth + tag;
		if (with_passthrough && is_passthrough(cmd_flags))
			key += target->hardware_queues * (target->depth + 1);
	}
	return bpf_map_lookup_elem(&inflight, &key);
}

/* First sight of a request, by its submitter: at block_io_start, or at insert on kernels without that. */
static __always_inline void start(struct queue *queue, struct request *rq)
{
	struct inflight *state = state_of(queue, rq);
	struct device_stats *device;
	struct flush_bio *kept = 0;
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);
	struct bio *bio = rq->bio;
	__u32 cmd_flags = rq->cmd_flags;
	__u64 key = (__u64)bio;
	__u64 q = 0, now = 0;

	if (!state || state->request) {
		device = device_of(queue);
		if (device)
			add(state ? &device->evicted : &device->lost, 1);
		if (!state)
			return;
		note_loss(queue, state, bpf_ktime_get_ns());
	}
	state->d_ns = 0;
	state->flags = 0;
	state->bios = 1;
	state->bytes = rq->__data_len;
	state->op = op_of(cmd_flags);
	if (cmd_flags & (REQ_META | REQ_PREFLUSH)) {
		if (cmd_flags & REQ_META)
			state->flags |= STATE_JOURNAL;
		if (cmd_flags & REQ_PREFLUSH) {
			state->flags |= STATE_PREFLUSH;
			if (!state->bytes)
				state->op = OP_FLUSH; /* an empty flush: what fsync waits for */
		}
	}

	if (!thread)
		return;
	if (!has_io_start && start_time_is_exact)
		now = rq->start_time_ns;
	if (!has_io_start)
		kept = bpf_map_lookup_elem(&flush_bios, &key);
	if (kept) {
		q = kept->q_ns;
		state->owner = kept->owner;
		if (kept->is_preflush)
			state->flags |= STATE_PREFLUSH;
		bpf_map_delete_elem(&flush_bios, &key);
	} else {
		state->owner = owner_of(task, thread, queue, bio);
		/* A bio that was split makes several requests; the original bio is the last of them. */
		if (thread->q_ns && thread->task == (__u64)task &&
		    (has_io_start || thread->bio == (__u64)bio)) {
			q = thread->q_ns;
			/* Did not sleep since: the request came at once, and one clock read is saved. */
			if (thread->sleeps == FIELD(task, nvcsw))
				now = q;
			if (thread->bio == (__u64)bio)
				thread->q_ns = 0;
		}
	}
	state->q_ns = q;
	state->g_ns = now ? now : bpf_ktime_get_ns();
	follow_scheduler(queue, rq->q, state->g_ns);
	/* A flush moves the request past the scheduler. */
	note_start(queue, rq, state, state->op < OP_ZONE && !(cmd_flags & (REQ_PREFLUSH | REQ_FUA)));
	state->request = (__u64)rq; /* last: from here on the entry is valid */
}

#endif
