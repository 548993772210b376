/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is this request queue to be traced, and where do its numbers go? One array look-up per event. */
#ifndef IOSCHED_QUEUE_BPF_H
#define IOSCHED_QUEUE_BPF_H

/* One copy of a device's counters and histograms per shard of CPUs; set before the load. */
const volatile __u32 shards = 1;

/*
 * Each CPU has its own shard, and the kernel never runs a program again on a CPU where it is already running
 * (05b24ff9b2cf, 6.1): then what a single program counts needs no locked instruction.
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

/* For user space: where a device's queue stands above, plus 1; 0 before its first event. */
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
	__u64 elevator; /* as elevator_of_queue, or its upper half alone */
};

/* The last switch of each queue: of several CPUs that see it at once only one adds the key. */
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

/* For counters of a shard that only one program adds to. */
#define add_alone(counter, n)                                                                                \
	do {                                                                                                 \
		if (counts_alone)                                                                            \
			*(counter) += (n);                                                                   \
		else                                                                                         \
			__sync_fetch_and_add(counter, n);                                                    \
	} while (0)

/*
 * Tells one elevator from those before it, in one word: its address and the number of its directory in sysfs. A new
 * elevator often gets the address of the one that it replaces; numbers come again after 2^31 others. There is none before
 * the directory, which since 559dc11143eb ("block: move elv_register[unregister]_queue out of elevator_lock", 6.16) comes
 * after the first requests; but then the old elevator is still there, too, at its own address.
 */
static __always_inline __u64 elevator_of_queue(struct request_queue *q)
{
	struct elevator_queue *elevator = q->elevator;
	struct kernfs_node *directory;
	__u64 word;

	if (!elevator)
		return 0;
	word = ((__u64)elevator - (__u64)q) >> 3 << 32; /* of pointers the verifier takes only differences */
	directory = elevator->kobj.sd;
	return directory ? word | (__u32)directory->id : word;
}

/* First event of a queue, or its id has passed to another queue, or the queue to another disk. */
static __noinline int resolve(struct queue *entry, struct request_queue *q, __u32 dev, __u32 id)
{
	struct target *target;
	__u64 place = (__u64)id + 1;

	if (!entry || !q)
		return 0;
	target = bpf_map_lookup_elem(&targets, &dev);
	entry->traced = target != 0;
	if (target) {
		entry->target = *target;
		bpf_map_update_elem(&queue_places, &target->slot, &place, BPF_ANY);
	}
	entry->elevator = elevator_of_queue(q);
	entry->epoch_ns = 0;
	entry->switches = 0;
	entry->dev = dev;
	entry->address = (__u64)q;
	return 0;
}

/* A queue's disk is known by its number: the kernel gives a new disk the memory of an old one. */
static __always_inline struct queue *traced_queue(struct request_queue *q, struct gendisk *disk)
{
	__u32 id = q->id, dev = disk ? dev_of_disk(disk) : 0;
	struct queue *entry = bpf_map_lookup_elem(&queues, &id);

	if (!entry)
		return 0;
	if (entry->address != (__u64)q || (dev && entry->dev != dev)) {
		if (!dev)
			dev = dev_of_queue(q);
		if (!dev)
			return 0;
		resolve(entry, q, dev, id);
	}
	return entry->traced ? entry : 0;
}

static __always_inline struct queue *queue_of_request(struct request *rq)
{
	return traced_queue(rq->q, disk_of_request(rq));
}

static __always_inline struct queue *queue_of_bio(struct bio *bio)
{
	struct gendisk *disk = disk_of_bio(bio);

	return traced_queue(disk->queue, disk);
}

/* Asked for once in an event: before 6.10 it is a call. */
static __always_inline __u32 shard_of(const struct queue *queue)
{
	return queue->target.slot * shards + (bpf_get_smp_processor_id() & (shards - 1));
}

static __always_inline struct device_stats *device_at(__u32 shard)
{
	return bpf_map_lookup_elem(&devices, &shard);
}

static __always_inline struct device_stats *device_of(const struct queue *queue)
{
	return device_at(shard_of(queue));
}

/* Each adds its own key first: of several CPUs that see a switch at once only one is told that it is new. */
static __always_inline bool is_first_to_see(__u64 q, __u64 was, __u64 is)
{
	struct elevator_of key = {.queue = q, .elevator = is};
	bool is_elsewhere = was >> 32 != is >> 32;
	__u8 seen = 1;

	if (is_elsewhere)
		key.elevator = is >> 32 << 32; /* the number may not be there yet for all who look */
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
 * The queue is empty when its scheduler changes, and nothing starts meanwhile. The first request after it tells: if it
 * came at once the change was over, else it waited for it, and so did all that were asked for before it started.
 */
static __noinline int elevator_differs(struct queue *queue, __u64 q, __u64 is, __u64 start_ns)
{
	__u64 was;

	if (!queue)
		return 0;
	was = queue->elevator;
	if (was >> 32 == is >> 32) {
		if (was == is || !(__u32)is)
			return 0; /* another CPU was faster; or the directory is about to come, or to go */
	}
	queue->elevator = is;
	if (was == is >> 32 << 32)
		return 0; /* the directory has come */
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
