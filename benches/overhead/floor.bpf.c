// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The minimum cost of a measurement from bio to completion: its four programs with only three clock reads. */
#define SEC(name) __attribute__((section(name), used))

static unsigned long long (*const ktime_get_ns)(void) = (void *)5;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/block_bio_queue")
int queue(void *ctx)
{
	return ktime_get_ns() == 0;
}

SEC("tp_btf/block_io_start")
int start(void *ctx)
{
	return 0;
}

SEC("tp_btf/block_rq_issue")
int issue(void *ctx)
{
	return ktime_get_ns() == 0;
}

SEC("tp_btf/block_rq_complete")
int complete(void *ctx)
{
	return ktime_get_ns() == 0;
}
