/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between Q and G a thread may sleep: for a tag, for writeback throttling, io.latency or io.cost, or for the end of a change
 * of the scheduler. Only a thread that sleeps pays for this.
 */
#ifndef IOSCHED_SLEEP_BPF_H
#define IOSCHED_SLEEP_BPF_H

/*
 * The kernel says that a thread sleeps for a tag, and of which pool (block_rq_tag_wait, 7.2). Without it the pool is
 * inferred: requests are allocated from the scheduler's tags, or from the driver's if there is no scheduler.
 */
const volatile bool has_tag_wait;

enum { BLK_MQ_REQ_RESERVED = 2 };

/* How long a thread has slept for its last bio. A split bio has several requests, each of which may have to wait. */
struct sleep {
	__u64 q_ns; /* of the bio: tells it from earlier ones */
	__u64 tag_since_ns; /* while it sleeps for a tag */
	__u64 ns;
	__u64 tag_ns; /* of these, for a tag of `pool` */
	__u32 pool;
	__u32 unused;
};

/* By thread, like `threads`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as `threads`, if used; set before the load */
	__type(key, __u32);
	__type(value, struct sleep);
} sleeps SEC(".maps");

static __always_inline void forget_earlier(struct sleep *sleep, __u64 q_ns)
{
	if (sleep->q_ns == q_ns)
		return;
	sleep->q_ns = q_ns;
	sleep->tag_since_ns = 0;
	sleep->ns = 0;
	sleep->tag_ns = 0;
}

/*
 * The current thread is about to sleep for a tag. It comes again if the thread wakes up and finds none. Its last bio is the
 * one that waits: a bio that was queued at a device above has passed its bios on.
 */
static __always_inline int sleeps_for_tag(struct request_queue *q, bool is_scheduler, __u64 flags)
{
	struct task_struct *task = current_task();
	struct thread *thread = thread_of(task);
	__u32 id = q->id, place = thread_place(task);
	struct queue *queue;
	struct sleep *sleep;

	if (!thread || thread->task != (__u64)task || !thread->q_ns)
		return 0;
	queue = bpf_map_lookup_elem(&queues, &id);
	sleep = bpf_map_lookup_elem(&sleeps, &place);
	if (!queue || !queue->traced || queue->address != (__u64)q || !sleep)
		return 0;
	forget_earlier(sleep, thread->q_ns);
	if (sleep->tag_since_ns)
		return 0;
	sleep->pool = flags & BLK_MQ_REQ_RESERVED ? POOL_RESERVED :
		      is_scheduler		  ? POOL_SCHEDULER :
						    POOL_DRIVER;
	sleep->tag_since_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u32 inferred_pool(const struct queue *queue)
{
	return queue->elevator ? POOL_SCHEDULER : POOL_DRIVER;
}

static __always_inline void count_waits(struct waits *waits, const struct sleep *sleep, __u64 ns)
{
	__u32 pool = sleep->pool;

	add(&waits->slept, 1);
	add(&waits->slept_ns, ns);
	if (!sleep->tag_ns || pool >= POOLS)
		return;
	add(&waits->tag_waits[pool], 1);
	add(&waits->tag_wait_ns[pool], sleep->tag_ns);
}

/*
 * At G, of a request that may have waited. `slept_ns`: since Q, or since G of the part before; 0 if the thread did not sleep
 * since then, and the request only counts if it slept for an earlier part of the bio. 1 if it counts.
 */
static __noinline int count_sleep(const struct queue *queue, const struct thread *thread, __u32 owner_place,
				  __u64 slept_ns, __u64 g_ns)
{
	__u32 place = thread_place(current_task());
	struct sleep *sleep = bpf_map_lookup_elem(&sleeps, &place);
	struct device_stats *device;
	struct owner *owner;

	if (!queue || !thread || !sleep || (!slept_ns && sleep->q_ns != thread->q_ns))
		return 0;
	forget_earlier(sleep, thread->q_ns);
	sleep->ns += slept_ns;
	if (!has_tag_wait) {
		sleep->pool = inferred_pool(queue);
		sleep->tag_ns = sleep->ns;
	} else if (sleep->tag_since_ns) {
		if (g_ns > sleep->tag_since_ns)
			sleep->tag_ns += g_ns - sleep->tag_since_ns;
		sleep->tag_since_ns = 0;
	}
	/* A tag may be freed just before the sleep. */
	if (sleep->ns < sleep->tag_ns)
		sleep->ns = sleep->tag_ns;
	if (!sleep->ns)
		return 0;
	device = device_of(queue);
	owner = bpf_map_lookup_elem(&owners, &owner_place);
	if (device)
		count_waits(&device->waits, sleep, sleep->ns);
	if (owner)
		count_waits(&owner->waits, sleep, sleep->ns);
	return 1;
}

#endif
