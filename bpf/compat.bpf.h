/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Differences between kernels, one getter each. User space sets the constants from BTF before the load. */
#ifndef IOSCHED_COMPAT_BPF_H
#define IOSCHED_COMPAT_BPF_H

/*
 * Position of the bio or request among a tracepoint's arguments. Before commit a54895fa057c ("block: remove
 * the request_queue to argument request based tracepoints", 5.11, backported to 5.10 stable kernels) the
 * request_queue came first.
 */
const volatile __u32 bio_queue_arg;
const volatile __u32 merge_arg;
const volatile __u32 insert_arg;
const volatile __u32 issue_arg;
const volatile __u32 requeue_arg;
const volatile __u32 rq_merge_arg;
const volatile __u32 getrq_arg;
const volatile __u32 async_work_arg;

/* Number of the system call io_submit on this architecture. */
const volatile __u32 io_submit_nr;

/* Bit mask of the zone operations; their numbers differ between kernels. */
const volatile __u64 zone_ops;

/* block_io_start exists: 5a80bd075f3b ("block: introduce block_io_start/block_io_done tracepoints", 6.5). */
const volatile bool has_io_start;

/*
 * bpf_get_current_task_btf exists since 5.11. Without it fields of the current task are read by
 * bpf_probe_read_kernel.
 */
const volatile bool has_task_btf;

/* The lockdown mode "confidentiality" forbids bpf_probe_read_kernel. */
const volatile bool may_copy;

/* RQF_FLUSH_SEQ was a macro; now it is an enumerator whose bit differs between versions. */
const volatile __u32 flush_seq_flag;

/*
 * A tracepoint argument by position; the verifier prunes the branches that are not taken. Without the inline
 * assembly the compiler would merge the loads into one with a computed address, which 5.10 rejects for a
 * context.
 */
static __always_inline void *argument(const __u64 *ctx, __u32 position)
{
	__u64 value;

	switch (position) {
	case 0:
		value = ctx[0];
		asm volatile("" : "+r"(value));
		return (void *)value;
	case 1:
		value = ctx[1];
		asm volatile("" : "+r"(value));
		return (void *)value;
	default:
		value = ctx[2];
		asm volatile("" : "+r"(value));
		return (void *)value;
	}
}

/*
 * The current thread, and one of its fields. Call it once per event: on CPUs that need return thunks against
 * speculation each call costs more than 10 ns.
 */
static __always_inline struct task_struct *current_task(void)
{
	if (has_task_btf)
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

#define FIELD(task, field) (has_task_btf ? (task)->field : BPF_CORE_READ(task, field))

/* The name of the process, which is that of its first thread. */
static __always_inline void read_comm(struct task_struct *task, char *comm)
{
	if (has_task_btf) {
		struct task_struct *leader = task->group_leader;

#pragma unroll
		for (__u32 byte = 0; byte < COMM_BYTES; byte++)
			comm[byte] = leader->comm[byte];
	} else {
		BPF_CORE_READ_STR_INTO((char(*)[COMM_BYTES])comm, task, group_leader, comm);
	}
}

static __always_inline __u64 leader_start_ns(struct task_struct *task)
{
	if (has_task_btf)
		return task->group_leader->start_boottime;
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline bool is_passthrough(__u32 cmd_flags)
{
	return (cmd_flags & REQ_OP_MASK) >= REQ_OP_FIRST_PASSTHROUGH;
}

/*
 * request_queue.disk since d152c682f03c ("block: add an explicit ->disk backpointer to the request_queue",
 * 5.15), request.rq_disk before. For a passthrough command rq_disk is not the queue's disk: it is the
 * gendisk of the node through which the command came (/dev/sg0 has its own), or null.
 */
static __always_inline struct gendisk *disk_of_request(struct request *rq)
{
	if (bpf_core_field_exists(rq->q->disk))
		return rq->q->disk;
	if (is_passthrough(rq->cmd_flags))
		return 0;
	return ((struct request___5_10 *)rq)->rq_disk;
}

/*
 * Distinguishes a queue's disk from earlier ones, which may have had the same name and address. Disk
 * sequence numbers exist since cf1795633024 ("block: add disk sequence number", 5.15); before, the device
 * number must do.
 */
static __always_inline __u64 identity_of_disk(struct gendisk *disk)
{
	if (bpf_core_field_exists(disk->diskseq))
		return disk->diskseq;
	return (__u64)disk->major << 20 | (__u32)disk->first_minor;
}

/* The device number, encoded as in `targets`. */
static __always_inline __u32 dev_of_disk(struct gendisk *disk)
{
	return ((__u32)disk->major << 20) | (__u32)disk->first_minor;
}

/*
 * The same for the queue's disk if a request does not have it, see above: the queue itself has it in its
 * backing_dev_info, until edb0872f44ec ("block: move the bdi from the request_queue to the gendisk", 5.15).
 * 0 if there is no disk.
 */
static __always_inline __u32 dev_of_queue(struct request_queue *q)
{
	struct request_queue___5_10 *older = (void *)q;

	if (bpf_core_field_exists(older->backing_dev_info))
		return older->backing_dev_info->owner->devt;
	return 0;
}

/* bio.bi_disk until 309dca309fc3 ("block: store a block_device pointer in struct bio", 5.12). */
static __always_inline struct gendisk *disk_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return bio->bi_bdev->bd_disk;
	return ((struct bio___5_10 *)bio)->bi_disk;
}

/*
 * The cgroup that is charged for the bio; for writeback the one that dirtied the pages. 0 without
 * CONFIG_BLK_CGROUP. User space identifies a cgroup by its id; the serial number takes fewer loads and is
 * never reused.
 */
static __always_inline __u64 cgroup_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_blkg))
		return bio->bi_blkg->blkcg->css.cgroup->kn->id;
	return 0;
}

static __always_inline __u64 cgroup_serial_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_blkg))
		return bio->bi_blkg->blkcg->css.serial_nr;
	return 0;
}

/*
 * Name of the work that a workqueue's thread is doing: "flush-7:0", "loop0". Empty if it must not be read.
 * The struct kthread is in task_struct.worker_private since e32cf5dfbe22 ("kthread: Generalize pf_io_worker
 * so it can point to struct kthread", 5.17), in set_child_tid before.
 */
static __always_inline void read_work_name(struct task_struct *task, char *name, __u32 bytes)
{
	struct kthread *kthread;
	struct worker *worker;

	if (!may_copy)
		return;
	if (bpf_core_field_exists(task->worker_private))
		kthread = BPF_CORE_READ(task, worker_private);
	else
		kthread = (void *)BPF_CORE_READ(task, set_child_tid);
	worker = BPF_CORE_READ(kthread, data);
	bpf_core_read_str(name, bytes, &worker->desc);
}

/*
 * The request on which a worker thread of io_uring is working; 0 if it must not be read.
 * task_struct.worker_private is named pf_io_worker before e32cf5dfbe22 (5.17).
 */
static __always_inline __u64 request_of_io_worker(struct task_struct *task)
{
	struct io_worker *worker = 0;
	struct io_wq_work *work;

	if (!may_copy || !bpf_core_field_exists(worker->cur_work))
		return 0;
	if (bpf_core_field_exists(task->worker_private))
		worker = BPF_CORE_READ(task, worker_private);
	else if (bpf_core_field_exists(((struct task_struct___5_12 *)task)->pf_io_worker))
		worker = BPF_CORE_READ((struct task_struct___5_12 *)task, pf_io_worker);
	else
		return 0;
	work = BPF_CORE_READ(worker, cur_work);
	return work ? (__u64)work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/*
 * The first page of those that are managed together. Since 7.2 a page may have, instead of that page's address, the mask that
 * makes it from its own: all upper bits are set then, which no such address has.
 */
static __always_inline struct page *head_of(struct page *page)
{
	unsigned long head = 0;

	if (bpf_core_field_exists(page->compound_head))
		head = BPF_CORE_READ(page, compound_head);
	else if (bpf_core_field_exists(page->compound_info))
		head = BPF_CORE_READ(page, compound_info);
	if (!(head & 1))
		return page;
	if (head >> 32 == 0xffffffff)
		return (void *)((unsigned long)page & head);
	return (void *)(head - 1);
}

/* Whose the pages are that the bio transfers; with one of the lower bits: anonymous memory. */
static __always_inline struct address_space *mapping_of(struct bio *bio)
{
	struct bio_vec *vector = BPF_CORE_READ(bio, bi_io_vec);
	struct page *page = head_of(BPF_CORE_READ(vector, bv_page));

	return BPF_CORE_READ(page, mapping);
}

static __always_inline bool is_anonymous(struct bio *bio)
{
	return (__u64)mapping_of(bio) & 3;
}

/* The inode whose pages the bio transfers; 0 if the pages belong to none. */
static __always_inline __u64 inode_of_bio(struct bio *bio)
{
	struct address_space *mapping = mapping_of(bio);

	return (__u64)mapping & 3 ? 0 : (__u64)BPF_CORE_READ(mapping, host);
}

static __always_inline bool is_file(__u64 inode)
{
	return (BPF_CORE_READ((struct inode *)inode, i_mode) & S_IFMT) == S_IFREG;
}

#endif
