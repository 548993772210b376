/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A limit of a control group (io.max, blkio.throttle) holds bios back before they are queued. The kernel's worker queues
 * them later: who submitted them, and since when they wait, is known only where the limit is checked.
 */
#ifndef IOSCHED_THROTTLE_BPF_H
#define IOSCHED_THROTTLE_BPF_H

/* The submitter's knowledge of a bio that a limit may hold back. */
struct held {
	__u64 since_ns;
	__u64 a_ns; /* 0: as since_ns */
	__u32 owner;
	__u32 unused;
};

/* By bio. One that was not held back leaves its entry behind until the bio's next use. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load, if used */
	__type(key, __u64);
	__type(value, struct held);
} held_back SEC(".maps");

/* In the submitter's context, for each bio of a group with a limit. */
static __always_inline int limited(struct bio *bio)
{
	struct queue *queue = queue_of_bio(bio);
	struct task_struct *task;
	struct thread *thread;
	struct held held = {};
	__u64 key = (__u64)bio;

	if (!queue)
		return 0;
	task = current_task();
	thread = thread_of(task);
	if (!thread)
		return 0;
	held.owner = owner_of(task, thread, queue, bio);
	held.since_ns = bpf_ktime_get_ns();
	if (with_asked)
		held.a_ns = asking_since_ns(task, FIELD(task, flags));
	bpf_map_update_elem(&held_back, &key, &held, BPF_ANY);
	return 0;
}

static __always_inline bool is_throttle_worker(struct task_struct *task)
{
	const char wanted[COMM_BYTES] = "kthrotld";
	__u64 words[COMM_BYTES / 8] = {};

	read_work_name(task, (char *)words, sizeof(words));
	return words[0] == *(const __u64 *)wanted && !(__u8)words[1];
}

/*
 * At Q, in a worker's context. True if the bio was held back: its owner is the submitter and A is when it was submitted, if
 * that was seen.
 */
static __noinline bool take_held_back(struct thread *thread, const struct queue *queue, struct bio *bio)
{
	struct task_struct *task = current_task();
	struct device_stats *device;
	__u64 key = (__u64)bio;
	struct owner *owner;
	struct held *held;
	__u64 held_ns;

	if (!thread || !queue)
		return false;
	thread->held_owner = 0;
	if (!is_throttle_worker(task))
		return false;
	device = device_of(queue);
	if (!device)
		return false;
	held = bpf_map_lookup_elem(&held_back, &key);
	if (!held) {
		add(&device->throttled_unknown, 1);
		if (with_asked)
			set_asked_ns(task, A_UNKNOWN);
		return true;
	}
	thread->held_owner = held->owner;
	held_ns = thread->q_ns - held->since_ns;
	add(&device->throttled, 1);
	add(&device->throttled_ns, held_ns);
	owner = bpf_map_lookup_elem(&owners, &held->owner);
	if (owner) {
		add(&owner->throttled, 1);
		add(&owner->throttled_ns, held_ns);
	}
	if (with_asked)
		set_asked_ns(task, held->a_ns ? held->a_ns : held->since_ns);
	bpf_map_delete_elem(&held_back, &key);
	return true;
}

#endif
