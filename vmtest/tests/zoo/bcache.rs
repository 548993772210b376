//! bcache over two disks, made without bcache-tools, whose rules for udev the host would get too.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use iosched_host::system::device::Device;
use iosched_vmtest::{run, set};

const SECTOR_BYTES: u64 = 512;
const PLACE_SECTORS: u64 = 8;
const BLOCK_SECTORS: u16 = 8;
/// Small, since bcache refuses a disk of 512 buckets or fewer.
const BUCKET_SECTORS: u16 = 256;
/// Offset of the data on the backing disk, on which bcache's own sectors come first.
const DATA_SECTORS: u64 = 16;
const MAGIC: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
/// The one set of the tests.
const SET: u8 = 0xcc;

#[derive(Clone, Copy)]
enum Role {
    Cache,
    Backing,
}

/// A disk that reads and writes through a cache, in its default mode: writes go to both disks.
pub struct Bcache {
    pub name: String,
}

impl Bcache {
    pub fn of(cache: &Device, backing: &Device) -> Self {
        run("modprobe", &["bcache"]);
        for (disk, role) in [(cache, Role::Cache), (backing, Role::Backing)] {
            format(disk, role).unwrap_or_else(|error| panic!("{}: {error}", disk.name));
            set(
                "/sys/fs/bcache/register",
                &disk.node().display().to_string(),
            );
        }
        // An emulated disk is so late at times that bcache would pass by its cache.
        for threshold in [
            "congested_read_threshold_us",
            "congested_write_threshold_us",
        ] {
            set(&format!("/sys/fs/bcache/{}/{threshold}", uuid(SET)), "0");
        }
        let holder = backing.holders().pop();
        let name = holder.expect("bcache takes the backing disk");
        assert!(cache.holders().contains(&name), "it has its cache");
        Bcache { name }
    }

    /// Data that is read for the first time is put into the cache a moment after it was handed out.
    pub fn until_it_is_filled(&self) {
        let mut earlier = String::new();
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(200));
            let now = fs::read_to_string("/proc/diskstats").expect("counters");
            if now == earlier {
                return;
            }
            earlier = now;
        }
        panic!("{} still writes", self.name);
    }
}

impl Drop for Bcache {
    fn drop(&mut self) {
        let own = Path::new("/sys/block").join(&self.name);
        let _ = fs::write(own.join("bcache/stop"), "1");
        let set = Path::new("/sys/fs/bcache").join(uuid(SET));
        let _ = fs::write(set.join("stop"), "1");
        for _ in 0..200 {
            if !own.exists() && !set.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn uuid(byte: u8) -> String {
    [8, 4, 4, 4, 12]
        .map(|digits| format!("{byte:02x}").repeat(digits / 2))
        .join("-")
}

/// Writes a superblock: `struct cache_sb_disk` of the kernel, without its journal, which a new cache does not have yet.
fn format(disk: &Device, role: Role) -> io::Result<()> {
    let sectors = disk.size_bytes().expect("a size") / SECTOR_BYTES;
    let buckets = sectors / u64::from(BUCKET_SECTORS);
    let (version, own, size) = match role {
        Role::Cache => (0, 0xca, buckets),
        Role::Backing => (1, 0xba, DATA_SECTORS),
    };
    let mut block = Vec::new();
    for number in [PLACE_SECTORS, version] {
        block.extend(number.to_le_bytes());
    }
    block.extend(MAGIC);
    block.extend([own; 16]);
    block.extend([SET; 16]);
    block.extend([0; 32 + 10 * 8]); // label, flags, sequence number, features
    block.extend(size.to_le_bytes());
    // The first of one cache; mounted never; its first bucket, since 0 has this block; no journal.
    for number in [BLOCK_SECTORS, BUCKET_SECTORS, 1, 0, 0, 0, 1, 0] {
        block.extend(number.to_le_bytes());
    }
    let whole = [&checksum(&block).to_le_bytes()[..], &block].concat();
    let file: File = OpenOptions::new().write(true).open(disk.node())?;
    file.write_all_at(&whole, PLACE_SECTORS * SECTOR_BYTES)?;
    file.sync_all()
}

/// The kernel's `crc64_be`, inverted before and after.
fn checksum(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x42F0_E1EB_A9EA_3693;
    !bytes.iter().fold(!0, |sum: u64, byte| {
        (0..8).fold(sum ^ (u64::from(*byte) << 56), |sum, _| {
            (sum << 1) ^ if sum >> 63 == 1 { POLYNOMIAL } else { 0 }
        })
    })
}
