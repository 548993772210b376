/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Minimal declarations of kernel structures: only the fields that are read; CO-RE relocates their offsets.
 */
#ifndef IOSCHED_BLOCK_BPF_H
#define IOSCHED_BLOCK_BPF_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
typedef __u64 sector_t;

/* UAPI constants, stable. */
enum bpf_map_type_used {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum bpf_flags_used {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_FAST_STACK_CMP = 1U << 9,
	BPF_F_MMAPABLE = 1U << 10,
	BPF_RB_NO_WAKEUP = 1,
};

/* Request operations and flags with the same values since 5.10. */
enum req_op_used {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_FIRST_PASSTHROUGH = 32, /* the driver's own operations */
	REQ_OP_MASK = 0xff,
	REQ_SYNC = 1U << 11,
	REQ_META = 1U << 12,
	REQ_FUA = 1U << 17,
	REQ_PREFLUSH = 1U << 18,
	REQ_NOWAIT = 1U << 21,
};

enum inode_modes_used {
	S_IFMT = 0170000,
	S_IFREG = 0100000,
	S_IFBLK = 0060000,
};

enum task_flags_used {
	PF_EXITING = 0x00000004,
	PF_IO_WORKER = 0x00000010, /* worker and SQ polling threads of io_uring */
	PF_WQ_WORKER = 0x00000020,
	PF_KTHREAD = 0x00200000,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	__u64 serial_nr; /* unique, never reused */
};
struct blkcg {
	struct cgroup_subsys_state css;
};
struct blkcg_gq {
	struct blkcg *blkcg;
};

struct request_queue;
struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
	__u64 diskseq;
};
struct kobject {
	struct kernfs_node *sd;
};
struct elevator_queue {
	struct kobject kobj;
};
struct request_queue {
	int id;
	struct gendisk *disk;
	struct elevator_queue *elevator;
};
struct block_device {
	struct gendisk *bd_disk;
	void *bd_holder;
};
struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev;
};
struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned int i_rdev;
	unsigned long i_ino;
	unsigned int i_generation;
	struct hlist_head i_dentry;
};
struct bdev_inode {
	struct block_device bdev;
	struct inode vfs_inode;
};
struct qstr {
	unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct hlist_node d_alias;
};
struct address_space;
struct file {
	struct inode *f_inode;
	struct address_space *f_mapping;
};
struct address_space {
	struct inode *host;
};
struct fdtable {
	unsigned int max_fds;
	void *fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct page {
	unsigned long compound_head;
	unsigned long compound_info;
	struct address_space *mapping;
};
struct bio_vec {
	struct page *bv_page;
};
struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
};
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_ioprio;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
	void *bi_end_io;
	void *bi_private;
};
struct kiocb {
	struct file *ki_filp;
};
struct iomap_dio {
	struct kiocb *iocb;
};
struct dio {
	struct inode *inode;
};
struct buffer_head {
	void *b_end_io;
};
struct btrfs_key {
	__u64 objectid;
};
struct btrfs_root {
	struct btrfs_key root_key;
};
struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
};
struct btrfs_bio {
	struct btrfs_inode *inode;
	struct bio bio;
};
struct blk_mq_hw_ctx {
	unsigned int queue_num;
};
struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	int tag;
	int internal_tag;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
	struct bio *biotail;
};
struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	int *set_child_tid;
	void *worker_private;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 self_exec_id;
	__u64 start_boottime;
	struct task_struct *group_leader;
	char comm[16];
	unsigned int __state;
	struct files_struct *files;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* null at the end */
};

struct kthread {
	void *data;
};
struct worker {
	char desc[32]; /* 24 before 6.13 */
};

/* io_uring: the current work of a worker thread is embedded in a request. */
struct io_wq_work_node {
	struct io_wq_work_node *next;
};
struct io_wq_work {
	struct io_wq_work_node list;
};
struct io_worker {
	struct io_wq_work *cur_work;
};
struct io_kiocb {
	struct io_wq_work work;
};

struct device {
	unsigned int devt;
};
struct backing_dev_info {
	__u64 id;
	struct device *owner;
	char dev_name[64];
};
struct bdi_writeback {
	struct backing_dev_info *bdi;
};

/* Layouts of older kernels, see compat.bpf.h. */
struct request_queue___5_10 {
	struct backing_dev_info *backing_dev_info;
};
struct request___5_10 {
	struct gendisk *rq_disk;
};
struct task_struct___5_13 {
	long state;
};
struct task_struct___5_12 {
	void *pf_io_worker;
};
struct dentry___7_1 {
	struct hlist_node d_u;
};
struct bio___5_10 {
	struct gendisk *bi_disk;
};

/* What only some architectures have, see sync.bpf.c. */
struct pt_regs___x86 {
	unsigned long di;
	unsigned long orig_ax;
};
struct pt_regs___arm64 {
	__u64 orig_x0;
	int syscallno;
};
struct pt_regs___s390 {
	unsigned long orig_gpr2;
};
struct pt_regs___powerpc {
	unsigned long orig_gpr3;
};
struct pt_regs___riscv {
	unsigned long orig_a0;
};
struct thread_info___compat {
	unsigned long flags;
	unsigned int status;
};
struct task_struct___compat {
	struct thread_info___compat thread_info;
};

#pragma clang attribute pop

#endif
