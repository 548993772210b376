/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A: when the program asked for an I/O. For libaio this is the call of io_submit, for io_uring when the
 * kernel took the entry from the ring; otherwise it is the bio's Q. Optional, because these programs run at
 * every system call of the machine.
 */
#ifndef IOSCHED_ASKED_BPF_H
#define IOSCHED_ASKED_BPF_H

const volatile bool with_asked;

/* Indexed by the low bits of the PID, like `threads`. */
struct asking {
	__u64 task;
	__u64 since_ns; /* start of the current system call or ring entry; 0 outside of one */
	__u64 a_ns; /* of the last bio that it queued; 0 if unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as `threads`, set before the load */
	__type(key, __u32);
	__type(value, struct asking);
} askings SEC(".maps");

/* A of io_uring requests that were handed to a worker thread, by their address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load */
	__type(key, __u64);
	__type(value, __u64);
} handed_over SEC(".maps");

static __always_inline struct asking *asking_of(struct task_struct *task)
{
	__u32 key = thread_place(task);

	return bpf_map_lookup_elem(&askings, &key);
}

static __always_inline int begin_asking(void)
{
	struct task_struct *task = current_task();
	struct asking *asking = asking_of(task);

	if (asking) {
		asking->task = (__u64)task;
		asking->since_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* From here on the thread's bios, for example for a page fault, have A equal to Q. */
static __always_inline int end_asking(void)
{
	struct task_struct *task = current_task();
	struct asking *asking = asking_of(task);

	if (asking && asking->since_ns && asking->task == (__u64)task)
		asking->since_ns = 0;
	return 0;
}

static __always_inline void hand_over(struct task_struct *task, __u64 request)
{
	struct asking *asking = asking_of(task);

	if (asking && asking->since_ns && asking->task == (__u64)task)
		bpf_map_update_elem(&handed_over, &request, &asking->since_ns, BPF_ANY);
}

/* A of the request on which a worker thread of io_uring is working; 0 if unknown. */
static __always_inline __u64 taken_over_ns(struct task_struct *task)
{
	__u64 request = request_of_io_worker(task);
	__u64 *known = request ? bpf_map_lookup_elem(&handed_over, &request) : 0;

	return known ? *known : 0;
}

static __always_inline void set_asked_ns(struct task_struct *task, __u64 a_ns)
{
	struct asking *asking = asking_of(task);

	if (!asking)
		return;
	if (asking->task != (__u64)task) {
		asking->task = (__u64)task;
		asking->since_ns = 0;
	}
	asking->a_ns = a_ns;
}

enum { A_UNKNOWN = 1 }; /* for a_ns: it was before Q, and not seen */

/* Since when the current thread asks; 0 if it does not. */
static __always_inline __u64 asking_since_ns(struct task_struct *task, __u32 task_flags)
{
	struct asking *asking = asking_of(task);
	__u64 a_ns = 0;

	if (asking && asking->task == (__u64)task)
		a_ns = asking->since_ns;
	if (!a_ns && task_flags & PF_IO_WORKER)
		a_ns = taken_over_ns(task);
	return a_ns;
}

/* At Q, in the submitter's context. */
static __always_inline void note_asked(struct task_struct *task, __u32 task_flags)
{
	set_asked_ns(task, asking_since_ns(task, task_flags));
}

/* A of the bio that the thread queued last. */
static __always_inline __u64 asked_ns_of(struct task_struct *task)
{
	struct asking *asking = asking_of(task);

	return asking && asking->task == (__u64)task ? asking->a_ns : 0;
}

#endif
