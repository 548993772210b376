//! Where the control group hierarchies are mounted. Pure.
//! No path is assumed: hybrid machines, containers and unusual distributions each have their own.

use std::path::PathBuf;

use crate::system::device::mounts::Mount;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// Version 2, the unified hierarchy.
    pub unified: Option<PathBuf>,
    /// Version 1 hierarchies, by controller.
    pub blkio: Option<PathBuf>,
    pub cpuacct: Option<PathBuf>,
}

impl Mounts {
    /// The first mount of each kind.
    pub fn among(mounts: &[Mount]) -> Self {
        let of = |kind: &str, controller: Option<&str>| {
            let is_it = |mount: &&Mount| {
                mount.filesystem == kind && controller.is_none_or(|name| mount.has_option(name))
            };
            mounts.iter().find(is_it).map(|mount| mount.point.clone())
        };
        Mounts {
            unified: of("cgroup2", None),
            blkio: of("cgroup", Some("blkio")),
            cpuacct: of("cgroup", Some("cpuacct")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::device::mounts::parse;

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
            Mounts::among(&parse(text)),
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
        let mounts = Mounts::among(&parse(text));
        assert_eq!(mounts.unified, Some("/my groups".into()));
        assert_eq!(mounts.blkio, None);
        assert_eq!(
            Mounts::among(&parse("garbage\n - \n1 2 3 4 5 - cgroup2")),
            Mounts::default()
        );
    }
}
