use super::*;

const OF_257: &str = "\
loop4: /usr/lib/udev/rules.d/60-persistent-storage.rules:164 Added SYMLINK 'disk/by-diskseq/54'
loop4: /etc/udev/rules.d/60-x.rules:2 Running in test mode, skipping writing ATTR{/sys/devices/virtual/block/loop4/queue/scheduler}=\"bfq\".
loop4: /etc/udev/rules.d/60-x.rules:5 Running in test mode, skipping writing ATTR{/sys/devices/virtual/block/loop4/queue/read_ahead_kb}=\"8\".
loop4: /etc/udev/rules.d/60-x.rules:3 RUN '/bin/sh -c 'echo kyber > /sys/block/%k/queue/scheduler''
loop40: /etc/udev/rules.d/60-x.rules:9 Running in test mode, skipping writing ATTR{/sys/block/loop40/queue/scheduler}=\"bfq\".
loop4: Probe /dev/loop4 with raid and offset=0
";

fn said(text: &str) -> Said {
    let mut said = Said::default();
    said.add(text, "loop4");
    said
}

#[test]
fn what_udevadm_says_is_read() {
    let file = "/etc/udev/rules.d/60-x.rules".to_owned();
    let expected = Said {
        writes: [(file.clone(), 2, Some("bfq".to_owned()))].into(),
        runs: [(file.clone(), 3)].into(),
    };
    assert_eq!(said(OF_257), expected);
    let later = "loop4: /etc/udev/rules.d/60-x.rules:2 ATTR{queue/scheduler}=\"bfq\": Running in test mode, skipping \
                 writing \"bfq\" to sysfs attribute \"/sys/devices/virtual/block/loop4/queue/scheduler\".\n";
    assert_eq!(said(later).writes, expected.writes);
    for garbage in [
        "",
        "loop4: .rules:",
        "loop4: x.rules:9",
        "loop4: x.rules:99999999999999999999999 RUN",
    ] {
        assert_eq!(said(garbage), Said::default(), "{garbage}");
    }
}

#[test]
fn only_what_udevadm_says_stays() {
    let rival = |line: usize, end: usize, is_run: bool| Rival {
        agent: Agent::Udev,
        file: "/etc/udev/rules.d/60-x.rules".into(),
        line,
        text: String::new(),
        value: None,
        disk: "loop4".into(),
        is_certain: false,
        rule: Some(super::super::Rule {
            file: "/etc/udev/rules.d/60-x.rules".into(),
            line: end,
            is_run,
            is_of_partition: false,
        }),
    };
    let mut survey = Survey {
        rivals: vec![
            rival(1, 2, false),
            rival(3, 3, true),
            rival(7, 7, false),
            rival(8, 8, true),
        ],
        ..Survey::default()
    };
    apply(&mut survey, &said(OF_257), "loop4");
    let lines: Vec<(usize, bool)> = survey
        .rivals
        .iter()
        .map(|rival| (rival.line, rival.is_certain))
        .collect();
    assert_eq!(lines, [(1, true), (3, false)]);
    let mut nothing = Survey::default();
    apply(&mut nothing, &said(OF_257), "loop4");
    assert_eq!(nothing.rivals.len(), 1);
    assert_eq!(nothing.rivals[0].value.as_deref(), Some("bfq"));
}

#[test]
fn programs_that_may_change_something_keep_udevadm_from_being_asked() {
    for (command, expected) in [
        ("ata_id --export /dev/sda", true),
        ("/usr/lib/udev/scsi_id -g", true),
        ("/sbin/dmsetup info -c", true),
        ("/sbin/dmsetup remove x", false),
        (
            "/bin/sh -c 'echo bfq >/sys/block/sda/queue/scheduler'",
            false,
        ),
        ("/sbin/lvm pvscan --cache", false),
        ("", false),
    ] {
        assert_eq!(only_asks(command), expected, "{command}");
    }
}
