/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* C: everything about a request is counted once, at its completion. */
#ifndef IOSCHED_COMPLETE_BPF_H
#define IOSCHED_COMPLETE_BPF_H

/*
 * For a disk without FUA the kernel clears REQ_FUA in the request and sends a flush after the data instead.
 */
static __always_inline bool has_postflush(struct request *rq)
{
	return rq->bio->bi_opf & REQ_FUA && !(rq->cmd_flags & REQ_FUA);
}

static __always_inline void count_flushes(const struct ledger *to, const struct inflight *state, __u64 now)
{
	__u64 flush_ns = now - state->event_ns;

	if (!(state->flags & STATE_POSTFLUSH))
		return;
	add(&to->device->postflushes, 1);
	add(&to->device->postflush_ns, flush_ns);
	add(&to->owner_op->flush_ns, flush_ns);
}

static __always_inline void finish(const struct queue *queue, __u32 shard, struct device_stats *device,
				   const struct inflight *state, __u32 place, __u64 now)
{
	__u64 data_done = state->flags & STATE_DATA_DONE ? state->event_ns : now;
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
		add(&device->flush_requests, 1); /* the flush command counts as the I/O */
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
		add(&device->journal_ns, service); /* service is 0 if the issue was not seen */
	}
}

/* A request that was only seen at its completion. */
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
		count_device(first_row(shard, OP_FLUSH) + Q2C, 1, span_of(total));
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

/* A path has failed: the driver took the bios out of the request, to queue them for another path. */
static __always_inline bool is_without_bios(struct request *rq, const struct inflight *state)
{
	return !rq->bio && !rq->__data_len && state->bytes && !(state->flags & STATE_DATA_DONE);
}

static __always_inline int completed(struct request *rq, int status, __u32 bytes)
{
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
		if (bytes || rq->bio) /* else device mapper's second completion of a request */
			count_unseen(shard, device, rq, now);
		return 0;
	}
	if (is_without_bios(rq, state)) {
		add(&device->failed_over, 1);
		note_loss(queue, state, now);
		state->request = 0;
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
			count_device(first_row(shard, OP_FLUSH) + D2C, 1, span_of(now - state->d_ns));
		}
		trace(queue, rq, state, TRACE_COMPLETED, now);
		note_loss(queue, state, now);
		state->request = 0;
		return 0;
	}
	if (rq->rq_flags & flush_seq_flag) {
		/* The data is complete; a second completion follows, after a flush if one is needed. */
		note_event(state, STATE_DATA_DONE | (has_postflush(rq) ? STATE_POSTFLUSH : 0), now);
		return 0;
	}
	if (status)
		count_status(device, status);
	if (state->d_ns) /* an empty flush is not issued itself */
		trace(queue, rq, state, TRACE_COMPLETED,
		      state->flags & STATE_DATA_DONE ? state->event_ns : now);
	finish(queue, shard, device, state, place, now);
	state->request = 0;
	return 0;
}

#endif
