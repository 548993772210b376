//! What lies on a disk that nothing uses: file systems, members of arrays, partition tables, by their magic numbers. For
//! people who are about to overwrite it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::device::Device;

struct Signature {
    name: &'static str,
    offset: u64,
    magic: &'static [u8],
}

const fn at(offset: u64, magic: &'static [u8], name: &'static str) -> Signature {
    Signature {
        name,
        offset,
        magic,
    }
}

/// Offsets in bytes, from the formats' own descriptions. The last is a table also where a file system has its boot code.
const SIGNATURES: [Signature; 18] = [
    at(1080, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    at(0, b"XFSB", "an XFS file system"),
    at(0x1_0040, b"_BHRfS_M", "a btrfs"),
    at(1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    at(
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        "a bcache or bcachefs member",
    ),
    at(3, b"NTFS    ", "an NTFS file system"),
    at(3, b"EXFAT   ", "an exFAT file system"),
    at(54, b"FAT", "a FAT file system"),
    at(82, b"FAT32", "a FAT file system"),
    at(32769, b"CD001", "an ISO 9660 file system"),
    at(4086, b"SWAPSPACE2", "swap space"),
    at(0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    at(512, b"LABELONE", "an LVM physical volume"),
    at(0, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    at(4096, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    at(512, b"EFI PART", "a partition table (GPT)"),
    at(4096, b"EFI PART", "a partition table (GPT)"),
    at(510, b"\x55\xaa", "a partition table (MBR) or boot code"),
];

/// The head of a device, as far as a signature is.
const HEAD_BYTES: usize = 0x1_0048;
/// md metadata 0.90 and 1.0 stand at the end.
const MD_MAGIC: &[u8] = b"\xfc\x4e\x2b\xa9";

/// One line for each, by the name of the disk or of its partition.
pub(super) fn found(device: &Device) -> Vec<String> {
    let mut found = Vec::new();
    let parts = device.partitions().into_iter().map(|part| part.name);
    for name in [device.name.clone()].into_iter().chain(parts) {
        let node = Path::new("/dev").join(name.replace('!', "/"));
        for what in on(&node) {
            found.push(format!("{name} carries {what}"));
        }
    }
    found
}

fn on(node: &Path) -> Vec<&'static str> {
    let Ok(file) = File::open(node) else {
        return Vec::new();
    };
    let mut head = vec![0; HEAD_BYTES];
    let mut filled = 0;
    while let Ok(read @ 1..) = file.read_at(&mut head[filled..], filled as u64) {
        filled += read;
    }
    let mut what = in_head(&head[..filled]);
    let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).unwrap_or(0);
    let ends_with_md = md_at_the_end(size).into_iter().any(|offset| {
        let mut magic = [0; 4];
        file.read_exact_at(&mut magic, offset).is_ok() && magic == *MD_MAGIC
    });
    if ends_with_md {
        what.push("a member of an md array");
    }
    what
}

/// Of metadata 0.90: the last 64 KiB that are aligned to that. Of 1.0: at least 8 KiB before the end, aligned to 4 KiB.
fn md_at_the_end(size: u64) -> Vec<u64> {
    let old = (size & !0xffff).checked_sub(0x1_0000);
    let new = size.checked_sub(0x2000).map(|offset| offset & !0xfff);
    old.into_iter().chain(new).collect()
}

fn in_head(head: &[u8]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = SIGNATURES
        .iter()
        .filter(|signature| {
            let start = signature.offset as usize;
            head.get(start..start + signature.magic.len()) == Some(signature.magic)
        })
        .map(|signature| signature.name)
        .collect();
    // Boot code ends in the same bytes as a table.
    if found.len() > 1 {
        found.pop_if(|last| last.contains("MBR"));
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_found_in_its_place_and_zeros_are_nothing() {
        assert_eq!(in_head(&vec![0; HEAD_BYTES]), [""; 0]);
        assert_eq!(in_head(&[]), [""; 0]);
        for signature in &SIGNATURES {
            let mut head = vec![0; HEAD_BYTES];
            let start = signature.offset as usize;
            head[start..start + signature.magic.len()].copy_from_slice(signature.magic);
            assert_eq!(in_head(&head), [signature.name], "{}", signature.offset);
            assert!(!in_head(&head[..start]).contains(&signature.name));
        }
    }

    #[test]
    fn boot_code_is_no_table_of_its_own() {
        let mut head = vec![0; HEAD_BYTES];
        head[510..512].copy_from_slice(b"\x55\xaa");
        head[82..87].copy_from_slice(b"FAT32");
        assert_eq!(in_head(&head), ["a FAT file system"]);
    }

    #[test]
    fn old_arrays_are_looked_for_at_the_end() {
        assert_eq!(md_at_the_end(0x10_0000), [0xf_0000, 0xf_e000]);
        assert_eq!(md_at_the_end(0x1000), [0; 0]);
    }
}
