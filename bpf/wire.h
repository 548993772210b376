/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every structure and constant that crosses to user space, and nothing else. Times in nanoseconds. */
#ifndef IOSCHED_WIRE_H
#define IOSCHED_WIRE_H

enum op {
	OP_READ,
	OP_WRITE,
	OP_FLUSH,
	OP_DISCARD,
	OP_OTHER,
	OP_COUNT,
};

/*
 * Most requests get their tag without sleeping: for them Q2G is 0 and Q2D equals G2D, so one update
 * of Q2D_DIRECT stands for all three. User space puts the stages together again; no count is lost.
 */
enum latency {
	Q2D_DIRECT, /* no wait for the request: Q2G = 0, G2D = Q2D */
	Q2D_WAITED, /* the submitter slept before it got a request */
	Q2G_WAITED,
	G2D_WAITED,
	G2D_ALONE, /* the bio's queue event was not seen: neither Q2G nor Q2D are known */
	D2C,
	Q2C,
	LATENCY_COUNT,
};

/* Log-linear cells: unit 16 ns and 64 cells an octave for devices, 64 ns and 16 for owners; both to 137 s. */
enum layout {
	DEVICE_UNIT_SHIFT = 4,
	DEVICE_SUB_BITS = 6,
	DEVICE_CELLS = 1792,
	OWNER_UNIT_SHIFT = 6,
	OWNER_SUB_BITS = 4,
	OWNER_CELLS = 448,
};

enum limits {
	QUEUE_IDS = 4096,
	COMM_BYTES = 16,
};

struct device_histogram {
	__u32 cells[DEVICE_CELLS];
};

struct owner_histogram {
	__u32 cells[OWNER_CELLS];
};

/* A device, as user space wants it traced. Key: kernel dev_t. */
struct target {
	__u32 slot;
	__u32 inflight_base; /* first element of the device in `inflight` */
	__u32 depth; /* tags of a hardware queue, the scheduler's included */
	__u32 hardware_queues;
};

/* What is known of a request queue. Indexed by request_queue.id. */
struct queue {
	__u64 address; /* the request_queue this entry speaks of; ids are reused */
	__u32 traced;
	struct target target;
	__u32 unused;
};

/* A request between its start and its completion. Valid while `request` is its address. */
struct inflight {
	__u64 request;
	__u64 q_ns; /* bio queued; 0 when that was not seen */
	__u64 g_ns; /* request started; 0 when that was not seen */
	__u64 d_ns; /* first issue; 0 before */
	__u64 c_ns; /* data completed, while a flush is still to follow; 0 otherwise */
	__u32 owner;
	__u32 bytes;
	__u32 op;
	__u32 unused[3];
};

struct op_counters {
	__u64 ios;
	__u64 bytes;
};

struct device_stats {
	struct op_counters op[OP_COUNT];
	__u64 flush_requests; /* empty flushes asked for; the kernel joins several into one command */
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	__u64 errors;
	__u64 requeues;
	__u64 partial_completions;
	__u64 passthrough; /* issued, not measured */
	/* The quality of the measurement. */
	__u64 lost; /* outside the in-flight table */
	__u64 evicted; /* completion never seen, its entry reused */
	__u64 negative; /* a stage with a negative time, left out */
	__u64 started_late; /* first seen at its issue: no queue wait */
	__u64 unseen; /* first seen at its completion: in flight at attach, or lost before */
	__u64 unissued; /* completed with data but no issue seen */
	__u64 owner_overflow; /* I/Os charged to the owner `other`, because the table is full */
};

enum owner_flags {
	OWNER_KTHREAD = 1,
};

struct owner_key {
	__u64 cgroup_id;
	__u64 start_ns; /* of the process, CLOCK_BOOTTIME */
	__u32 tgid;
	__u32 slot;
};

struct owner_op {
	__u64 ios;
	__u64 bytes;
	__u64 waits; /* I/Os whose queue wait is known */
	__u64 q2d_ns; /* sums */
	__u64 d2c_ns;
	__u64 q2c_ns;
	__u64 q2d_max_ns;
	__u64 d2c_max_ns;
	__u64 q2c_max_ns;
};

/* One process on one device in one cgroup. */
struct owner {
	struct owner_key key;
	char comm[COMM_BYTES];
	__u64 flags;
	struct owner_op op[OP_COUNT];
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	struct owner_histogram q2d[2]; /* reads, writes */
	struct owner_histogram d2c[2];
};

#endif
