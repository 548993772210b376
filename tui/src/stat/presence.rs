//! Reports disks that appear or disappear; the probe measures only those that existed when it was attached.

use std::time::{Duration, Instant};

use iosched_host::system::device::Device;

/// Each check costs a few system calls per disk.
const PAUSE: Duration = Duration::from_secs(2);

pub struct Presence {
    watched: Vec<Device>,
    /// All disks seen so far; None if the user named the disks.
    all: Option<Vec<Device>>,
    next: Instant,
}

impl Presence {
    pub fn new(watched: &[Device], were_named: bool) -> Self {
        Presence {
            watched: watched.to_vec(),
            all: (!were_named).then(|| watched.to_vec()),
            next: Instant::now() + PAUSE,
        }
    }

    /// Changes since the last call; each is reported once.
    pub fn news(&mut self) -> Vec<String> {
        if Instant::now() < self.next {
            return Vec::new();
        }
        self.next = Instant::now() + PAUSE;
        let mut news = Vec::new();
        self.watched.retain(|disk| {
            let is_present = disk.is_present();
            if !is_present {
                news.push(format!("{} was removed; its row stays", disk.name));
            }
            is_present
        });
        if let (Some(known), Ok(now)) = (&mut self.all, Device::lowest()) {
            for disk in now.devices {
                if known.contains(&disk) {
                    continue;
                }
                news.push(format!(
                    "{} was added and is not measured; restart iosched to include it",
                    disk.name
                ));
                known.push(disk);
            }
        }
        news
    }
}
