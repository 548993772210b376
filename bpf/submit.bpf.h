/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the bio that a thread queued (Q) to its request (G): the data that only the submitter knows. */
#ifndef IOSCHED_SUBMIT_BPF_H
#define IOSCHED_SUBMIT_BPF_H

/*
 * A bio with REQ_NOWAIT that finds no free tag fails, and a worker thread of io_uring queues another bio for
 * the same I/O. The second one inherits Q and A of the first, which is found by disk, operation and sector.
 * The failure becomes visible when the first thread queues its next bio or hands the I/O over, without a
 * request for the failed bio.
 */
struct nowait_key {
	__u64 place; /* see place_on_disk */
	__u64 tgid;
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

#define RESUMED (~0ULL) /* for thread.last_g_ns: the wait from Q to G is another thread's */

/* A submitter's knowledge when it has allocated a request. */
struct grant {
	__u64 q_ns; /* 0: the bio was not seen */
	__u64 g_ns;
	__u64 a_ns;
	__u32 owner;
	__u32 opf; /* of the bio; the request does not keep all flags */
	__u32 slept; /* whether the thread slept since Q */
	__u32 unused;
};

/* Disk, operation and sector hashed to one word, never 0. */
static __always_inline __u64 place_on_disk(const struct queue *queue, struct bio *bio)
{
	__u64 what = (__u64)queue->target.slot << 8 | (bio->bi_opf & REQ_OP_MASK);

	return mix(mix(1, what), bio->bi_iter.bi_sector) | 1;
}

static __noinline int remember_failure(struct thread *thread)
{
	struct task_struct *task = current_task();
	struct nowait_key key = {.tgid = FIELD(task, tgid)};
	struct attempt attempt = {.a_ns = with_asked ? asked_ns_of(task) : 0};

	if (!thread || thread->task != (__u64)task)
		return 0;
	key.place = thread->nowait_place;
	attempt.q_ns = thread->q_ns;
	thread->q_ns = 0;
	bpf_map_update_elem(&nowait_failures, &key, &attempt, 0);
	return 0;
}

/* The last bio of the thread neither got a request nor was merged: with REQ_NOWAIT it has failed. */
static __always_inline void settle(struct thread *thread)
{
	if (thread->q_ns && thread->nowait_place)
		remember_failure(thread);
}

/* A later attempt inherits Q and A of the first one. False if this is the first. */
static __noinline bool resume_attempt(const struct queue *queue, struct thread *thread, struct bio *bio)
{
	struct task_struct *task = current_task();
	struct nowait_key key = {.tgid = FIELD(task, tgid)};
	struct device_stats *device;
	struct attempt *first;

	if (!queue || !thread)
		return false;
	key.place = place_on_disk(queue, bio);
	first = bpf_map_lookup_elem(&nowait_failures, &key);
	device = device_of(queue);
	if (!first || !device)
		return false;
	add(&device->nowait_retries, 1);
	thread->q_ns = first->q_ns;
	thread->last_g_ns = RESUMED;
	if (with_asked)
		set_asked_ns(task, first->a_ns);
	bpf_map_delete_elem(&nowait_failures, &key);
	return true;
}

struct pending {
	struct grant grant;
	__u64 sector;
	__u32 thread; /* index in `threads` */
	__u32 unused;
};

/* By bio: its data until its request is seen. Only without block_io_start; see pending.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load, if used */
	__type(key, __u64);
	__type(value, struct pending);
} pendings SEC(".maps");

/* By thread, like `threads`: the bio whose request was not seen yet. Only without block_io_start. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as `threads`, if used; set before the load */
	__type(key, __u32);
	__type(value, __u64);
} last_bios SEC(".maps");

static __always_inline bool is_last_bio_pending(struct task_struct *task)
{
	__u32 place = thread_place(task);
	__u64 *bio = bpf_map_lookup_elem(&last_bios, &place);

	return bio && *bio && bpf_map_lookup_elem(&pendings, bio);
}

/* Whether the last request of the thread is still in flight. */
static __always_inline bool is_under_way(struct task_struct *task, const struct thread *thread)
{
	struct inflight *state = state_at(thread->last_place);

	if (state && state->request && state->g_ns == thread->last_g_ns)
		return true;
	return !has_io_start && is_last_bio_pending(task);
}

/* All parts of a split bio have the same Q: each waits since the one before got its request. */
static __always_inline __u64 waited_ns(const struct thread *thread, const struct grant *grant)
{
	__u64 since_ns = grant->q_ns, last_g_ns = thread->last_g_ns;

	if (last_g_ns > since_ns && last_g_ns != RESUMED)
		since_ns = last_g_ns;
	return grant->g_ns > since_ns ? grant->g_ns - since_ns : 0;
}

/*
 * A thread with other I/O in flight was blocked until it got a request: the I/O that it could not submit
 * meanwhile appears in no queue wait. Called only if the thread slept voluntarily.
 */
static __always_inline void count_stall(const struct queue *queue, const struct thread *thread, __u32 index,
					__u64 slept_ns)
{
	struct device_stats *device;
	struct owner *owner;

	if (!thread->is_beside || thread->last_g_ns == RESUMED)
		return;
	device = device_of(queue);
	owner = bpf_map_lookup_elem(&owners, &index);
	if (device)
		add(&device->stalled_ns, slept_ns);
	if (owner)
		add(&owner->stalled_ns, slept_ns);
}

static __always_inline bool is_empty_flush(struct bio *bio)
{
	return bio->bi_opf & REQ_PREFLUSH && !bio->bi_iter.bi_size;
}

/* The owner of the bio. Where the probe tells files apart, Q has found it already. */
static __always_inline __u32 owner_at_grant(struct task_struct *task, struct thread *thread,
					    const struct queue *queue, struct bio *bio)
{
	bool is_of_itself = !(FIELD(task, flags) & (PF_WQ_WORKER | PF_KTHREAD));

	if (with_files && is_of_itself && thread->q_ns && thread->task == (__u64)task && (__u32)thread->owner)
		return (__u32)thread->owner;
	return owner_of(task, thread, queue, bio);
}

/* G, in the submitter's context. */
static __always_inline struct thread *take_grant(const struct queue *queue, struct bio *bio,
						 struct grant *grant)
{
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);

	if (!thread)
		return 0;
	grant->owner = owner_at_grant(task, thread, queue, bio);
	if (thread->q_ns && thread->task == (__u64)task) {
		/* A split bio becomes several requests; the last of them contains the original bio. */
		bool is_last = thread->bio == (__u64)bio;
		__u32 switches = switches_of(task);

		grant->q_ns = thread->q_ns;
		grant->a_ns = with_asked ? asked_ns_of(task) : 0;
		/*
		 * The first request, and no context switch since Q: it was allocated at once, and a clock
		 * read is saved.
		 */
		if (is_last && thread->switches == switches && thread->last_g_ns < thread->q_ns) {
			grant->g_ns = grant->q_ns;
		} else {
			__u64 slept_ns = 0;

			grant->g_ns = bpf_ktime_get_ns();
			if ((thread->switches ^ switches) >> VOLUNTARY_SHIFT)
				slept_ns = waited_ns(thread, grant);
			if (slept_ns)
				count_stall(queue, thread, grant->owner, slept_ns);
			/* All the time of an empty flush is that of a flush. */
			if (!is_empty_flush(bio))
				grant->slept =
					count_sleep(queue, thread, grant->owner, slept_ns, grant->g_ns);
			thread->switches = switches;
		}
		if (is_last)
			thread->q_ns = 0;
	} else {
		grant->g_ns = bpf_ktime_get_ns();
	}
	thread->last_g_ns = grant->g_ns;
	return thread;
}

/* Leaves no earlier owner behind if this one is not cached: `other`, while the table is full. */
static __always_inline void find_owner(struct task_struct *task, struct thread *thread,
				       const struct queue *queue, struct bio *bio)
{
	__u32 index = owner_of(task, thread, queue, bio);

	if ((__u32)thread->owner != index)
		thread->owner = index; /* with token 0, which no owner has */
}

/*
 * The thread's first bio on this device since it used another. The owner is looked up at G; here it is needed already,
 * because the thread may wait for long until then. A worker may work for another owner, see throttle.bpf.h.
 */
static __always_inline void begin_here(struct task_struct *task, struct thread *thread,
				       const struct queue *queue, struct bio *bio, __u32 flags)
{
	thread->task = (__u64)task;
	thread->slot = queue->target.slot;
	thread->q_ns = 0;
	if (flags & PF_WQ_WORKER)
		thread->owner = 0;
	else
		find_owner(task, thread, queue, bio);
}

/* Q, in the submitter's context; reads the clock. */
static __always_inline int queued(struct bio *bio)
{
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
	settle(thread);
	if (thread->task != (__u64)task || thread->slot != queue->target.slot)
		begin_here(task, thread, queue, bio, flags);
	else if (with_files && !(flags & (PF_WQ_WORKER | PF_KTHREAD)))
		find_owner(task, thread, queue, bio); /* the thread may sleep until G */
	thread->bio = (__u64)bio;
	thread->nowait_place = bio->bi_opf & REQ_NOWAIT ? place_on_disk(queue, bio) : 0;
	thread->switches = switches_of(task);
	thread->q_ns = bpf_ktime_get_ns();
	thread->is_beside = is_under_way(task, thread);
	if (flags & PF_IO_WORKER && resume_attempt(queue, thread, bio))
		return 0;
	if (flags & PF_WQ_WORKER && take_held_back(thread, queue, bio))
		return 0;
	if (with_asked)
		note_asked(task, flags);
	return 0;
}

/* A worker thread will queue the bio, or another one for the same I/O, in place of this thread. */
static __always_inline int handed_to_worker(__u64 request)
{
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);

	if (thread)
		settle(thread);
	if (with_asked)
		hand_over(task, request);
	return 0;
}

#endif
