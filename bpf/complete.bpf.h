/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* C: everything about a request is counted and recorded once, at its completion. */
#ifndef IOSCHED_COMPLETE_BPF_H
#define IOSCHED_COMPLETE_BPF_H

/*
 * For a disk without FUA the kernel clears REQ_FUA in the request and sends a flush after the data instead.
 */
static __always_inline bool has_postflush(struct request *rq)
{
	return rq->bio->bi_opf & REQ_FUA && !(rq->cmd_flags & REQ_FUA);
}

/* The request belongs to no side of a change of the scheduler. */
static __always_inline bool is_straddler(const struct queue *queue, const struct inflight *state)
{
	__u64 begun = state->q_ns ? state->q_ns : state->g_ns ? state->g_ns : state->d_ns;

	return begun < queue->epoch_ns;
}

/* A request that was only seen at its completion. */
static __always_inline void count_unseen(const struct queue *queue, __u32 cpu, struct device_stats *device,
					 struct request *rq, __u64 now)
{
	struct inflight state = {
		.op = OP_FLUSH,
		.bios = 1,
		.sector = rq->__sector,
		.hardware_queue = rq->mq_hctx->queue_num,
	};
	__u64 key = (__u64)rq->bio;
	struct pending *kept = 0;

	if (!has_io_start && !rq->__data_len)
		kept = bpf_map_lookup_elem(&pendings, &key);
	if (!kept) {
		add(&device->unseen, 1);
		return;
	}
	if (kept->grant.q_ns && now > kept->grant.q_ns)
		state.q_ns = kept->grant.q_ns;
	state.owner = kept->grant.owner;
	write_record(queue, cpu, device, rq, &state, NO_PLACE, 0, now, now);
	bpf_map_delete_elem(&pendings, &key);
}

static __always_inline void count_status(struct device_stats *device, int status)
{
	__u32 code = status < 0 ? -status : status;

	add(&device->errors, 1);
	if (code > STATUSES - 1)
		code = STATUSES - 1;
	/* Prevents clang 19 from optimising away the check below, which the verifier needs. */
	asm volatile("" : "+r"(code));
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
	enum record_flags flags = 0;
	__u32 cpu, place;
	__u64 now, data_done;

	if (!queue || (is_passthrough(rq->cmd_flags) && !with_passthrough))
		return 0;
	cpu = bpf_get_smp_processor_id();
	device = device_at(shard_on(queue, cpu));
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
		if (light && !bytes && rq->bio && rq->bio->bi_opf & REQ_PREFLUSH)
			return 0; /* an empty flush is never issued; its command is */
		if (bytes || rq->bio) /* else device mapper's second completion of a request */
			count_unseen(queue, cpu, device, rq, now);
		return 0;
	}
	if (is_without_bios(rq, state)) {
		add(&device->failed_over, 1);
		state->request = 0;
		return 0;
	}
	if (bytes < rq->__data_len) {
		add(&device->partial_completions, 1);
		return 0;
	}
	if (is_flush(rq->cmd_flags)) {
		write_record(queue, cpu, device, rq, state, place, RECORD_FLUSH_COMMAND, now, now);
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
	data_done = state->flags & STATE_DATA_DONE ? state->event_ns : now;
	if (is_straddler(queue, state))
		flags |= RECORD_STRADDLER;
	write_record(queue, cpu, device, rq, state, place, flags, data_done, now);
	state->request = 0;
	return 0;
}

#endif
