/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the scheduler to the driver: insert (I), issue (D), requeue (R). */
#ifndef IOSCHED_ISSUE_BPF_H
#define IOSCHED_ISSUE_BPF_H

static __always_inline int inserted(struct request *rq)
{
	struct queue *queue = queue_of_request(rq);
	struct inflight *state;

	if (!queue || is_flush(rq->cmd_flags) || is_passthrough(rq->cmd_flags))
		return 0;
	state = state_of(queue, rq);
	if (!has_io_start)
		start_pending(queue, rq);
	if (with_i2d && state && state->request == (__u64)rq && !state->d_ns)
		note_event(state, STATE_INSERTED, bpf_ktime_get_ns());
	return 0;
}

enum { MAX_BIOS = 1024 }; /* of 4 KiB: a request has at most 4 MiB unless max_sectors_kb was raised */

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

/* The length is read at the issue, because merges enlarge a request. */
static __always_inline void first_issue(struct queue *queue, struct request *rq, struct inflight *state,
					__u32 place, __u64 now)
{
	state->d_ns = now;
	state->bytes = rq->__data_len;
	state->sector = rq->__sector;
	if (rq->bio != rq->biotail)
		state->bios = bios_of(rq);
	/* True if the insert was after the start of the epoch and before now, in a single comparison. */
	if (with_i2d && state->flags & STATE_INSERTED &&
	    state->event_ns - queue->epoch_ns < now - queue->epoch_ns) {
		struct extra *extra = bpf_map_lookup_elem(&extras, &place);

		if (extra)
			extra->i_ns = state->event_ns;
	}
}

static __always_inline void end_requeue(const struct queue *queue, struct inflight *state, __u64 now)
{
	struct device_stats *device = device_of(queue);
	struct owner *owner = bpf_map_lookup_elem(&owners, &state->owner);

	state->flags &= ~STATE_REQUEUED;
	if (now <= state->event_ns)
		return;
	if (device)
		add(&device->requeued_ns, now - state->event_ns);
	if (owner)
		add(&owner->requeued_ns, now - state->event_ns);
}

/* The block layer's own time limit for a request; few are under way for longer. */
#define LONGEST_UNDER_WAY_NS 30000000000ULL

/*
 * Whether a request that is first seen at its issue was under way when the probe was attached, and so is no loss: that is not
 * long ago, and no request has had its place since.
 */
static __always_inline bool is_from_before(const struct inflight *state)
{
	return !state->bios && bpf_ktime_get_ns() - loaded_ns < LONGEST_UNDER_WAY_NS;
}

/* The request is first seen at its issue: it has no owner, no Q and no G. */
static __always_inline void start_at_issue(struct queue *queue, struct request *rq, struct inflight *state,
					   __u32 place)
{
	state->q_ns = 0;
	state->g_ns = 0;
	state->owner = 0;
	state->flags = 0;
	state->bios = 1;
	state->op = op_of(rq->cmd_flags);
	state->bytes = rq->__data_len;
	state->d_ns = bpf_ktime_get_ns();
	state->sector = rq->__sector;
	state->hardware_queue = rq->mq_hctx->queue_num;
	if (with_asked || with_i2d)
		set_extra(place, 0);
	state->request = (__u64)rq;
}

/*
 * With no program at the start, each issue is that of a new request, except after a requeue: an entry that is still there
 * is one whose end was not seen.
 */
static __always_inline int issued_unstarted(struct queue *queue, struct request *rq, struct inflight *state,
					    __u32 place)
{
	struct device_stats *device = device_of(queue);

	if (!device)
		return 0;
	if (is_passthrough(rq->cmd_flags)) {
		add(&device->passthrough, 1);
		return 0;
	}
	if (!state)
		return 0; /* counted as lost at its completion */
	if (state->request == (__u64)rq && state->flags & STATE_REQUEUED) {
		end_requeue(queue, state, bpf_ktime_get_ns());
		return 0;
	}
	if (state->request)
		add(&device->evicted, 1);
	start_at_issue(queue, rq, state, place);
	return 0;
}

static __always_inline int issued(struct request *rq)
{
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device;
	struct inflight *state;
	bool flush, passthrough, issued_before = false;
	__u32 place;
	__u64 now;

	if (!queue)
		return 0;
	place = place_of(queue, rq);
	state = state_at(place);
	if (light)
		return issued_unstarted(queue, rq, state, place);
	flush = is_flush(rq->cmd_flags);
	if (state && state->request == (__u64)rq && !flush) {
		issued_before = state->d_ns && !(state->flags & STATE_REQUEUED);
		if (has_io_start && issued_before)
			return 0;
		if (!issued_before) {
			now = bpf_ktime_get_ns();
			if (state->flags & STATE_REQUEUED)
				end_requeue(queue, state, now);
			if (!state->d_ns)
				first_issue(queue, rq, state, place, now);
			return 0;
		}
		/* Without block_io_start this may be its next use, if the end of the one before was not seen. */
	}

	/* The rare rest: passthrough, flush commands, requests whose start was not seen. */
	device = device_of(queue);
	if (!device)
		return 0;
	passthrough = is_passthrough(rq->cmd_flags);
	if (passthrough && !with_passthrough) {
		if (!issued_before)
			add(&device->passthrough, 1);
		return 0;
	}
	if (!state)
		return 0;
	if (!has_io_start && !flush && !passthrough && start_pending(queue, rq)) {
		first_issue(queue, rq, state, place, bpf_ktime_get_ns()); /* no insert under `none` */
		return 0;
	}
	if (issued_before)
		return 0;
	if (state->request && state->request != (__u64)rq)
		add(&device->evicted, 1);
	if (!flush && !passthrough)
		add(is_from_before(state) ? &device->started_before : &device->started_late, 1);
	start_at_issue(queue, rq, state, place);
	return 0;
}

static __always_inline int requeued(struct request *rq)
{
	struct queue *queue = queue_of_request(rq);
	struct device_stats *device = queue ? device_of(queue) : 0;
	struct inflight *state;

	if (!device || is_passthrough(rq->cmd_flags))
		return 0;
	add(&device->requeues, 1);
	state = state_of(queue, rq);
	if (state && state->request == (__u64)rq && !(state->flags & STATE_REQUEUED)) {
		state->flags &= ~STATE_INSERTED;
		note_event(state, STATE_REQUEUED, bpf_ktime_get_ns());
	}
	return 0;
}

#endif
