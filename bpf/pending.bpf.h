/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernels without block_io_start. block_getrq is at the same moment, and knows the bio and not the request: what the
 * submitter knew is kept by the bio until the request is seen, at its insert or issue. By then the thread may have
 * queued others, or another one may be there: a plug hands over many at a time, a write with a flush comes from a
 * worker.
 */
#ifndef IOSCHED_PENDING_BPF_H
#define IOSCHED_PENDING_BPF_H

SEC("tp_btf/block_getrq")
int block_getrq(__u64 *ctx)
{
	struct bio *bio = argument(ctx, getrq_arg);
	struct queue *queue = queue_of_bio(bio);
	struct pending pending = {};
	struct thread *thread;
	__u64 key = (__u64)bio;
	__u32 opf;

	if (!queue)
		return 0;
	opf = bio->bi_opf;
	thread = take_grant(queue, bio, &pending.grant);
	if (!thread)
		return 0;
	thread->last_bio = key;
	pending.grant.opf = opf;
	pending.sector = bio->bi_iter.bi_sector;
	pending.thread = thread_place(current_task());
	pending.grant.is_ordered =
		goes_by_scheduler(opf) &&
		take_turn(queue, pending.sector, bio->bi_iter.bi_size, &pending.grant.sequence);
	bpf_map_update_elem(&pendings, &key, &pending, 0);
	return 0;
}

enum { FRONT_MERGES = 8 }; /* that are looked past */

/* The bio that the request was got for: others may have joined in front of it. 0 if it was not seen. */
static __noinline __u64 pending_bio_of(struct request *rq)
{
	struct bio *bio = rq->bio;
	__u64 last = (__u64)rq->biotail;

	for (__u32 i = 0; i < FRONT_MERGES; i++) {
		__u64 key = (__u64)bio;
		struct pending *pending = bpf_map_lookup_elem(&pendings, &key);

		if (pending && pending->sector == bio->bi_iter.bi_sector)
			return key;
		if (key == last)
			break;
		bio = bio->bi_next;
	}
	return 0;
}

/* At the first sight of a request. False if nothing is known of it. */
static __always_inline bool start_pending(struct queue *queue, struct request *rq)
{
	__u64 key = pending_bio_of(rq);
	struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
	struct thread *thread;
	__u32 place;

	if (!pending)
		return false;
	place = begin(queue, rq, &pending->grant);
	thread = bpf_map_lookup_elem(&threads, &pending->thread);
	if (thread && thread->last_bio == key)
		thread->last_place = place;
	bpf_map_delete_elem(&pendings, &key);
	return place != NO_PLACE;
}

#endif
