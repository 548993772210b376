/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the bio that a thread queued (Q) to the request that it got for it (G): all that only the submitter knows. */
#ifndef IOSCHED_SUBMIT_BPF_H
#define IOSCHED_SUBMIT_BPF_H

/*
 * A bio that must not sleep (REQ_NOWAIT) and finds no tag free fails, and a worker thread of io_uring queues another
 * one for the same I/O. It was asked for when the first one was: found again by what both have in common.
 */
struct nowait_key {
	__u64 sector;
	__u32 tgid;
	__u16 slot;
	__u16 op;
};

struct attempt {
	__u64 q_ns;
	__u64 a_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load */
	__type(key, struct nowait_key);
	__type(value, struct attempt);
} nowait_failures SEC(".maps");

enum { ALWAYS_SLEPT = -1 }; /* for thread.sleeps: G is not Q, though the thread did not sleep in between */

/* What a submitter knows when it has its request. */
struct grant {
	__u64 q_ns; /* 0: the bio was not seen */
	__u64 g_ns;
	__u64 a_ns;
	__u32 owner;
	__u32 sequence; /* if it is ordered */
	__u32 opf; /* the bio's, which the request does not keep */
	__u32 is_ordered;
};

static __always_inline struct nowait_key nowait_key_of(struct task_struct *task, const struct queue *queue,
						       struct bio *bio)
{
	struct nowait_key key = {.sector = bio->bi_iter.bi_sector,
				 .tgid = FIELD(task, tgid),
				 .slot = queue->target.slot,
				 .op = bio->bi_opf & REQ_OP_MASK};
	return key;
}

static __always_inline void remember_failure(struct task_struct *task, struct thread *thread,
					     const struct queue *queue, struct bio *bio)
{
	struct nowait_key key = nowait_key_of(task, queue, bio);
	struct attempt attempt = {.q_ns = thread->q_ns, .a_ns = with_asked ? asked_ns_of(task) : 0};

	bpf_map_update_elem(&nowait_failures, &key, &attempt, 0);
}

/* Another attempt has the Q and the A of the first one. False if this is the first. */
static __noinline bool resume_attempt(const struct queue *queue, struct thread *thread, struct bio *bio)
{
	struct task_struct *task = current_task();
	struct nowait_key key;
	struct attempt *first;

	if (!queue || !thread)
		return false;
	key = nowait_key_of(task, queue, bio);
	first = bpf_map_lookup_elem(&nowait_failures, &key);
	if (!first)
		return false;
	thread->q_ns = first->q_ns;
	thread->sleeps = ALWAYS_SLEPT;
	if (with_asked)
		set_asked_ns(task, first->a_ns);
	bpf_map_delete_elem(&nowait_failures, &key);
	return true;
}

struct pending {
	struct grant grant;
	__u64 sector;
	__u32 thread; /* its place */
	__u32 unused;
};

/* By the bio: what becomes of it until its request is seen. Where block_io_start is missing; see pending.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load, where needed */
	__type(key, __u64);
	__type(value, struct pending);
} pendings SEC(".maps");

/* The request that the thread got last is not done. */
static __always_inline bool is_under_way(const struct thread *thread)
{
	struct inflight *state = state_at(thread->last_place);

	if (state && state->request && state->g_ns == thread->last_g_ns)
		return true;
	return !has_io_start && bpf_map_lookup_elem(&pendings, &thread->last_bio);
}

enum { SCARCE_NS = 1000000000 }; /* for so long after a submitter slept it is watched who does */

static __always_inline void note_company(const struct queue *queue, struct thread *thread)
{
	thread->is_beside = thread->q_ns - queue->slept_ns < SCARCE_NS && is_under_way(thread);
}

/*
 * A thread that has I/O under way and stands still for a request of the next: the I/Os that it would ask for meanwhile
 * are in no queue wait. Called only where it slept.
 */
static __always_inline void count_stall(struct queue *queue, const struct thread *thread, __u32 index,
					const struct grant *grant)
{
	/* The parts of a bio that was split have one Q. */
	__u64 since = thread->last_g_ns > grant->q_ns ? thread->last_g_ns : grant->q_ns;
	struct device_stats *device;
	struct owner *owner;

	if (thread->sleeps == (__u64)ALWAYS_SLEPT || grant->g_ns <= since)
		return;
	if (grant->g_ns - queue->slept_ns > SCARCE_NS / 4)
		queue->slept_ns = grant->g_ns;
	if (!thread->is_beside)
		return;
	device = device_of(queue);
	owner = bpf_map_lookup_elem(&owners, &index);
	if (device)
		add(&device->stalled_ns, grant->g_ns - since);
	if (owner)
		add(&owner->stalled_ns, grant->g_ns - since);
}

/* G, in the submitter. */
static __always_inline struct thread *take_grant(struct queue *queue, struct bio *bio, struct grant *grant)
{
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);

	if (!thread)
		return 0;
	grant->owner = owner_of(task, thread, queue, bio);
	/* A bio that was split makes several requests; the original bio is the last of them. */
	if (thread->q_ns && thread->task == (__u64)task) {
		grant->q_ns = thread->q_ns;
		grant->a_ns = with_asked ? asked_ns_of(task) : 0;
		/* Did not sleep since: the request came at once, and one clock read is saved. */
		if (thread->sleeps == FIELD(task, nvcsw)) {
			grant->g_ns = grant->q_ns;
		} else {
			grant->g_ns = bpf_ktime_get_ns();
			count_stall(queue, thread, grant->owner, grant);
		}
		if (thread->bio == (__u64)bio)
			thread->q_ns = 0;
	} else {
		grant->g_ns = bpf_ktime_get_ns();
	}
	thread->last_g_ns = grant->g_ns;
	return thread;
}

#endif
