/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a request that the table shows as in flight is still in use. User space runs this for requests
 * that have been in flight for long: a completion that no program saw leaves a stale entry until its tag is
 * reused. I/Os pay nothing for this.
 */
#ifndef IOSCHED_UNDER_WAY_BPF_H
#define IOSCHED_UNDER_WAY_BPF_H

/*
 * An atomic_t, or a refcount_t in 5.10; both contain one int. It is 0 from the end of a request to its next
 * use.
 */
struct references {
	int count;
};
struct request___used {
	struct references ref;
} __attribute__((preserve_access_index));

/*
 * Takes the address, its queue, and its tag plus 1, or 0 for any tag. The memory may have been reused: then
 * at least one of the three differs.
 */
static __always_inline int in_use(struct request *rq, __u64 queue, int tag_plus_1)
{
	struct request___used *used = (void *)rq;
	int references = 0, its_tag;

	bpf_core_read(&references, sizeof(references), &used->ref);
	if (!references || (__u64)BPF_CORE_READ(rq, q) != queue)
		return 0;
	its_tag = BPF_CORE_READ(rq, internal_tag);
	if (its_tag < 0)
		its_tag = BPF_CORE_READ(rq, tag);
	return !tag_plus_1 || tag_plus_1 == its_tag + 1;
}

#endif
