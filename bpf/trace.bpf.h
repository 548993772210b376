/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every request on its own, for a short time: two events per request in a ring buffer. Optional. */
#ifndef IOSCHED_TRACE_BPF_H
#define IOSCHED_TRACE_BPF_H

/* Set before the load; without it the ring buffer is not created, and the verifier removes this code. */
const volatile bool with_trace;

/* User space begins and ends the recording, and reads the ring buffer only afterwards. */
struct tracing tracing;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TRACE_BYTES);
} trace_events SEC(".maps");

static __always_inline void trace(const struct queue *queue, struct request *rq, const struct inflight *state,
				  enum trace_kind kind, __u64 now)
{
	struct trace_event *event;

	if (!with_trace || !*(volatile __u32 *)&tracing.is_on)
		return;
	event = bpf_ringbuf_reserve(&trace_events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&tracing.lost, 1);
		return;
	}
	event->request = (__u64)rq;
	event->q_ns = state->q_ns;
	event->g_ns = state->g_ns;
	event->i_ns = state->flags & STATE_INSERTED ? state->event_ns : 0;
	event->ns = now;
	event->sector = rq->__sector;
	event->bytes = state->bytes;
	event->owner = state->owner;
	event->slot = queue->target.slot;
	event->hardware_queue = rq->mq_hctx->queue_num;
	event->op = state->op;
	event->kind = kind;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
