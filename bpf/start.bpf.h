/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* G: a request starts, with the data that only its submitter knows. */
#ifndef IOSCHED_START_BPF_H
#define IOSCHED_START_BPF_H

static __always_inline void classify(struct inflight *state, __u32 opf)
{
	state->flags = goes_by_scheduler(opf) ? STATE_SCHEDULED : 0;
	state->op = op_of(opf);
	if (opf & (REQ_META | REQ_PREFLUSH)) {
		if (opf & REQ_META)
			state->flags |= STATE_JOURNAL;
		if (opf & REQ_PREFLUSH) {
			state->flags |= STATE_PREFLUSH;
			if (!state->bytes)
				state->op = OP_FLUSH; /* an empty flush, as from fsync */
		}
	}
}

/* Its index in `inflight`, or NO_PLACE. */
static __always_inline __u32 begin(struct queue *queue, struct request *rq, const struct grant *grant)
{
	__u32 place = place_of(queue, rq);
	struct inflight *state = state_at(place);
	struct device_stats *device;

	if (!state)
		return NO_PLACE; /* counted as lost at its completion */
	if (state->request) {
		device = device_of(queue);
		if (device)
			add(&device->evicted, 1);
	}
	state->d_ns = 0;
	state->bios = 1;
	state->bytes = rq->__data_len;
	state->sector = rq->__sector;
	state->hardware_queue = rq->mq_hctx->queue_num;
	classify(state, grant->opf);
	if (grant->slept)
		state->flags |= STATE_SLEPT;
	state->owner = grant->owner;
	state->q_ns = grant->q_ns;
	state->g_ns = grant->g_ns;
	follow_scheduler(queue, rq->q, state->g_ns);
	if (with_asked || with_i2d)
		set_extra(place, grant->a_ns);
	state->request = (__u64)rq; /* last: from here on the entry is valid */
	return place;
}

/* In the submitter's context, at block_io_start. */
static __always_inline void start(struct queue *queue, struct request *rq)
{
	struct grant grant = {.opf = rq->cmd_flags};
	struct thread *thread = take_grant(queue, rq->bio, &grant);

	if (!thread)
		return;
	thread->last_place = begin(queue, rq, &grant);
}

#endif
