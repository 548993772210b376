/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A: when did the program ask? For libaio when it called io_submit, for io_uring when the kernel took the entry from
 * the ring; else the bio's Q. Only if asked for: these programs run at every system call of the machine.
 */
#ifndef IOSCHED_ASKED_BPF_H
#define IOSCHED_ASKED_BPF_H

const volatile bool with_asked;

/* By the low bits of the thread's number, as `threads`. */
struct asking {
	__u64 task;
	__u64 since_ns; /* when the call or the entry that it is at was taken up; 0 outside of one */
	__u64 a_ns; /* of the last bio that it queued; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as `threads`, set before the load */
	__type(key, __u32);
	__type(value, struct asking);
} askings SEC(".maps");

/* When the requests of io_uring that were handed to a worker thread were asked for; by their address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load */
	__type(key, __u64);
	__type(value, __u64);
} handed_over SEC(".maps");

/* A of the requests under way, in the places of `inflight`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before the load */
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps");

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

SEC("tp_btf/sys_enter")
int sys_enter(__u64 *ctx)
{
	return ctx[1] == io_submit_nr ? begin_asking() : 0;
}

/* What the thread asks for from here on, a page that is missing for instance, is asked for at its Q. */
SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	struct task_struct *task = current_task();
	struct asking *asking = asking_of(task);

	if (asking && asking->since_ns && asking->task == (__u64)task)
		asking->since_ns = 0;
	return 0;
}

/* io_uring_submit_sqe before 6.4. */
SEC("tp_btf/io_uring_submit_req")
int io_uring_submit(__u64 *ctx)
{
	return begin_asking();
}

SEC("tp_btf/io_uring_queue_async_work")
int io_uring_hand_over(__u64 *ctx)
{
	__u64 request = (__u64)argument(ctx, async_work_arg);
	struct task_struct *task = current_task();
	struct asking *asking = asking_of(task);

	if (asking && asking->since_ns && asking->task == (__u64)task)
		bpf_map_update_elem(&handed_over, &request, &asking->since_ns, BPF_ANY);
	return 0;
}

/* When the request was asked for that a worker thread of io_uring is at; 0 if that is not known. */
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

/* At Q, in the submitter. */
static __always_inline void note_asked(struct task_struct *task, __u32 task_flags)
{
	struct asking *asking = asking_of(task);
	__u64 a_ns = 0;

	if (asking && asking->task == (__u64)task)
		a_ns = asking->since_ns;
	if (!a_ns && task_flags & PF_IO_WORKER)
		a_ns = taken_over_ns(task);
	set_asked_ns(task, a_ns);
}

/* Of the bio that the thread queued last. */
static __always_inline __u64 asked_ns_of(struct task_struct *task)
{
	struct asking *asking = asking_of(task);

	return asking && asking->task == (__u64)task ? asking->a_ns : 0;
}

#endif
