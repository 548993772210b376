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
	switch (cmd_flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return OP_READ;
	case REQ_OP_WRITE:
		return OP_WRITE;
	case REQ_OP_FLUSH:
		return OP_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
		return OP_DISCARD;
	default:
		return OP_OTHER;
	}
}

static __always_inline bool is_passthrough(__u32 cmd_flags)
{
	return (cmd_flags & REQ_OP_MASK) >= REQ_OP_FIRST_PASSTHROUGH;
}

/*
 * A flush command borrows the tag of the request that it is sent for, which is still pending. There is at
 * most one of them in flight per hardware queue: they have a row of their own behind the tags.
 */
static __always_inline struct inflight *state_of(const struct queue *queue, struct request *rq, bool is_flush)
{
	const struct target *target = &queue->target;
	struct blk_mq_hw_ctx *hctx = rq->mq_hctx;
	__u32 hardware_queue, tag, key;

	if (!hctx)
		return 0;
	hardware_queue = hctx->queue_num;
	if (hardware_queue >= target->hardware_queues)
		return 0;
	if (is_flush) {
		key = target->inflight_base + target->hardware_queues * target->depth + hardware_queue;
	} else {
		int own = rq->internal_tag;

		tag = own >= 0 ? own : rq->tag;
		if (tag >= target->depth)
			return 0;
		key = target->inflight_base + hardware_queue * target->depth + tag;
	}
	return bpf_map_lookup_elem(&inflight, &key);
}

/* First sight of a request, by its submitter: at block_io_start, or at insert on kernels without that. */
static __always_inline void start(const struct queue *queue, struct device_stats *device, struct request *rq)
{
	struct inflight *state = state_of(queue, rq, false);
	struct thread *thread;
	struct bio *bio = rq->bio;
	__u64 now = 0;

	if (!state) {
		add(&device->lost, 1);
		return;
	}
	if (state->request)
		add(&device->evicted, 1);
	if (!has_io_start && start_time_is_exact)
		now = rq->start_time_ns;
	state->d_ns = 0;
	state->c_ns = 0;
	state->q_ns = 0;
	state->bytes = rq->__data_len;
	state->op = op_of(rq->cmd_flags);
	if (state->op == OP_WRITE && !state->bytes && (rq->cmd_flags & REQ_PREFLUSH))
		state->op = OP_FLUSH; /* an empty flush: what fsync waits for */

	thread = thread_of(queue, bio);
	if (thread) {
		state->owner = thread->owner;
		/* A bio that was split makes several requests; the original bio is the last of them. */
		if (thread->q_ns && (has_io_start || thread->bio == (__u64)bio)) {
			state->q_ns = thread->q_ns;
			/* Did not sleep since: the request came at once, and one clock read is saved. */
			if (thread->sleeps == bpf_get_current_task_btf()->nvcsw)
				now = state->q_ns;
			if (thread->bio == (__u64)bio)
				thread->q_ns = 0;
		}
	} else {
		state->owner = find_owner(queue->target.slot, cgroup_of_bio(bio));
	}
	state->g_ns = now ? now : bpf_ktime_get_ns();
	state->request = (__u64)rq; /* last: from here on the entry is valid */
}

#endif
