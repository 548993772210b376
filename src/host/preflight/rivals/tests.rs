use super::*;
use std::fs;

/// A machine below a directory.
pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn new() -> Self {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.write("sys/block/sda/queue/rotational", "0\n");
        machine.write("sys/block/sda/removable", "0\n");
        machine.write(
            "sys/block/sda/queue/scheduler",
            "[none] mq-deadline kyber bfq\n",
        );
        machine.write("sys/block/sda/uevent", "DEVTYPE=disk\nDEVNAME=sda\n");
        machine.write(
            "run/udev/data/b8:0",
            "S:disk/x\nE:ID_MODEL=Fast\nE:ID_SERIAL=S1\n",
        );
        machine
    }

    pub fn write(&self, path: &str, text: &str) {
        assert!(!path.starts_with('/'), "{path} is not below the root");
        let file = self.0.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn sda() -> Device {
        Device {
            name: "sda".into(),
            major: 8,
            minor: 0,
            diskseq: None,
        }
    }

    pub fn find(&self) -> Survey {
        find(self.0.path(), &[Self::sda()]).unwrap()
    }

    /// File and line below the root, value, and whether it is certain, in the order in which they act.
    pub fn short(&self) -> Vec<Short> {
        self.shorts(self.find().rivals)
    }

    pub fn shorts(&self, rivals: Vec<Rival>) -> Vec<Short> {
        rivals
            .into_iter()
            .map(|rival| {
                let file = Path::new(&rival.file)
                    .strip_prefix(self.0.path())
                    .unwrap()
                    .to_owned();
                (
                    file.display().to_string(),
                    rival.line,
                    rival.value,
                    rival.is_certain,
                )
            })
            .collect()
    }
}

pub type Short = (String, usize, Option<String>, bool);

pub fn entry(file: &str, line: usize, value: &str) -> Short {
    (file.to_owned(), line, Some(value.to_owned()), true)
}

#[test]
fn rules_profiles_and_scripts_are_found_in_the_order_in_which_they_act() {
    let machine = Machine::new();
    let rule = "# ATTR{queue/scheduler}\nACTION==\"add\", ATTR{queue/scheduler}=\"bfq\"\n";
    machine.write("etc/udev/rules.d/61-io.rules", rule);
    machine.write(
        "usr/lib/udev/rules.d/61-io.rules",
        "ATTR{queue/scheduler}=\"none\"\n",
    );
    machine.write(
        "usr/lib/udev/rules.d/60-other.rules",
        "ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"bfq\"\n\
         RUN+=\"/bin/sh -c 'echo bfq > /sys/block/%k/queue/scheduler'\"\n\
         ENV{ID_MODEL}==\"Fast\", \\\n ATTR{queue/scheduler}=\"kyber\"\n",
    );
    machine.write("etc/udev/rules.d/note.txt", rule);
    machine.write("etc/tmpfiles.d/a.conf", "w /sys/block/sda/queue/scheduler - - - - bfq\nw /sys/block/sdb/queue/scheduler - - - - bfq\n");
    machine.write(
        "etc/sysfs.d/a.conf",
        "block/sd*/queue/scheduler = none\nblock/sdb/queue/scheduler = bfq\n",
    );
    machine.write(
        "etc/rc.local",
        "echo none > /sys/block/sda/queue/scheduler\n",
    );
    machine.write(
        "etc/tlp.conf",
        "DISK_DEVICES=\"sdb sda\"\nDISK_IOSCHED=\"none bfq\"\n",
    );
    assert_eq!(
        machine.short(),
        [
            entry("usr/lib/udev/rules.d/60-other.rules", 4, "kyber"),
            entry("etc/udev/rules.d/61-io.rules", 2, "bfq"),
            entry("usr/lib/udev/rules.d/60-other.rules", 2, "bfq"),
            entry("etc/tmpfiles.d/a.conf", 1, "bfq"),
            entry("etc/sysfs.d/a.conf", 1, "none"),
            entry("etc/rc.local", 1, "none"),
            entry("etc/tlp.conf", 2, "bfq"),
        ]
    );
    assert!(machine.find().unread.is_empty());
    assert_eq!(
        find(&machine.0.path().join("nothing"), &[]).unwrap(),
        Survey::default()
    );
}

#[test]
fn units_their_settings_and_what_they_start_are_read() {
    let machine = Machine::new();
    machine.write(
        "etc/systemd/system/a.service",
        "[Service]\nExecStart=-/bin/sh /opt/a.sh\n",
    );
    machine.write(
        "opt/a.sh",
        "#!/bin/sh\nfor d in /sys/block/sd*/queue; do\n echo bfq >$d/scheduler\ndone\n",
    );
    machine.write(
        "usr/lib/systemd/system/b.service",
        "[Service]\nExecStart=/bin/sh /opt/b.sh\n",
    );
    machine.write(
        "opt/b.sh",
        "#!/bin/sh\necho bfq >/sys/block/sda/queue/scheduler\n",
    );
    machine.write(
        "etc/systemd/system/c.service.d/x.conf",
        "[Service]\nExecStartPre=/bin/sh -c 'echo none > /sys/block/sda/queue/scheduler'\n",
    );
    machine.write(
        "etc/systemd/system/d.service",
        "[Service]\nExecStart=/bin/sh -c 'echo none >/sys/block/sdb/queue/scheduler'\n",
    );
    machine.write("etc/cron.d/e", "@reboot root /usr/local/sbin/e\n");
    machine.write(
        "usr/local/sbin/e",
        "#!/bin/sh\necho kyber | tee /sys/block/sda/queue/scheduler\n",
    );
    let found = machine.short();
    let expected = [
        ("opt/a.sh", 3, Some("bfq"), false),
        (
            "etc/systemd/system/c.service.d/x.conf",
            2,
            Some("none"),
            true,
        ),
        ("usr/local/sbin/e", 2, Some("kyber"), true),
    ];
    let expected = expected.map(|(file, line, value, is_certain)| {
        (file.to_owned(), line, value.map(str::to_owned), is_certain)
    });
    assert_eq!(found, expected);
    let text = &machine.find().rivals[0].text;
    assert!(
        text.contains("started by") && text.ends_with("a.service:2)"),
        "{text}"
    );
}

#[test]
fn a_script_that_a_rule_starts_is_read() {
    let machine = Machine::new();
    machine.write(
        "etc/udev/rules.d/60.rules",
        "KERNEL==\"sd?\", RUN+=\"/usr/local/sbin/set-scheduler %k\"\n",
    );
    machine.write(
        "usr/local/sbin/set-scheduler",
        "#!/bin/sh\necho bfq > \"/sys/block/$1/queue/scheduler\"\n",
    );
    let found = machine.find().rivals;
    assert_eq!(found.len(), 1);
    assert!(found[0].file.ends_with("set-scheduler") && found[0].line == 2 && !found[0].is_certain);
    assert_eq!(found[0].agent, Agent::Udev);
}

#[test]
fn tlp_knows_disks_by_id_and_leaves_some() {
    let machine = Machine::new();
    machine.write(
        "etc/tlp.d/10.conf",
        "DISK_DEVICES=\"sda\"\nDISK_IOSCHED=\"keep\"\n",
    );
    assert!(machine.short().is_empty());
    machine.write("etc/tlp.conf", "DISK_IOSCHED=\"bfq\"\n");
    assert_eq!(machine.short(), [entry("etc/tlp.conf", 1, "bfq")]);
    machine.write("etc/tlp.conf", "DISK_IOSCHED=\"bfq\"\nTLP_ENABLE=0\n");
    assert!(machine.short().is_empty());
    machine.write(
        "etc/tlp.conf",
        "DISK_IOSCHED=\"bfq\"\nDISK_DEVICES=\"ata-X_1\"\n",
    );
    assert!(machine.short().is_empty());
    let by_id = machine.0.path().join("dev/disk/by-id");
    fs::create_dir_all(&by_id).unwrap();
    std::os::unix::fs::symlink("../../sda", by_id.join("ata-X_1")).unwrap();
    assert_eq!(machine.short(), [entry("etc/tlp.conf", 1, "bfq")]);
}

#[test]
fn rules_for_a_partition_can_set_its_disk() {
    let machine = Machine::new();
    machine.write("sys/block/sda/sda1/partition", "1\n");
    machine.write(
        "sys/block/sda/sda1/uevent",
        "DEVTYPE=partition\nDEVNAME=sda1\n",
    );
    machine.write(
        "etc/udev/rules.d/60.rules",
        "KERNEL==\"sda[0-9]\", ATTR{../queue/scheduler}=\"bfq\"\n",
    );
    assert_eq!(
        machine.short(),
        [entry("etc/udev/rules.d/60.rules", 1, "bfq")]
    );
}

#[test]
fn what_was_not_read_is_said() {
    let machine = Machine::new();
    fs::create_dir_all(machine.0.path().join("etc/udev/rules.d")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = machine.0.path().join("etc/udev/rules.d/60-pipe.rules");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let survey = machine.find();
    assert_eq!(survey.unread.len(), 1);
    assert_eq!(survey.unread[0].why, "it is a pipe");
}

#[test]
fn a_unit_that_is_not_enabled_perhaps_sets_something() {
    let machine = Machine::new();
    let unit = "[Service]\nExecStart=/bin/sh -c 'echo bfq >/sys/block/sda/queue/scheduler'\n[Install]\nWantedBy=x.target\n";
    machine.write("usr/lib/systemd/system/a.service", unit);
    let is_certain = || machine.find().rivals[0].is_certain;
    assert!(!is_certain());
    machine.write("etc/systemd/system/timers.target.wants/a.timer", "");
    assert!(is_certain());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_read_to_its_end(text in "([A-Z]{0,6}|[=!+:{}\"\\\\$%#,|\n \\[\\]*?a-z/'>;-]|é){0,80}") {
        let machine = Machine::new();
        for file in [
            "etc/udev/rules.d/60.rules",
            "etc/tmpfiles.d/a.conf",
            "etc/sysfs.conf",
            "etc/rc.local",
            "etc/tlp.conf",
            "etc/tuned/own/tuned.conf",
            "etc/systemd/system/a.service",
        ] {
            machine.write(file, &text);
        }
        machine.write("etc/tuned/active_profile", "own\n");
        machine.find();
        let scope = commands::Scope::new(&text, "sda");
        scope.write(&format!("{text}/queue/scheduler{text}"));
        scope.write(&format!("{text}>/sys/block/{text}/queue/scheduler"));
    }
}
