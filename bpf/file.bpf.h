/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which file a bio belongs to: known from the function that the submitter will have called at its end, which tells what the
 * bio's private data is, or from the page cache.
 */
#ifndef IOSCHED_FILE_BPF_H
#define IOSCHED_FILE_BPF_H

/* Tell the files of a process apart; set before the load. */
const volatile bool with_files;

/* What bios do at their end. Those of modules that are not loaded are 0. */
extern const void iomap_dio_bio_end_io __ksym __weak; /* direct I/O: ext4, xfs, f2fs */
extern const void dio_bio_end_io __ksym __weak; /* of other file systems, and of f2fs before 5.17 */
extern const void dio_bio_end_aio __ksym __weak;
extern const void blkdev_bio_end_io __ksym __weak; /* direct I/O of a block device */
extern const void blkdev_bio_end_io_async __ksym __weak;
extern const void blkdev_bio_end_io_simple __ksym __weak;
extern const void btrfs_simple_end_io __ksym __weak;
extern const void btrfs_orig_write_end_io __ksym __weak;
extern const void xlog_bio_end_io __ksym __weak;
extern const void xfs_buf_bio_end_io __ksym __weak;
extern const void end_swap_bio_write __ksym __weak;
extern const void end_swap_bio_read __ksym __weak;
/* A buffer of jbd2's journal: the bio's function, or before 7.2 that of the buffer head whose bio it is. */
extern const void journal_end_buffer_io_sync __ksym __weak;
extern const void end_bio_bh_io_sync __ksym __weak;
extern const void bio_wait_end_io __ksym __weak; /* the submitter waits; submit_bio_wait_endio before 7.2 */
extern const void submit_bio_wait_endio __ksym __weak;
extern const void bio_chain_endio __ksym __weak; /* the first part of a bio that was split */

/* What is read of a bio's file with each request. */
struct file_of_bio {
	__u64 inode; /* its address; 0 if there is none */
	__u64 number;
	__u32 kind; /* enum file_kind; FILE_INODE until it is known of what kind the inode is */
};

/* By owner, if files are told apart. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* owners, if used; set before the load */
	__type(key, __u32);
	__type(value, struct file_path);
} file_paths SEC(".maps");

#define ends_by(end_io, function) (&(function) && (end_io) == (__u64) & (function))

static __always_inline __u64 inode_of_file(struct kiocb *iocb)
{
	return (__u64)BPF_CORE_READ(iocb, ki_filp, f_inode);
}

static __always_inline __u64 inode_of_btrfs(struct bio *bio)
{
	struct btrfs_bio *outer = 0;
	struct btrfs_inode *inode;

	if (!bpf_core_field_exists(outer->inode))
		return 0; /* older, or no btrfs */
	outer = (void *)((__u64)bio - bpf_core_field_offset(struct btrfs_bio, bio));
	inode = BPF_CORE_READ(outer, inode);
	return inode ? (__u64)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode) : 0;
}

static __always_inline bool is_journal_buffer(void *buffer)
{
	__u64 end_io;

	if (!bpf_core_field_exists(((struct buffer_head *)buffer)->b_end_io))
		return false;
	end_io = (__u64)BPF_CORE_READ((struct buffer_head *)buffer, b_end_io);
	return ends_by(end_io, journal_end_buffer_io_sync);
}

/* The inode of a direct I/O, or of btrfs. 0: none. */
static __always_inline __u64 inode_by_end(struct bio *bio, __u64 end_io, void *private)
{
	if (ends_by(end_io, iomap_dio_bio_end_io))
		return inode_of_file(BPF_CORE_READ((struct iomap_dio *)private, iocb));
	if (ends_by(end_io, btrfs_simple_end_io) || ends_by(end_io, btrfs_orig_write_end_io))
		return inode_of_btrfs(bio);
	if (bpf_core_field_exists(((struct dio *)private)->inode) &&
	    (ends_by(end_io, dio_bio_end_io) || ends_by(end_io, dio_bio_end_aio)))
		return (__u64)BPF_CORE_READ((struct dio *)private, inode);
	return 0;
}

static __always_inline __u32 kind_by_end(__u64 end_io, void *private)
{
	if (ends_by(end_io, blkdev_bio_end_io) || ends_by(end_io, blkdev_bio_end_io_async) ||
	    ends_by(end_io, blkdev_bio_end_io_simple))
		return FILE_BLOCK_DEVICE;
	if (ends_by(end_io, xlog_bio_end_io) || ends_by(end_io, journal_end_buffer_io_sync))
		return FILE_JOURNAL;
	if (ends_by(end_io, xfs_buf_bio_end_io))
		return FILE_METADATA;
	if (ends_by(end_io, end_swap_bio_write) || ends_by(end_io, end_swap_bio_read))
		return FILE_SWAP;
	if (ends_by(end_io, end_bio_bh_io_sync) && is_journal_buffer(private))
		return FILE_JOURNAL;
	return FILE_NONE;
}

/* A small direct I/O of a block device: the memory is the program's. */
static __always_inline bool waits_with_own_memory(struct bio *bio, __u64 end_io)
{
	return (ends_by(end_io, bio_wait_end_io) || ends_by(end_io, submit_bio_wait_endio)) &&
	       is_anonymous(bio);
}

static __noinline int file_of(struct bio *bio, struct file_of_bio *file)
{
	void *private;
	__u64 end_io;

	if (!bio || !file)
		return 0;
	file->inode = 0;
	file->number = 0;
	file->kind = FILE_NONE;
	if (!bio->bi_iter.bi_size)
		return 0; /* an empty flush */
	end_io = (__u64)bio->bi_end_io;
	private = bio->bi_private;
	file->inode = inode_by_end(bio, end_io, private);
	if (!file->inode && ends_by(end_io, bio_chain_endio)) {
		/* The rest of the bio, which knows. */
		struct bio *rest = private;

		end_io = (__u64)BPF_CORE_READ(rest, bi_end_io);
		private = BPF_CORE_READ(rest, bi_private);
		file->inode = inode_by_end(rest, end_io, private);
	}
	if (!file->inode)
		file->kind = kind_by_end(end_io, private);
	if (!file->inode && file->kind == FILE_NONE) {
		if (waits_with_own_memory(bio, end_io))
			file->kind = FILE_BLOCK_DEVICE;
		else
			file->inode = inode_of_bio(bio);
	}
	if (file->inode) {
		struct inode *inode = (void *)file->inode;

		file->kind = FILE_INODE;
		file->number = BPF_CORE_READ(inode, i_ino);
	} else if (file->kind == FILE_NONE) {
		file->kind = FILE_UNKNOWN;
	}
	return 0;
}

/* The page cache of a block device has the metadata of the file system that holds it. */
static __always_inline __u32 kind_of_device(__u64 inode)
{
	struct bdev_inode *outer = (void *)(inode - bpf_core_field_offset(struct bdev_inode, vfs_inode));

	return BPF_CORE_READ(outer, bdev.bd_holder) ? FILE_METADATA : FILE_BLOCK_DEVICE;
}

/* What identifies the file of an owner. */
static __always_inline void name_file(struct owner_key *key, const struct file_of_bio *file)
{
	struct inode *inode = (void *)file->inode;
	__u32 format;

	key->file_kind = file->kind;
	if (file->kind != FILE_INODE)
		return;
	format = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (format == S_IFBLK) {
		key->file_kind = kind_of_device(file->inode);
	} else if (format != S_IFREG) {
		key->file_kind =
			FILE_METADATA; /* directories, and the inodes that file systems keep for themselves */
	} else {
		key->inode = file->number;
		key->file_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	}
}

static __always_inline struct dentry *dentry_of(struct inode *inode)
{
	struct dentry *dentry = 0;
	__u64 node = (__u64)BPF_CORE_READ(inode, i_dentry.first);

	if (!node)
		return 0;
	if (bpf_core_field_exists(dentry->d_alias))
		return (void *)(node - bpf_core_field_offset(struct dentry, d_alias));
	return (void *)(node - bpf_core_field_offset(struct dentry___7_1, d_u));
}

/* Keeps the names of a new owner's file and of the directories above it, from the file up. */
static __noinline int keep_path(__u32 owner, const struct file_of_bio *file)
{
	struct file_path *path = bpf_map_lookup_elem(&file_paths, &owner);
	struct dentry *dentry;

	if (!path || !file)
		return 0;
	path->parts = 0;
	path->is_cut = 0;
	if (file->kind != FILE_INODE)
		return 0;
	dentry = dentry_of((void *)file->inode);
#pragma unroll
	for (__u32 part = 0; part < PATH_PARTS; part++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		const void *name;

		if (!dentry || dentry == parent)
			return 0;
		name = BPF_CORE_READ(dentry, d_name.name);
		bpf_probe_read_kernel_str(path->part[part], sizeof(path->part[part]), name);
		path->parts = part + 1;
		dentry = parent;
	}
	path->is_cut = dentry != BPF_CORE_READ(dentry, d_parent);
	return 0;
}

#endif
