/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * I/Os under way, asked for by user space; I/Os pay nothing for this. A completion that no program
 * saw leaves its entry behind, and the device and its owner seem busy, until the tag is reused: a
 * request that has been in flight for long is looked up, and if it is over, it leaves. And threads
 * that wait for a request have nothing in flight yet.
 */
#ifndef IOSCHED_UNDER_WAY_BPF_H
#define IOSCHED_UNDER_WAY_BPF_H

/*
 * An atomic_t, or a refcount_t in 5.10; both contain one int. It is 0 from the end of a request to its next
 * use.
 */
struct references {
	int count;
};
struct request___used {
	struct references ref;
} __attribute__((preserve_access_index));

/*
 * Whether the request of this queue is in use. `tag_plus_1`: 0 for any tag. The memory may have been reused: then at least
 * one of the three differs.
 */
static __always_inline bool in_use(struct request *rq, __u64 queue, int tag_plus_1)
{
	struct request___used *used = (void *)rq;
	int references = 0, its_tag;

	bpf_core_read(&references, sizeof(references), &used->ref);
	if (!references || (__u64)BPF_CORE_READ(rq, q) != queue)
		return false;
	its_tag = BPF_CORE_READ(rq, internal_tag);
	if (its_tag < 0)
		its_tag = BPF_CORE_READ(rq, tag);
	return !tag_plus_1 || tag_plus_1 == its_tag + 1;
}

/* Evicts the request at this place of `inflight` if it is over. `queue_id`: the device's index in `queues`. */
static __always_inline int evict_if_over(__u32 place, __u32 queue_id, int tag_plus_1)
{
	struct queue *queue = bpf_map_lookup_elem(&queues, &queue_id);
	struct inflight *state = state_at(place);
	struct device_stats *device;
	__u64 request, g_ns;

	if (!queue || !state || !queue->traced)
		return 0;
	request = state->request;
	g_ns = state->g_ns;
	device = device_of(queue);
	if (!request || !device || in_use((void *)request, queue->address, tag_plus_1))
		return 0;
	if (state->request != request || state->g_ns != g_ns)
		return 0; /* it is another one by now */
	add(&device->evicted, 1);
	state->request = 0;
	return 1;
}

enum { TASK_UNINTERRUPTIBLE = 2 };

/* task_struct.__state since 2f064a59a11f ("sched: Change task_struct::state", 5.14). */
static __always_inline bool sleeps_uninterruptibly(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & TASK_UNINTERRUPTIBLE;
	return ((struct task_struct___5_13 *)task)->state & TASK_UNINTERRUPTIBLE;
}

/*
 * Writes a record for a thread whose last bio has no request yet. A bio with REQ_NOWAIT never waits for one. `threads` is
 * indexed by the PID; the task tells threads apart that share an entry.
 */
static __always_inline int tell_if_blocked(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct blocked blocked = {};
	struct thread *thread;
	struct sleep *sleep;
	__u32 key;

	if (!task || !sleeps_uninterruptibly(task))
		return 0;
	key = (__u32)task->pid & (THREADS - 1);
	thread = bpf_map_lookup_elem(&threads, &key);
	if (!thread || thread->task != (__u64)task || !thread->q_ns || thread->nowait_place)
		return 0;
	blocked.q_ns = thread->q_ns;
	blocked.last_g_ns = thread->last_g_ns;
	blocked.owner = (__u32)thread->owner;
	blocked.slot = (__u16)thread->slot;
	blocked.is_beside = thread->is_beside;
	sleep = bpf_map_lookup_elem(&sleeps, &key);
	if (sleep && sleep->q_ns == thread->q_ns) {
		blocked.tag_since_ns = sleep->tag_since_ns;
		blocked.pool = (__u8)sleep->pool;
	}
	bpf_seq_write(context->meta->seq, &blocked, sizeof(blocked));
	return 0;
}

#endif
