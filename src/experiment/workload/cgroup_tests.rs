use super::*;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use iosched_host::system::cgroup::end::end;

/// A journal below a temporary directory; the groups are created in the real hierarchies.
fn journal() -> Journal {
    Journal::create().unwrap()
}

fn hierarchies() -> Mounts {
    Mounts::among(&mounts::read().unwrap())
}

/// A shell in the group at `path`, with children forked in that group.
fn family(path: &Path) -> Child {
    let script = "read go; sleep 600 & sleep 600 & wait";
    let mut command = Command::new("sh");
    let mut child = command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    join(path, &child);
    drop(child.stdin.take());
    while pids(path).unwrap().len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn join(path: &Path, child: &Child) {
    write_control(&path.join("cgroup.procs"), &child.id().to_string()).unwrap();
}

#[test]
fn a_name_is_ours_and_holds_no_slash() {
    let name = name("a/b ../c");
    assert!(
        name.starts_with(&format!("{PREFIX}{}-", std::process::id())),
        "{name}"
    );
    assert!(name.ends_with("-a_b____c"), "{name}");
    assert_ne!(name, super::name("a/b ../c"));
}

#[test]
fn only_groups_of_ours_are_ended() {
    let directory = tempfile::tempdir().unwrap();
    let system = directory.path().join("system.slice");
    fs::create_dir(&system).unwrap();
    assert!(
        end(&system)
            .unwrap_err()
            .to_string()
            .contains("not a control group of iosched")
    );
    assert!(system.exists());
    assert!(end(Path::new("/")).is_err());
    end(&directory.path().join("iosched-1-1")).unwrap();
}

#[test]
#[ignore = "root"]
fn a_group_has_its_inode_as_id_and_counts_cpu_time() {
    let group = Group::create(&journal(), "test").unwrap();
    let reference = group.reference();
    assert_eq!(reference.id, fs::metadata(&reference.path).unwrap().ino());
    let mut child = Command::new("sh")
        .args([
            "-c",
            "read x; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    for file in group.procs_files() {
        write_control(&file, &child.id().to_string()).unwrap();
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    let (user_ns, system_ns) = group.cpu_ns().unwrap();
    let total_ns = user_ns + system_ns;
    assert!(
        (5_000_000..20_000_000_000).contains(&total_ns),
        "{total_ns} ns"
    );
    let paths: Vec<PathBuf> = group.members.iter().map(|m| m.path.clone()).collect();
    group.end().unwrap();
    assert!(paths.iter().all(|path| !path.exists()));
}

/// Tests both ways: `cgroup.kill` where it exists, and process by process otherwise.
#[test]
#[ignore = "root"]
fn the_end_of_a_group_is_the_end_of_all_its_processes() {
    let mounts = hierarchies();
    let roots = [mounts.blkio, mounts.unified];
    assert!(roots.iter().any(Option::is_some));
    for root in roots.into_iter().flatten() {
        let member = create_directory(&journal(), &root, &name("end")).unwrap();
        let mut first = family(&member.path);
        // A subgroup, as a workload may create one.
        let below = member.path.join("below");
        fs::create_dir(&below).unwrap();
        let mut second = family(&below);
        let path = member.path.clone();
        drop(member);
        assert!(!path.exists(), "{}", path.display());
        for child in [&mut first, &mut second] {
            use std::os::unix::process::ExitStatusExt;
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
    }
}

#[test]
#[ignore = "root"]
fn a_process_that_left_the_group_is_not_ended_with_it() {
    let Some(root) = hierarchies().blkio else {
        println!("skipped: no version 1 hierarchy on this machine");
        return;
    };
    let member = create_directory(&journal(), &root, &name("left")).unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    join(&member.path, &child);
    join(&root, &child);
    drop(member);
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A disabled controller is disabled again after the last of two groups, whoever removes them.
#[test]
#[ignore = "root"]
fn a_controller_is_switched_on_for_the_time_of_the_groups() {
    let Some(root) = hierarchies().unified else {
        println!("skipped: no unified hierarchy on this machine");
        return;
    };
    let control = root.join("cgroup.subtree_control");
    let available = fs::read_to_string(root.join("cgroup.controllers")).unwrap();
    let Some(controller) = available
        .split_whitespace()
        .find(|name| !lists(&control, name))
    else {
        println!("skipped: no controller of this machine is off");
        return;
    };
    let before = fs::read_to_string(&control).unwrap();
    let create = || create_with_controller(&journal(), &root, &name("on"), controller).unwrap();
    let (first, enabled) = create();
    assert!(enabled && lists(&control, controller));
    let (second, enabled) = create();
    assert!(enabled);
    drop(first);
    assert!(
        lists(&control, controller),
        "switched off under the second group"
    );
    // Like the guardian or `iosched restore`: knows only the path.
    end(&second.path).unwrap();
    assert_eq!(fs::read_to_string(&control).unwrap(), before);
}
