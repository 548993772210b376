/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernels without block_io_start. block_getrq fires at the same moment but has the bio and not the request:
 * what the submitter knows is stored under the bio until the request is first seen, at its insert or issue.
 * By then the thread may have queued other bios, or another thread may be running: a plug is flushed with
 * many requests at once, and a write with a flush is issued by a worker.
 */
#ifndef IOSCHED_PENDING_BPF_H
#define IOSCHED_PENDING_BPF_H

static __always_inline int granted(struct bio *bio)
{
	struct queue *queue = queue_of_bio(bio);
	struct pending pending = {};
	struct thread *thread;
	__u64 key = (__u64)bio;
	__u64 *last_bio;
	__u32 opf;

	if (!queue)
		return 0;
	opf = bio->bi_opf;
	thread = take_grant(queue, bio, &pending.grant);
	if (!thread)
		return 0;
	pending.grant.opf = opf;
	pending.sector = bio->bi_iter.bi_sector;
	pending.thread = thread_place(current_task());
	last_bio = bpf_map_lookup_elem(&last_bios, &pending.thread);
	if (last_bio)
		*last_bio = key;
	bpf_map_update_elem(&pendings, &key, &pending, 0);
	return 0;
}

enum { FRONT_MERGES = 8 }; /* bios that were merged in front of the first one */

/*
 * The bio for which the request was allocated: others may have been merged in front of it. 0 if it was not
 * seen.
 */
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

/* The request joins another one at its insertion, before it is seen. Returns its owner, 0 if unknown. */
static __always_inline __u32 join_pending(struct request *rq)
{
	__u64 key = pending_bio_of(rq);
	struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
	__u32 owner;

	if (!pending)
		return 0;
	owner = pending->grant.owner;
	bpf_map_delete_elem(&pendings, &key);
	return owner;
}

/* Called where a request is first seen. False if its bio is unknown. */
static __always_inline bool start_pending(struct queue *queue, struct request *rq)
{
	__u64 key = pending_bio_of(rq);
	struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
	struct thread *thread;
	__u64 *last_bio;
	__u32 place;

	if (!pending)
		return false;
	place = begin(queue, rq, &pending->grant);
	thread = bpf_map_lookup_elem(&threads, &pending->thread);
	last_bio = bpf_map_lookup_elem(&last_bios, &pending->thread);
	if (thread && last_bio && *last_bio == key) {
		thread->last_place = place;
		*last_bio = 0;
	}
	bpf_map_delete_elem(&pendings, &key);
	return place != NO_PLACE;
}

#endif
