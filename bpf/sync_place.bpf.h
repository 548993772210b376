/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which file system a system call or a wait is for. */
#ifndef IOSCHED_SYNC_PLACE_BPF_H
#define IOSCHED_SYNC_PLACE_BPF_H

/* The kernel's number of the device below the inode's file system, or of the device that the inode is. */
static __always_inline __u64 place_of(struct inode *inode)
{
	if (!inode)
		return SYNC_ANYWHERE;
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK)
		return BPF_CORE_READ(inode, i_rdev);
	return BPF_CORE_READ(inode, i_sb, s_dev);
}

/* By these names user space finds file systems; a number is never given again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SYNC_BDIS);
	__type(key, __u32); /* number of the backing_dev_info */
	__type(value, struct sync_bdi);
} sync_bdis SEC(".maps");

static __noinline int keep_name(struct backing_dev_info *bdi, __u32 number)
{
	struct sync_bdi fresh = {};

	if (bpf_map_lookup_elem(&sync_bdis, &number))
		return 0;
	BPF_CORE_READ_STR_INTO(&fresh.name, bdi, dev_name);
	bpf_map_update_elem(&sync_bdis, &number, &fresh, BPF_NOEXIST);
	return 0;
}

static __always_inline __u64 place_of_bdi(struct backing_dev_info *bdi)
{
	__u32 dev = BPF_CORE_READ(bdi, owner, devt); /* of its disk */
	__u32 number;

	if (dev)
		return dev;
	number = BPF_CORE_READ(bdi, id);
	keep_name(bdi, number);
	return (__u64)SYNC_BDI << 32 | number;
}

/* The first argument of a system call. */
static __always_inline __u64 first_argument(void *regs)
{
	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->di))
		return BPF_CORE_READ((struct pt_regs___x86 *)regs, di);
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->orig_x0))
		return BPF_CORE_READ((struct pt_regs___arm64 *)regs, orig_x0);
	if (bpf_core_field_exists(((struct pt_regs___s390 *)0)->orig_gpr2))
		return BPF_CORE_READ((struct pt_regs___s390 *)regs, orig_gpr2);
	if (bpf_core_field_exists(((struct pt_regs___powerpc *)0)->orig_gpr3))
		return BPF_CORE_READ((struct pt_regs___powerpc *)regs, orig_gpr3);
	if (bpf_core_field_exists(((struct pt_regs___riscv *)0)->orig_a0))
		return BPF_CORE_READ((struct pt_regs___riscv *)regs, orig_a0);
	return ~0ULL;
}

/* Whether a thread that leaves a system call leaves this one; where it is not known, it does. */
static __always_inline bool is_of_call(void *regs, __u32 call)
{
	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		return (__u32)BPF_CORE_READ((struct pt_regs___x86 *)regs, orig_ax) == call;
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno))
		return (__u32)BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno) == call;
	return true;
}

/* The open file with this number. The kernel ignores the upper half of the register, too. */
static __always_inline struct inode *inode_of_descriptor(struct task_struct *task, __u32 descriptor)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = 0;

	if (descriptor >= BPF_CORE_READ(table, max_fds))
		return 0;
	if (bpf_probe_read_kernel(&file, sizeof(file), files + descriptor) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode);
}

/* Whether the system call is one of a 32-bit program, whose numbers mean other calls. */
static __always_inline bool is_compat(struct task_struct *task)
{
	struct task_struct___compat *older = (void *)task;

	enum { TS_COMPAT = 2, ARM64_TIF_32BIT = 22 };

	if (bpf_core_field_exists(older->thread_info.status))
		return BPF_CORE_READ(older, thread_info.status) & TS_COMPAT;
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->orig_x0))
		return BPF_CORE_READ(older, thread_info.flags) >> ARM64_TIF_32BIT & 1;
	return false;
}

#endif
