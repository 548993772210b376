/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds to the sums what a record that found its ring full would have added: counts, bytes and sums of times stay exact, and
 * only its latencies are missing in the histograms. By the same rules as user space counts the records that it reads
 * (src/result/measured/ledger.rs); a test compares the two.
 */
#ifndef IOSCHED_UNRECORDED_BPF_H
#define IOSCHED_UNRECORDED_BPF_H

/* Whether Q is measured; otherwise the queue wait is G2D. */
const volatile bool with_q;

/* A plain store: if two CPUs race, one maximum may be lost, but no false one appears. */
static __always_inline void raise(__u64 *maximum, __u64 ns)
{
	if (ns > *maximum)
		*maximum = ns;
}

static __always_inline bool is_negative(struct device_stats *device, __u64 later, __u64 earlier)
{
	if (later >= earlier)
		return false;
	add(&device->negative, 1);
	return true;
}

/* The parts of the queue wait; `q_ns` is 0 if Q is not known. */
static __always_inline void count_parts(struct waits *waits, const struct record *record, __u64 q_ns)
{
	__u64 g_ns = record->g_ns, i_ns = record->i_ns;

	if (q_ns)
		add(&waits->q2g_ns, g_ns - q_ns);
	if (q_ns && !(record->flags & RECORD_SLEPT))
		add(&waits->allocation_ns, g_ns - q_ns);
	if (i_ns < g_ns || i_ns > record->d_ns)
		return;
	add(&waits->plug_ns, i_ns - g_ns);
	add(&waits->scheduler_ns, record->d_ns - i_ns);
}

/* Q2D: from queued to issued. False if the wait is not known. */
static __always_inline bool count_wait(struct device_stats *device, struct op_counters *of_device,
				       struct owner *owner, struct owner_op *of_owner,
				       const struct record *record)
{
	__u64 q = record->q_ns, g = record->g_ns, d = record->d_ns;
	__u64 wait;

	if (!d || !g || is_negative(device, d, g))
		return false;
	if (record->flags & RECORD_PREFLUSH) {
		/* This is a wait for the flush, not for the scheduler. */
		add(&device->preflushes, 1);
		add(&device->preflush_ns, d - g);
		add(&owner->preflushes, 1);
		add(&of_owner->flush_ns, d - g);
		return false;
	}
	if (q && is_negative(device, g, q))
		q = 0;
	if (!q && record->op < DATA_OPS && with_q)
		return false; /* Q2G is missing */
	wait = d - (q ? q : g);
	count_parts(&device->waits, record, q);
	count_parts(&owner->waits, record, q);
	add(&of_device->waits, 1);
	add(&of_device->q2d_ns, wait);
	add(&of_owner->q2d_ns, wait);
	raise(&of_owner->q2d_max_ns, wait);
	return true;
}

/* D2C, from the first issue to the completion of the data. */
static __always_inline __u64 count_service(struct device_stats *device, struct op_counters *of_device,
					   struct owner_op *of_owner, const struct record *record)
{
	__u64 service;

	if (!record->d_ns || is_negative(device, record->data_ns, record->d_ns))
		return 0;
	service = record->data_ns - record->d_ns;
	add(&of_device->d2c_ns, service);
	if (of_owner) {
		add(&of_owner->d2c_ns, service);
		raise(&of_owner->d2c_max_ns, service);
	}
	return service;
}

static __always_inline void count_rest(struct device_stats *device, struct op_counters *of_device,
				       struct owner_op *of_owner, const struct record *record, __u64 service)
{
	__u64 after_ns = record->c_ns - record->data_ns;

	if (record->q_ns && !is_negative(device, record->c_ns, record->q_ns)) {
		add(&of_device->q2c_ns, record->c_ns - record->q_ns);
		if (record->op == OP_FLUSH)
			add(&of_owner->flush_ns, record->c_ns - record->q_ns);
	}
	if (record->flags & RECORD_POSTFLUSH) {
		add(&device->postflushes, 1);
		add(&device->postflush_ns, after_ns);
		add(&of_owner->flush_ns, after_ns);
	}
	if (record->op == OP_WRITE_SYNC && record->flags & RECORD_JOURNAL) {
		add(&device->journal_ios, 1);
		add(&device->journal_ns, service); /* service is 0 if the issue was not seen */
	}
	if (!record->owner && record->g_ns)
		add(&device->owner_overflow, 1);
	if (!record->d_ns && record->bytes)
		add(&device->unissued, 1);
}

static __noinline int count_unrecorded(struct device_stats *device, const struct record *record)
{
	struct op_counters *of_device;
	struct owner_op *of_owner;
	struct owner *owner;
	__u64 service;
	__u32 op;

	if (!device || !record)
		return 0;
	op = record->op;
	owner = bpf_map_lookup_elem(&owners, &record->owner);
	if (!owner || op >= OP_COUNT)
		return 0;
	if (record->flags & RECORD_STRADDLER) {
		add(&device->straddlers, 1);
		add(&device->straddler_bytes, record->bytes);
		return 0;
	}
	add(&device->unrecorded, 1);
	of_device = &device->op[op];
	if (record->flags & RECORD_FLUSH_COMMAND) {
		add(&of_device->ios, 1);
		count_service(device, of_device, 0, record);
		return 0;
	}
	of_owner = &owner->op[op];
	add(&owner->unrecorded, 1);
	if (op == OP_FLUSH) {
		add(&device->flush_requests, 1); /* the flush command counts as the I/O */
	} else {
		add(&of_device->ios, 1);
		add(&of_device->bytes, record->bytes);
	}
	add(&of_owner->ios, 1);
	add(&of_owner->bytes, record->bytes);
	if (record->bios > 1) {
		add(&of_device->more_bios, record->bios - 1);
		add(&of_owner->more_bios, record->bios - 1);
	}
	service = count_service(device, of_device, of_owner, record);
	if (!count_wait(device, of_device, owner, of_owner, record)) {
		add(&of_owner->unwaited, 1);
		add(&of_owner->unwaited_d2c_ns, service);
	}
	count_rest(device, of_device, of_owner, record, service);
	return 0;
}

#endif
