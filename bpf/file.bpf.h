/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which file a bio belongs to: known from the function that the submitter will have called at its end, which tells what the
 * bio's private data is, or from the page cache.
 */
#ifndef IOSCHED_FILE_BPF_H
#define IOSCHED_FILE_BPF_H

/* Tell the files of a process apart; set before the load. */
const volatile bool with_files;

/*
 * Addresses of the functions that bios call at their end. User space sets them before the load if it tells files apart; the address of
 * a function in a module that is not loaded is 0. They are no __ksym symbols: for those libbpf reads all of /proc/kallsyms at each load.
 */
struct end_functions {
	__u64 iomap_dio_bio_end_io; /* direct I/O: ext4, xfs, f2fs */
	__u64 dio_bio_end_io; /* of other file systems */
	__u64 dio_bio_end_aio;
	__u64 f2fs_dio_end_io; /* of f2fs before 5.17 */
	__u64 blkdev_bio_end_io; /* direct I/O of a block device */
	__u64 blkdev_bio_end_io_async;
	__u64 blkdev_bio_end_io_simple;
	__u64 btrfs_simple_end_io;
	__u64 btrfs_orig_write_end_io;
	__u64 xlog_bio_end_io;
	__u64 xfs_buf_bio_end_io;
	__u64 end_swap_bio_write;
	__u64 end_swap_bio_read;
	/* A buffer of ext4's fast commits, and one of jbd2's journal: the bio's function, or before 7.2 that of the buffer head whose bio it is. */
	__u64 journal_end_buffer_io_sync;
	__u64 ext4_end_buffer_io_sync;
	__u64 end_bio_bh_io_sync;
	__u64 bio_wait_end_io; /* the submitter waits; submit_bio_wait_endio before 7.2 */
	__u64 submit_bio_wait_endio;
	__u64 bio_chain_endio; /* the first part of a bio that was split */
};

const volatile struct end_functions end_functions;

/* Beside FILE_INODE. */
enum inode_source {
	BY_PAGES = 0x100, /* the pages are this inode's: of the page cache, or memory that a program mapped */
	BY_WAIT = 0x200, /* the submitter waits for the bio: hardly the page cache */
	KINDS = 0xff,
};

/* What is read of a bio's file with each request. */
struct file_of_bio {
	__u64 inode; /* its address; 0 if there is none */
	__u64 number;
	__u32 kind; /* enum file_kind; FILE_INODE with its source until it is known of what kind the inode is */
	__u32 generation;
};

/* The path of each owner's file. It has one element where the probe does not tell files apart. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* owners, if used; set before the load */
	__type(key, __u32);
	__type(value, struct file_path);
} file_paths SEC(".maps");

/* User space raises it when it gives the rows of owners that still run to others. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} owner_epoch SEC(".maps");

static __always_inline __u64 epoch_of_owners(void)
{
	__u32 only = 0;
	__u64 *epoch = bpf_map_lookup_elem(&owner_epoch, &only);

	return epoch ? *epoch : 0;
}

#define ends_by(end_io, function) (end_functions.function && (end_io) == end_functions.function)

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

enum {
	BTRFS_MAGIC = 0x9123683e,
	F2FS_MAGIC = 0xf2f52010,
};

static __always_inline __u64 magic_of(struct inode *inode)
{
	return BPF_CORE_READ(inode, i_sb, s_magic);
}

/*
 * Direct I/O of f2fs before 5.17 has a structure of its own that begins with the inode. Its module's types may be unknown: they
 * have no BTF before 5.11.
 */
static __always_inline __u64 inode_of_f2fs(void *private)
{
	struct inode *inode = 0;

	if (bpf_probe_read_kernel(&inode, sizeof(inode), private) || !inode)
		return 0;
	return magic_of(inode) == F2FS_MAGIC ? (__u64)inode : 0;
}

static __always_inline bool is_journal_buffer(void *buffer)
{
	__u64 end_io;

	if (!bpf_core_field_exists(((struct buffer_head *)buffer)->b_end_io))
		return false;
	end_io = (__u64)BPF_CORE_READ((struct buffer_head *)buffer, b_end_io);
	return ends_by(end_io, journal_end_buffer_io_sync) || ends_by(end_io, ext4_end_buffer_io_sync);
}

/* The inode of a direct I/O, or of btrfs. 0: none. */
static __always_inline __u64 inode_by_end(struct bio *bio, __u64 end_io, void *private)
{
	if (ends_by(end_io, iomap_dio_bio_end_io))
		return inode_of_file(BPF_CORE_READ((struct iomap_dio *)private, iocb));
	if (ends_by(end_io, btrfs_simple_end_io) || ends_by(end_io, btrfs_orig_write_end_io))
		return inode_of_btrfs(bio);
	if (ends_by(end_io, f2fs_dio_end_io))
		return inode_of_f2fs(private);
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
	if (ends_by(end_io, xlog_bio_end_io) || ends_by(end_io, journal_end_buffer_io_sync) ||
	    ends_by(end_io, ext4_end_buffer_io_sync))
		return FILE_JOURNAL;
	if (ends_by(end_io, xfs_buf_bio_end_io))
		return FILE_METADATA;
	if (ends_by(end_io, end_swap_bio_write) || ends_by(end_io, end_swap_bio_read))
		return FILE_SWAP;
	if (ends_by(end_io, end_bio_bh_io_sync) && is_journal_buffer(private))
		return FILE_JOURNAL;
	return FILE_NONE;
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
	file->generation = 0;
	if (!bio->bi_iter.bi_size || (bio->bi_opf & REQ_OP_MASK) > REQ_OP_WRITE)
		return 0; /* it moves no data: an empty flush, a discard */
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
	if (file->inode) {
		file->kind = FILE_INODE;
	} else if (file->kind == FILE_NONE) {
		bool waits = ends_by(end_io, bio_wait_end_io) || ends_by(end_io, submit_bio_wait_endio);

		file->inode = inode_of_bio(bio);
		if (file->inode)
			file->kind = FILE_INODE | BY_PAGES | (waits ? BY_WAIT : 0);
		else /* memory of the program: a small direct I/O of a block device */
			file->kind = waits && is_anonymous(bio) ? FILE_BLOCK_DEVICE : FILE_UNKNOWN;
	}
	if (file->inode) {
		struct inode *inode = (void *)file->inode;

		file->number = BPF_CORE_READ(inode, i_ino);
		file->generation = BPF_CORE_READ(inode, i_generation);
	}
	return 0;
}

static __always_inline struct block_device *device_of_inode(struct inode *inode)
{
	return (void *)((__u64)inode - bpf_core_field_offset(struct bdev_inode, vfs_inode));
}

/* Whether a file system holds the device: no other holder but a program that has opened it alone, as mkfs does. */
static __always_inline bool has_file_system(struct block_device *device, struct inode *inode)
{
	struct file *holder = BPF_CORE_READ(device, bd_holder);

	return holder && BPF_CORE_READ(holder, f_mapping, host) != inode;
}

/* The tree of btrfs that has the inode: each subvolume has inodes of its own. 0 if it is not known. */
static __always_inline __u64 tree_of(struct inode *inode)
{
	struct btrfs_inode *outer = 0;

	if (!bpf_core_field_exists(outer->root))
		return 0;
	outer = (void *)((__u64)inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode));
	return BPF_CORE_READ(outer, root, root_key.objectid);
}

enum { FIRST_DATA_TREE = 5 }; /* those before are btrfs' own */
enum { F2FS_ROOT_INODE = 3 }; /* those before are f2fs' own */

/* Whether it is an inode that a file system keeps for itself. `tree`: that of btrfs which has it. */
static __always_inline bool is_of_metadata(__u64 magic, __u64 number, __u64 tree)
{
	if (magic == F2FS_MAGIC)
		return number < F2FS_ROOT_INODE;
	return tree && tree < FIRST_DATA_TREE;
}

/*
 * Whether the inode can be what the bio is about. Direct I/O may use memory that the program has mapped from a file elsewhere:
 * the submitter waits for it, or it comes through device mapper or md.
 */
static __always_inline bool is_of_bio(struct block_device *device, bool is_btrfs, __u32 kind, struct bio *bio)
{
	if (!(kind & BY_PAGES))
		return true;
	if (!(kind & BY_WAIT))
		return device || is_btrfs; /* neither: shared memory */
	return device && BPF_CORE_READ(device, bd_disk) == disk_of_bio(bio);
}

/* What identifies the file of an owner. */
static __always_inline void name_file(struct owner_key *key, const struct file_of_bio *file, struct bio *bio)
{
	struct inode *inode = (void *)file->inode;
	struct block_device *device;
	bool is_btrfs;
	__u32 format;
	__u64 magic, tree;

	key->file_kind = file->kind & KINDS;
	if (key->file_kind != FILE_INODE)
		return;
	format = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	device = format == S_IFBLK ? device_of_inode(inode) : BPF_CORE_READ(inode, i_sb, s_bdev);
	magic = magic_of(inode);
	is_btrfs = magic == BTRFS_MAGIC;
	tree = is_btrfs ? tree_of(inode) : 0;
	if (!is_of_bio(device, is_btrfs, file->kind, bio)) {
		key->file_kind = file->kind & BY_WAIT ? FILE_BLOCK_DEVICE : FILE_UNKNOWN;
	} else if (format == S_IFBLK) {
		key->file_kind = has_file_system(device, inode) ? FILE_METADATA : FILE_BLOCK_DEVICE;
	} else if (format != S_IFREG || is_of_metadata(magic, file->number, tree)) {
		key->file_kind = FILE_METADATA; /* directories, too */
	} else {
		key->inode = file->number;
		key->file_instance = tree << 32 | file->generation;
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
	__u32 parts = 0;

	if (!path || !file)
		return 0;
	path->parts = 0;
	path->is_cut = 0;
	if ((file->kind & KINDS) != FILE_INODE)
		return 0;
	dentry = dentry_of((void *)file->inode);
#pragma unroll
	for (__u32 part = 0; part < PATH_PARTS; part++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		const void *name;

		if (!dentry || dentry == parent)
			break;
		name = BPF_CORE_READ(dentry, d_name.name);
		bpf_probe_read_kernel_str(path->part[part], sizeof(path->part[part]), name);
		parts = part + 1;
		dentry = parent;
	}
	path->is_cut = parts == PATH_PARTS && dentry != BPF_CORE_READ(dentry, d_parent);
	/* User space may look meanwhile: it sees all of them or none. */
	asm volatile("" ::: "memory");
	*(volatile __u32 *)&path->parts = parts;
	return 0;
}

#endif
