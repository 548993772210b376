//! How long the scratch device takes: a pure state machine from (time, request) to the time of completion.
//! What it promises is written down as a [`Truth`], which a measurement of the device must find again.

use std::fmt;
use std::str::FromStr;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Which device is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Four channels of 1 ms + 100 MB/s each: a slow SATA SSD, whose times do not depend on the place.
    Ssd,
    /// One arm, 7200 turns a minute: seeks and rotation decide.
    Hdd,
    /// Memory behind a loop device, as fast as it goes: for the cost of the software alone.
    Ram,
}

impl FromStr for Model {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "ssd" => Ok(Model::Ssd),
            "hdd" => Ok(Model::Hdd),
            "ram" => Ok(Model::Ram),
            other => Err(Failure::usage(
                format!("there is no device model {other:?}"),
                "the models are ssd, hdd and ram",
            )),
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Model::Ssd => "ssd",
            Model::Hdd => "hdd",
            Model::Ram => "ram",
        })
    }
}

/// The cost of moving the arm of a disk; nothing when a request begins where the last one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seek {
    pub shortest_ns: u64,
    /// From the first byte to the last one; between them the time grows with the root of the distance.
    pub longest_ns: u64,
    /// After a seek the wait for the sector is anything from 0 to this, each as likely as the other.
    pub rotation_ns: u64,
}

impl Seek {
    /// The mean of seek and rotation between two uniformly random places: the mean root distance is 8/15.
    pub fn mean_ns(&self) -> u64 {
        self.shortest_ns + (self.longest_ns - self.shortest_ns) * 8 / 15 + self.rotation_ns / 2
    }
}

/// The service times that a measurement of the device must find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Requests that are served at the same time.
    pub channels: u32,
    /// Every read and write pays this.
    pub base_ns: u64,
    /// Of one channel; 0: the transfer takes no time.
    pub bytes_per_s: u64,
    /// None: the place does not matter.
    pub seek: Option<Seek>,
    pub flush_ns: u64,
}

impl Timing {
    /// None for `ram`, which is as fast as it is.
    pub fn of(model: Model) -> Option<Timing> {
        match model {
            Model::Ssd => Some(Timing {
                channels: 4,
                base_ns: 1_000_000,
                bytes_per_s: 100_000_000,
                seek: None,
                flush_ns: 2_000_000,
            }),
            Model::Hdd => Some(Timing {
                channels: 1,
                base_ns: 0,
                bytes_per_s: 120_000_000,
                seek: Some(Seek {
                    shortest_ns: 500_000,
                    longest_ns: 6_500_000,
                    rotation_ns: 8_333_333,
                }),
                flush_ns: 16_000_000,
            }),
            Model::Ram => None,
        }
    }

    /// The same time for every request, whatever its size: for the calibration.
    pub fn constant(base_ns: u64) -> Timing {
        Timing {
            channels: 1,
            base_ns,
            bytes_per_s: 0,
            seek: None,
            flush_ns: base_ns,
        }
    }

    /// Issue to complete (D2C) of a lone request that needs no seek.
    pub fn service_ns(&self, bytes: u64) -> u64 {
        let transfer_ns = u128::from(bytes) * 1_000_000_000;
        let transfer_ns = transfer_ns.checked_div(u128::from(self.bytes_per_s));
        self.base_ns + transfer_ns.unwrap_or(0) as u64
    }

    /// Mean issue to complete (D2C) of lone requests of this size at random places.
    pub fn random_service_ns(&self, bytes: u64) -> u64 {
        self.service_ns(bytes) + self.seek.map_or(0, |seek| seek.mean_ns())
    }

    /// Requests a second when every channel is busy all the time with requests at random places.
    pub fn random_iops(&self, bytes: u64) -> f64 {
        f64::from(self.channels) * 1e9 / self.random_service_ns(bytes) as f64
    }
}

/// What is asked of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A read or a write.
    Transfer {
        offset: u64,
        bytes: u64,
    },
    Flush,
    /// Discard or write zeroes: no data moves.
    Zero,
}

/// The device at work: when each channel becomes free, and where the arm stands.
#[derive(Debug)]
pub struct Service {
    timing: Timing,
    size_bytes: u64,
    free_at_ns: Vec<u64>,
    head: u64,
    rotation: ChaCha8Rng,
}

impl Service {
    pub fn new(timing: Timing, size_bytes: u64, seed: u64) -> Self {
        Service {
            free_at_ns: vec![0; timing.channels.max(1) as usize],
            size_bytes: size_bytes.max(1),
            head: 0,
            rotation: ChaCha8Rng::seed_from_u64(seed),
            timing,
        }
    }

    /// When a request that arrives at `now_ns` completes. Requests start in the order of the calls, each on the
    /// channel that is free first.
    pub fn complete_at_ns(&mut self, now_ns: u64, request: Request) -> u64 {
        let cost_ns = self.cost_ns(request);
        let Some(free_at_ns) = self.free_at_ns.iter_mut().min() else {
            return now_ns + cost_ns;
        };
        *free_at_ns = now_ns.max(*free_at_ns) + cost_ns;
        *free_at_ns
    }

    fn cost_ns(&mut self, request: Request) -> u64 {
        match request {
            Request::Flush => self.timing.flush_ns,
            Request::Zero => self.timing.base_ns,
            Request::Transfer { offset, bytes } => {
                let seek_ns = self.seek_ns(offset);
                self.head = offset + bytes;
                self.timing.service_ns(bytes) + seek_ns
            }
        }
    }

    fn seek_ns(&mut self, offset: u64) -> u64 {
        let distance = self.head.abs_diff(offset);
        match self.timing.seek {
            Some(seek) if distance > 0 => {
                let share = (distance as f64 / self.size_bytes as f64).min(1.0);
                let way_ns = (seek.longest_ns - seek.shortest_ns) as f64 * share.sqrt();
                seek.shortest_ns + way_ns as u64 + self.rotation.random_range(0..=seek.rotation_ns)
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn service(model: Model) -> Service {
        Service::new(Timing::of(model).expect("a model with times"), GIB, 1)
    }
    fn read(offset: u64, bytes: u64) -> Request {
        Request::Transfer { offset, bytes }
    }

    #[test]
    fn names_go_there_and_back() {
        for model in [Model::Ssd, Model::Hdd, Model::Ram] {
            assert_eq!(model.to_string().parse::<Model>().unwrap(), model);
        }
        let error = "tape".parse::<Model>().unwrap_err();
        assert_eq!(crate::failure::kind_of(&error), crate::failure::Kind::Usage);
    }

    #[test]
    fn an_ssd_serves_four_at_once_and_the_fifth_waits() {
        let mut ssd = service(Model::Ssd);
        for place in 0..4 {
            assert_eq!(ssd.complete_at_ns(7, read(place << 20, 4096)), 1_040_967);
        }
        assert_eq!(ssd.complete_at_ns(7, read(0, 4096)), 7 + 2 * 1_040_960);
        // An idle device starts at once, whatever happened long ago.
        assert_eq!(ssd.complete_at_ns(GIB, read(0, 4096)), GIB + 1_040_960);
    }

    #[test]
    fn an_ssd_takes_the_channel_that_is_free_first() {
        let mut ssd = service(Model::Ssd);
        ssd.complete_at_ns(0, read(0, 1 << 20));
        for _ in 0..3 {
            ssd.complete_at_ns(0, read(0, 4096));
        }
        assert_eq!(ssd.complete_at_ns(0, read(0, 4096)), 2 * 1_040_960);
    }

    #[test]
    fn the_truth_of_the_ssd() {
        let ssd = Timing::of(Model::Ssd).unwrap();
        assert_eq!(ssd.service_ns(4096), 1_040_960);
        assert_eq!(ssd.random_service_ns(4096), 1_040_960);
        assert_eq!(ssd.service_ns(256 << 10), 3_621_440);
        assert!((ssd.random_iops(4096) - 3842.6).abs() < 0.1);
    }

    #[test]
    fn a_disk_that_goes_on_pays_only_the_transfer() {
        let mut hdd = service(Model::Hdd);
        assert_eq!(hdd.complete_at_ns(0, read(0, 120_000)), 1_000_000);
        assert_eq!(hdd.complete_at_ns(0, read(120_000, 120_000)), 2_000_000);
        let back_ns = hdd.complete_at_ns(0, read(0, 120_000)) - 2_000_000;
        assert!(back_ns >= 1_500_000, "no seek was paid: {back_ns}");
    }

    #[test]
    fn random_places_on_a_disk_cost_the_mean_that_the_truth_says() {
        let timing = Timing::of(Model::Hdd).unwrap();
        let mut hdd = service(Model::Hdd);
        let mut places = ChaCha8Rng::seed_from_u64(2);
        let (mut now_ns, count) = (0, 20_000);
        for _ in 0..count {
            let offset = places.random_range(0..GIB / 4096) * 4096;
            now_ns = hdd.complete_at_ns(now_ns, read(offset, 4096));
        }
        let mean_ns = now_ns as f64 / f64::from(count);
        let promised_ns = timing.random_service_ns(4096) as f64;
        assert!(
            (mean_ns / promised_ns - 1.0).abs() < 0.01,
            "{mean_ns} is not {promised_ns}"
        );
        assert!((7.8e6..8.0e6).contains(&promised_ns), "{promised_ns}");
    }

    #[test]
    fn the_same_seed_gives_the_same_disk() {
        let run = |seed| {
            let mut hdd = Service::new(Timing::of(Model::Hdd).unwrap(), GIB, seed);
            (0..50)
                .map(|i| hdd.complete_at_ns(0, read(i * 9_999_360 % GIB, 4096)))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn a_flush_occupies_a_channel_and_leaves_the_arm_where_it_is() {
        let mut hdd = service(Model::Hdd);
        hdd.complete_at_ns(0, read(0, 120_000));
        assert_eq!(hdd.complete_at_ns(0, Request::Flush), 17_000_000);
        assert_eq!(hdd.complete_at_ns(0, read(120_000, 120_000)), 18_000_000);
        assert_eq!(hdd.complete_at_ns(0, Request::Zero), 18_000_000);
    }

    #[test]
    fn a_constant_does_not_look_at_the_size() {
        let mut constant = Service::new(Timing::constant(500), GIB, 1);
        assert_eq!(constant.complete_at_ns(0, read(0, 1 << 20)), 500);
        assert_eq!(constant.complete_at_ns(0, read(0, 1)), 1000);
    }
}
