//! What must be refused before anything is touched, on real devices.

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::slice;

use iosched::arm::Arm;
use iosched::device::Device;
use iosched::doctor::facts;
use iosched::failure::{Kind, kind_of};
use iosched::preflight::{Intent, Severity, check, lock};
use support::{LoopDevice, Mounted, run};

const SIZE_BYTES: u64 = 64 << 20;

/// All owners' words given: only what must never be done is left.
fn writing(arms: &[Arm]) -> Intent<'_> {
    Intent {
        arms,
        writes_raw_device: true,
        allow_mounted: true,
        destroy_data: true,
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
    intent.destroy_data = false;
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
        destroy_data: false,
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
        resolved.notes[0].contains("its disk"),
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
        text.contains(&format!("is what {} reads from", above.device.name)),
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
    let says = format!("is on the same file as {}", one.device.name);
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
    let says = format!("is what {} reads from", above.device.name);
    assert!(text.contains(&says), "{text}");
    run("mkfs.ext4", &["-q", &below.node()]);
    let _mounted = Mounted::new(&below.node());
    let text = refusal(&above.node());
    let says = format!("{} is mounted on", below.device.name);
    assert!(text.contains(&says), "{text}");
}

#[test]
#[ignore = "root"]
fn a_user_that_leaves_no_name_is_found_by_exclusive_open() {
    let disk = LoopDevice::new(SIZE_BYTES);
    let exclusive =
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let held = rustix::fs::open(disk.device.node(), exclusive, rustix::fs::Mode::empty())
        .expect("an exclusive open");
    assert!(refusal(&disk.node()).contains("held exclusively"));
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
            .filter(|finding| finding.what.contains(" carries "));
        of_the_disk.map(|finding| finding.what).collect()
    };
    let name = &disk.device.name;
    assert_eq!(says(), [""; 0]);
    run("mkfs.ext4", &["-q", &disk.node()]);
    assert_eq!(
        says(),
        [format!("{name} carries an ext2, ext3 or ext4 file system")]
    );
    run("mkswap", &["-f", &disk.node()]);
    assert!(
        says().contains(&format!("{name} carries swap space")),
        "{:?}",
        says()
    );
    let partition = disk.add_partition();
    run("mkfs.ext4", &["-q", &partition]);
    let of_partition = format!("{name}p1 carries an ext2, ext3 or ext4 file system");
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
            .any(|finding| finding.what.contains(" carries "))
    );
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
        "{} is on the same file as {}",
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
        text.contains(&format!("it stands on {}", disk.device.name)),
        "{text}"
    );
}
