//! Where the control group hierarchies are mounted, from the text of `/proc/self/mountinfo`. Pure.
//! Nothing is assumed of paths: hybrid machines, containers and odd distributions each have their own.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// Version 2, the unified hierarchy.
    pub unified: Option<PathBuf>,
    /// Version 1 hierarchies by controller.
    pub blkio: Option<PathBuf>,
    pub cpuacct: Option<PathBuf>,
}

impl Mounts {
    pub fn parse(mountinfo: &str) -> Self {
        let mut mounts = Mounts::default();
        for line in mountinfo.lines() {
            let Some((point, fs_type, options)) = fields(line) else {
                continue;
            };
            let has = |name| fs_type == "cgroup" && options.split(',').any(|option| option == name);
            let slots = [
                (fs_type == "cgroup2", &mut mounts.unified),
                (has("blkio"), &mut mounts.blkio),
                (has("cpuacct"), &mut mounts.cpuacct),
            ];
            for (matches, slot) in slots {
                if matches && slot.is_none() {
                    *slot = Some(PathBuf::from(unescape(point)));
                }
            }
        }
        mounts
    }
}

/// Mount point, file system type and super options; the optional fields end at a lone dash.
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let point = before.split(' ').nth(4)?;
    let mut after = after.split(' ');
    let fs_type = after.next()?;
    let _source = after.next()?;
    Some((point, fs_type, after.next()?))
}

/// Blanks and backslashes are octal in mountinfo.
fn unescape(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (code, blank)| {
        text.replace(code, blank)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_machine_has_both_versions() {
        let text = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:7 - cgroup cgroup rw,cpu,cpuacct
38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
99 31 0:38 / /mnt/second rw,relatime - cgroup2 cgroup2 rw
";
        assert_eq!(
            Mounts::parse(text),
            Mounts {
                unified: Some("/sys/fs/cgroup/unified".into()),
                blkio: Some("/sys/fs/cgroup/blkio".into()),
                cpuacct: Some("/sys/fs/cgroup/cpu,cpuacct".into()),
            }
        );
    }

    #[test]
    fn a_unified_machine_and_an_odd_path() {
        let text = "26 24 0:23 / /my\\040groups rw shared:4 master:2 - cgroup2 blkio rw,nsdelegate";
        let mounts = Mounts::parse(text);
        assert_eq!(mounts.unified, Some("/my groups".into()));
        assert_eq!(mounts.blkio, None);
        assert_eq!(
            Mounts::parse("garbage\n - \n1 2 3 4 5 - cgroup2"),
            Mounts::default()
        );
    }
}
