/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* M, F: bios and requests that are merged into a waiting request. Needs pending.bpf.h. */
#ifndef IOSCHED_MERGE_BPF_H
#define IOSCHED_MERGE_BPF_H

enum merge { BACK, FRONT };

/* Runs in the thread that queued the bio; the request keeps its first owner. */
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
	return 0;
}

/* The request is merged into another one and ends here, without a completion. */
static __always_inline int joined(struct request *rq)
{
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
	if (state && state->request == (__u64)rq) {
		index = state->owner;
		state->request = 0;
	} else if (!has_io_start) {
		index = join_pending(rq);
	} else {
		return 0;
	}
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		add(&owner->rq_merges, 1);
	return 0;
}

#endif
