//! A disk's own name, from sysfs: the same tomorrow, whatever the kernel calls the disk then. It needs no udev.

use std::fs;
use std::path::Path;

/// `directory` is that of the disk in `/sys/block`. None: nothing that lasts tells it from another disk.
pub fn of(directory: &Path) -> Option<String> {
    let read = |name: &str| {
        let text = fs::read_to_string(directory.join(name)).ok()?;
        Some(joined(&text)).filter(|text| !text.is_empty())
    };
    let first = |names: &[&str]| names.iter().find_map(|name| read(name));
    if let Some(name) = read("dm/name") {
        return Some(format!("dm:{name}"));
    }
    if let Some(uuid) = read("md/uuid") {
        return Some(format!("md:{uuid}"));
    }
    if let Some(file) = read("loop/backing_file") {
        return Some(format!("loop:{file}"));
    }
    // Namespaces of one NVMe disk have one serial number, so the identifier of the whole disk comes first.
    let own = first(&["wwid", "device/wwid", "device/serial", "serial"]);
    let own = own.or_else(|| place(directory))?;
    Some(match read("device/model") {
        Some(model) if !own.contains(&model) => format!("{model}_{own}"),
        _ => own,
    })
}

/// Blanks of any number become one underscore, as in the names of /dev/disk/by-id.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Names the place where the disk is connected: the last PCI address on the way to it, and its SCSI address there. The number of
/// the SCSI host is left out, because it follows the order of discovery. Without a PCI address this is the name of the disk's own
/// directory, unless the kernel has numbered that, too.
fn place(directory: &Path) -> Option<String> {
    let device = fs::canonicalize(directory.join("device")).ok()?;
    let names: Vec<&str> = device.iter().filter_map(|name| name.to_str()).collect();
    let last = names.last()?;
    let scsi = scsi_address(last);
    match names.iter().rev().find(|name| is_pci_address(name)) {
        Some(pci) => Some(match scsi {
            Some(address) => format!("pci-{pci}-scsi-{address}"),
            None => format!("pci-{pci}"),
        }),
        None if scsi.is_none() && last.contains('-') => Some((*last).to_owned()),
        None => None,
    }
}

/// `6:0:1:2` without its host.
fn scsi_address(name: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (_, address) = name.split_once(':')?;
    (name.split(':').count() == 4 && name.split(':').all(is_number)).then_some(address)
}

/// `0000:00:1f.2`.
fn is_pci_address(name: &str) -> bool {
    let (Some((domain, rest)), Some((slot, function))) =
        (name.split_once(':'), name.split_once('.'))
    else {
        return false;
    };
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    domain.len() >= 4
        && is_hex(domain)
        && rest.len() == "00:1f.2".len()
        && slot.len() > domain.len()
        && is_hex(function)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory as in sysfs, with these files, below `device` where it is connected.
    fn disk(connected: &str, files: &[(&str, &str)]) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let block = root.path().join("block");
        let device = root.path().join("devices").join(connected);
        fs::create_dir_all(&block).unwrap();
        fs::create_dir_all(&device).unwrap();
        if !connected.is_empty() {
            symlink(&device, block.join("device")).unwrap();
        }
        for (name, text) in files {
            let path = block.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of(&block)
    }

    #[test]
    fn a_disk_is_named_by_itself_then_by_where_it_is_connected() {
        for (connected, files, expected) in [
            (
                "pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0",
                &[
                    ("wwid", "eui.0025385b01418a2b\n"),
                    ("device/serial", "S3X9NX0\n"),
                    ("device/model", "Samsung SSD 970   \n"),
                ][..],
                Some("Samsung_SSD_970_eui.0025385b01418a2b"),
            ),
            (
                "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0",
                &[
                    ("device/wwid", "t10.ATA     ST4000NM   Z1Z2\n"),
                    ("device/model", "ST4000NM\n"),
                ],
                Some("t10.ATA_ST4000NM_Z1Z2"),
            ),
            (
                "pci0000:00/0000:00:02.0/virtio1",
                &[("serial", "\n")],
                Some("pci-0000:00:02.0"),
            ),
            (
                "pci0000:00/0000:00:05.0/virtio3/host2/target2:0:1/2:0:1:4",
                &[("device/model", "QEMU HARDDISK\n")],
                Some("QEMU_HARDDISK_pci-0000:00:05.0-scsi-0:1:4"),
            ),
            ("vbd-51712", &[], Some("vbd-51712")),
            ("platform/host3/target3:0:0/3:0:0:0", &[], None),
            ("", &[], None),
            ("", &[("dm/name", "vg-root\n")], Some("dm:vg-root")),
            ("", &[("md/uuid", "4f:1\n")], Some("md:4f:1")),
            (
                "",
                &[("loop/backing_file", "/var/lib/a disk.img\n")],
                Some("loop:/var/lib/a_disk.img"),
            ),
        ] {
            assert_eq!(disk(connected, files).as_deref(), expected, "{connected}");
        }
    }

    #[test]
    fn pci_addresses_are_told_from_other_names() {
        for name in ["0000:00:02.0", "10000:e1:00.0"] {
            assert!(is_pci_address(name), "{name}");
        }
        for name in ["pci0000:00", "0:0:0:0", "virtio1", "host0", "00:1f.2", ""] {
            assert!(!is_pci_address(name), "{name}");
        }
    }
}
