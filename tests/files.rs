//! Files in directories where others may write, too, and no shell anywhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use iosched_files::{input, output};
use iosched_host::safety::journal;
use tempfile::TempDir;

/// As /tmp.
fn shared() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o1777)).expect("its mode");
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn no_link_of_others_is_followed_or_replaced() {
    let (shared, own) = (
        shared(),
        tempfile::tempdir().expect("a temporary directory"),
    );
    let victim = own.path().join("victim");
    fs::write(&victim, "precious").expect("a file");
    let path = shared.path().join("result.json");
    // Links that somebody who foresees the names may have put there: the file itself, and the copy by the process's number.
    symlink(&victim, &path).expect("a link");
    let copy = shared
        .path()
        .join(format!(".result.json.{}.tmp", std::process::id()));
    symlink(&victim, &copy).expect("a link");
    let error = output::write_whole(&path, b"new").expect_err("a link");
    assert!(
        error.to_string().contains("is not a regular file"),
        "{error}"
    );
    fs::remove_file(&path).expect("the link");
    output::write_whole(&path, b"new").expect("a new file");
    output::write_whole(&path, b"newer").expect("its own file again");
    assert_eq!(fs::read(&path).expect("the result"), b"newer");
    assert_eq!(fs::read(&victim).expect("the victim"), b"precious");
    assert!(
        fs::symlink_metadata(&copy)
            .expect("the other link")
            .is_symlink()
    );
    assert_eq!(names(shared.path()).len(), 2, "{:?}", names(shared.path()));
    let mode = fs::metadata(&path)
        .expect("the result")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7133, 0, "{mode:o}");
}

/// As root a rename would take the place of /dev/null.
#[test]
fn what_is_no_file_stays() {
    let directory = shared();
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).expect("a socket");
    for path in [path.as_path(), Path::new("/dev/null"), directory.path()] {
        let error = output::write_whole(path, b"new").expect_err("no file");
        assert!(
            error.to_string().contains("is not a regular file"),
            "{error}"
        );
    }
    assert_eq!(names(directory.path()), ["socket"]);
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let error = output::write_whole(Path::new("/proc/self/x"), b"new").expect_err("no directory");
    assert!(error.to_string().contains("/proc/self/x"), "{error}");
    assert!(output::write_whole(Path::new("/"), b"new").is_err());
}

/// A journal tells root what to remove.
#[test]
fn a_journal_that_others_can_write_is_not_acted_upon() {
    let directory = shared();
    let path = directory.path().join("1-2.json");
    fs::write(&path, "{}").expect("a file");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0o600);
    assert!(input::read_own(&path, 9).is_ok());
    for open in [0o622, 0o660, 0o602] {
        mode(open);
        let error = input::read_own(&path, 9).expect_err("open to others");
        assert_eq!(
            error.kind(),
            std::io::ErrorKind::PermissionDenied,
            "{open:o}"
        );
        assert!(journal::restore_file(&path).is_err());
    }
    mode(0o600);
    let link = directory.path().join("3-4.json");
    symlink(&path, &link).expect("a link");
    assert!(input::read_own(&link, 9).is_err());
}

fn sources(directory: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if !path.to_string_lossy().ends_with("tests.rs") {
            all.push(path);
        }
    }
}

/// Programs are started by their argument vectors; and only in two places, as CONTRIBUTING.md says.
#[test]
fn no_shell_is_ever_asked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    sources(&root.join("src"), &mut all);
    sources(&root.join("tui/src"), &mut all);
    assert!(all.len() > 100, "{}", all.len());
    let mut starters = 0;
    for path in all {
        // It knows the names of shells, to read what a user's command starts; it starts nothing.
        let names_them = path.ends_with("src/experiment/workload/command/benchmark.rs");
        let text = fs::read_to_string(&path).expect("a source");
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        for shell in [
            "\"sh\"",
            "\"bash\"",
            "bin/sh",
            "bin/bash",
            "\"-c\"",
            "libc::system",
            "popen",
        ] {
            let has = code.contains(shell) && !names_them;
            assert!(!has, "{} has {shell}", path.display());
        }
        assert!(!names_them || !code.contains("Command::new("));
        if code.contains("Command::new(") {
            starters += 1;
            let below = path.strip_prefix(root).expect("below");
            let others = [
                "src/host/system/ask.rs",
                "src/host/safety/guardian.rs",
                "src/host/places/hook.rs",
            ]
            .map(Path::new);
            let may = below.starts_with("src/experiment/workload") || others.contains(&below);
            assert!(may, "{} starts processes", path.display());
        }
    }
    assert!(starters >= 2, "{starters}");
}
