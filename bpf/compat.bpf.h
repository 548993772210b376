/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel differences: one getter each. User space fills the constants from BTF before the load. */
#ifndef IOSCHED_COMPAT_BPF_H
#define IOSCHED_COMPAT_BPF_H

/*
 * Position of the bio or request among a tracepoint's arguments. Before commit a54895fa057c ("block: remove
 * the request_queue to argument request based tracepoints", 5.11, also in later 5.10 stable kernels) the
 * request_queue came first.
 */
const volatile __u32 bio_queue_arg;
const volatile __u32 merge_arg;
const volatile __u32 insert_arg;
const volatile __u32 issue_arg;
const volatile __u32 requeue_arg;
const volatile __u32 rq_merge_arg;

/* block_io_start exists: 5a80bd075f3b ("block: introduce block_io_start/block_io_done tracepoints", 6.5). */
const volatile bool has_io_start;

/* Task storage for tp_btf programs: 5.11. Without it the time before a request exists is not measured. */
const volatile bool has_task_storage;

/*
 * request.start_time_ns is the time of the event itself: until da4c8c3d0975 ("block: cache current nsec time
 * in struct blk_plug", 6.9). Used only where block_io_start is missing.
 */
const volatile bool start_time_is_exact;

/* RQF_FLUSH_SEQ: a macro until it became an enumerator whose bit moves between versions. */
const volatile __u32 flush_seq_flag;

/*
 * An argument by position; the branches not taken are pruned by the verifier. The compiler would join the loads
 * into one with a computed address, which 5.10 refuses for a context; it does not join inline assembly.
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

/* request.rq_disk until f3fa33acca9f ("block: remove the ->rq_disk field in struct request", 5.17). */
static __always_inline struct gendisk *disk_of_request(struct request *rq)
{
	if (bpf_core_field_exists(rq->q->disk))
		return rq->q->disk;
	return ((struct request___5_10 *)rq)->rq_disk;
}

/* bio.bi_disk until 309dca309fc3 ("block: store a block_device pointer in struct bio", 5.12). */
static __always_inline struct gendisk *disk_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return bio->bi_bdev->bd_disk;
	return ((struct bio___5_10 *)bio)->bi_disk;
}

/* The cgroup that pays for the bio; for writeback the one that dirtied the pages. 0 without CONFIG_BLK_CGROUP. */
static __always_inline __u64 cgroup_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_blkg))
		return bio->bi_blkg->blkcg->css.cgroup->kn->id;
	return 0;
}

#endif
