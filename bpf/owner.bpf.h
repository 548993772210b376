/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who submitted an I/O: known only in the submitter's context at Q, cached per thread, never looked up
 * later.
 */
#ifndef IOSCHED_OWNER_BPF_H
#define IOSCHED_OWNER_BPF_H

/* Charge writeback to the process that dirtied the pages; set before the load. */
const volatile bool with_writeback;

/* Owner 0 is `other`: all owners for which the table has no room. */
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

/*
 * Stack of free indices, filled by user space, because 5.10 has no atomic add that returns a value. Recycled
 * indices and low ones are on top: the lowest indices have histograms.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1024);
	__uint(value_size, sizeof(__u32));
} free_owners SEC(".maps");

/*
 * The last bio that a thread queued, and the owner of its I/O. Indexed by the low bits of the PID: threads
 * that share an entry are distinguished by `task`, and the owner by its token, which is stored with it in
 * one word.
 */
struct thread {
	__u64 task; /* the thread that queued the bio */
	__u64 q_ns; /* 0 once a request has taken it over */
	__u64 bio;
	__u64 nowait_place; /* see place_on_disk; 0 if the bio may sleep */
	__u64 owner; /* token << 32 | index */
	__u64 last_g_ns; /* G of the last request, whose index in `inflight` is last_place */
	__u32 last_place : 31;
	__u32 is_beside : 1; /* that request was still in flight when the bio was queued */
	__u32 switches; /* context switches when the bio was queued, see switches_of */
	__u32 held_owner; /* of a bio that a limit held back, while q_ns is set; of workers only, see throttle.bpf.h */
	__u32 slot; /* of the device; `owner` is that of an I/O there, from Q on */
};

enum { VOLUNTARY_SHIFT = 16 };

/* Low bits of both context switch counters, the voluntary one in the upper half. */
static __always_inline __u32 switches_of(struct task_struct *task)
{
	return (__u32)FIELD(task, nvcsw) << VOLUNTARY_SHIFT | (__u16)FIELD(task, nivcsw);
}

_Static_assert(sizeof(struct thread) == 64, "a thread's entry fills a cache line");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that entries begin at a cache line */
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* The process that last dirtied an inode. */
struct dirtier {
	__u64 start_ns;
	__u32 tgid;
	char comm[COMM_BYTES];
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before the load, if used */
	__type(key, __u64);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

static __always_inline void copy_words(void *to, const void *from, __u32 bytes)
{
	for (__u32 word = 0; word < bytes / 8; word++)
		((__u64 *)to)[word] = ((const __u64 *)from)[word];
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static __noinline __u32 new_owner(struct owner_key *key)
{
	struct owner *owner;
	__u32 index = 0;

	if (!key || bpf_map_pop_elem(&free_owners, &index))
		return 0;
	owner = bpf_map_lookup_elem(&owners, &index);
	if (owner)
		owner->key = *key;
	if (bpf_map_update_elem(&owner_index, key, &index, BPF_NOEXIST)) {
		/* Another thread of the process was faster. */
		__u32 *winner = bpf_map_lookup_elem(&owner_index, key);

		if (owner)
			owner->key.kind = OWNER_OTHER;
		bpf_map_push_elem(&free_owners, &index, 0);
		return winner ? *winner : 0;
	}
	return index;
}

/* The owner of a bio, collected from the bio and the current thread. */
struct asker {
	struct owner_key key;
	char name[COMM_BYTES];
	__u64 ioprio;
};

/*
 * A journal thread writes file data for others before it commits. The commit itself is its own I/O, although
 * those pages belong to an inode too: that of the disk, or an internal one of the file system.
 */
static __always_inline void ask_dirtier(struct asker *asker, struct task_struct *task, struct bio *bio)
{
	__u64 inode = inode_of_bio(bio);
	struct dirtier *dirtier = inode ? bpf_map_lookup_elem(&dirtiers, &inode) : 0;

	if (!dirtier || (!(FIELD(task, flags) & PF_WQ_WORKER) && !is_file(inode)))
		return;
	asker->key.kind = OWNER_WRITEBACK;
	asker->key.tgid = dirtier->tgid;
	asker->key.start_ns = dirtier->start_ns;
	copy_words(asker->name, dirtier->comm, COMM_BYTES);
}

static __always_inline void ask_work(struct asker *asker, struct task_struct *task)
{
	__u64 words[COMM_BYTES / 8] = {};

	read_work_name(task, (char *)words, sizeof(words));
	if (!words[0])
		return; /* not readable: charge the thread itself */
	asker->key.kind = OWNER_WORKQUEUE;
	asker->key.tgid = 0;
	asker->key.start_ns = mix(mix(1, words[0]), words[1]);
	copy_words(asker->name, words, COMM_BYTES);
}

static __always_inline __u32 index_of(struct asker *asker, struct task_struct *task,
				      const struct file_of_bio *file, struct bio *bio)
{
	struct owner *owner;
	__u32 *known;
	__u32 index;

	if (with_files)
		name_file(&asker->key, file, bio);
	known = bpf_map_lookup_elem(&owner_index, &asker->key);
	index = known ? *known : new_owner(&asker->key);
	if (with_files && !known && index)
		keep_path(index, file);
	owner = index ? bpf_map_lookup_elem(&owners, &index) : 0;
	if (!owner)
		return 0;
	/* Needed again after exec, which keeps the process and changes its name. */
	if (asker->key.kind == OWNER_PROCESS || asker->key.kind == OWNER_KERNEL_THREAD)
		read_comm(task, owner->comm);
	else
		copy_words(owner->comm, asker->name, COMM_BYTES);
	owner->ioprio = asker->ioprio;
	if (FIELD(task, flags) & PF_IO_WORKER)
		owner->flags = OWNER_IO_WORKER;
	return index;
}

static __always_inline __u32 thread_place(struct task_struct *task)
{
	return (__u32)FIELD(task, pid) & (THREADS - 1);
}

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	__u32 key = thread_place(task);

	return bpf_map_lookup_elem(&threads, &key);
}

/*
 * Caches the owner under a token made from everything that determines the owner. Token 0 and `other` are not
 * cached.
 */
static __always_inline __u32 remember(struct thread *thread, __u64 token, __u32 index)
{
	if (token && index)
		thread->owner = token << 32 | index;
	return index;
}

static __always_inline __u64 token_of(__u64 who, struct task_struct *task, const struct queue *queue,
				      struct bio *bio, const struct file_of_bio *file)
{
	if (with_files)
		who = mix(mix(who, file->inode ^ (__u64)file->generation << 32),
			  file->number ^ (__u64)file->kind << 48 ^ epoch_of_owners() << 32);
	who = mix(who, cgroup_serial_of_bio(bio) ^ (__u64)bio->bi_ioprio << 48);
	return mix(who, ((__u64)FIELD(task, pid) << 16) + queue->target.slot) >> 32;
}

/* A thread that works for others: a workqueue's, or any kernel thread if writeback is attributed. */
static __noinline __u32 owner_of_served(struct thread *thread, const struct queue *queue, struct bio *bio,
					const struct file_of_bio *file)
{
	struct task_struct *task = current_task();
	struct asker asker = {};
	__u64 token = 0;

	if (!thread || !queue || !file)
		return 0;
	if (thread->held_owner && thread->q_ns && thread->task == (__u64)task)
		return thread->held_owner;
	asker.key.slot = queue->target.slot;
	asker.ioprio = bio->bi_ioprio;
	if (with_writeback && (bio->bi_opf & REQ_OP_MASK) == REQ_OP_WRITE)
		ask_dirtier(&asker, task, bio);
	if (asker.key.kind == OWNER_OTHER) {
		if (FIELD(task, flags) & PF_WQ_WORKER)
			ask_work(&asker, task);
		token = token_of(mix(asker.key.start_ns, FIELD(task, start_boottime)), task, queue, bio,
				 file);
		if (token && thread->owner >> 32 == token)
			return (__u32)thread->owner;
	}
	asker.key.cgroup_id = cgroup_of_bio(bio);
	if (asker.key.kind == OWNER_OTHER) {
		asker.key.kind = OWNER_KERNEL_THREAD;
		asker.key.tgid = FIELD(task, tgid);
		asker.key.start_ns = leader_start_ns(task);
	}
	return remember(thread, token, index_of(&asker, task, file, bio));
}

/* Slow path: at a thread's first I/O on a device, after exec, and after a change of cgroup. */
static __noinline __u32 owner_of_itself(struct thread *thread, const struct queue *queue, struct bio *bio,
					__u64 token, const struct file_of_bio *file)
{
	struct task_struct *task = current_task();
	struct asker asker = {};

	if (!thread || !queue || !file)
		return 0;
	asker.key.slot = queue->target.slot;
	asker.ioprio = bio->bi_ioprio;
	asker.key.cgroup_id = cgroup_of_bio(bio);
	asker.key.kind = FIELD(task, flags) & PF_KTHREAD ? OWNER_KERNEL_THREAD : OWNER_PROCESS;
	asker.key.tgid = FIELD(task, tgid);
	asker.key.start_ns = leader_start_ns(task);
	return remember(thread, token, index_of(&asker, task, file, bio));
}

/* The owner of `bio`, which the current thread submits. */
static __always_inline __u32 owner_of(struct task_struct *task, struct thread *thread,
				      const struct queue *queue, struct bio *bio)
{
	__u32 flags = FIELD(task, flags);
	struct file_of_bio file = {};
	__u64 token;

	if (with_files)
		file_of(bio, &file);
	if (flags & PF_WQ_WORKER || (with_writeback && flags & PF_KTHREAD))
		return owner_of_served(thread, queue, bio, &file);
	token = token_of(FIELD(task, start_boottime) + (FIELD(task, self_exec_id) << 48), task, queue, bio,
			 &file);
	if (token && thread->owner >> 32 == token)
		return (__u32)thread->owner;
	return owner_of_itself(thread, queue, bio, token, &file);
}

/* The current thread dirties a page of the inode. */
static __always_inline int dirtied(struct address_space *mapping)
{
	struct task_struct *task = current_task();
	struct dirtier dirtier = {};
	struct dirtier *known;
	__u64 inode;

	if (!mapping)
		return 0;
	inode = (__u64)mapping->host;
	dirtier.tgid = FIELD(task, tgid);
	dirtier.start_ns = leader_start_ns(task);
	known = bpf_map_lookup_elem(&dirtiers, &inode);
	if (known && known->tgid == dirtier.tgid && known->start_ns == dirtier.start_ns)
		return 0;
	read_comm(task, dirtier.comm);
	bpf_map_update_elem(&dirtiers, &inode, &dirtier, 0);
	return 0;
}

#endif
