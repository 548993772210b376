//! Rights of the programs that a run starts, as docs/security.md says. Root only:
//! `cargo test --test rights -- --ignored --test-threads=1`.

mod support;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use support::program::{Ended, Program};
use support::traces::{arguments, children_of};
use support::{LoopDevice, Mounted};

const BINARY: &str = support::under_test!("iosched-ab");
const BOTH: [&str; 8] = [
    "--arm", "none", "--arm", "bfq", "--rounds", "1", "--force", "-o",
];

/// An ext4 in memory.
fn volume() -> (Mounted, LoopDevice) {
    let disk = LoopDevice::in_memory(256 << 20);
    (Mounted::ext4(&disk.node()), disk)
}

/// Runs a script that writes its state to a directory where everybody may.
fn states(program: &Program, device: &str, more: &[&str], script: &str) -> Ended {
    let path = program.file("script.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    for directory in [program.directory(), &program.directory().join("seen")] {
        fs::create_dir_all(directory).expect("a directory");
        fs::set_permissions(directory, fs::Permissions::from_mode(0o1777)).expect("its mode");
    }
    let start = ["run", device];
    let words = [&start[..], &BOTH, &["result"], more, &["--", &path]].concat();
    let mut command = program.command(&words);
    command.env("SECRET", "of root");
    Ended::of(command)
}

const READ: &str = "dd if=\"$IOSCHED_DEVICE\" of=/dev/null bs=64k count=4 iflag=direct status=none";

fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {status}"))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
#[ignore = "root"]
fn a_command_keeps_what_it_has() {
    let program = Program::new(BINARY);
    let script = format!("{READ} && cat /proc/self/status >seen/status");
    states(&program, "scratch:ram", &[], &script).ends(0, &[]);
    let status = fs::read_to_string(program.file("seen/status")).expect("a state");
    let own = fs::read_to_string("/proc/self/status").expect("a state");
    for name in ["CapEff:", "Uid:", "NoNewPrivs:"] {
        assert_eq!(field(&status, name), field(&own, name), "{name}");
    }
}

#[test]
#[ignore = "root"]
fn a_command_of_another_user_has_no_rights_of_root() {
    let program = Program::new(BINARY);
    let script = "cat /proc/self/status >seen/status; (echo; env) >seen/environment; cat /proc/self/stat >seen/session\n\
        cd \"$IOSCHED_SCRATCH\" || exit 1\n\
        dd if=/dev/zero of=file bs=64k count=4 oflag=direct status=none || exit 2\n\
        ls -ln file | cut -d' ' -f3 >&2\n\
        su root -c true 2>/dev/null && exit 3\n\
        echo speed 1$IOSCHED_BLOCK MB/s higher >\"$IOSCHED_METRICS\"";
    let (mounted, _disk) = volume();
    let place = mounted.path().display().to_string();
    let user = ["--user", "nobody", "--allow-mounted", "--scratch", &place];
    states(&program, &place, &user, script).ends(0, &[]);
    let status = fs::read_to_string(program.file("seen/status")).expect("a state");
    let nobody = fs::metadata(program.file("seen/status"))
        .expect("a file")
        .uid();
    assert_ne!(nobody, 0);
    assert_eq!(field(&status, "Uid:"), [&*nobody.to_string(); 4].join(" "));
    assert_eq!(field(&status, "NoNewPrivs:"), "1");
    for name in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(field(&status, name), "0000000000000000", "{name}");
    }
    // Its metrics are read, and a resumed run is the same user's.
    let result = program.result("result");
    assert_eq!(result["rounds"][0]["reported"]["speed"], 10.0);
    assert_eq!(result["workload"]["description"]["user"], "nobody");
    // Nothing of it stays, and it had neither root's environment nor a terminal.
    let left = fs::read_dir(mounted.path())
        .expect("a file system")
        .flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name())
        .filter(|name| name != "lost+found")
        .collect();
    assert!(left.is_empty() && program.journals().is_empty(), "{left:?}");
    let environment = fs::read_to_string(program.file("seen/environment")).expect("an environment");
    assert!(environment.contains("\nUSER=nobody\n"), "{environment}");
    assert!(
        !environment.contains("IOSCHED_STATE_DIR") && !environment.contains("SECRET"),
        "{environment}"
    );
    let session = fs::read_to_string(program.file("seen/session")).expect("a session");
    let fields: Vec<&str> = session
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    // The session's leader is the command, and it has no terminal.
    assert_eq!(fields[4], "0", "{session}");
}

/// A link in place of its own files leads the reader nowhere.
#[test]
#[ignore = "root"]
fn another_user_cannot_have_files_of_root_read() {
    let program = Program::new(BINARY);
    let secret = program.file("secret");
    fs::write(&secret, "speed 5 MB/s higher\n").expect("a file");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("its mode");
    let (mounted, _disk) = volume();
    let place = mounted.path().display().to_string();
    let user = ["--user", "nobody", "--allow-mounted", "--scratch", &place];
    let writes = "dd if=/dev/zero of=$IOSCHED_SCRATCH/file bs=64k count=4 oflag=direct status=none";
    for (link, what) in [
        (
            format!("ln -s {secret} \"$IOSCHED_METRICS\""),
            "a symbolic link",
        ),
        ("mkfifo \"$IOSCHED_METRICS\"".to_owned(), "a pipe"),
        ("mkdir \"$IOSCHED_METRICS\"".to_owned(), "a directory"),
    ] {
        let ended = states(&program, &place, &user, &format!("{writes} && {link}"));
        let says = format!("$IOSCHED_METRICS cannot be read: it is {what}");
        let ended = ended.ends(1, &[&says]);
        assert!(!ended.stdout.contains("5.00 MB/s"), "{ended:#?}");
    }
}

#[test]
#[ignore = "root"]
fn a_user_that_does_not_exist_is_refused() {
    let program = Program::new(BINARY);
    for name in ["no-such-user", "--help", "-u", ""] {
        let user = format!("--user={name}");
        states(&program, "loop0", &[&user], READ).ends(2, &["there is no user"]);
    }
    for root in ["root", "0"] {
        let user = format!("--user={root}");
        states(&program, "loop0", &[&user], READ).ends(2, &["is root"]);
    }
    let user = ["--user", "nobody"];
    states(&program, "scratch:ram", &user, READ).ends(2, &["cannot use a simulated disk"]);
}

/// fio is asked while it runs, by the kernel.
#[test]
#[ignore = "root"]
fn fio_has_only_the_rights_that_it_needs() {
    const SYS_PTRACE: u64 = 1 << 19;
    for (disk, lacks) in [("scratch:ram", SYS_PTRACE), ("scratch:ram+ext4", 0)] {
        lacks_rights(disk, lacks);
    }
}

fn lacks_rights(disk: &str, lacks: u64) {
    let program = Program::new(BINARY);
    let words = [
        "run",
        disk,
        "--workload",
        "randread",
        "--round-time",
        "2s",
        "--ramp",
        "0",
    ];
    let mut child = program.start(&[&words[..], &BOTH, &["result"]].concat());
    let pid = child.id();
    let seen = RefCell::new(BTreeSet::new());
    child.until(Duration::from_secs(60), "a fio", || {
        for of in children_of(pid) {
            let read = |name: &str| fs::read_to_string(format!("/proc/{of}/{name}"));
            let (name, status) = (read("comm").unwrap_or_default(), read("status"));
            if let Ok(status) = status.map_err(drop)
                && name.trim() == "fio"
                && arguments(of)
                    .iter()
                    .any(|word| word.starts_with("--output="))
            {
                let both = (field(&status, "CapEff:"), field(&status, "NoNewPrivs:"));
                seen.borrow_mut().insert(both);
            }
        }
        !seen.borrow().is_empty()
    });
    child.end().ends(0, &[]);
    let lacks = lacks | 1 << 16 | 1 << 39; // modules, BPF
    for (effective, no_new) in seen.take() {
        let effective = u64::from_str_radix(&effective, 16).expect("a mask");
        assert_eq!(
            (effective & lacks, no_new.as_str()),
            (0, "1"),
            "{effective:x}"
        );
    }
}
