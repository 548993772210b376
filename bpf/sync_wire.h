/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures and constants that sync.bpf.c and user space share. Times are in nanoseconds. */
#ifndef IOSCHED_SYNC_WIRE_H
#define IOSCHED_SYNC_WIRE_H

enum sync_limits {
	SYNC_ROWS = 1024,
	SYNC_THREADS = 8192, /* that are in such a wait at a time */
	SYNC_SLEEPS = 8192, /* rows and stacks together */
	SYNC_STACKS = 4096,
	SYNC_FRAMES = 32, /* of a stack, the innermost */
	SYNC_PARTS = 8, /* stacks of one call that are told apart */
	SYNC_CALLS = 6, /* system calls */
	SYNC_BDIS = 256, /* file systems without a disk of their own */
	/* Layout of the histogram, as that of owners. */
	SYNC_UNIT_SHIFT = 6,
	SYNC_SUB_BITS = 4,
	SYNC_CELLS = 448,
};

/* Where a thread waits. */
enum sync_kind {
	SYNC_CALL, /* in fsync and its like, from the enter to the exit */
	SYNC_THROTTLED, /* in balance_dirty_pages: it has dirtied more than the disk writes */
	SYNC_WRITEBACK, /* for the end of the writeback of a page, outside such a call */
};

enum sync_place {
	SYNC_ANYWHERE = 0, /* the call names no file: sync, msync */
	SYNC_BDI =
		1, /* the upper half of the place: below is the number of a backing_dev_info without a device */
};

/* A process that waits, and for which file system. */
struct sync_key {
	__u64 start_ns; /* of the process, CLOCK_BOOTTIME */
	__u64 cgroup_id;
	__u64 place; /* the kernel's dev_t; see enum sync_place */
	__u32 tgid;
	__u32 kind; /* enum sync_kind */
};

/* The name of a backing_dev_info, such as btrfs-1, or 0:53 of the device number of an NFS mount. */
struct sync_bdi {
	char name[64];
};

struct sync_row {
	char comm[16];
	__u64 count;
	__u64 ns;
	__u64 asleep_ns; /* of these */
	__u64 complete; /* waits whose sleeps are counted, too: as many as `count` while no program is at it */
	__u32 cells[SYNC_CELLS];
};

struct sync_sleep_key {
	struct sync_key key;
	__s32 stack; /* negative if it was not had */
	__u32 unused;
};

struct sync_sleep {
	__u64 count;
	__u64 ns; /* until the thread ran again */
};

struct sync_part {
	__s32 stack;
	__u32 count;
	__u64 ns;
};

/* A thread in such a wait. */
struct sync_thread {
	struct sync_key key;
	__u64 since_ns; /* of the call; 0 outside of one */
	__u64 slept_since_ns; /* while it sleeps */
	__s32 stack; /* of that sleep */
	__u32 parts;
	__u32 call; /* its number */
	__u32 unused;
	struct sync_part part[SYNC_PARTS];
	char comm[16];
};

struct sync_losses {
	__u64 rows; /* waits whose row found no room */
	__u64 threads; /* waits that were not followed: too many at a time */
	__u64 sleeps; /* sleeps without a stack, or without room for one */
	__u64 compat; /* calls of 32-bit programs, which are not followed */
};

#endif
