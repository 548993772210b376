/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is a request that we hold to be under way still in use? Run by user space, for those that have been so for long: an end
 * that no program saw leaves its entry behind until the tag is used again. On no tracepoint; costs an I/O nothing.
 */
#ifndef IOSCHED_UNDER_WAY_BPF_H
#define IOSCHED_UNDER_WAY_BPF_H

/* An atomic_t, or a refcount_t (5.10): a number in either. It is 0 from the end of a request to its next use. */
struct references {
	int count;
};
struct request___used {
	struct references ref;
} __attribute__((preserve_access_index));

enum { ANY_TAG = -1 };

/* Its address, its queue's and its tag. The memory may be another's by now: then it has not all three. */
SEC("raw_tp")
int is_in_use(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct request___used *used = (void *)ctx[0];
	int tag = ctx[2], references = 0, its_tag;

	bpf_core_read(&references, sizeof(references), &used->ref);
	if (!references || (__u64)BPF_CORE_READ(rq, q) != ctx[1])
		return 0;
	its_tag = BPF_CORE_READ(rq, internal_tag);
	if (its_tag < 0)
		its_tag = BPF_CORE_READ(rq, tag);
	return tag == ANY_TAG || tag == its_tag;
}

#endif
