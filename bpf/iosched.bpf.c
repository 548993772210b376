// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One program per tracepoint, in the order of a request's life:
 * queue (Q) - merge (M, F) - start (G) - insert (I) - issue (D) - requeue (R) - complete (C).
 */
#include "block.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "compat.bpf.h"
#include "queue.bpf.h"
#include "owner.bpf.h"
#include "inflight.bpf.h"
#include "latency.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline struct queue *queue_of_request(struct request *rq)
{
	return traced_queue(rq->q, disk_of_request(rq));
}

static __always_inline struct queue *queue_of_bio(struct bio *bio)
{
	struct gendisk *disk = disk_of_bio(bio);

	return traced_queue(disk->queue, disk);
}

/* Q: the submitter asks. Its clock and its name are taken here, in its own context. */
SEC("tp_btf/block_bio_queue")
int block_bio_queue(__u64 *ctx)
{
	struct bio *bio = argument(ctx, bio_queue_arg);
	struct queue *queue = queue_of_bio(bio);
	struct thread *thread;

	if (!queue)
		return 0;
	thread = thread_of(queue, bio);
	if (!thread)
		return 0;
	thread->bio = (__u64)bio;
	thread->sleeps = bpf_get_current_task_btf()->nvcsw;
	thread->q_ns = bpf_ktime_get_ns();
	return 0;
}

enum merge { BACK, FRONT };

/* M, F: the bio joins a request that waits. Runs in the merging thread; the request keeps its first owner. */
static __always_inline int merged(struct bio *bio, enum merge merge)
{
	struct queue *queue = queue_of_bio(bio);
	struct device_stats *device;
	struct thread *thread;
	struct owner *owner;
	__u32 index;

	if (!queue)
		return 0;
	device = device_of(queue);
	if (!device)
		return 0;
	thread = thread_of(queue, bio);
	if (thread) {
		index = thread->owner;
		if (thread->bio == (__u64)bio)
			thread->q_ns = 0;
	} else {
		index = find_owner(queue->target.slot, cgroup_of_bio(bio));
	}
	add(merge == BACK ? &device->back_merges : &device->front_merges, 1);
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		add(merge == BACK ? &owner->back_merges : &owner->front_merges, 1);
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int block_bio_backmerge(__u64 *ctx)
{
	return merged(argument(ctx, merge_arg), BACK);
}

SEC("tp_btf/block_bio_frontmerge")
int block_bio_frontmerge(__u64 *ctx)
{
	return merged(argument(ctx, merge_arg), FRONT);
}

/* A request joins another and ends here, without a completion. */
SEC("tp_btf/block_rq_merge")
int block_rq_merge(__u64 *ctx)
{
	struct request *rq = argument(ctx, rq_merge_arg);
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;
	struct inflight *state;
	struct owner *owner;
	__u32 index;

	if (!queue)
		return 0;
	device = device_of(queue);
	if (!device)
		return 0;
	add(&device->rq_merges, 1);
	state = state_of(queue, rq, false);
	if (!state || state->request != (__u64)rq)
		return 0;
	index = state->owner;
	state->request = 0;
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		add(&owner->rq_merges, 1);
	return 0;
}

/* G: the submitter has got its request. */
static __always_inline int started(struct request *rq, bool only_if_new)
{
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;

	if (!queue || is_passthrough(rq->cmd_flags) || op_of(rq->cmd_flags) == OP_FLUSH)
		return 0;
	device = device_of(queue);
	if (!device)
		return 0;
	if (only_if_new) {
		struct inflight *state = state_of(queue, rq, false);

		if (state && state->request == (__u64)rq)
			return 0;
	}
	start(queue, device, rq);
	return 0;
}

SEC("tp_btf/block_io_start")
int block_io_start(__u64 *ctx)
{
	return started((void *)ctx[0], false);
}

/* I: stands in for G on kernels without it; elsewhere off, because it runs under the scheduler's lock. */
SEC("tp_btf/block_rq_insert")
int block_rq_insert(__u64 *ctx)
{
	return started(argument(ctx, insert_arg), true);
}

/* D: the driver gets the request. The length is taken here, because requests grow by merges. */
SEC("tp_btf/block_rq_issue")
int block_rq_issue(__u64 *ctx)
{
	struct request *rq = argument(ctx, issue_arg);
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;
	struct inflight *state;
	bool is_flush;

	if (!queue)
		return 0;
	is_flush = op_of(rq->cmd_flags) == OP_FLUSH;
	state = state_of(queue, rq, is_flush);
	if (state && state->request == (__u64)rq && !is_flush) {
		if (!state->d_ns) {
			state->d_ns = bpf_ktime_get_ns();
			state->bytes = rq->__data_len;
		}
		return 0;
	}

	/* The rare rest: passthrough, flush commands, requests whose start was not seen. */
	device = device_of(queue);
	if (!device)
		return 0;
	if (is_passthrough(rq->cmd_flags)) {
		add(&device->passthrough, 1);
		return 0;
	}
	if (!state) {
		add(&device->lost, 1);
		return 0;
	}
	if (!has_io_start && !is_flush) {
		start(queue, device, rq); /* no insert under `none`: this is the submitter */
	} else {
		if (state->request && state->request != (__u64)rq)
			add(&device->evicted, 1);
		if (!is_flush)
			add(&device->started_late, 1);
		state->q_ns = 0;
		state->g_ns = 0;
		state->c_ns = 0;
		state->owner = 0;
		state->op = op_of(rq->cmd_flags);
		state->request = (__u64)rq;
	}
	state->bytes = rq->__data_len;
	state->d_ns = bpf_ktime_get_ns();
	return 0;
}

/* R: back from the driver; the first issue keeps counting, since the device was asked then. */
SEC("tp_btf/block_rq_requeue")
int block_rq_requeue(__u64 *ctx)
{
	struct request *rq = argument(ctx, requeue_arg);
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device = queue ? device_of(queue) : 0;

	if (device && !is_passthrough(rq->cmd_flags))
		add(&device->requeues, 1);
	return 0;
}

static __always_inline void finish(const struct queue *queue, struct device_stats *device,
				   struct inflight *state, __u64 now)
{
	__u32 shard = shard_of(queue);
	__u32 index = state->owner;
	__u32 op = state->op;
	struct owner *owner = bpf_map_lookup_elem(&owners, &index);

	if (!owner || op >= OP_COUNT)
		return;
	if (!state->d_ns && state->bytes)
		add(&device->unissued, 1);
	if (op == OP_FLUSH) {
		add(&device->flush_requests, 1); /* the command that it waited for counts as the I/O */
	} else {
		add(&device->op[op].ios, 1);
		add(&device->op[op].bytes, state->bytes);
	}
	if (!index && state->g_ns)
		add(&device->owner_overflow, 1);
	add(&owner->op[op].ios, 1);
	add(&owner->op[op].bytes, state->bytes);
	count_wait(shard, device, owner, op, state);
	count_service(shard, device, owner, op, state, now);
	count_total(shard, device, owner, op, state, now);
}

/* C: possibly in parts, and once more behind a flush; everything is counted at the last of them. */
SEC("tp_btf/block_rq_complete")
int block_rq_complete(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	int status = ctx[1];
	__u32 bytes = ctx[2];
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;
	struct inflight *state;
	bool is_flush;
	__u64 now;

	if (!queue || is_passthrough(rq->cmd_flags))
		return 0;
	device = device_of(queue);
	if (!device)
		return 0;
	is_flush = op_of(rq->cmd_flags) == OP_FLUSH;
	state = state_of(queue, rq, is_flush);
	if (!state) {
		add(&device->lost, 1);
		return 0;
	}
	if (state->request != (__u64)rq) {
		add(&device->unseen, 1);
		return 0;
	}
	if (bytes < rq->__data_len) {
		add(&device->partial_completions, 1);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (is_flush) {
		add(&device->op[OP_FLUSH].ios, 1);
		if (!is_negative(device, now, state->d_ns))
			count_device(shard_of(queue), OP_FLUSH, D2C, now - state->d_ns);
		state->request = 0;
		return 0;
	}
	if (rq->rq_flags & flush_seq_flag) {
		state->c_ns = now; /* the data is there; a flush and a second completion follow */
		return 0;
	}
	if (status)
		add(&device->errors, 1);
	finish(queue, device, state, now);
	state->request = 0;
	return 0;
}
