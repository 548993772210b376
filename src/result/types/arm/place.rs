//! The place of an arm's setting: the disk's queue, a control group, the system, or a command. Pure.

use super::group_file::{self, GroupFile};
use super::system_setting::{self, SystemSetting};

const GROUP: &str = "cgroup:";
const SYSTEM: &str = "vm.";
pub const EXEC: &str = "exec";
pub const UNDO: &str = "undo";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// An attribute below the disk's `queue/`.
    Queue,
    /// `path` begins with `/`, at the root of the file's hierarchy.
    Group {
        path: &'a str,
        file: &'static GroupFile,
    },
    /// The group that each round makes for this process of the workload, and that ends with the round.
    Own {
        process: &'a str,
        file: &'static GroupFile,
    },
    System(&'static SystemSetting),
    /// A command that makes the arm what it is.
    Exec,
    /// The command that undoes it.
    Undo,
}

/// Err: what is wrong with the name, as in `is not the path of a control group`.
pub fn of(name: &str) -> Result<Place<'_>, String> {
    if let Some(rest) = name.strip_prefix(GROUP) {
        return group(rest);
    }
    match name {
        EXEC => Ok(Place::Exec),
        UNDO => Ok(Place::Undo),
        _ if name.starts_with(SYSTEM) => {
            system_setting::of(name).map(Place::System).ok_or_else(|| {
                let known: Vec<&str> = system_setting::ALL.iter().map(|known| known.name).collect();
                format!("is none that an arm may set: {}", known.join(", "))
            })
        }
        _ => Ok(Place::Queue),
    }
}

fn group(rest: &str) -> Result<Place<'_>, String> {
    let known = || {
        let known: Vec<&str> = group_file::ALL.iter().map(|known| known.name).collect();
        known.join(", ")
    };
    let Some((path, file)) = rest.rsplit_once('/') else {
        return Err("is not cgroup:/PATH/FILE".to_owned());
    };
    let own = path
        .strip_prefix('{')
        .and_then(|path| path.strip_suffix('}'));
    let path = if path.is_empty() { "/" } else { path };
    let is_sound = |part: &str| !part.is_empty() && part != "." && part != "..";
    if own == Some("") {
        return Err("names no process of the workload: cgroup:{NAME}/FILE".to_owned());
    }
    let is_path = path.starts_with('/') && (path == "/" || path[1..].split('/').all(is_sound));
    if own.is_none() && !is_path {
        return Err(
            "is not cgroup:/PATH/FILE, with the path from the root of the hierarchy, or cgroup:{NAME}/FILE, with a process of the workload"
                .to_owned(),
        );
    }
    let Some(file) = group_file::of(file) else {
        return Err(format!("has no file that an arm may set: {}", known()));
    };
    if file.is_of_the_root && path != "/" {
        return Err(format!("is only in the root: cgroup:/{}", file.name));
    }
    Ok(match own {
        Some(process) => Place::Own { process, file },
        None => Place::Group { path, file },
    })
}

/// A part of an arm's text, which begins after a comma: name and value.
pub(super) fn split(part: &str) -> Option<(String, String)> {
    for command in [EXEC, UNDO] {
        let rest = part
            .strip_prefix(command)
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some(rest) = rest {
            return Some((command.to_owned(), rest.to_owned()));
        }
    }
    // The name of a control group may have a `=`, its file has none.
    let from = if part.starts_with(GROUP) {
        let until_value = part.find(' ').unwrap_or(part.len());
        part[..until_value].rfind('/').unwrap_or(0)
    } else {
        0
    };
    let at = from + part[from..].find('=')?;
    Some((part[..at].to_owned(), part[at + 1..].to_owned()))
}

/// The opposite of [`split`].
pub(super) fn join(name: &str, value: &str) -> String {
    let between = if [EXEC, UNDO].contains(&name) {
        ':'
    } else {
        '='
    };
    format!("{name}{between}{value}")
}

/// Err: what is wrong with the value, as in `must be a number`.
pub(super) fn check_value(place: Place, value: &str) -> Result<(), String> {
    match place {
        Place::Queue => Ok(()),
        Place::Group { file, .. } | Place::Own { file, .. } => file.check(value),
        Place::System(setting) => match value.parse::<u64>() {
            // The kernel has the limit in its other unit then, or none.
            Ok(0) if setting.other_unit.is_some() => Err("must be 1 or more".to_owned()),
            Ok(_) => Ok(()),
            Err(_) => Err("must be a number of 0 or more".to_owned()),
        },
        Place::Exec | Place::Undo => match shlex::split(value) {
            Some(words) if !words.is_empty() => Ok(()),
            _ => Err("must be a command, with its quotes in pairs".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_path_and_a_file() {
        let Ok(Place::Group { path, file }) = of("cgroup:/db.slice/a=b/io.latency") else {
            panic!("a group");
        };
        assert_eq!((path, file.name), ("/db.slice/a=b", "io.latency"));
        let Ok(Place::Group { path, .. }) = of("cgroup:/io.cost.qos") else {
            panic!("the root");
        };
        assert_eq!(path, "/");
        let Ok(Place::Own { process, file }) = of("cgroup:{hog.1}/io.max") else {
            panic!("a group of the workload");
        };
        assert_eq!((process, file.name), ("hog.1", "io.max"));
        for (name, why) in [
            ("cgroup:db/io.max", "path from the root"),
            ("cgroup:{}/io.max", "names no process"),
            ("cgroup:{hog/io.max", "a process of the workload"),
            ("cgroup:{hog}/io.cost.qos", "only in the root"),
            ("cgroup:io.max", "is not cgroup:/PATH/FILE"),
            ("cgroup:/a/../io.max", "path from the root"),
            ("cgroup://x/io.max", "path from the root"),
            ("cgroup:/a/cgroup.kill", "io.max"),
            ("cgroup:/a/io.cost.qos", "only in the root"),
            ("vm.drop_caches", "vm.dirty_bytes"),
        ] {
            let wrong = of(name).expect_err(name);
            assert!(wrong.contains(why), "{name}: {wrong}");
        }
        assert_eq!(of("iosched/vm.x"), Ok(Place::Queue));
    }

    #[test]
    fn parts_split_where_the_name_ends() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(split("nr_requests=4"), pair("nr_requests", "4"));
        assert_eq!(
            split("cgroup:/a=b/io.max=riops=5 wbps=7"),
            pair("cgroup:/a=b/io.max", "riops=5 wbps=7")
        );
        assert_eq!(
            split("cgroup:{a}/io.max=riops=5"),
            pair("cgroup:{a}/io.max", "riops=5")
        );
        assert_eq!(split("exec:./load a=b"), pair("exec", "./load a=b"));
        assert_eq!(split("nothing"), None);
        for text in [
            "nr_requests=4",
            "cgroup:/a=b/io.max=riops=5 wbps=7",
            "undo:x /y=z",
        ] {
            let (name, value) = split(text).expect(text);
            assert_eq!(join(&name, &value), text);
        }
    }
}
