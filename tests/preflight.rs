//! Cases that must be refused before anything is touched, on real devices.

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::slice;

use iosched_experiment::doctor::facts;
use iosched_host::preflight::{Intent, Loss, Severity, check, lock};
use iosched_host::system::device::Device;
use iosched_result::failure::{Kind, kind_of};
use iosched_result::types::arm::Arm;
use support::{LoopDevice, Mounted, run, unmount};

const SIZE_BYTES: u64 = 64 << 20;

/// All owners' words given: only what must never be done is left.
fn writing(arms: &[Arm]) -> Intent<'_> {
    Intent {
        arms,
        writes_raw_device: true,
        allow_mounted: true,
        loss: Loss::Accepted,
    }
}

/// The refusal of raw writes to what `spec` means.
fn refusal(spec: &str) -> String {
    let resolved = Device::resolve(spec).expect(spec);
    let report = check(&resolved.device, &writing(&[])).expect("checked");
    let error = report.into_result().expect_err("a refusal");
    assert_eq!(kind_of(&error), Kind::Refused);
    error.to_string()
}

#[test]
#[ignore = "root"]
fn an_unused_disk_needs_its_owners_word_for_writes() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let arms = [
        "none".parse().expect("an arm"),
        "noop".parse().expect("an arm"),
    ];
    let mut intent = writing(&arms);
    let findings = check(&disk.device, &intent)
        .expect("checked")
        .into_result()
        .expect("fit");
    let of_the_disk = findings.iter().filter(|finding| {
        finding.what.contains("noop") || finding.what.contains(&disk.device.name)
    });
    let severities: Vec<Severity> = of_the_disk.map(|finding| finding.severity).collect();
    assert_eq!(
        severities,
        [Severity::Note],
        "the legacy name: {findings:?}"
    );
    intent.loss = Loss::Refused;
    let error = check(&disk.device, &intent)
        .expect("checked")
        .into_result()
        .expect_err("no word");
    assert!(error.to_string().contains("--destroy-data"), "{error}");
    assert_eq!(kind_of(&error), Kind::Refused);
}

#[test]
#[ignore = "root"]
fn a_mounted_disk_is_refused_by_every_way_to_name_it() {
    let disk = LoopDevice::new(SIZE_BYTES);
    run("mkfs.ext4", &["-q", &disk.node()]);
    let mounted = Mounted::new(&disk.node());
    let says = format!(
        "{} is mounted on {}",
        disk.device.name,
        mounted.path().display()
    );
    let links = tempfile::TempDir::new().expect("a temporary directory");
    let link = links.path().join("link");
    symlink(disk.node(), &link).expect("a symlink");
    for spec in [
        disk.node(),
        disk.device.name.clone(),
        link.display().to_string(),
        mounted.path().display().to_string(),
    ] {
        assert!(refusal(&spec).contains(&says), "{spec}");
    }
    let by_mount = Device::resolve(&mounted.path().display().to_string()).expect("resolved");
    assert_eq!(by_mount.device, disk.device);
    assert_eq!(by_mount.notes.len(), 1);

    let reading = |allow_mounted| Intent {
        arms: &[],
        writes_raw_device: false,
        allow_mounted,
        loss: Loss::Refused,
    };
    let report = check(&disk.device, &reading(false)).expect("checked");
    assert!(
        report
            .into_result()
            .expect_err("not agreed")
            .to_string()
            .contains("--allow-mounted")
    );
    let report = check(&disk.device, &reading(true)).expect("checked");
    let findings = report.into_result().expect("agreed");
    let used = findings.iter().find(|finding| finding.what == says);
    assert_eq!(
        used.map(|finding| finding.severity),
        Some(Severity::Warning)
    );
}

#[test]
#[ignore = "root"]
fn a_mounted_partition_makes_its_disk_refused() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let partition = disk.add_partition();
    let resolved = Device::resolve(&partition).expect("resolved");
    assert_eq!(resolved.device, disk.device);
    assert!(
        resolved.notes[0].contains("its whole disk"),
        "{:?}",
        resolved.notes
    );
    run("mkfs.ext4", &["-q", &partition]);
    let mounted = Mounted::new(&partition);
    let says = format!("{}p1 is mounted on", disk.device.name);
    assert!(refusal(&partition).contains(&says));
    assert!(refusal(&disk.node()).contains(&says));
    let by_mount = Device::resolve(&mounted.path().display().to_string()).expect("resolved");
    assert_eq!(by_mount.device, disk.device);
}

#[test]
#[ignore = "root"]
fn the_second_member_of_a_btrfs_is_in_use() {
    let (first, second) = (LoopDevice::new(256 << 20), LoopDevice::new(256 << 20));
    run(
        "mkfs.btrfs",
        &[
            "-q",
            "-d",
            "raid1",
            "-m",
            "raid1",
            &first.node(),
            &second.node(),
        ],
    );
    let mounted = Mounted::new(&first.node());
    for disk in [&first, &second] {
        let text = refusal(&disk.node());
        assert!(text.contains("is a member of the mounted btrfs"), "{text}");
    }
    let error = Device::resolve(&mounted.path().display().to_string()).expect_err("two disks");
    assert_eq!(kind_of(&error), Kind::Refused);
    let text = error.to_string();
    assert!(
        text.contains(&first.device.name) && text.contains(&second.device.name),
        "{text}"
    );
}

#[test]
#[ignore = "root"]
fn a_loop_on_a_raw_disk_protects_both() {
    let below = LoopDevice::new(SIZE_BYTES);
    let above = LoopDevice::over(&below.device.node());
    let text = refusal(&below.node());
    assert!(
        text.contains(&format!("is the backing device of {}", above.device.name)),
        "{text}"
    );
    run("mkfs.ext4", &["-q", &below.node()]);
    let _mounted = Mounted::new(&below.node());
    let text = refusal(&above.node());
    assert!(
        text.contains(&format!("{} is mounted on", below.device.name)),
        "{text}"
    );
}

/// A second loop device on the file of another, and then the file has no name any more.
#[test]
#[ignore = "root"]
fn a_file_without_a_name_is_still_the_same_file() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image)
        .and_then(|file| file.set_len(SIZE_BYTES))
        .expect("a sparse file");
    let (one, other) = (LoopDevice::over(&image), LoopDevice::over(&image));
    run("mkfs.ext4", &["-q", &one.node()]);
    let _mounted = Mounted::new(&one.node());
    std::fs::remove_file(&image).expect("no name");
    let text = refusal(&other.node());
    let says = format!("has the same backing file as {}", one.device.name);
    assert!(text.contains(&says), "{text}");
}

/// A loop device on a node of the disk that is removed afterwards, as udev does with names of its own.
#[test]
#[ignore = "root"]
fn a_loop_on_a_removed_node_protects_both() {
    let below = LoopDevice::new(SIZE_BYTES);
    let directory = tempfile::TempDir::new_in("/dev").expect("a directory that has nodes");
    let node = directory.path().join("node");
    let (major, minor) = (below.device.major, below.device.minor);
    run(
        "mknod",
        &[
            &node.display().to_string(),
            "b",
            &major.to_string(),
            &minor.to_string(),
        ],
    );
    let above = LoopDevice::over(&node);
    std::fs::remove_file(&node).expect("no node");
    let text = refusal(&below.node());
    let says = format!("is the backing device of {}", above.device.name);
    assert!(text.contains(&says), "{text}");
    run("mkfs.ext4", &["-q", &below.node()]);
    let _mounted = Mounted::new(&below.node());
    let text = refusal(&above.node());
    let says = format!("{} is mounted on", below.device.name);
    assert!(text.contains(&says), "{text}");
}

/// Two loop devices on one disk, a loop on a loop on a mounted file, and a file that is seen through an overlay.
#[test]
#[ignore = "root"]
fn whoever_shares_anything_below_is_a_user() {
    let below = LoopDevice::new(SIZE_BYTES);
    let (one, other) = (
        LoopDevice::over(&below.device.node()),
        LoopDevice::over(&below.device.node()),
    );
    run("mkfs.ext4", &["-q", "-E", "nodiscard", &one.node()]);
    let mounted = Mounted::new(&one.node());
    let text = refusal(&other.node());
    let says = format!(
        "{} is the backing device of {}",
        below.device.name, one.device.name
    );
    assert!(text.contains(&says), "{text}");
    drop(mounted);

    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image)
        .and_then(|file| file.set_len(SIZE_BYTES))
        .expect("a sparse file");
    let user = LoopDevice::over(&image);
    run("mkfs.ext4", &["-q", "-E", "nodiscard", &user.node()]);
    let _mounted = Mounted::new(&user.node());
    let middle = LoopDevice::over(&image);
    let top = LoopDevice::over(&middle.device.node());
    let text = refusal(&top.node());
    let says = format!(
        "{} has the same backing file as {}",
        middle.device.name, user.device.name
    );
    assert!(text.contains(&says), "{text}");

    let overlay = tempfile::TempDir::new_in("/dev/shm").expect("a temporary directory");
    let at = |name: &str| overlay.path().join(name).display().to_string();
    for name in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(at(name)).expect("a directory");
    }
    let plain = overlay.path().join("upper/disk.img");
    std::fs::File::create(&plain)
        .and_then(|file| file.set_len(SIZE_BYTES))
        .expect("a sparse file");
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        at("lower"),
        at("upper"),
        at("work")
    );
    let merged = at("merged");
    let is_mounted = std::process::Command::new("mount")
        .args(["-t", "overlay", "none", "-o", &options, &merged])
        .status();
    if !is_mounted.is_ok_and(|status| status.success()) {
        return println!("skipped: this kernel has no overlay");
    }
    {
        let through = LoopDevice::over(&overlay.path().join("merged/disk.img"));
        let direct = LoopDevice::over(&plain);
        let text = refusal(&direct.node());
        let says = format!("has the same backing file as {}", through.device.name);
        assert!(text.contains(&says), "{text}");
    }
    unmount(&merged);
}

#[test]
#[ignore = "root"]
fn a_user_that_leaves_no_name_is_found_by_exclusive_open() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let exclusive =
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let held = rustix::fs::open(disk.device.node(), exclusive, rustix::fs::Mode::empty())
        .expect("an exclusive open");
    assert!(refusal(&disk.node()).contains("opened exclusively"));
    drop(held);
    check(&disk.device, &writing(&[]))
        .expect("checked")
        .into_result()
        .expect("free again");
}

#[test]
#[ignore = "root"]
fn the_root_disk_is_never_written() {
    let Ok(resolved) = Device::resolve("/") else {
        eprintln!("skipped: / is not on one disk here");
        return;
    };
    let report = check(&resolved.device, &writing(&[])).expect("checked");
    let text = report.into_result().expect_err("the root disk").to_string();
    assert!(text.contains("carries the root file system"), "{text}");
}

#[test]
#[ignore = "root"]
fn an_unknown_scheduler_is_a_usage_failure_next_to_all_other_findings() {
    let disk = LoopDevice::new(SIZE_BYTES);
    run("mkfs.ext4", &["-q", &disk.node()]);
    let _mounted = Mounted::new(&disk.node());
    let arms = ["nosuch".parse().expect("an arm")];
    let report = check(&disk.device, &writing(&arms)).expect("checked");
    let error = report.into_result().expect_err("unknown");
    assert_eq!(kind_of(&error), Kind::Usage);
    let text = error.to_string();
    assert!(
        text.contains("no scheduler \"nosuch\"") && text.contains("is mounted on"),
        "{text}"
    );
}

#[test]
#[ignore = "root"]
fn a_read_only_disk_takes_no_writes() {
    let disk = LoopDevice::new(SIZE_BYTES);
    run("blockdev", &["--setro", &disk.node()]);
    assert!(refusal(&disk.node()).contains("is read-only"));
    run("blockdev", &["--setrw", &disk.node()]);
}

#[test]
#[ignore = "root"]
fn a_disk_is_locked_once_and_the_holder_is_named() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let held = lock(&disk.device).expect("the first lock");
    let error = lock(&disk.device).expect_err("the second lock");
    assert_eq!(kind_of(&error), Kind::Refused);
    let me = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&me), "{error}");
    let seen_by_doctor = || {
        facts::read(slice::from_ref(&disk.device))
            .disks
            .remove(0)
            .switch
    };
    let trouble = seen_by_doctor().expect_err("it cannot be switched now");
    assert!(trouble.what.contains(&me), "{trouble:?}");
    drop(held);
    assert!(seen_by_doctor().is_ok());
    lock(&disk.device).expect("free again");
}

/// Nothing uses it, and all the more must be said before it is lost.
#[test]
#[ignore = "root"]
fn what_lies_on_an_unused_disk_is_said() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let says = || -> Vec<String> {
        let report = check(&disk.device, &writing(&[])).expect("checked");
        let findings = report.into_result().expect("only warnings");
        let of_the_disk = findings
            .into_iter()
            .filter(|finding| finding.what.contains(" contains "));
        of_the_disk.map(|finding| finding.what).collect()
    };
    let name = &disk.device.name;
    assert_eq!(says(), [""; 0]);
    run("mkfs.ext4", &["-q", &disk.node()]);
    assert_eq!(says(), [format!("{name} contains ext4")]);
    run("mkswap", &["-f", &disk.node()]);
    assert!(
        says().contains(&format!("{name} contains swap")),
        "{:?}",
        says()
    );
    let partition = disk.add_partition();
    run("mkfs.ext4", &["-q", &partition]);
    let of_partition = format!("{name}p1 contains ext4");
    assert!(says().contains(&of_partition), "{:?}", says());
    // Who only reads need not know.
    let reading = Intent {
        writes_raw_device: false,
        ..writing(&[])
    };
    let findings = check(&disk.device, &reading).expect("checked").findings;
    assert!(
        !findings
            .iter()
            .any(|finding| finding.what.contains(" contains "))
    );
}

/// Bytes and where they lie.
type Pieces<'a> = &'a [(u64, &'a [u8])];

/// XDR: of a list its encoding, version and flags; of each entry its sizes, its name, and its value as one 64-bit number.
fn zfs_label() -> Vec<u8> {
    const UINT64: u32 = 8;
    let mut label = [&[1, 1, 0, 0][..], &0u32.to_be_bytes(), &1u32.to_be_bytes()].concat();
    for (name, value) in [("state", 0u64), ("txg", 4), ("guid", 7)] {
        let padded = name.len().next_multiple_of(4);
        let size = (12 + padded + 16) as u32;
        for number in [size, size, name.len() as u32] {
            label.extend(number.to_be_bytes());
        }
        label.extend(name.as_bytes());
        label.resize(label.len() + padded - name.len(), 0);
        for number in [UINT64, 1] {
            label.extend(number.to_be_bytes());
        }
        label.extend(value.to_be_bytes());
    }
    label
}

/// Written byte by byte as their formats have it, none by a tool of ours: what a table of our own once missed.
#[test]
#[ignore = "root"]
fn what_few_know_is_said_too() {
    // Older versions of libblkid look for its uberblocks, newer ones for the list of names and values before them.
    let label = zfs_label();
    let zfs: Vec<(u64, &[u8])> = (0..8)
        .map(|block| (0x2_0000 + block * 1024, &b"\x0c\xb1\xba\0\0\0\0\0"[..]))
        .chain([(0x4000, &label[..])])
        .collect();
    let end = SIZE_BYTES;
    let cases: [(&str, Pieces); 9] = [
        ("zfs_member", &zfs),
        (
            "isw_raid_member",
            &[(end - 1024, b"Intel Raid ISM Cfg Sig. 1.1.00")],
        ),
        ("ddf_raid_member", &[(end - 512, b"\xde\x11\xde\x11")]),
        ("ceph_bluestore", &[(0, b"bluestore block device\n")]),
        ("VMFS_volume_member", &[(0x10_0000, b"\x0d\xd0\x01\xc0")]),
        ("VMFS", &[(0x20_0000, b"\x5e\xf1\xab\x2f")]),
        ("squashfs", &[(0, b"hsqs"), (28, b"\x04\0\0\0")]),
        ("erofs", &[(1024, b"\xe2\xe1\xf5\xe0")]),
        ("oracleasm", &[(32, b"ORCLDISK\0\0")]),
    ];
    for (name, pieces) in cases {
        let disk = LoopDevice::new(SIZE_BYTES);
        let node = std::fs::File::options()
            .write(true)
            .open(disk.node())
            .expect("the node");
        for (offset, bytes) in pieces {
            node.write_all_at(bytes, *offset).expect("written");
        }
        node.sync_all().expect("on the disk");
        assert_eq!(
            carried(&disk),
            [format!("{} contains {name}", disk.device.name)]
        );
    }
}

/// The table at the beginning is lost, and the copy at the end can bring it back.
#[test]
#[ignore = "root"]
fn a_partition_table_of_which_the_backup_is_left_is_said() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let image = std::fs::read_to_string(disk.device.sysfs("loop/backing_file")).expect("its file");
    let mut table = std::process::Command::new("sfdisk")
        .args(["-q", image.trim()])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("sfdisk");
    let input = table.stdin.take().expect("its input");
    std::io::Write::write_all(&mut &input, b"label: gpt\n,10M\n").expect("a table");
    drop(input);
    assert!(table.wait().expect("sfdisk").success());
    let file = std::fs::File::options()
        .write(true)
        .open(image.trim())
        .expect("its file");
    file.write_all_at(&vec![0; 1 << 20], 0)
        .expect("the first MiB");
    file.sync_all().expect("on the disk");
    run("blockdev", &["--flushbufs", &disk.node()]);
    assert_eq!(
        carried(&disk),
        [format!("{} contains gpt", disk.device.name)]
    );
}

/// Findings about it before it is overwritten.
fn carried(disk: &LoopDevice) -> Vec<String> {
    let report = check(&disk.device, &writing(&[])).expect("checked");
    let findings = report.into_result().expect("only warnings").into_iter();
    let lines = findings.map(|finding| finding.what);
    lines
        .filter(|what| what.starts_with(&disk.device.name))
        .collect()
}

#[test]
#[ignore = "root"]
fn two_loop_devices_on_one_file_protect_each_other() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = directory.path().join("disk");
    std::fs::File::create(&path)
        .and_then(|file| file.set_len(SIZE_BYTES))
        .expect("a file");
    let first = LoopDevice::over(&path);
    check(&first.device, &writing(&[]))
        .expect("checked")
        .into_result()
        .expect("alone on its file");
    let second = LoopDevice::over(&path);
    let says = format!(
        "{} has the same backing file as {}",
        first.device.name, second.device.name
    );
    // Whatever the name: the kernel shows it as it is.
    let odd = directory.path().join(OsStr::from_bytes(b"d\\040\xff \n"));
    for name in [&path, &odd] {
        std::fs::rename(&path, name).expect("a new name");
        let text = refusal(&first.node());
        assert!(text.contains(&says), "{text}");
    }
}

#[test]
#[ignore = "root"]
fn a_part_of_a_mapped_device_is_in_use_and_the_mapping_names_its_disk() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let name = format!("iosched-test-{}", std::process::id());
    let table = format!("0 8192 linear {} 0", disk.node());
    let made = std::process::Command::new("dmsetup")
        .args(["create", &name, "--noudevsync", "--table", &table])
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("skipped: no device mapper here");
        return;
    }
    let text = refusal(&disk.node());
    let mapped = run("readlink", &["-f", &format!("/dev/mapper/{name}")]);
    let on_top = check(
        &Device::resolve(&mapped).expect("resolved").device,
        &Intent {
            arms: &["none".parse().expect("an arm")],
            ..writing(&[])
        },
    );
    let on_top = on_top.expect("checked").into_result();
    run("dmsetup", &["remove", "--noudevsync", &name]);
    assert!(
        text.contains(&format!("{} is part of dm-", disk.device.name)),
        "{text}"
    );
    let text = on_top
        .expect_err("a linear mapping has no scheduler")
        .to_string();
    assert!(
        text.contains(&format!("it is built on {}", disk.device.name)),
        "{text}"
    );
}
