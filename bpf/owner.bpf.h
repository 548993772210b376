/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who asked for an I/O: known only where the bio is queued, remembered per thread, never read later. */
#ifndef IOSCHED_OWNER_BPF_H
#define IOSCHED_OWNER_BPF_H

/* Owner 0 is `other`: everyone for whom the table has no room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct owner_key);
	__type(value, __u32);
} owner_index SEC(".maps");

/* Indices not yet in use, filled by user space: 5.10 has no atomic add with a result. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1024);
	__uint(value_size, sizeof(__u32));
} free_owners SEC(".maps");

/* The last bio that a thread queued, and whom its I/O is charged to. */
struct thread {
	__u64 q_ns; /* 0 once a request has taken it */
	__u64 sleeps; /* voluntary context switches at that moment */
	__u64 bio;
	__u64 blkg;
	__u64 exec_id;
	__u32 slot;
	__u32 owner;
	__u32 known;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __noinline __u32 new_owner(struct owner_key *key)
{
	struct owner *owner;
	__u32 index = 0;

	if (!key || bpf_map_pop_elem(&free_owners, &index))
		return 0;
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner) {
		struct task_struct *task = (void *)bpf_get_current_task();

		owner->key = *key;
		owner->flags = BPF_CORE_READ(task, flags) & PF_KTHREAD ? OWNER_KTHREAD : 0;
	}
	if (bpf_map_update_elem(&owner_index, key, &index, BPF_NOEXIST)) {
		/* Another thread of the process was first. */
		__u32 *winner = bpf_map_lookup_elem(&owner_index, key);

		bpf_map_push_elem(&free_owners, &index, 0);
		return winner ? *winner : 0;
	}
	return index;
}

/* The slow way, taken at a thread's first I/O on a device, after exec, and when it changes the cgroup. */
static __noinline __u32 find_owner(__u32 slot, __u64 cgroup_id)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct owner_key key = {
		.cgroup_id = cgroup_id,
		.start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
		.tgid = bpf_get_current_pid_tgid() >> 32,
		.slot = slot,
	};
	__u32 *known = bpf_map_lookup_elem(&owner_index, &key);
	__u32 index = known ? *known : new_owner(&key);
	struct owner *owner = index ? bpf_map_lookup_elem(&owners, &index) : 0;

	if (owner) /* again after exec, which keeps the process and changes its name */
		BPF_CORE_READ_STR_INTO(&owner->comm, task, group_leader, comm);
	return index;
}

/* The thread's record, with the owner of `bio` in it. Null on kernels without task storage. */
static __always_inline struct thread *thread_of(const struct queue *queue, struct bio *bio)
{
	struct task_struct *task;
	struct thread *thread;
	__u64 blkg = 0;

	if (!has_task_storage)
		return 0;
	task = bpf_get_current_task_btf();
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	if (bpf_core_field_exists(bio->bi_blkg))
		blkg = (__u64)bio->bi_blkg;
	if (!thread->known || thread->blkg != blkg || thread->slot != queue->target.slot ||
	    thread->exec_id != task->self_exec_id) {
		thread->owner = find_owner(queue->target.slot, cgroup_of_bio(bio));
		thread->blkg = blkg;
		thread->slot = queue->target.slot;
		thread->exec_id = task->self_exec_id;
		thread->known = 1;
	}
	return thread;
}

#endif
