//! Programs of a machine below a directory, which say what real ones of systemd 252 and TuneD 2.25 say.

use std::io::Write;
use std::process::{Command, Stdio};

use super::tests::{Machine, entry};
use super::*;

impl Machine {
    /// Written by a process of its own: one of another test that starts meanwhile would keep the file open for writing, and
    /// it could not be run.
    fn program(&self, path: &str, text: &str) {
        let file = self.root().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(file)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        shell
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(shell.wait().unwrap().success());
    }

    fn ask(&self) -> Survey {
        ask(self.root(), &[Self::sda()]).unwrap()
    }

    fn source(&self, what: &str) -> Source {
        let sources = self.ask().sources.into_iter();
        let mut of_kind = sources.filter(|(kind, _)| *kind == what);
        of_kind.next().unwrap().1
    }
}

const WRITES: &str = "/bin/sh -c 'echo bfq >/sys/block/sda/queue/scheduler'";

#[test]
fn systemctl_says_which_files_units_have() {
    let machine = Machine::new();
    let show = "LoadState=loaded\nFragmentPath=/opt/units/a.service\n\
                DropInPaths=/etc/systemd/system/a.service.d/x.conf \"/etc/systemd/system/a.service.d/y z.conf\"\n\n\
                LoadState=masked\nFragmentPath=/etc/systemd/system/m.service\nDropInPaths=/etc/systemd/system/m.service.d/x.conf\n\n\
                LoadState=loaded\nFragmentPath=/usr/lib/systemd/system/t@.service\nDropInPaths=\n";
    let systemctl = format!(
        "#!/bin/sh\ncase \"$*\" in\n--version) echo 'systemd 252 (252.39-1)'; echo +PAM;;\n\
         list-unit-files*) printf 'a.service enabled enabled\\nb.service alias -\\nm.service masked -\\nt@.service disabled -\\n';;\n\
         show*'-- a.service m.service t@iosched.service') cat <<'END'\n{show}END\n;;\n*) exit 1;;\nesac\n"
    );
    machine.program("usr/bin/systemctl", &systemctl);
    machine.write(
        "opt/units/a.service",
        &format!("[Service]\nExecStart={WRITES}\nExecStop={WRITES}\n"),
    );
    machine.write(
        "etc/systemd/system/a.service.d/x.conf",
        "[Service]\nExecStart=\nExecStart=/bin/true\n",
    );
    machine.write(
        "etc/systemd/system/a.service.d/y z.conf",
        &format!("[Service]\nExecStartPost={WRITES}\n"),
    );
    machine.write(
        "usr/lib/systemd/system/t@.service",
        &format!("[Service]\nExecStart={WRITES}\n"),
    );
    // Not what the manager has.
    let unit = format!("[Service]\nExecStart={WRITES}\n");
    for file in [
        "unknown.service",
        "m.service.d/x.conf",
        "a.service.d/hidden.conf",
    ] {
        machine.write(&format!("etc/systemd/system/{file}"), &unit);
    }
    assert_eq!(
        machine.shorts(machine.ask().rivals),
        [
            entry("opt/units/a.service", 3, "bfq"),
            entry("etc/systemd/system/a.service.d/y z.conf", 2, "bfq"),
            entry("usr/lib/systemd/system/t@.service", 2, "bfq"),
        ]
    );
    let asked = Source::Asked("`systemctl show` of systemd 252".into());
    assert_eq!(machine.source("units and their drop-ins"), asked);
}

#[test]
fn without_a_manager_units_are_read_and_it_is_said_why() {
    let machine = Machine::new();
    let unit = format!("[Service]\nExecStart={WRITES}\n");
    machine.write("etc/systemd/system/a.service", &unit);
    let found = || machine.shorts(machine.ask().rivals);
    let expected = [entry("etc/systemd/system/a.service", 2, "bfq")];
    let why = || match machine.source("units and their drop-ins") {
        Source::Reading(why) => why,
        asked @ Source::Asked(_) => panic!("{asked:?}"),
    };
    assert_eq!(found(), expected);
    assert_eq!(why(), "there is no systemctl");
    let systemctl = "#!/bin/sh\n[ \"$1\" = list-unit-files ] && echo a.service static - && exit\n\
                     echo \"System has not been booted with systemd.\" >&2\nexit 1\n";
    machine.program("bin/systemctl", systemctl);
    assert_eq!(found(), expected);
    assert!(
        why().ends_with("exit status: 1: System has not been booted with systemd."),
        "{}",
        why()
    );
}

#[test]
fn a_drop_in_of_a_unit_that_is_not_enabled_is_in_doubt() {
    let machine = Machine::new();
    let off = "usr/lib/systemd/system/a.service";
    let systemctl = format!(
        "#!/bin/sh\ncase $1 in\nlist-unit-files) echo a.service disabled -;;\nshow) echo LoadState=loaded; echo FragmentPath=/{off}\n\
         echo DropInPaths=/etc/systemd/system/a.service.d/x.conf /etc/systemd/system/service.d/all.conf;;\n*) echo systemd 257;;\nesac\n"
    );
    machine.program("usr/bin/systemctl", &systemctl);
    machine.write(
        off,
        "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
    );
    for file in ["a.service.d/x.conf", "service.d/all.conf"] {
        machine.write(
            &format!("etc/systemd/system/{file}"),
            &format!("[Service]\nExecStart={WRITES}\n"),
        );
    }
    let found = machine
        .ask()
        .rivals
        .into_iter()
        .map(|rival| rival.is_certain);
    assert_eq!(found.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn tmpfiles_says_which_of_its_files_have_an_effect() {
    let machine = Machine::new();
    let line = "w /sys/block/sda/queue/scheduler - - - - bfq\n";
    // A comment that looks like a heading, of a file that has no effect; the last line has no end.
    let first = format!("# /etc/tmpfiles.d/hidden.conf\n\n{line}");
    machine.write("run/tmpfiles.d/a.conf", &first);
    machine.write("usr/lib/tmpfiles.d/z.conf", line.trim_end());
    machine.write("etc/tmpfiles.d/hidden.conf", line);
    machine.write("etc/tmpfiles.d/empty.conf", "");
    let said = format!(
        "# /run/tmpfiles.d/a.conf\n{first}\n# /etc/tmpfiles.d/empty.conf\n\n# /usr/lib/tmpfiles.d/z.conf\n{line}"
    );
    let program = format!(
        "#!/bin/sh\ncase $* in\n--version) echo systemd 257;;\n*--cat-config) cat <<'END'\n{said}END\n;;\nesac\n"
    );
    machine.program("usr/bin/systemd-tmpfiles", &program);
    assert_eq!(
        machine.shorts(machine.ask().rivals),
        [
            entry("run/tmpfiles.d/a.conf", 3, "bfq"),
            entry("usr/lib/tmpfiles.d/z.conf", 1, "bfq")
        ]
    );
    let asked = Source::Asked("`systemd-tmpfiles --cat-config` of systemd 257".into());
    assert_eq!(machine.source("tmpfiles.d"), asked);
    machine.program("usr/bin/systemd-tmpfiles", "#!/bin/sh\nexit 1\n");
    assert_eq!(machine.ask().rivals.len(), 3);
    assert!(matches!(machine.source("tmpfiles.d"), Source::Reading(_)));
}

/// A machine with TuneD: what its modules are given and say, and what `tuned-adm active` says.
fn tuned(active: &str, given: &str) -> Machine {
    let machine = Machine::new();
    let said = r#"{"version": "2.25.1", "profiles": ["a", "b"], "units": [
        {"name": "x", "type": "disk", "devices": "sda", "devices_udev_regex": null, "disks": [],
         "values": [{"key": "elevator", "value": "none", "file": "/opt/p/a/tuned.conf"}]},
        {"name": "disk", "type": "disk", "devices": "sdb", "devices_udev_regex": null, "disks": ["sda"],
         "values": [{"key": "elevator", "value": "kyber", "file": "/opt/p/a/tuned.conf"}]},
        {"name": "script", "type": "script", "devices": "*", "devices_udev_regex": null, "disks": null,
         "values": [{"key": "script", "value": "/opt/p/a.sh", "file": "/opt/p/a/tuned.conf"},
                    {"key": "script", "value": "/opt/p/b.sh", "file": "/opt/p/a/tuned.conf"}]},
        {"name": "sysfs", "type": "sysfs", "devices": "*", "devices_udev_regex": null, "disks": null,
         "values": [{"key": "/sys/block/sda/queue/scheduler", "value": "${f:exec:x}", "file": "/opt/p/a/tuned.conf"}]}]}"#;
    let python = format!(
        "#!/bin/sh\ncase \"$*\" in\n\"-EsB {}/usr/sbin/tuned-adm active\") {active};;\n\
         -IBc*) case \"$3\" in *'\"profiles\":{given},\"disks\":[\"sda\"]'*) cat <<'END'\n{said}\nEND\n;; *) exit 3;; esac;;\nesac\n",
        machine.root().display()
    );
    machine.program("usr/bin/python3", &python);
    machine.program("usr/sbin/tuned-adm", "#!/usr/bin/python3 -Es\n");
    machine.write(
        "opt/p/a/tuned.conf",
        "[disk]\nelevator=${x}\n[sysfs]\n/sys/block/sda/queue/scheduler=${f:exec:x}\n",
    );
    for script in ["a", "b"] {
        let text = "#!/bin/sh\necho bfq >/sys/block/sda/queue/scheduler\n";
        machine.write(&format!("opt/p/{script}.sh"), text);
    }
    // The profile that our own reading finds.
    machine.write("etc/tuned/active_profile", "own\n");
    machine.write("etc/tuned/own/tuned.conf", "[disk]\nelevator=none\n");
    machine
}

#[test]
fn tuned_says_which_profile_is_active_and_what_is_in_it() {
    let names = "echo 'Current active profile: a b'; echo 'Current post-loaded profile: b'";
    let machine = tuned(names, "[\"a\",\"b\"]");
    assert_eq!(
        machine.shorts(machine.ask().rivals),
        [
            entry("opt/p/a/tuned.conf", 2, "kyber"),
            entry("opt/p/a.sh", 2, "bfq"),
            entry("opt/p/b.sh", 2, "bfq"),
            ("opt/p/a/tuned.conf".into(), 4, None, true),
        ]
    );
    let asked = "the loader of TuneD 2.25.1 for a b by `tuned-adm active`";
    assert_eq!(
        machine.source("TuneD's profiles"),
        Source::Asked(asked.into())
    );
}

#[test]
fn where_tuned_says_less_the_rest_is_read() {
    // If the service does not run, TuneD's modules read the names of the profiles from its files.
    let machine = tuned("exit 3", "null");
    let Source::Asked(name) = machine.source("TuneD's profiles") else {
        panic!("it is asked");
    };
    assert!(
        name.contains("by its files (`tuned-adm active`: it gave no answer"),
        "{name}"
    );
    let none = tuned("echo 'No current active profile.'; exit 1", "[]");
    assert!(matches!(none.source("TuneD's profiles"), Source::Asked(_)));
    let own = [entry("etc/tuned/own/tuned.conf", 2, "none")];
    let broken = tuned("exit 3", "[\"other\"]");
    assert_eq!(broken.shorts(broken.ask().rivals), own);
    assert!(matches!(
        broken.source("TuneD's profiles"),
        Source::Reading(_)
    ));
    // Not a program that anyone could have put there.
    broken.program("usr/sbin/tuned-adm", "#!/tmp/python3\n");
    let why = "tuned-adm does not start with a Python of the system".to_owned();
    assert_eq!(broken.source("TuneD's profiles"), Source::Reading(why));
}
