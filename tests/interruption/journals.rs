//! Journals that cannot be trusted or read, of earlier boots, other machines and other disks.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use iosched_files::output;

use super::*;

/// Remains of a killed run and its killed guardian: a changed disk and its journal.
struct Left {
    disk: LoopDevice,
    before: State,
    changed: State,
    program: Program,
    journal: PathBuf,
}

impl Left {
    fn behind() -> Self {
        let Running {
            disk,
            before,
            program,
            child,
        } = Running::start();
        end(child, kill_with_guardian);
        within(SOON, "fio's end", || {
            processes_with(&disk.node()).is_empty()
        });
        let [journal] = <[PathBuf; 1]>::try_from(program.journals()).expect("one journal");
        let changed = scheduler::read(&disk.device).expect("its queue");
        assert!(!differences(&before, &changed).is_empty());
        Left {
            disk,
            before,
            changed,
            program,
            journal,
        }
    }

    fn name(&self) -> String {
        self.journal.display().to_string()
    }

    fn restore(&self, arguments: &[&str]) -> Ended {
        restore(&self.program, arguments).expect("the second binary")
    }

    /// A run on the disk, which would take what is in force for the user's settings.
    fn next_run(&self) -> Ended {
        let node = self.disk.node();
        let two = ["run", &node, "--arm", "none", "--arm", "kyber"];
        let how = ["--rounds", "1", "-o", "next", "--", "sh", "-c", READ_ONE];
        self.program.run(&[&two[..], &how].concat())
    }

    #[track_caller]
    fn is(&self, state: &State) {
        let now = scheduler::read(&self.disk.device).expect("its queue");
        assert_eq!(differences(state, &now), [""; 0]);
    }

    fn rewrite(&self, edit: impl Fn(&mut Value)) {
        let bytes = fs::read(&self.journal).expect("a journal");
        let mut journal: Value = serde_json::from_slice(&bytes).expect("JSON");
        edit(&mut journal);
        fs::write(&self.journal, journal.to_string()).expect("a journal");
    }
}

fn has_restore() -> bool {
    let is_there = Path::new(BINARY).with_file_name("iosched").exists();
    if !is_there {
        println!("skipped: the binary iosched was not built");
    }
    is_there
}

/// As an earlier version made them under umask 002.
#[test]
#[ignore = "root"]
fn a_journal_that_others_can_write_stops_runs_and_is_put_back_on_the_users_word() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    fs::set_permissions(&left.journal, fs::Permissions::from_mode(0o664)).expect("a mode");
    let says = [
        "its mode 664 allows other users to write it",
        "restore --trust",
        "--set-aside",
    ];
    left.next_run().ends(
        5,
        &[&says[..], &["which would be taken for yours"]].concat(),
    );
    left.is(&left.changed);
    // Shown, and not acted upon.
    let queue = format!("scheduler and settings of {}", left.disk.device.name);
    for arguments in [&["--list"][..], &[]] {
        let ended = left.restore(arguments).ends(1, &says);
        assert!(ended.stdout.contains(&queue), "{ended:#?}");
        left.is(&left.changed);
        assert!(left.journal.exists(), "the only record");
    }
    let ended = left.restore(&["--trust", &left.name()]).ends(0, &[]);
    assert!(ended.stdout.contains(&queue) && ended.stdout.contains("was restored"));
    left.is(&left.before);
    assert!(left.program.journals().is_empty());
    left.next_run().ends(0, &[]);
}

/// Nobody knows which disks it is about.
#[test]
#[ignore = "root"]
fn a_journal_that_cannot_be_read_stops_every_run_and_is_set_aside_on_the_users_word() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    let whole = fs::read(&left.journal).expect("a journal");
    fs::write(&left.journal, &whole[..whole.len() / 2]).expect("half a journal");
    left.next_run()
        .ends(5, &["not a journal of iosched", "restore --set-aside"]);
    left.restore(&[]).ends(1, &["restore --set-aside"]);
    left.restore(&["--trust", &left.name()])
        .ends(1, &["not a journal", "by hand"]);
    assert!(left.journal.exists());
    // Only a journal can be named.
    for other in ["/etc/passwd", "../../x.json", "journal", "no-such.json"] {
        left.restore(&["--set-aside", other])
            .ends(2, &["is not a journal in"]);
    }
    let ended = left.restore(&["--set-aside", &left.name()]).ends(0, &[]);
    assert!(ended.stdout.contains("Nothing was restored"), "{ended:#?}");
    let aside = left.journal.with_extension("set-aside-1");
    assert_eq!(
        fs::read(aside).expect("the record is kept"),
        whole[..whole.len() / 2]
    );
    left.is(&left.changed);
    left.next_run().ends(0, &[]);
    left.is(&left.changed);
    // The test's own end: what the killed run made besides is not forgotten.
    output::write_private(&left.journal, &whole).expect("a journal");
    left.restore(&[]).ends(0, &[]);
    left.is(&left.before);
}

/// Whoever may write in the directory may have put any journal there.
#[test]
#[ignore = "root"]
fn a_directory_that_others_can_write_stops_everything() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    let directory = left.journal.parent().expect("a directory");
    let mode =
        |mode| fs::set_permissions(directory, fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0o777);
    left.next_run()
        .ends(5, &["other users may write in", "chmod 700"]);
    left.restore(&[]).ends(5, &["other users may write in"]);
    left.is(&left.changed);
    mode(0o700);
    left.restore(&[]).ends(0, &[]);
    left.is(&left.before);
}

#[test]
#[ignore = "root"]
fn boots_machines_and_disks_are_told_apart() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    let whole = fs::read(&left.journal).expect("a journal");
    let disk_of = |journal: &mut Value| -> Value {
        let entries = journal["entries"].as_array_mut().expect("entries");
        let queue = entries.iter_mut().find(|entry| entry[1]["kind"] == "queue");
        queue.expect("a queue")[1].take()
    };
    // Another disk has the name, or none has it.
    for (field, value) in [
        ("diskseq", Value::from(1)),
        ("device", Value::from("no-such-disk")),
    ] {
        left.rewrite(|journal| {
            let mut queue = disk_of(journal);
            queue[field] = value.clone();
            journal["entries"] = serde_json::json!([[0, queue]]);
        });
        let listed = left.restore(&["--list"]).ends(0, &[]).stdout;
        let says = match field {
            "diskseq" => "another disk has this name now",
            _ => "the disk was removed",
        };
        assert!(listed.contains(says), "{listed}");
        let done = left.restore(&[]).ends(0, &[]).stdout;
        assert!(done.contains(says), "{done}");
        assert!(done.contains("Nothing was restored"), "{done}");
        left.is(&left.changed);
        fs::write(&left.journal, &whole).expect("a journal");
    }
    // The kernel has reset it since.
    left.rewrite(|journal| journal["boot_id"] = Value::from("another"));
    let listed = left.restore(&["--list"]).ends(0, &[]).stdout;
    for says in [
        "before the last boot",
        "the reboot has reset it",
        "started 20",
    ] {
        assert!(listed.contains(says), "{says}: {listed}");
    }
    // A disk that was moved, or copied, with the journal on it. Nothing of it is removed here.
    let victim = left.program.directory().join("iosched-victim");
    fs::create_dir(&victim).expect("a directory");
    left.rewrite(|journal| {
        journal["machine_id"] = Value::from("0".repeat(32));
        let path = victim.display().to_string();
        journal["entries"] = serde_json::json!([[0, { "kind": "files", "path": path }]]);
    });
    if Path::new("/etc/machine-id").exists() {
        left.restore(&[])
            .ends(1, &["was written on another machine", "--set-aside"]);
        assert!(victim.exists() && left.journal.exists());
    } else {
        println!("skipped: this machine has no /etc/machine-id");
    }
    left.is(&left.changed);
    fs::write(&left.journal, &whole).expect("a journal");
    left.restore(&[]).ends(0, &[]);
    left.is(&left.before);
}

/// Putting back never writes beside whoever holds the disk's lock, and goes on whoever reads its output.
#[test]
#[ignore = "root"]
fn a_locked_disk_is_not_written_and_a_lost_reader_changes_nothing() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    let lock = iosched_host::safety::lock::try_take(&left.disk.device).expect("a lock");
    left.restore(&[])
        .ends(1, &["is locked by process", "iosched restore"]);
    left.is(&left.changed);
    assert!(left.journal.exists());
    drop(lock);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let binary = Path::new(BINARY).with_file_name("iosched");
    let mut command = left.program.command_of(&binary, &["restore"]);
    let status = command.stdout(writer).status().expect("restore");
    assert!(status.success(), "{status}");
    left.is(&left.before);
    assert!(left.program.journals().is_empty());
}

/// Each of these stood in the way of the others.
#[test]
#[ignore = "root"]
fn odd_journals_do_not_keep_others_from_being_put_back() {
    if !has_restore() {
        return;
    }
    let left = Left::behind();
    let foreign = left.journal.with_file_name("1-1.json");
    let text = fs::read_to_string(&left.journal).expect("a journal");
    let mut journal: Value = serde_json::from_str(&text).expect("JSON");
    journal["boot_id"] = Value::from("another");
    journal["machine_id"] = Value::from("0".repeat(32));
    output::write_private(&foreign, journal.to_string().as_bytes()).expect("a journal");
    let link = left.journal.with_file_name("2-2.json");
    std::os::unix::fs::symlink("/no/such/file", &link).expect("a link");
    left.next_run().ends(5, &["2-2.json", "--set-aside"]);
    left.restore(&[]).ends(1, &["2-2.json"]);
    left.is(&left.before);
    assert!(!left.journal.exists());
    left.restore(&["--set-aside", "2-2.json"]).ends(0, &[]);
    if foreign.exists() {
        left.restore(&["--set-aside", "1-1.json"]).ends(0, &[]);
    }
    left.next_run().ends(0, &[]);
}

/// Whether a process of another PID namespace is alive cannot be asked; and a living one is never undone.
#[test]
#[ignore = "root"]
fn what_may_be_at_work_is_not_undone() {
    if !has_restore() {
        return;
    }
    let running = Running::start();
    let [journal] = <[PathBuf; 1]>::try_from(running.program.journals()).expect("one journal");
    let name = journal.display().to_string();
    for word in ["--trust", "--set-aside"] {
        let ended = restore(&running.program, &[word, &name]).expect("the second binary");
        ended.ends(5, &["is still running and needs"]);
    }
    end(running.child, interrupt).ends(130, &[]);

    let left = Left::behind();
    left.rewrite(|journal| journal["pid_namespace"] = Value::from("pid:[1]"));
    left.next_run()
        .ends(5, &["another PID namespace", "--trust"]);
    left.restore(&[]).ends(1, &["another PID namespace"]);
    left.is(&left.changed);
    left.restore(&["--trust", &left.name()]).ends(0, &[]);
    left.is(&left.before);
}

#[test]
#[ignore = "root"]
fn a_command_line_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let (disk, program) = (LoopDevice::of_a_user(), Program::new(BINARY));
    let node = disk.node();
    let two = [
        "run", &node, "--arm", "none", "--arm", "kyber", "--rounds", "1",
    ];
    let mut command =
        program.command(&[&two[..], &["-o", "result", "--", "sh", "-c", READ_ONE]].concat());
    command.arg(std::ffi::OsStr::from_bytes(b"\xff"));
    Ended::of(command).ends(0, &[]);
}

/// As a script starts it in the background.
#[test]
#[ignore = "root"]
fn an_ignored_interrupt_ends_it() {
    let (disk, program) = (LoopDevice::of_a_user(), Program::new(BINARY));
    let node = disk.node();
    let script = format!("{READ_ONE}; sleep 0.1");
    let how = [
        "--arm", "none", "--arm", "bfq", "--rounds", "40", "-o", "result",
    ];
    let run = [
        &[BINARY, "run", &node][..],
        &how,
        &["--", "sh", "-c", &script],
    ]
    .concat();
    let ignoring = [&["-c", "trap '' INT; exec \"$0\" \"$@\""][..], &run].concat();
    let mut child = Started::of(&mut program.command_of(Path::new("sh"), &ignoring));
    child.until(Duration::from_secs(60), "a round", || {
        Running::rounds(&program) >= 1
    });
    end(child, interrupt).ends(130, &[]);
}

/// As `nohup` starts it.
#[test]
#[ignore = "root"]
fn an_ignored_hang_up_stays_ignored() {
    let (disk, program) = (LoopDevice::of_a_user(), Program::new(BINARY));
    let node = disk.node();
    let how = [
        "--rounds",
        "40",
        "-o",
        "result",
        "--",
        "sh",
        "-c",
        &format!("{READ_ONE}; sleep 0.1"),
    ];
    let run = [
        &[BINARY, "run", &node, "--arm", "none", "--arm", "bfq"][..],
        &how,
    ]
    .concat();
    let mut child = Started::of(&mut program.command_of(Path::new("nohup"), &run));
    child.until(Duration::from_secs(60), "a round", || {
        Running::rounds(&program) >= 1
    });
    send(child.id(), Signal::HUP);
    let rounds = Running::rounds(&program);
    child.until(SOON, "a round after it", || {
        Running::rounds(&program) > rounds
    });
    end(child, interrupt).ends(130, &[]);
}
