//! How many requests the driver accepts at once. A write of `nr_requests` under `none` resizes the driver tags
//! permanently, and no sysfs file shows it afterwards (`mq/0/nr_tags` keeps the initial number). Only debugfs shows the
//! true depth; it need not be mounted anywhere.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::Device;
use iosched_result::types::queue::{DepthSource, HardwareDepth};

pub(super) fn read(device: &Device) -> Option<HardwareDepth> {
    let tags = format!("block/{}/hctx0/tags", device.name);
    if let Some(depth) = read_debugfs(&tags).ok().as_deref().and_then(parse_tags) {
        return Some(HardwareDepth {
            depth,
            source: DepthSource::Debugfs,
        });
    }
    let tags: u32 = device
        .optional_attribute("mq/0/nr_tags")?
        .parse()
        .ok()
        .filter(|&tags| tags > 0)?;
    Some(HardwareDepth {
        depth: tags.saturating_sub(device.reserved_tags()),
        source: DepthSource::NrTags,
    })
}

const USUAL_MOUNT: &str = "/sys/kernel/debug";

/// A private mount of debugfs that ends with this process. It is kept because making it needs CAP_SYS_ADMIN and reading
/// through it does not.
static OWN_MOUNT: OnceLock<OwnedFd> = OnceLock::new();

/// After this call root can read the depth without any capability, if it can be read at all.
pub(crate) fn keep_readable() {
    if !Path::new(USUAL_MOUNT).join("block").exists() {
        let _ = own_mount(); // without it the depth is read from nr_tags, and `DepthSource` says so
    }
}

/// Reads a file of debugfs.
fn read_debugfs(relative: &str) -> io::Result<String> {
    // The usual mount comes first: on older kernels a second mount would reset the options of the first.
    if let Ok(text) = fs::read_to_string(Path::new(USUAL_MOUNT).join(relative)) {
        return Ok(text);
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(own_mount()?, relative, flags, Mode::empty())?;
    let mut text = String::new();
    File::from(opened).read_to_string(&mut text)?;
    Ok(text)
}

fn own_mount() -> io::Result<&'static OwnedFd> {
    if let Some(mount) = OWN_MOUNT.get() {
        return Ok(mount);
    }
    let context = rustix::mount::fsopen("debugfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let mount = rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_RDONLY,
    )?;
    Ok(OWN_MOUNT.get_or_init(|| mount))
}

/// The `depth=` of the `bitmap_tags:` section; `breserved_tags:` has another one.
pub(crate) fn parse_tags(text: &str) -> Option<u32> {
    text.lines()
        .skip_while(|line| line.trim() != "bitmap_tags:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .find_map(|line| line.trim().strip_prefix("depth="))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: &str = "nr_tags=128\nnr_reserved_tags=1\nactive_queues=0\n\n\
        bitmap_tags:\ndepth=4\nbusy=0\nbits_per_word=8\n\n\
        breserved_tags:\ndepth=1\nbusy=0\n";

    #[test]
    fn the_section_decides_which_depth() {
        assert_eq!(parse_tags(TAGS), Some(4));
        let reserved_only = "bitmap_reserved_tags:\ndepth=1\n";
        assert_eq!(parse_tags(reserved_only), None);
        assert_eq!(parse_tags("bitmap_tags:\nbusy=1\n\ndepth=9\n"), None);
        assert_eq!(parse_tags(""), None);
    }
}
