/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every structure and constant shared with user space, and nothing else. Times are in nanoseconds. */
#ifndef IOSCHED_WIRE_H
#define IOSCHED_WIRE_H

enum op {
	OP_READ,
	OP_WRITE_SYNC, /* REQ_SYNC: a process waits for it */
	OP_WRITE_ASYNC, /* writeback */
	OP_FLUSH, /* I/Os and bytes are those of flush commands, D2C too; Q2C those of empty flushes, from their Q */
	OP_DISCARD,
	OP_ZONE,
	OP_OTHER,
	OP_PASSTHROUGH, /* the driver's own commands; measured only if requested */
	OP_COUNT,
	DATA_OPS = OP_FLUSH, /* the operations below this move data and have all stages */
};

enum limits {
	QUEUE_IDS = 4096,
	COMM_BYTES = 16,
	PATH_PARTS = 8,
	PART_WORDS = 8, /* 64 bytes */
	STATUSES = 128, /* blk_status_t, or errno on older kernels */
	THREADS = 65536, /* entries for the last bio of each thread, a power of two */
	RING_LEVELS = 3, /* a completion in a thread, in a soft interrupt, in a hard interrupt */
};

/*
 * A device to trace. Key: the kernel's dev_t. Of the visible disk of NVMe multipath the slot is that of one of its
 * paths, and there are no hardware queues: bios are queued (Q) there, and their requests are the paths'.
 */
struct target {
	__u32 slot;
	__u32 inflight_base; /* index of the device's first element in `inflight` */
	__u32 depth; /* tags per hardware queue, the larger of driver and scheduler */
	__u32 hardware_queues;
};

/* A request queue. Indexed by request_queue.id. */
struct queue {
	__u64 address; /* of the request_queue that this entry describes; ids are reused */
	__u64 disk; /* see identity_of_disk; 0 if unknown */
	__u64 elevator; /* see elevator_of_queue */
	/* Requests that were queued before this belong to the previous scheduler, or to none: straddlers. */
	__u64 epoch_ns;
	struct target target;
	__u32 traced;
	__u32 switches; /* changes of the scheduler since the attach */
	__u64 unused; /* fills the cache line */
};

enum inflight_flags {
	STATE_PREFLUSH = 1, /* waits for a flush before its data is issued */
	STATE_JOURNAL = 2, /* file system metadata, including the journal */
	STATE_SCHEDULED = 4, /* goes by the scheduler: see goes_by_scheduler */
	/*
	 * Events: `event_ns` is the time of the last one, and a flag is set until that time has been used.
	 * Two are set at once only if a request was requeued before its first issue and inserted again: both
	 * then count from the insert.
	 */
	STATE_INSERTED = 8, /* until the first issue, or a requeue before it */
	STATE_REQUEUED = 16, /* until the next issue */
	STATE_DATA_DONE = 32, /* until the request ends */
	STATE_POSTFLUSH = 64, /* a flush follows the data */
	STATE_SLEPT = 128, /* its thread slept between Q and G */
};

/* A request between its start and its completion. Valid while `request` is its address. */
struct inflight {
	__u64 request;
	__u64 q_ns; /* bio queued; 0 if not seen */
	__u64 g_ns; /* request started; 0 if not seen */
	__u64 d_ns; /* first issue; 0 before */
	__u64 event_ns; /* of the last event in `flags`; undefined without one */
	__u64 sector; /* at the start, and again at the first issue: merges may move it */
	__u32 owner;
	__u32 bytes;
	__u32 hardware_queue;
	__u16 bios;
	__u8 op; /* enum op */
	__u8 flags; /* enum inflight_flags */
};

/* Facts of a request in flight that only some details need. Indexed like struct inflight. */
struct extra {
	__u64 a_ns; /* see struct record */
	__u64 i_ns;
};

/* The tags of which a request needs one; a thread sleeps while the pool is empty. */
enum pool {
	POOL_DRIVER, /* the device's own */
	POOL_SCHEDULER, /* nr_requests of them, under any scheduler but none */
	POOL_RESERVED, /* kept for commands that must not wait behind others */
	POOLS,
};

/* What requests waited for before their issue, summed. */
struct waits {
	__u64 slept; /* requests whose thread slept since the Q of their bio, and for how long */
	__u64 slept_ns;
	__u64 tag_waits
		[POOLS]; /* how many of these slept for a tag, and for how long; inferred without has_tag_wait */
	__u64 tag_wait_ns[POOLS];
	/* Count requests whose record was lost: see struct device_stats. */
	__u64 q2g_ns;
	__u64 allocation_ns; /* Q2G of the requests whose thread did not sleep */
	__u64 plug_ns; /* G2I and I2D of the requests that were inserted; only if I2D is measured */
	__u64 scheduler_ns;
};

struct op_counters {
	__u64 ios;
	__u64 bytes;
	__u64 more_bios; /* beyond the first bio of each request */
	__u64 waits; /* requests whose queue wait is known */
	__u64 q2d_ns; /* sums */
	__u64 d2c_ns;
	__u64 q2c_ns;
};

/*
 * User space counts requests that have a record. `op`, everything about flushes, the journal and straddlers, and `negative`,
 * `unissued` and `owner_overflow` count here only requests whose record was lost.
 */
struct device_stats {
	struct op_counters op[OP_COUNT];
	__u64 flush_requests; /* empty flushes queued; the kernel combines several into one command */
	__u64 preflushes; /* writes that waited for a flush before their data */
	__u64 preflush_ns;
	__u64 postflushes; /* writes that waited for a flush after their data */
	__u64 postflush_ns;
	__u64 journal_ios; /* writes of metadata and journals, a part of the synchronous writes */
	__u64 journal_ns; /* their D2C */
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	__u64 errors;
	__u64 requeues;
	__u64 requeued_ns; /* from a requeue to the next issue */
	__u64 partial_completions;
	__u64 passthrough; /* issued, not measured */
	__u64 straddlers; /* started before the change of scheduler, completed after it; in no I/Os, bytes or times */
	__u64 straddler_bytes;
	__u64 nowait_retries; /* bios queued again by a worker thread of io_uring, after REQ_NOWAIT had found no free tag */
	__u64 stalled_ns; /* threads with other I/O in flight blocked until they got a request, summed */
	__u64 throttled; /* bios that a limit of a control group held back before Q */
	__u64 throttled_ns; /* summed, until Q */
	__u64 throttled_unknown; /* the same where it was not seen since when, and who submitted them */
	struct waits waits;
	__u64 failed_over; /* requests whose bios went to another path, where they count; in no other count */
	/* Measurement losses. */
	__u64 lost; /* requests outside the in-flight table, counted at their completion */
	__u64 evicted; /* completion never seen, entry reused */
	__u64 negative; /* stages with a negative duration, left out */
	__u64 started_late; /* first seen at the issue: no queue wait */
	__u64 started_before; /* the same, but under way at the attach: no loss */
	__u64 unseen; /* first seen at the completion: in flight at the attach, or lost before */
	__u64 unissued; /* completed with data, but no issue was seen */
	__u64 owner_overflow; /* I/Os charged to the owner `other` because the table is full */
	__u64 unrecorded; /* I/Os whose record found its ring full: counted, but in no histogram */
	__u32 statuses[STATUSES]; /* errors by status */
};

enum owner_kind {
	OWNER_OTHER, /* all owners for which the table has no room */
	OWNER_PROCESS,
	OWNER_KERNEL_THREAD,
	OWNER_WORKQUEUE, /* a kernel worker, named after its work; not a process */
	OWNER_WRITEBACK, /* pages that a process dirtied, written by the kernel */
};

enum owner_flags {
	OWNER_IO_WORKER = 1, /* some of its I/O was queued by worker threads of io_uring */
};

enum file_kind {
	FILE_NONE, /* files are not told apart, or the I/O has no data */
	FILE_INODE, /* a regular file */
	FILE_BLOCK_DEVICE,
	FILE_METADATA, /* of a file system */
	FILE_JOURNAL,
	FILE_SWAP,
	FILE_UNKNOWN,
};

/* The end of a file's path, within its file system. */
struct file_path {
	__u32 parts; /* user space reads it before the names, which are written before it */
	__u32 is_cut; /* there are more directories above */
	__u64 part[PATH_PARTS]
		  [PART_WORDS]; /* names, from the file up, with a final NUL; longer ones are cut */
};

struct owner_key {
	__u64 cgroup_id;
	__u64 start_ns; /* of the process, CLOCK_BOOTTIME; for a workqueue a hash of its name */
	__u64 inode; /* of a regular file; 0 for others, and where the probe does not tell files apart */
	__u64 file_instance; /* of the inode's number: its generation, and the subvolume of btrfs above */
	__u32 file_dev; /* of its file system, the kernel's dev_t */
	__u32 file_kind; /* enum file_kind */
	__u32 tgid; /* 0 for a workqueue */
	__u16 slot;
	__u16 kind; /* enum owner_kind */
};

/* Counts requests whose record was lost: see struct device_stats. */
struct owner_op {
	__u64 ios;
	__u64 bytes;
	__u64 more_bios;
	__u64 q2d_ns; /* sums */
	__u64 d2c_ns;
	__u64 unwaited; /* I/Os with unknown queue wait, and the sum of their D2C */
	__u64 unwaited_d2c_ns;
	__u64 flush_ns; /* wait of writes for flushes before and after their data; Q2C of empty flushes */
	__u64 q2d_max_ns; /* since user space last reset it */
	__u64 d2c_max_ns;
};

/* One process on one device in one cgroup. */
struct owner {
	struct owner_key key;
	char comm[COMM_BYTES];
	__u64 flags; /* enum owner_flags */
	__u64 ioprio; /* of its bios: class << 13 | level */
	__u64 back_merges;
	__u64 front_merges;
	__u64 rq_merges;
	__u64 preflushes; /* its writes that waited for a flush before their data */
	__u64 unrecorded; /* its I/Os whose record found the ring full */
	__u64 stalled_ns; /* its threads with other I/O in flight, blocked until they got a request, summed */
	__u64 throttled; /* its bios that a limit held back before Q, and how long, summed */
	__u64 throttled_ns;
	__u64 requeued_ns; /* its requests, from a requeue to the next issue */
	struct waits waits;
	struct owner_op op[OP_COUNT];
};

/* A thread that waits for a request. */
struct blocked {
	__u64 q_ns;
	__u64 last_g_ns; /* of a split bio: when it got the request before */
	__u64 tag_since_ns; /* since when it sleeps for a tag of `pool`; 0 if it does not, or the kernel does not say so */
	__u32 owner;
	__u16 slot;
	__u8 is_beside; /* the thread's last request was in flight at Q */
	__u8 pool; /* enum pool; without has_tag_wait inferred, as in struct waits */
};

enum record_flags {
	RECORD_PREFLUSH = STATE_PREFLUSH, /* D waited for a flush, not for the scheduler */
	RECORD_JOURNAL = STATE_JOURNAL,
	RECORD_STRADDLER = 4, /* in no I/Os, bytes or times */
	RECORD_FLUSH_COMMAND = 8, /* has only D and C */
	RECORD_SCHEDULED = 16, /* see STATE_SCHEDULED */
	RECORD_POSTFLUSH = STATE_POSTFLUSH, /* a flush followed the data */
	RECORD_SLEPT = STATE_SLEPT,
};

/* A completed request. Every latency, and whatever else is more than a sum, is computed from these in user space. */
struct record {
	__u64 a_ns; /* asked; 0: with Q; 1: before Q, unknown when */
	__u64 q_ns; /* bio queued; 0 if not seen */
	__u64 g_ns; /* request started; 0 if not seen */
	__u64 i_ns; /* inserted; 0 if it was not, or is not measured */
	__u64 d_ns; /* first issue; 0 if not seen */
	__u64 data_ns; /* the data is complete; C unless a flush followed */
	__u64 c_ns;
	__u64 sector;
	__u32 bytes;
	__u32 owner;
	__u16 slot;
	__u16 hardware_queue;
	__u16 bios;
	__u8 op; /* enum op */
	__u8 flags; /* enum record_flags */
};

/* The state of a ring of records, one per CPU and level. User space changes only `read`. */
struct ring {
	__u64 written; /* records so far; the ring has the last ones of them */
	__u64 lost; /* that found the ring full */
	__u64 level; /* programs that are writing on this CPU: of its first ring only */
	__u64 pad[5];
	__u64 read;
	__u64 more_pad[7];
};

/*
 * Every enumeration above, and the structures that are in no map. The Rust types are generated from the object's
 * BTF, into which clang puts a type only if a variable uses it: the object has one constant of this type, which
 * nothing reads.
 */
struct enumerations {
	enum op op;
	enum limits limits;
	enum inflight_flags inflight_flags;
	enum pool pool;
	enum file_kind file_kind;
	enum owner_kind owner_kind;
	enum owner_flags owner_flags;
	enum record_flags record_flags;
	struct blocked blocked;
};

#endif
