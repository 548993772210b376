/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every structure and constant that crosses to user space, and nothing else. Times in nanoseconds. */
#ifndef IOSCHED_WIRE_H
#define IOSCHED_WIRE_H

enum op {
	OP_READ,
	OP_WRITE_SYNC, /* REQ_SYNC: someone waits for it */
	OP_WRITE_ASYNC, /* writeback */
	OP_FLUSH, /* see device_stats for what its histograms hold */
	OP_DISCARD,
	OP_ZONE,
	OP_OTHER,
	OP_PASSTHROUGH, /* the driver's own commands; measured only if asked for */
	OP_COUNT,
	DATA_OPS = OP_FLUSH, /* those before it move data and have every histogram */
};

/*
 * Most requests get their tag without sleeping: for them Q2G is 0 and Q2D equals G2D, so one update
 * of Q2D_DIRECT stands for all three. User space puts the stages together again; no count is lost.
 */
enum latency {
	Q2D_DIRECT, /* no wait for the request: Q2G = 0, G2D = Q2D */
	D2C,
	Q2C,
	/* From here on for data operations only. */
	Q2D_WAITED, /* the submitter slept before it got a request */
	Q2G_WAITED,
	G2D_WAITED,
	G2D_ALONE, /* the bio's queue event was not seen, or is not asked for: neither Q2G nor Q2D are known */
	I2D, /* insert to issue; only if asked for */
	/* The further bios of requests with several: with them, the histograms are per bio. */
	Q2D_MERGED,
	D2C_MERGED,
	Q2C_MERGED,
	LATENCY_COUNT,
	OTHER_LATENCIES = Q2D_WAITED,
	HISTOGRAM_ROWS = DATA_OPS * LATENCY_COUNT + (OP_COUNT - DATA_OPS) * OTHER_LATENCIES,
};

/* Behind those of a shard, of data operations, if asked for: since the program asked. */
enum asked_latency {
	A2Q,
	A2D,
	A2C,
	ASKED_COUNT,
	ASKED_ROWS = DATA_OPS * ASKED_COUNT,
};

/* Log-linear cells: unit 16 ns and 64 cells an octave for devices, 64 ns and 16 for owners; both to 137 s. */
enum layout {
	DEVICE_UNIT_SHIFT = 4,
	DEVICE_SUB_BITS = 6,
	DEVICE_CELLS = 1792,
	OWNER_UNIT_SHIFT = 6,
	OWNER_SUB_BITS = 4,
	OWNER_CELLS = 448,
	/* So many of the owners' histograms have room in one of a device's. */
	COARSE = DEVICE_CELLS / OWNER_CELLS,
	/* Starvation gaps: unit 1.05 ms and 4 cells an octave, to 137 s. */
	GAP_UNIT_SHIFT = 20,
	GAP_SUB_BITS = 2,
	GAP_CELLS = 64,
	/* Powers of two: cell 0 for the value 0, cell n for those with n binary digits. */
	LOG2_CELLS = 48,
};

enum limits {
	QUEUE_IDS = 4096,
	COMM_BYTES = 16,
	STATUSES = 128, /* blk_status_t, or errno on kernels that give that */
	DISPATCHES = 8192, /* the last of them are kept, per device; a power of two */
	CLOCK_SHIFT = 8, /* fraction bits of the virtual clock */
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
	__u64 dev; /* major and minor of its disk, as in `targets` */
	__u64 elevator; /* see elevator_of_queue */
	/* Requests that were asked for before this belong to the scheduler before, or to none: straddlers. */
	__u64 epoch_ns;
	__u64 slept_ns; /* about when a submitter last had to sleep for a request */
	struct target target;
	__u32 traced;
	__u32 switches; /* of the scheduler, seen since the attach */
};

enum inflight_flags {
	STATE_PREFLUSH = 1, /* waits for a flush before its data is issued */
	STATE_JOURNAL = 2, /* file system metadata, the journal included */
	STATE_ORDERED = 4, /* `sequence` is set */
	STATE_MARK_INSERTED = 8, /* what `mark_ns` holds */
	STATE_MARK_REQUEUED = 16,
	STATE_MARK_DATA_DONE = 32,
};

/* A request between its start and its completion. Valid while `request` is its address. */
struct inflight {
	__u64 request;
	__u64 q_ns; /* bio queued; 0 when that was not seen */
	__u64 g_ns; /* request started; 0 when that was not seen */
	__u64 d_ns; /* first issue; 0 before */
	__u64 mark_ns; /* see the flags */
	__u64 clock; /* the device's virtual clock at the first issue */
	__u32 owner;
	__u32 bytes;
	__u32 sequence; /* its place among the starts on this device */
	__u16 bios;
	__u8 op;
	__u8 flags;
};

struct op_counters {
	__u64 ios;
	__u64 bytes;
	__u64 more_bios; /* beyond the first of each request */
	__u64 waits; /* requests whose queue wait is known */
	__u64 q2d_ns; /* sums */
	__u64 d2c_ns;
	__u64 q2c_ns;
};

/*
 * For OP_FLUSH the histograms hold: Q2D the wait of a write for the flush before its data, D2C flush commands,
 * Q2C empty flushes, from asking to done.
 */
struct device_stats {
	struct op_counters op[OP_COUNT];
	__u64 flush_requests; /* empty flushes asked for; the kernel joins several into one command */
	__u64 preflushes; /* writes that waited for a flush before their data */
	__u64 preflush_ns;
	__u64 postflushes; /* and after it */
	__u64 postflush_ns;
	__u64 journal_ios; /* of the writes, those of metadata and journals */
	__u64 journal_ns; /* their D2C */
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	__u64 errors;
	__u64 requeues;
	__u64 requeued_ns; /* between a requeue and the issue after it */
	__u64 partial_completions;
	__u64 passthrough; /* issued, not measured */
	__u64 straddlers; /* completed, but asked for under another scheduler; in no I/Os, bytes or times */
	__u64 straddler_bytes;
	__u64 nowait_failures; /* bios that must not sleep and found no tag free: each is asked for again */
	__u64 stalled_ns; /* threads with I/O under way stood still for a request of the next, a sum */
	/* The quality of the measurement. */
	__u64 lost; /* requests outside the in-flight table, at their end */
	__u64 evicted; /* completion never seen, its entry reused */
	__u64 negative; /* a stage with a negative time, left out */
	__u64 started_late; /* first seen at its issue: no queue wait */
	__u64 unseen; /* first seen at its completion: in flight at attach, or lost before */
	__u64 unissued; /* completed with data but no issue seen */
	__u64 owner_overflow; /* I/Os charged to the owner `other`, because the table is full */
	__u32 statuses[STATUSES]; /* errors by status */
};

/* Dispatch order, a device's shard. */
struct order_stats {
	__u64 issued;
	__u64 reordered; /* issued after one that started later */
	__u64 insert_seeks; /* successive starts, and the distance between them in sectors */
	__u64 insert_sectors;
	__u64 issue_seeks; /* the same of successive issues */
	__u64 issue_sectors;
	__u64 runs[2]; /* of successive reads, of successive writes */
	__u64 run_ios[2];
	__u32 early[LOG2_CELLS]; /* places that a request was issued before its turn */
	__u32 late[LOG2_CELLS]; /* and after it; 0 is in its turn */
	__u32 insert_seek[LOG2_CELLS]; /* sectors; 0 is sequential */
	__u32 issue_seek[LOG2_CELLS];
	__u32 run_length[2][LOG2_CELLS];
};

/* Where a device's sequences stand. Starts and issues, on cache lines of their own. */
struct order_state {
	__u32 started;
	__u32 unused;
	__u64 insert_end; /* the sector behind the last start */
	__u64 pad[14];
	__u32 issued;
	__u32 next_expected; /* the highest sequence issued, plus 1 */
	__u64 issue_end;
	__u32 run_ios;
	__u32 run_kind; /* 0 none yet, 1 reads, 2 writes */
	__u64 more_pad[13];
};

/* One place among the issues; the last DISPATCHES of a device are kept. */
struct dispatch {
	__u64 g_ns;
	__u64 d_ns;
	__u64 sector;
	__u32 bytes;
	__u32 sequence; /* among the starts */
	__u32 issue; /* among the issues */
	__u16 hardware_queue;
	__u8 op;
	__u8 kind; /* 0 none yet, 1 an issue, 2 a place given away: of the rest only `issue` holds */
	__u32 owner;
	__u32 unused;
};

/* The virtual clock of a device: with n requests issued it runs at 1/n of the time, with none it stands. */
struct device_clock {
	__u64 now; /* ns << CLOCK_SHIFT */
	__u64 last_ns;
	__u64 issued; /* started by the driver */
	__u64 ended;
	__u64 pad[12];
};

enum owner_kind {
	OWNER_OTHER, /* those for whom the table has no room */
	OWNER_PROCESS,
	OWNER_KERNEL_THREAD,
	OWNER_WORKQUEUE, /* a kernel worker, named after its work; no process */
	OWNER_WRITEBACK, /* what a process dirtied, written by the kernel */
};

enum owner_flags {
	OWNER_IO_WORKER = 1, /* some of its I/O came through io_uring's worker threads */
};

struct owner_key {
	__u64 cgroup_id;
	__u64 start_ns; /* of the process, CLOCK_BOOTTIME; for a workqueue made from its name */
	__u32 tgid; /* 0 for a workqueue */
	__u16 slot;
	__u16 kind;
};

struct owner_op {
	__u64 ios;
	__u64 bytes;
	__u64 more_bios;
	__u64 q2d_ns; /* sums */
	__u64 d2c_ns;
	__u64 unwaited; /* I/Os whose queue wait is not known, and their sum of D2C */
	__u64 unwaited_d2c_ns;
	__u64 flush_ns; /* of the writes that a flush came before or after: what it took; of empty flushes: Q2C */
	__u64 q2d_max_ns; /* since user space took it away last */
	__u64 d2c_max_ns;
};

/* One process on one device in one cgroup. */
struct owner {
	struct owner_key key;
	char comm[COMM_BYTES];
	__u64 flags;
	__u64 ioprio; /* class << 13 | level, as its bios carry it */
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	__u64 preflushes; /* its writes that waited for a flush before their data */
	__u64 stalled_ns; /* its threads, with I/O under way, stood still for a request of the next */
	/* Fairness: */
	__u64 started; /* requests */
	__u64 ended;
	__u64 busy_since_ns; /* of the present or last time with a request under way */
	__u64 busy_ns; /* all such times that are over */
	__u64 device_time; /* ns << CLOCK_SHIFT of the device's virtual clock */
	__u64 last_issue_ns;
	__u64 gap_max_ns; /* the longest time without an issue while a request waited; as q2d_max_ns */
	__u32 gaps[GAP_CELLS];
	struct owner_op op[OP_COUNT];
};

/* Row of an owner's index, where there is one: fewer rows than owners. Reads, writes. */
struct owner_latency {
	struct owner_histogram q2d[2];
	struct owner_histogram d2c[2];
};

/*
 * An owner's other stages, of reads and of writes. If they are asked for, its q2d above is of direct requests as in
 * `enum latency`; the others, waited for or with a bio that was not seen, are here.
 */
enum owner_stage {
	OWNER_Q2D_INDIRECT,
	OWNER_Q2G_INDIRECT = 2,
	OWNER_G2D_INDIRECT = 4,
	OWNER_Q2C = 6,
	OWNER_I2D = 8,
	OWNER_STAGES = 10,
	LINE_CELLS = 16, /* in a cache line */
	OWNER_LINES = 32, /* the last ones do not exist */
};

/* Row of an owner's index, as many as of owner_latency. */
struct owner_stages {
	__u8 occupied[OWNER_STAGES]
		     [OWNER_LINES]; /* 1 where a line holds something: the others need not be read */
	struct owner_histogram histograms[OWNER_STAGES];
};

/* Row of an owner's index, as many as of owner_latency, if asked for: A2Q, A2D, A2C, of reads and of writes. */
struct owner_asked {
	__u8 occupied[ASKED_COUNT * 2][OWNER_LINES];
	struct owner_histogram histograms[ASKED_COUNT * 2];
};

#endif
