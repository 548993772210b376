//! Kernel events (uevents) about disks during an experiment: a resize, a change of medium, read-only state, removal.
//! Settings read before and after a round do not show what changed back in between.

use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

/// Multicast group of the kernel's own events; udev sends its events to group 2.
const KERNEL: u32 = 1;
/// The kernel limits an event's variables to 2 KiB.
const LARGEST_BYTES: usize = 8192;

/// Variables that every event has; they say nothing about the disk.
const USUAL: [&str; 10] = [
    "ACTION",
    "DEVPATH",
    "SUBSYSTEM",
    "SYNTH_UUID",
    "MAJOR",
    "MINOR",
    "DEVNAME",
    "DEVTYPE",
    "DISKSEQ",
    "SEQNUM",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uevent {
    action: String,
    /// Path below /sys.
    path: String,
    /// The remaining variables, such as `RESIZE=1`.
    facts: Vec<String>,
    /// User space requested the event: udev after a write to a disk, or `udevadm trigger`.
    pub is_asked_for: bool,
}

impl Uevent {
    /// Parses a kernel message: `change@/devices/...`, then `NAME=VALUE`, each terminated by a zero byte. None if it
    /// has another format.
    pub fn parse(message: &[u8]) -> Option<Uevent> {
        let text = String::from_utf8_lossy(message);
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        let (action, path) = parts.next()?.split_once('@')?;
        let mut event = Uevent {
            action: action.to_owned(),
            path: path.to_owned(),
            facts: Vec::new(),
            is_asked_for: false,
        };
        for part in parts {
            let (name, _) = part.split_once('=')?;
            event.is_asked_for |= name == "SYNTH_UUID";
            if !USUAL.contains(&name) {
                event.facts.push(part.to_owned());
            }
        }
        Some(event)
    }

    /// Whether it concerns the disk itself or an object below it, such as a partition or the queue.
    pub fn is_of(&self, disk: &str) -> bool {
        let (_, below) = self.path.split_once("/block/").unwrap_or_default();
        below
            .strip_prefix(disk)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// `change of loop0 (RESIZE=1)`.
impl std::fmt::Display for Uevent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        write!(f, "{} of {name}", self.action)?;
        if !self.facts.is_empty() {
            write!(f, " ({})", self.facts.join(", "))?;
        }
        if self.is_asked_for {
            f.write_str(", requested by user space")?;
        }
        Ok(())
    }
}

/// The events of some period.
pub struct HeardUevents {
    pub events: Vec<Uevent>,
    /// False if the kernel dropped events because too many came at once.
    pub is_whole: bool,
}

impl Default for HeardUevents {
    fn default() -> Self {
        HeardUevents {
            events: Vec::new(),
            is_whole: true,
        }
    }
}

impl HeardUevents {
    /// The events as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let dropped = "the kernel dropped events: too many came at once";
        let events = self.events.iter().map(Uevent::to_string);
        events
            .chain((!self.is_whole).then(|| dropped.to_owned()))
            .collect()
    }
}

/// Receives events from its creation on.
pub struct Uevents {
    socket: OwnedFd,
}

impl Uevents {
    pub fn listen() -> Result<Uevents> {
        let open = || -> rustix::io::Result<OwnedFd> {
            let socket = socket_with(
                AddressFamily::NETLINK,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                Some(netlink::KOBJECT_UEVENT),
            )?;
            bind(&socket, &SocketAddrNetlink::new(0, KERNEL))?;
            Ok(socket)
        };
        let socket = open().context("opening the netlink socket for kernel events")?;
        Ok(Uevents { socket })
    }

    /// The events since the last call.
    pub fn take(&self) -> HeardUevents {
        let mut told = HeardUevents::default();
        let mut buffer = [0; LARGEST_BYTES];
        loop {
            match recv(&self.socket, &mut buffer, RecvFlags::empty()) {
                Ok((length, _)) => told.events.extend(Uevent::parse(&buffer[..length])),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => told.is_whole = false,
                Err(_) => return told,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(text: &str) -> Option<Uevent> {
        Uevent::parse(text.replace('|', "\0").as_bytes())
    }

    #[test]
    fn an_event_says_what_happened_to_which_disk() {
        let resized = event(
            "change@/devices/pci0000:00/block/sda|ACTION=change|DEVPATH=/devices/pci0000:00/block/sda|\
            SUBSYSTEM=block|RESIZE=1|MAJOR=8|SEQNUM=12|",
        );
        let resized = resized.expect("an event");
        assert_eq!(resized.to_string(), "change of sda (RESIZE=1)");
        assert!(resized.is_of("sda") && !resized.is_of("sdaa") && !resized.is_of("sd"));
        assert!(!resized.is_asked_for);
        let triggered = event("change@/devices/virtual/block/loop1|SYNTH_UUID=0|").expect("one");
        assert!(triggered.is_asked_for);
        assert_eq!(
            triggered.to_string(),
            "change of loop1, requested by user space"
        );
        let part = event("remove@/devices/x/block/sda/sda1|").expect("one");
        assert!(part.is_of("sda") && !part.is_of("sda1"));
        assert!(!event("add@/devices/x/net/sda|").expect("one").is_of("sda"));
    }

    #[test]
    fn what_was_dropped_is_told() {
        let event = event("change@/devices/x/block/sda|").expect("one");
        let told = |is_whole| HeardUevents {
            events: vec![event.clone()],
            is_whole,
        };
        assert_eq!(told(true).lines(), ["change of sda"]);
        assert_eq!(told(false).lines().len(), 2);
    }

    #[test]
    fn what_is_no_event_is_left_out() {
        for text in ["", "|", "libudev|x", "change|A=1", "change@/x|nonsense|"] {
            assert_eq!(event(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_message_can_be_looked_at(message in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(event) = Uevent::parse(&message) {
                let _ = (event.is_of("sda"), event.to_string());
            }
        }
    }
}
