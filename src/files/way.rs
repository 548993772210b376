//! Who can put another file in the place of a path. Not only the file counts: whoever can write in a directory on the
//! way to it, or owns one, can rename what is in it, and so give the whole path another meaning.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Mode bits that let the group or others write.
pub(crate) const WRITABLE_BY_OTHERS: u32 = 0o022;
pub(super) const STICKY: u32 = 0o1000;
/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Why somebody else than this user and root can replace what `path` leads to; None: nobody can. Parts that do not exist
/// yet are judged as if this user made them now. The file itself is not judged: its owner can change its content.
///
/// Only root is protected: a user's own directories are often writable by a group of which nobody else is a member.
pub fn doubt(path: &Path) -> Result<Option<String>> {
    let me = rustix::process::geteuid();
    if !me.is_root() {
        return Ok(None);
    }
    doubt_of(path, me.as_raw())
}

fn doubt_of(path: &Path, me: u32) -> Result<Option<String>> {
    let mut here = PathBuf::from("/");
    let mut open = parts(&std::path::absolute(path)?);
    let mut links = 0;
    while let Some(name) = open.pop() {
        if name == ".." {
            // `here` has no links, so its name tells what is above it.
            here.pop();
            continue;
        }
        let directory = fs::symlink_metadata(&here)?;
        let next = here.join(&name);
        let found = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // A file is no directory: opening the path will fail.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            found => Some(found?),
        };
        let why = judged(&here, &directory, found.as_ref(), me);
        if why.is_some() {
            return Ok(why);
        }
        match found {
            None => return Ok(None),
            Some(found) if found.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Error::from_raw_os_error(
                        rustix::io::Errno::LOOP.raw_os_error(),
                    ));
                }
                let target = fs::read_link(&next)?;
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                open.extend(parts(&target));
            }
            Some(_) => here = next,
        }
    }
    Ok(None)
}

/// The last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

/// Whether somebody else can replace `entry`, which is or will be in `directory`.
fn judged(here: &Path, directory: &Metadata, entry: Option<&Metadata>, me: u32) -> Option<String> {
    let is_ours = |uid: u32| uid == me || uid == 0;
    let here = here.display();
    if !is_ours(directory.uid()) {
        let owner = directory.uid();
        return Some(format!("it is below {here}, which belongs to user {owner}"));
    }
    if directory.mode() & WRITABLE_BY_OTHERS == 0 {
        return None;
    }
    let mode = directory.mode() & 0o7777;
    if directory.mode() & STICKY == 0 {
        return Some(format!(
            "it is below {here}, whose mode {mode:o} allows other users to replace it"
        ));
    }
    // In a sticky directory only the owner of an entry, or of the directory, can rename the entry.
    let entry = entry.filter(|entry| !is_ours(entry.uid()) && !entry.is_file())?;
    let owner = entry.uid();
    Some(format!(
        "user {owner} owns a part of its path in {here}, whose mode {mode:o} lets everybody write"
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const NOBODY: u32 = 65534;

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_directory_on_the_way_counts() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/file"), "").unwrap();
        let why = |name: &str| doubt_of(&at(name), me()).unwrap();
        for name in ["a/b/file", "a/b/new/one", "a/../a/b/file", "a/b/file/x"] {
            assert_eq!(why(name), None, "{name}");
        }
        allow(&at("a"), 0o777);
        for name in ["a/b/file", "a/b/new/one", "a/b/../b/file", "a/new"] {
            let why = why(name).unwrap_or_default();
            assert!(why.contains("/a, whose mode 777"), "{name}: {why}");
        }
        allow(&at("a"), 0o1777);
        assert_eq!(why("a/b/file"), None, "sticky");
        allow(&at("a/b"), 0o775);
        assert!(why("a/b/file").unwrap().contains("/a/b, whose mode 775"));
    }

    #[test]
    fn a_link_is_followed_and_its_own_place_counts() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for name in ["safe", "open"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("file"), "").unwrap();
        }
        allow(&at("open"), 0o777);
        symlink("../open", at("safe/to-open")).unwrap();
        symlink(at("safe"), at("open/to-safe")).unwrap();
        symlink("to-itself", at("safe/to-itself")).unwrap();
        let why = |name: &str| doubt_of(&at(name), me());
        for name in ["safe/to-open/file", "open/to-safe/file"] {
            let why = why(name).unwrap().unwrap_or_default();
            assert!(why.contains("/open, whose mode 777"), "{name}: {why}");
        }
        assert!(why("safe/to-itself/x").is_err());
    }

    #[test]
    fn another_owner_can_rename() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("file");
        fs::write(&file, "").unwrap();
        // For somebody else, the directory of this user is another user's, unless this user is root.
        let why = doubt_of(&file, NOBODY).unwrap();
        match me() {
            0 => assert_eq!(why, None),
            _ => assert!(why.unwrap().contains("which belongs to user")),
        }
    }
}
