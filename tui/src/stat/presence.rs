//! Disks that come and go while others are watched. A probe is attached to the disks that were there at its start.

use std::time::{Duration, Instant};

use iosched::device::Device;

/// Looking through all disks takes some system calls for each.
const PAUSE: Duration = Duration::from_secs(2);

pub struct Presence {
    watched: Vec<Device>,
    /// Those that would be watched if the watch began now; none where the disks were named.
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

    /// What has happened since the last look, each thing once.
    pub fn news(&mut self) -> Vec<String> {
        if Instant::now() < self.next {
            return Vec::new();
        }
        self.next = Instant::now() + PAUSE;
        let mut news = Vec::new();
        self.watched.retain(|disk| {
            let is_present = disk.is_present();
            if !is_present {
                news.push(format!("{} has gone; its row stays", disk.name));
            }
            is_present
        });
        if let (Some(known), Ok(now)) = (&mut self.all, Device::lowest()) {
            for disk in now.devices {
                if known.contains(&disk) {
                    continue;
                }
                news.push(format!(
                    "{} has come and is not watched; start again to see it, too",
                    disk.name
                ));
                known.push(disk);
            }
        }
        news
    }
}
