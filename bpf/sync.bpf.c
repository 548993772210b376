// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Waits above the block layer: in fsync and its like, in the throttle of writers, for pages under writeback. Its own object,
 * loaded only if asked for: some of its programs run at each system call and at each context switch of the machine.
 */
#include "block.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "compat.bpf.h"
#include "sync_wire.h"
#include "sync_place.bpf.h" /* which file system a call is for */
#include "sync_count.bpf.h" /* how often and how long, by process and by stack */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Makes clang emit the enumerations of sync_wire.h into the object's BTF. */
const volatile struct {
	enum sync_limits limits;
	enum sync_kind kind;
	enum sync_place place;
} sync_enumerations;

/* Numbers of the system calls on this architecture; the first SYNC_FILE_CALLS have a file as their first argument. */
const volatile __u32 sync_calls[SYNC_CALLS];
/* The same for 32-bit programs. */
const volatile __u32 sync_compat_calls[SYNC_CALLS];
enum { SYNC_FILE_CALLS = 4 };

/* Position of `pause`: 6 or 10. */
const volatile __u32 pause_arg;

/* How many threads are in `sync_threads`. Zero most of the time: then nobody needs to be looked up. */
__s64 waiting;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SYNC_THREADS);
	__type(key, __u32); /* PID of the thread */
	__type(value, struct sync_thread);
} sync_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, SYNC_STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SYNC_FRAMES * sizeof(__u64));
} sync_stacks SEC(".maps");

/* From here on the current thread is looked at when it sleeps. */
static __noinline int follow(__u64 place, __u32 kind, __u32 call, __u64 since_ns)
{
	struct task_struct *task = current_task();
	__u32 pid = FIELD(task, pid);
	struct sync_thread thread = {
		.key = {.place = place, .kind = kind, .tgid = FIELD(task, tgid)},
		.since_ns = since_ns,
		.call = call,
	};
	bool is_known = bpf_map_lookup_elem(&sync_threads, &pid);

	thread.key.start_ns = leader_start_ns(task);
	thread.key.cgroup_id = bpf_get_current_cgroup_id();
	read_comm(task, thread.comm);
	if (bpf_map_update_elem(&sync_threads, &pid, &thread, BPF_ANY))
		LOSE(threads);
	else if (!is_known)
		__sync_fetch_and_add(&waiting, 1);
	return 0;
}

static __always_inline void leave(__u32 pid)
{
	if (!bpf_map_delete_elem(&sync_threads, &pid))
		__sync_fetch_and_add(&waiting, -1);
}

/* The end of a call. All of its parts are counted now, so that they never add up to more than the calls. */
static __always_inline void end_call(struct sync_thread *thread, __u32 pid)
{
	__u64 now_ns = bpf_ktime_get_ns(), asleep_ns = 0;

	if (now_ns > thread->since_ns && count_wait(thread, now_ns - thread->since_ns)) {
#pragma unroll
		for (__u32 place = 0; place < SYNC_PARTS; place++) {
			__u64 ns = thread->part[place].ns;

			if (place < thread->parts) {
				asleep_ns += ns;
				count_sleeps(thread, place, thread->part[place].count, ns);
			}
		}
		complete_wait(thread, asleep_ns);
	}
	leave(pid);
}

/* The last part takes what there is no room for. */
static __always_inline void add_part(struct sync_thread *thread, __u64 ns)
{
#pragma unroll
	for (__u32 place = 0; place < SYNC_PARTS; place++) {
		struct sync_part *part = &thread->part[place];

		if (place == thread->parts) {
			thread->parts = place + 1;
			part->stack = thread->stack;
		} else if (place == SYNC_PARTS - 1 && part->stack != thread->stack) {
			part->stack = -1;
		}
		if (place == SYNC_PARTS - 1 || part->stack == thread->stack) {
			part->count += 1;
			part->ns += ns;
			return;
		}
	}
}

/* Another stack may have its place in the map: one frame less has another one. */
static __always_inline __s32 stack_of(__u64 *ctx)
{
	__s32 stack = bpf_get_stackid(ctx, &sync_stacks, BPF_F_FAST_STACK_CMP);

	return stack < 0 ? bpf_get_stackid(ctx, &sync_stacks, BPF_F_FAST_STACK_CMP | 1) : stack;
}

static __always_inline void falls_asleep(__u64 *ctx, struct task_struct *task)
{
	__u32 pid = task->pid;
	struct sync_thread *thread = bpf_map_lookup_elem(&sync_threads, &pid);

	if (!thread)
		return;
	/* It was told that it would sleep, did not, and never will. */
	if (task->flags & PF_EXITING) {
		leave(pid);
		return;
	}
	thread->stack = stack_of(ctx);
	thread->slept_since_ns = bpf_ktime_get_ns();
}

static __always_inline void runs_again(__u32 pid)
{
	struct sync_thread *thread = bpf_map_lookup_elem(&sync_threads, &pid);
	__u64 now_ns, ns;

	if (!thread || !thread->slept_since_ns)
		return;
	now_ns = bpf_ktime_get_ns();
	ns = now_ns > thread->slept_since_ns ? now_ns - thread->slept_since_ns : 0;
	thread->slept_since_ns = 0;
	if (thread->since_ns) {
		add_part(thread, ns);
		return;
	}
	if (count_wait(thread, ns)) {
		count_sleeps(thread, SYNC_PARTS, 1, ns);
		complete_wait(thread, ns);
	}
	leave(pid);
}

/* In a call, or already in such a wait. */
static __always_inline bool is_followed(struct task_struct *task)
{
	__u32 pid = FIELD(task, pid);

	return waiting && bpf_map_lookup_elem(&sync_threads, &pid);
}

/* Attached in this order: a call that is followed ends. */
SEC("tp_btf/sys_exit")
int sync_exit(__u64 *ctx)
{
	struct sync_thread *thread;
	__u32 pid;

	if (!waiting)
		return 0;
	pid = (__u32)bpf_get_current_pid_tgid();
	thread = bpf_map_lookup_elem(&sync_threads, &pid);
	if (!thread || !thread->since_ns)
		return 0;
	/* The end of its call was not seen. */
	if (!is_of_call((void *)ctx[0], thread->call))
		leave(pid);
	else
		end_call(thread, pid);
	return 0;
}

SEC("tp_btf/sched_switch")
int sync_switch(__u64 *ctx)
{
	struct task_struct *from, *to;

	if (!waiting)
		return 0;
	from = (void *)ctx[1];
	to = (void *)ctx[2];
	if (!(__u8)ctx[0]) /* not preempted */
		falls_asleep(ctx, from);
	runs_again(to->pid);
	return 0;
}

/* Which of the calls it is; SYNC_CALLS if it is none of them. */
static __always_inline __u32 number_of(__u32 call, const volatile __u32 *calls)
{
	__u32 number;

#pragma unroll
	for (number = 0; number < SYNC_CALLS; number++) {
		if (call == calls[number])
			break;
	}
	return number;
}

SEC("tp_btf/sys_enter")
int sync_enter(__u64 *ctx)
{
	__u32 call = ctx[1], number = number_of(call, sync_calls);
	struct task_struct *task;
	struct inode *inode = 0;

	if (number == SYNC_CALLS) {
		if (number_of(call, sync_compat_calls) < SYNC_CALLS && is_compat(current_task()))
			LOSE(compat);
		return 0;
	}
	task = current_task();
	if (is_compat(task))
		return 0;
	if (number < SYNC_FILE_CALLS) {
		inode = inode_of_descriptor(task, first_argument((void *)ctx[0]));
		if (!inode)
			return 0; /* it fails */
	}
	return follow(place_of(inode), SYNC_CALL, call, bpf_ktime_get_ns());
}

/* As `argument`: one load for each position. */
static __always_inline __s64 pause_of(const __u64 *ctx)
{
	__s64 pause;

	if (pause_arg == 6) {
		pause = ctx[6];
		asm volatile("" : "+r"(pause));
	} else {
		pause = ctx[10];
		asm volatile("" : "+r"(pause));
	}
	return pause;
}

/* The current thread is about to sleep if `pause` is above 0. */
SEC("tp_btf/balance_dirty_pages")
int sync_throttled(__u64 *ctx)
{
	__s64 pause = pause_of(ctx);
	struct bdi_writeback *wb = (void *)ctx[0];
	struct task_struct *task = current_task();

	if (pause <= 0 || is_followed(task) || FIELD(task, flags) & PF_KTHREAD)
		return 0;
	return follow(place_of_bdi(BPF_CORE_READ(wb, bdi)), SYNC_THROTTLED, 0, 0);
}

/* The current thread sleeps unless the writeback ends now; wait_on_page_writeback before 5.16. */
SEC("tp_btf/folio_wait_writeback")
int sync_waits_for_writeback(__u64 *ctx)
{
	struct address_space *mapping = (void *)ctx[1];
	struct task_struct *task = current_task();
	struct inode *inode;

	if (!mapping || is_followed(task) || FIELD(task, flags) & PF_KTHREAD)
		return 0;
	inode = BPF_CORE_READ(mapping, host);
	return inode ? follow(place_of(inode), SYNC_WRITEBACK, 0, 0) : 0; /* swap has none */
}
