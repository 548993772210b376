/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a request queue is traced, and where its counters are. One array lookup per event. */
#ifndef IOSCHED_QUEUE_BPF_H
#define IOSCHED_QUEUE_BPF_H

/*
 * Number of copies of a device's counters, each for a subset of the CPUs; set before the
 * load.
 */
const volatile __u32 shards = 1;

/*
 * Each CPU has its own shard, and the kernel does not run a program on a CPU where it is already running
 * (05b24ff9b2cf, 6.1): a counter that only one program updates needs no atomic instruction.
 */
const volatile bool counts_alone;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, QUEUE_IDS);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

/* For user space: index of a device's queue in `queues`, plus 1; 0 before its first event. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices, set before the load */
	__type(key, __u32);
	__type(value, __u64);
} queue_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* devices x shards, set before the load */
	__type(key, __u32);
	__type(value, struct device_stats);
} devices SEC(".maps");

struct elevator_of {
	__u64 queue;
	__u64 elevator; /* value of elevator_of_queue, or only its upper half */
};

/* The last switch of each queue: if several CPUs see it at once, only one of them adds the key. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* four times the devices, set before the load */
	__type(key, struct elevator_of);
	__type(value, __u8);
} elevators SEC(".maps");

static __always_inline void add(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

/* For counters of a shard that only one program updates. */
#define add_alone(counter, n)                                                                                \
	do {                                                                                                 \
		if (counts_alone)                                                                            \
			*(counter) += (n);                                                                   \
		else                                                                                         \
			__sync_fetch_and_add(counter, n);                                                    \
	} while (0)

/*
 * Identifies an elevator in one word: its address and the inode number of its sysfs directory. A new
 * elevator often gets the address of the one that it replaces; the inode numbers repeat after 2^31 others.
 * The number is missing until the directory exists, which since 559dc11143eb ("block: move
 * elv_register[unregister]_queue out of elevator_lock", 6.16) may be after the first requests; but then the
 * old elevator still exists too, at another address.
 */
static __always_inline __u64 elevator_of_queue(struct request_queue *q)
{
	struct elevator_queue *elevator = q->elevator;
	struct kernfs_node *directory;
	__u64 word;

	if (!elevator)
		return 0;
	word = ((__u64)elevator - (__u64)q) >> 3 << 32; /* the verifier only allows differences of pointers */
	directory = elevator->kobj.sd;
	return directory ? word | (__u32)directory->id : word;
}

/* First event of a queue; or its id was reused by another queue, or the queue has another disk. */
static __noinline int resolve(struct queue *entry, struct request_queue *q, struct gendisk *disk)
{
	struct target *target;
	__u32 id, dev;
	__u64 place;

	if (!entry || !q)
		return 0;
	id = q->id;
	place = (__u64)id + 1;
	dev = disk ? dev_of_disk(disk) : dev_of_queue(q);
	if (!dev)
		return 0;
	target = bpf_map_lookup_elem(&targets, &dev);
	entry->traced = target != 0;
	if (target) {
		entry->target = *target;
		if (target->hardware_queues) /* no head of others */
			bpf_map_update_elem(&queue_places, &target->slot, &place, BPF_ANY);
	}
	entry->elevator = elevator_of_queue(q);
	entry->epoch_ns = 0;
	entry->switches = 0;
	entry->disk = disk ? identity_of_disk(disk) : 0;
	entry->address = (__u64)q;
	return 0;
}

/*
 * A queue only gets another disk while no request is in flight: its requests belong to the disk of the last
 * bio.
 */
static __always_inline struct queue *queue_of_request(struct request *rq)
{
	struct request_queue *q = rq->q;
	__u32 id = q->id;
	struct queue *entry = bpf_map_lookup_elem(&queues, &id);

	if (entry && entry->address != (__u64)q)
		resolve(entry, q, disk_of_request(rq));
	return entry && entry->traced ? entry : 0;
}

static __always_inline struct queue *queue_of_bio(struct bio *bio)
{
	struct gendisk *disk = disk_of_bio(bio);
	struct request_queue *q = disk->queue;
	__u32 id = q->id;
	struct queue *entry = bpf_map_lookup_elem(&queues, &id);

	if (entry && (entry->address != (__u64)q || entry->disk != identity_of_disk(disk)))
		resolve(entry, q, disk);
	return entry && entry->traced ? entry : 0;
}

static __always_inline __u32 shard_on(const struct queue *queue, __u32 cpu)
{
	return queue->target.slot * shards + (cpu & (shards - 1));
}

/* Call it once per event: before 6.10 bpf_get_smp_processor_id is a function call. */
static __always_inline __u32 shard_of(const struct queue *queue)
{
	return shard_on(queue, bpf_get_smp_processor_id());
}

static __always_inline struct device_stats *device_at(__u32 shard)
{
	return bpf_map_lookup_elem(&devices, &shard);
}

static __always_inline struct device_stats *device_of(const struct queue *queue)
{
	return device_at(shard_of(queue));
}

/* Decides by adding the key: of several CPUs that see a switch at once, exactly one returns true. */
static __always_inline bool is_first_to_see(__u64 q, __u64 was, __u64 is)
{
	struct elevator_of key = {.queue = q, .elevator = is};
	bool is_elsewhere = was >> 32 != is >> 32;
	__u8 seen = 1;

	if (is_elsewhere)
		key.elevator = is >> 32 << 32; /* the directory's number may not be visible on all CPUs yet */
	if (bpf_map_update_elem(&elevators, &key, &seen, BPF_NOEXIST))
		return false;
	key.elevator = was;
	bpf_map_delete_elem(&elevators, &key);
	key.elevator = was >> 32 << 32;
	if (is_elsewhere)
		bpf_map_delete_elem(&elevators, &key);
	return true;
}

/*
 * The queue is frozen and empty while its scheduler changes, and no request starts meanwhile. The first
 * request afterwards sets the epoch: if it did not wait, the change was over when it was queued; otherwise
 * it waited for the change, as did all bios that were queued before it started.
 */
static __noinline int elevator_differs(struct queue *queue, __u64 q, __u64 is, __u64 start_ns)
{
	__u64 was;

	if (!queue)
		return 0;
	was = queue->elevator;
	if (was >> 32 == is >> 32) {
		if (was == is || !(__u32)is)
			return 0; /* another CPU was faster, or only the directory is being created or removed */
	}
	queue->elevator = is;
	if (was == is >> 32 << 32)
		return 0; /* the directory was created */
	if (is_first_to_see(q, was, is)) {
		queue->epoch_ns = start_ns;
		__sync_fetch_and_add(&queue->switches, 1);
	}
	return 0;
}

static __always_inline void follow_scheduler(struct queue *queue, struct request_queue *q, __u64 start_ns)
{
	__u64 is = elevator_of_queue(q);

	if (queue->elevator != is)
		elevator_differs(queue, (__u64)q, is, start_ns);
}

#endif
