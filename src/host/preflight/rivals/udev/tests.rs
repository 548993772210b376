use super::subject::{Known, Parent};
use super::*;

struct Disk(Known);

impl Subject for Disk {
    fn attribute(&self, parent: usize, name: &str) -> Option<String> {
        let value = match (parent, name) {
            (0, "queue/rotational") => "0",
            (0, "queue/zoned") => "none",
            (0, "queue/scheduler") => "[none] kyber",
            (0, "device/model") => "Fast one        ",
            (1, "vendor") => "ATA     ",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn mode(&self, path: &str) -> Option<u32> {
        let there = ["/sys/devices/x/block/sda/queue/scheduler", "/etc/there"];
        there.contains(&path).then_some(0o644)
    }

    fn known(&self) -> &Known {
        &self.0
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn disk() -> Disk {
    let parent = |name: &str, subsystem: &str, driver: &str| Parent {
        name: name.to_owned(),
        subsystem: subsystem.to_owned(),
        driver: driver.to_owned(),
    };
    Disk(Known {
        name: "sda".into(),
        path: Some("/devices/x/block/sda".into()),
        event: map(&[("DEVTYPE", "disk"), ("DEVNAME", "/dev/sda"), ("MAJOR", "8")]),
        parents: Some(vec![
            parent("sda", "block", ""),
            parent("0:0:0:0", "scsi", "sd"),
        ]),
        properties: Some(map(&[
            ("ID_FS_TYPE", "ext4"),
            ("ID_MODEL", "Fast one"),
            ("LATE", "1"),
        ])),
        command_line: Some("root=/dev/sda quiet".into()),
        scheduler: "queue/scheduler".into(),
        disk: "sda".into(),
    })
}

/// Line, value, and whether it is certain, for any event.
fn found(text: &str) -> Vec<(usize, Option<String>, bool)> {
    let files: Vec<Vec<Rule>> = text.split("===\n").map(parse::rules).collect();
    let disk = disk();
    let mut found: Vec<(usize, Option<String>, bool)> = Vec::new();
    for action in ACTIONS {
        for step in steps(&files, &disk, action) {
            if step.how == How::Writes {
                let new = (step.line, step.value, step.is_certain);
                if !found.contains(&new) {
                    found.push(new);
                }
            }
        }
    }
    found
}

const SET: &str = r#"ATTR{queue/scheduler}="bfq""#;

#[test]
fn the_zoned_rule_of_btrfs_is_for_zoned_disks() {
    let rule = r#"SUBSYSTEM!="block", GOTO="btrfs_end"
ACTION!="add|change", GOTO="btrfs_end"
ENV{ID_FS_TYPE}!="btrfs", GOTO="btrfs_end"
ATTR{queue/zoned}=="host-managed", ATTR{queue/scheduler}="mq-deadline"
LABEL="btrfs_end"
ATTR{queue/scheduler}="bfq"
"#;
    let lines = |text: &str| found(text).iter().map(|found| found.0).collect::<Vec<_>>();
    assert_eq!(lines(rule), [6]);
    let of_ext4 = rule
        .replace("btrfs\"", "ext4\"")
        .replace("host-managed", "none");
    assert_eq!(lines(&of_ext4), [4, 6]);
}

#[test]
fn a_condition_that_is_known_decides() {
    for (condition, applies) in [
        (r#"ACTION=="add""#, true),
        (r#"ACTION=="remove""#, false),
        (r#"ACTION!="add""#, true),
        (r#"ACTION!="add|change""#, false),
        (r#"KERNEL=="sd[a-z]|nvme*""#, true),
        (r#"KERNEL=="mmcblk*[0-9]|sd*[!0-9]|sr*""#, true),
        (r#"KERNEL=="sd[!a]""#, false),
        (r#"KERNEL=="nvme[0-9]n[0-9]""#, false),
        (r#"KERNEL=="sd$env{X}""#, false),
        (r#"KERNEL!="sd*""#, false),
        (r#"ATTR{queue/rotational}=="1""#, false),
        (r#"ATTR{queue/rotational}!="1""#, true),
        // A missing attribute is neither equal nor different.
        (r#"ATTR{nothing}=="1""#, false),
        (r#"ATTR{nothing}!="1""#, false),
        (r#"ATTR{device/model}=="Fast one""#, true),
        (r#"ATTR{device/model}=="Fast one ""#, false),
        (r#"ATTRS{vendor}=="ATA", SUBSYSTEMS=="scsi""#, true),
        (r#"ATTRS{vendor}=="ATA", SUBSYSTEMS=="block""#, false),
        (r#"DRIVERS=="sd""#, true),
        (r#"KERNELS=="1:*""#, false),
        (r#"ENV{ID_MODEL}=="Slow*""#, false),
        (r#"ENV{ID_MODEL}=="Fast*""#, true),
        (r#"ENV{DEVTYPE}=="partition""#, false),
        (r#"ENV{.MINE}=="1""#, false),
        (r#"ENV{MINE}=="|1""#, true),
        (r#"TEST!="queue/scheduler""#, false),
        (r#"TEST!="%S%p/queue/scheduler""#, false),
        (r#"TEST=="/sys$devpath/queue/scheduler""#, true),
        (r#"TEST=="/etc/there""#, true),
        (r#"TEST{0111}=="/etc/there""#, false),
        (r#"DEVPATH=="/devices/*/block/sd?""#, true),
        (r#"IMPORT{db}="ID_MODEL""#, true),
        (r#"IMPORT{db}="NOTHING""#, false),
        (r#"IMPORT{cmdline}="quiet", RESULT!="x""#, true),
        (r#"IMPORT{cmdline}="loud""#, false),
    ] {
        let rule = format!("{condition}, {SET}");
        let found = found(&rule);
        assert_eq!(!found.is_empty(), applies, "{rule}");
        let certain = !condition.contains("RESULT");
        assert!(found.iter().all(|found| found.2 == certain), "{rule}");
    }
}

#[test]
fn what_is_not_known_may_hold() {
    for condition in [
        r#"PROGRAM=="/x""#,
        r#"RESULT=="1""#,
        r#"IMPORT{builtin}="blkid""#,
        r#"TAG=="systemd""#,
        r#"TEST=="$result""#,
    ] {
        let found = found(&format!("{condition}, {SET}"));
        assert_eq!(found, [(1, Some("bfq".to_owned()), false)], "{condition}");
    }
}

#[test]
fn properties_are_followed_through_the_files() {
    for (rules, applies) in [
        ("ENV{.MINE}=\"1\"\n===\nENV{.MINE}==\"1\", ", true),
        (
            "ENV{.MINE}=\"1\"\nENV{.MINE}=\"2\"\n===\nENV{.MINE}==\"1\", ",
            false,
        ),
        (
            "ENV{.MINE}=\"a\"\nENV{.MINE}+=\"b\"\nENV{.MINE}==\"a b\", ",
            true,
        ),
        (
            "KERNEL==\"sdb\", ENV{.MINE}=\"1\"\nENV{.MINE}==\"1\", ",
            false,
        ),
        // Only a rule that follows sets it.
        (
            "ENV{LATE}==\"1\", ATTR{queue/scheduler}=\"bfq\"\nENV{LATE}=\"1\"\nKERNEL==\"x\", ",
            false,
        ),
        ("ENV{X}=\"$kernel-%M\"\nENV{X}==\"sda-8\", ", true),
        (
            "ENV{ID_MODEL}==\"Fast*\", ENV{ID_MODEL}=\"x\", ATTR{queue/scheduler}=\"bfq\"\nKERNEL==\"x\", ",
            true,
        ),
        ("ENV{X}=\"x\", ENV{X}=\"\"\nENV{X}==\"?*\", ", false),
    ] {
        let rules = format!("{rules}{SET}");
        assert_eq!(!found(&rules).is_empty(), applies, "{rules}");
    }
}

#[test]
fn jumps_are_followed() {
    for (rules, expected) in [
        ("GOTO=\"end\"\nSET\nLABEL=\"end\"", vec![]),
        (
            "ACTION!=\"add\", GOTO=\"end\"\nSET\nLABEL=\"end\"",
            vec![(2, true)],
        ),
        (
            "PROGRAM==\"/x\", GOTO=\"end\"\nSET\nLABEL=\"end\"",
            vec![(2, false)],
        ),
        ("GOTO=\"nowhere\"\nSET", vec![(2, true)]),
        ("LABEL=\"end\"\nGOTO=\"end\"\nSET", vec![(3, true)]),
        (
            "PROGRAM==\"/x\", GOTO=\"a\"\nGOTO=\"end\"\nLABEL=\"a\"\nSET\nLABEL=\"end\"",
            vec![(4, false)],
        ),
        (
            "PROGRAM==\"/x\", GOTO=\"a\"\nLABEL=\"a\"\nSET",
            vec![(3, true)],
        ),
        (
            "KERNEL==\"sda\", GOTO=\"a\"\nSET\nLABEL=\"a\", SET",
            vec![(3, true)],
        ),
    ] {
        let rules = rules.replace("SET", SET);
        let found: Vec<(usize, bool)> = found(&rules)
            .iter()
            .map(|found| (found.0, found.2))
            .collect();
        assert_eq!(found, expected, "{rules}");
    }
}

#[test]
fn the_value_is_what_udev_would_write() {
    let value = |text: &str| found(text).pop().and_then(|found| found.1);
    assert_eq!(
        value("ENV{S}=\"kyber\"\nATTR{queue/scheduler}=\"$env{S}\"").as_deref(),
        Some("kyber")
    );
    assert_eq!(
        value("ATTR{./queue//scheduler}:=\"none\"").as_deref(),
        Some("none")
    );
    assert_eq!(
        value("ATTR{[block/sda]queue/scheduler}=\"none\"").as_deref(),
        Some("none")
    );
    assert_eq!(value("ATTR{[block/sdb]queue/scheduler}=\"none\""), None);
    assert_eq!(value("PROGRAM==\"/x\", ATTR{queue/scheduler}=\"%c\""), None);
    assert!(found("ATTR{queue/read_ahead_kb}=\"8\"").is_empty());
}

#[test]
fn what_was_written_is_not_asked_of_sysfs() {
    let text =
        format!("{SET}\nATTR{{queue/scheduler}}==\"bfq\", ATTR{{queue/scheduler}}=\"none\"\n");
    let lines: Vec<(usize, bool)> = found(&text)
        .iter()
        .map(|found| (found.0, found.2))
        .collect();
    assert_eq!(lines, [(1, true), (2, false)]);
}

#[test]
fn programs_come_after_all_rules_and_can_be_taken_back() {
    let text = format!("RUN+=\"first %k\"\n{SET}\n");
    let of = |text: &str| -> Vec<How> {
        let files = [parse::rules(text)];
        let disk = disk();
        steps(&files, &disk, "add")
            .into_iter()
            .map(|step| step.how)
            .collect()
    };
    assert_eq!(of(&text), [How::Writes, How::Runs("first sda".into())]);
    assert_eq!(
        of("RUN+=\"first\"\nRUN=\"second\"\n"),
        [How::Runs("second".into())]
    );
}

#[test]
fn a_property_that_names_itself_does_not_grow_without_end() {
    let text = format!(
        "ENV{{X}}=\"xx\"\n{}ENV{{X}}==\"y\", {SET}\n",
        "ENV{X}+=\"$env{X}\"\n".repeat(1000)
    );
    assert_eq!(found(&text), [(1002, Some("bfq".to_owned()), false)]);
}
