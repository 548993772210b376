// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All programs, one per tracepoint, against the order of a request's life: completed (C), requeued (R), issued
 * (D), inserted (I), started (G), bio merged (M, F), bio queued (Q), asked (A). They are attached in this order,
 * one after the other, so that a request whose start is seen is seen to its end. The work of each stage is in
 * its header.
 */
#include "block.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "wire.h" /* structures and constants shared with user space */
#include "compat.bpf.h" /* differences between kernels */
#include "queue.bpf.h" /* whether the device is traced, and where its counters are */
#include "file.bpf.h" /* which file it belongs to; optional */
#include "owner.bpf.h" /* who submitted the I/O */
#include "inflight.bpf.h" /* the state of requests in flight */
#include "asked.bpf.h" /* A; optional */
#include "throttle.bpf.h" /* held back before Q */
#include "sleep.bpf.h" /* between Q and G */
#include "submit.bpf.h" /* Q */
#include "unrecorded.bpf.h" /* sums of records that are lost */
#include "record.bpf.h" /* a record per completed request */
#include "start.bpf.h" /* G */
#include "pending.bpf.h" /* G without block_io_start */
#include "merge.bpf.h" /* M, F */
#include "issue.bpf.h" /* I, D, R */
#include "complete.bpf.h" /* C */
#include "under_way.bpf.h" /* lets user space ask what is really under way */

/* Makes clang emit the enumerations of wire.h into the object's BTF. */
const volatile struct enumerations enumerations;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* C: may come in parts, and a second time after a flush; everything is counted at the last completion. */
SEC("tp_btf/block_rq_complete")
int block_rq_complete(__u64 *ctx)
{
	return completed((void *)ctx[0], ctx[1], ctx[2]);
}

/* R: the driver returns the request. D2C still starts at the first issue, when the device first got it. */
SEC("tp_btf/block_rq_requeue")
int block_rq_requeue(__u64 *ctx)
{
	return requeued(argument(ctx, requeue_arg));
}

/* D: the request is issued to the driver. */
SEC("tp_btf/block_rq_issue")
int block_rq_issue(__u64 *ctx)
{
	return issued(argument(ctx, issue_arg));
}

/*
 * I: where a request is first visible on kernels without block_io_start; otherwise loaded only for I2D,
 * because it runs under the scheduler's lock.
 */
SEC("tp_btf/block_rq_insert")
int block_rq_insert(__u64 *ctx)
{
	return inserted(argument(ctx, insert_arg));
}

/* G, on kernels without block_io_start. */
SEC("tp_btf/block_getrq")
int block_getrq(__u64 *ctx)
{
	return granted(argument(ctx, getrq_arg));
}

/* G: the submitter has allocated a request. */
SEC("tp_btf/block_io_start")
int block_io_start(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct queue *queue = queue_of_request(rq);

	if (queue && !is_flush(rq->cmd_flags) && !is_passthrough(rq->cmd_flags))
		start(queue, rq);
	return 0;
}

/* A request is merged into another one. */
SEC("tp_btf/block_rq_merge")
int block_rq_merge(__u64 *ctx)
{
	return joined(argument(ctx, rq_merge_arg));
}

/* F: a bio is merged at the start of a request (front merge). */
SEC("tp_btf/block_bio_frontmerge")
int block_bio_frontmerge(__u64 *ctx)
{
	return merged(argument(ctx, merge_arg), FRONT);
}

/* M: a bio is merged at the end of a request (back merge). */
SEC("tp_btf/block_bio_backmerge")
int block_bio_backmerge(__u64 *ctx)
{
	return merged(argument(ctx, merge_arg), BACK);
}

/* Between Q and G: the submitter sleeps for a tag. */
SEC("tp_btf/block_rq_tag_wait")
int block_rq_tag_wait(__u64 *ctx)
{
	return sleeps_for_tag((void *)ctx[0], (__u8)ctx[2], ctx[3]);
}

/* Q: the submitter queues a bio. */
SEC("tp_btf/block_bio_queue")
int block_bio_queue(__u64 *ctx)
{
	return queued(argument(ctx, bio_queue_arg));
}

/* Before Q: the kernel checks whether a limit of the submitter's control group holds the bio back. */
SEC("fentry/__blk_throtl_bio")
int blk_throtl_bio(__u64 *ctx)
{
	return limited((void *)ctx[0]);
}

/* Records which process dirties an inode, if writeback is attributed. */
SEC("tp_btf/writeback_dirty_folio")
int writeback_dirty(__u64 *ctx)
{
	return dirtied((void *)ctx[1]);
}

/* io_uring hands a request to a worker thread. */
SEC("tp_btf/io_uring_queue_async_work")
int io_uring_queue_async_work(__u64 *ctx)
{
	return handed_to_worker((__u64)argument(ctx, async_work_arg));
}

/* A: the kernel takes an entry from an io_uring ring; the tracepoint is io_uring_submit_sqe before 6.4. */
SEC("tp_btf/io_uring_submit_req")
int io_uring_submit(__u64 *ctx)
{
	return begin_asking();
}

SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	return end_asking();
}

/* A: the program calls io_submit (libaio). */
SEC("tp_btf/sys_enter")
int sys_enter(__u64 *ctx)
{
	return ctx[1] == io_submit_nr ? begin_asking() : 0;
}

/* Attached to no tracepoint: user space runs it. */
SEC("raw_tp")
int evict(__u64 *ctx)
{
	return evict_if_over(ctx[0], ctx[1], ctx[2]);
}

/* User space reads it: the kernel runs it for each task then. */
SEC("iter/task")
int tell_blocked(struct bpf_iter__task *ctx)
{
	return tell_if_blocked(ctx);
}
