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
#include "cell.h"
#include "owner.bpf.h"
#include "detail.bpf.h"
#include "inflight.bpf.h"
#include "asked.bpf.h"
#include "submit.bpf.h"
#include "latency.bpf.h"
#include "asked_stages.bpf.h"
#include "start.bpf.h"
#include "pending.bpf.h"
#include "under_way.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Q: the submitter asks. Its clock is taken here, in its own context. */
SEC("tp_btf/block_bio_queue")
int block_bio_queue(__u64 *ctx)
{
	struct bio *bio = argument(ctx, bio_queue_arg);
	struct queue *queue = queue_of_bio(bio);
	struct task_struct *task;
	struct thread *thread;
	__u32 flags;

	if (!queue)
		return 0;
	task = current_task();
	thread = thread_of(task);
	if (!thread)
		return 0;
	flags = FIELD(task, flags);
	thread->task = (__u64)task;
	thread->bio = (__u64)bio;
	thread->sleeps = FIELD(task, nvcsw);
	thread->q_ns = bpf_ktime_get_ns();
	note_company(queue, thread);
	if (flags & PF_IO_WORKER && resume_attempt(queue, thread, bio))
		return 0;
	if (with_asked)
		note_asked(task, flags);
	return 0;
}

/* A bio ends before it was a request: of those only the ones are of interest that come again. */
SEC("tp_btf/block_bio_complete")
int block_bio_complete(__u64 *ctx)
{
	struct bio *bio = argument(ctx, bio_complete_arg);
	struct device_stats *device;
	struct task_struct *task;
	struct thread *thread;
	struct queue *queue;

	if (bio->bi_status != BLK_STS_AGAIN)
		return 0;
	queue = queue_of_bio(bio);
	if (!queue)
		return 0;
	device = device_of(queue);
	task = current_task();
	thread = thread_of(task);
	if (!device || !thread || thread->task != (__u64)task || thread->bio != (__u64)bio || !thread->q_ns)
		return 0;
	add(&device->nowait_failures, 1);
	remember_failure(task, thread, queue, bio);
	thread->q_ns = 0;
	return 0;
}

enum merge { BACK, FRONT };

/* M, F: the bio joins a request that waits. Runs in the merging thread; the request keeps its first owner. */
static __always_inline int merged(struct bio *bio, enum merge merge)
{
	struct queue *queue = queue_of_bio(bio);
	struct device_stats *device;
	struct task_struct *task;
	struct thread *thread;
	struct owner *owner;
	__u32 index;

	if (!queue)
		return 0;
	device = device_of(queue);
	task = current_task();
	thread = thread_of(task);
	if (!device || !thread)
		return 0;
	index = owner_of(task, thread, queue, bio);
	if (thread->bio == (__u64)bio)
		thread->q_ns = 0;
	add_alone(merge == BACK ? &device->back_merges : &device->front_merges, 1);
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		add(merge == BACK ? &owner->back_merges : &owner->front_merges, 1);
	if (merge == BACK)
		note_merge(queue, bio);
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
	add_alone(&device->rq_merges, 1);
	state = state_of(queue, rq);
	if (!state || state->request != (__u64)rq)
		return 0;
	index = state->owner;
	note_loss(queue, state, with_fairness ? bpf_ktime_get_ns() : 0);
	state->request = 0;
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		add(&owner->rq_merges, 1);
	return 0;
}

/* G: the submitter has got its request. */
SEC("tp_btf/block_io_start")
int block_io_start(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct queue *queue = queue_of_request(rq);

	if (queue && !is_flush(rq->cmd_flags) && !is_passthrough(rq->cmd_flags))
		start(queue, rq);
	return 0;
}

/* I: the first sight of a request on kernels without block_io_start; else on only for I2D, because it runs under the scheduler's lock. */
SEC("tp_btf/block_rq_insert")
int block_rq_insert(__u64 *ctx)
{
	struct request *rq = argument(ctx, insert_arg);
	struct queue *queue = queue_of_request(rq);
	struct inflight *state;

	if (!queue || is_flush(rq->cmd_flags) || is_passthrough(rq->cmd_flags))
		return 0;
	state = state_of(queue, rq);
	if (!has_io_start && (!state || state->request != (__u64)rq))
		start_pending(queue, rq);
	if (with_i2d && state && state->request == (__u64)rq && !state->d_ns) {
		state->mark_ns = bpf_ktime_get_ns();
		state->flags |= STATE_MARK_INSERTED;
	}
	return 0;
}

enum { MAX_BIOS = 1024 }; /* of 4 KiB: the 4 MiB that a request has at most, unless someone raised it */

static __noinline __u32 bios_of(struct request *rq)
{
	struct bio *bio = rq->bio;
	__u64 last = (__u64)rq->biotail;
	__u32 bios = 1;

	for (__u32 i = 0; i < MAX_BIOS; i++) {
		if ((__u64)bio == last)
			break;
		bio = bio->bi_next;
		bios++;
	}
	return bios;
}

/* Who dirties what, if writeback is followed up. */
SEC("tp_btf/writeback_dirty_folio")
int writeback_dirty(__u64 *ctx)
{
	struct address_space *mapping = (void *)ctx[1];
	struct task_struct *task = current_task();
	struct dirtier dirtier = {};
	struct dirtier *known;
	__u64 inode;

	if (!mapping)
		return 0;
	inode = (__u64)mapping->host;
	dirtier.tgid = FIELD(task, tgid);
	dirtier.start_ns = leader_start_ns(task);
	known = bpf_map_lookup_elem(&dirtiers, &inode);
	if (known && known->tgid == dirtier.tgid && known->start_ns == dirtier.start_ns)
		return 0;
	read_comm(task, dirtier.comm);
	bpf_map_update_elem(&dirtiers, &inode, &dirtier, 0);
	return 0;
}

static __always_inline void count_inserted(struct queue *queue, const struct inflight *state, __u64 ns)
{
	struct owner_stages *stages = owner_stages_of(state->owner);

	count_device(first_row(shard_of(queue), state->op) + I2D, 1, ns);
	if (stages)
		count_owner_stage(stages, OWNER_I2D + direction(state->op), ns);
}

/* The length is taken here, because requests grow by merges. */
static __always_inline void first_issue(struct queue *queue, struct request *rq, struct inflight *state,
					__u64 now)
{
	state->d_ns = now;
	state->bytes = rq->__data_len;
	if (rq->bio != rq->biotail)
		state->bios = bios_of(rq);
	/* Since the epoch began and before now, in one comparison. */
	if (with_i2d && state->flags & STATE_MARK_INSERTED && state->op < DATA_OPS &&
	    state->mark_ns - queue->epoch_ns < now - queue->epoch_ns)
		count_inserted(queue, state, now - state->mark_ns);
	note_first_issue(queue, rq, state);
}

static __always_inline void end_requeue(const struct queue *queue, struct inflight *state, __u64 now)
{
	struct device_stats *device = device_of(queue);

	state->flags &= ~STATE_MARK_REQUEUED;
	if (device && now > state->mark_ns)
		add(&device->requeued_ns, now - state->mark_ns);
}

/* D: the driver gets the request. */
SEC("tp_btf/block_rq_issue")
int block_rq_issue(__u64 *ctx)
{
	struct request *rq = argument(ctx, issue_arg);
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;
	struct inflight *state;
	bool flush, passthrough;
	__u64 now;

	if (!queue)
		return 0;
	state = state_of(queue, rq);
	flush = is_flush(rq->cmd_flags);
	if (state && state->request == (__u64)rq && !flush) {
		if (state->d_ns && !(state->flags & STATE_MARK_REQUEUED))
			return 0;
		now = bpf_ktime_get_ns();
		if (state->flags & STATE_MARK_REQUEUED)
			end_requeue(queue, state, now);
		if (!state->d_ns)
			first_issue(queue, rq, state, now);
		return 0;
	}

	/* The rare rest: passthrough, flush commands, requests whose start was not seen. */
	device = device_of(queue);
	if (!device)
		return 0;
	passthrough = is_passthrough(rq->cmd_flags);
	if (passthrough && !with_passthrough) {
		add(&device->passthrough, 1);
		return 0;
	}
	if (!state)
		return 0;
	if (!has_io_start && !flush && !passthrough && start_pending(queue, rq)) {
		first_issue(queue, rq, state, bpf_ktime_get_ns()); /* no insert under `none` */
		return 0;
	}
	if (state->request && state->request != (__u64)rq) {
		add(&device->evicted, 1);
		note_loss(queue, state, bpf_ktime_get_ns());
	}
	if (!flush && !passthrough)
		add(&device->started_late, 1);
	state->q_ns = 0;
	state->g_ns = 0;
	state->owner = 0;
	state->flags = 0;
	state->bios = 1;
	state->op = op_of(rq->cmd_flags);
	state->bytes = rq->__data_len;
	state->d_ns = bpf_ktime_get_ns();
	if (with_fairness) {
		struct device_clock *clock = bpf_map_lookup_elem(&clocks, &queue->target.slot);

		if (clock)
			state->clock = clock_issue(clock, state->d_ns);
	}
	state->request = (__u64)rq;
	return 0;
}

/* R: back from the driver; the first issue keeps counting, since the device was asked then. */
SEC("tp_btf/block_rq_requeue")
int block_rq_requeue(__u64 *ctx)
{
	struct request *rq = argument(ctx, requeue_arg);
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device = queue ? device_of(queue) : 0;
	struct inflight *state;

	if (!device || is_passthrough(rq->cmd_flags))
		return 0;
	add(&device->requeues, 1);
	state = state_of(queue, rq);
	if (state && state->request == (__u64)rq && !(state->flags & STATE_MARK_REQUEUED)) {
		state->mark_ns = bpf_ktime_get_ns();
		state->flags = (state->flags & ~STATE_MARK_INSERTED) | STATE_MARK_REQUEUED;
	}
	return 0;
}

static __always_inline void count_flushes(const struct ledger *to, const struct inflight *state, __u64 now)
{
	__u64 flush_ns = now - state->mark_ns;

	if (!(state->flags & STATE_MARK_DATA_DONE))
		return;
	add(&to->device->postflushes, 1);
	add(&to->device->postflush_ns, flush_ns);
	add(&to->owner_op->flush_ns, flush_ns);
}

/* Everything about a request is counted here, at its end. */
static __always_inline void finish(const struct queue *queue, __u32 shard, struct device_stats *device,
				   const struct inflight *state, __u32 place, __u64 now)
{
	__u64 data_done = state->flags & STATE_MARK_DATA_DONE ? state->mark_ns : now;
	__u32 index = state->owner, op = state->op, bytes = state->bytes;
	struct owner *owner = bpf_map_lookup_elem(&owners, &index);
	struct ledger to = {.device = device, .owner = owner, .shard = shard, .op = op};
	struct owner_op *charged;
	__u64 service, begun;
	bool has_wait;

	if (!owner || op >= OP_COUNT)
		return;
	note_end(queue, owner, state, data_done);
	begun = state->q_ns ? state->q_ns : state->g_ns ? state->g_ns : state->d_ns;
	if (begun < queue->epoch_ns) {
		add(&device->straddlers, 1);
		add(&device->straddler_bytes, bytes);
		return;
	}
	to.latency = bpf_map_lookup_elem(&owner_latencies, &index);
	to.stages = owner_stages_of(index);
	to.first_row = first_row(shard, op);
	to.index = index;
	to.device_op = &device->op[op];
	to.owner_op = charged = &owner->op[op];
	if (op == OP_FLUSH) {
		add(&device->flush_requests, 1); /* the command that it waited for counts as the I/O */
	} else {
		add_alone(&to.device_op->ios, 1);
		add_alone(&to.device_op->bytes, bytes);
	}
	add(&charged->ios, 1);
	add(&charged->bytes, bytes);
	if (state->bios > 1) {
		add_alone(&to.device_op->more_bios, state->bios - 1);
		add(&charged->more_bios, state->bios - 1);
	}
	if (!index && state->g_ns)
		add(&device->owner_overflow, 1);
	if (!state->d_ns && bytes)
		add(&device->unissued, 1);
	service = count_service(&to, state, data_done);
	has_wait = count_wait(&to, state);
	if (!has_wait) {
		add(&charged->unwaited, 1);
		add(&charged->unwaited_d2c_ns, service);
	}
	count_total(&to, state, now);
	if (with_asked && op < DATA_OPS)
		count_asked(&to, state, place, has_wait, now);
	count_flushes(&to, state, now);
	if (op == OP_WRITE_SYNC && state->flags & STATE_JOURNAL) {
		add(&device->journal_ios, 1);
		add(&device->journal_ns, service); /* 0 if the issue was not seen */
	}
}

/* What is only ever seen at its completion. */
static __always_inline void count_unseen(__u32 shard, struct device_stats *device, struct request *rq,
					 __u64 now)
{
	__u64 key = (__u64)rq->bio;
	struct pending *kept = 0;
	struct owner *owner;
	__u64 total = 0;
	__u32 index;

	if (!has_io_start && !rq->__data_len)
		kept = bpf_map_lookup_elem(&pendings, &key);
	if (!kept) {
		add(&device->unseen, 1);
		return;
	}
	add(&device->flush_requests, 1);
	if (kept->grant.q_ns && now > kept->grant.q_ns)
		total = now - kept->grant.q_ns;
	if (total)
		count_device(first_row(shard, OP_FLUSH) + Q2C, 1, total);
	index = kept->grant.owner;
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner) {
		add(&owner->op[OP_FLUSH].ios, 1);
		add(&owner->op[OP_FLUSH].unwaited, 1);
		add(&owner->op[OP_FLUSH].flush_ns, total);
	}
	bpf_map_delete_elem(&pendings, &key);
}

static __always_inline void count_status(struct device_stats *device, int status)
{
	__u32 code = status < 0 ? -status : status;

	add(&device->errors, 1);
	if (code > STATUSES - 1)
		code = STATUSES - 1;
	keep(code);
	if (code < STATUSES)
		__sync_fetch_and_add(&device->statuses[code], 1);
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
	__u32 shard, place;
	__u64 now;

	if (!queue || (is_passthrough(rq->cmd_flags) && !with_passthrough))
		return 0;
	shard = shard_of(queue);
	device = device_at(shard);
	if (!device)
		return 0;
	place = place_of(queue, rq);
	state = state_at(place);
	if (!state) {
		if (bytes >= rq->__data_len && !(rq->rq_flags & flush_seq_flag))
			add(&device->lost, 1);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (state->request != (__u64)rq) {
		count_unseen(shard, device, rq, now);
		return 0;
	}
	if (bytes < rq->__data_len) {
		add(&device->partial_completions, 1);
		return 0;
	}
	if (is_flush(rq->cmd_flags)) {
		add_alone(&device->op[OP_FLUSH].ios, 1);
		if (!is_negative(device, now, state->d_ns)) {
			add_alone(&device->op[OP_FLUSH].d2c_ns, now - state->d_ns);
			count_device(first_row(shard, OP_FLUSH) + D2C, 1, now - state->d_ns);
		}
		note_loss(queue, state, now);
		state->request = 0;
		return 0;
	}
	if (rq->rq_flags & flush_seq_flag) {
		state->mark_ns = now; /* the data is there; a flush and a second completion follow */
		state->flags |= STATE_MARK_DATA_DONE;
		return 0;
	}
	if (status)
		count_status(device, status);
	finish(queue, shard, device, state, place, now);
	state->request = 0;
	return 0;
}
