//! The latency of the scratch device: a pure state machine from (time, request) to the completion time. Its properties
//! are published as a [`Truth`], which a measurement of the device must reproduce.

use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::random::below;

/// The simulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DiskModel {
    /// Four channels, each with 1 ms + 100 MB/s: a slow SATA SSD, whose latency does not depend on the position.
    Ssd,
    /// One arm, 7200 rpm: latency is dominated by seeks and rotation.
    Hdd,
    /// Memory behind a loop device, without delay: shows the cost of the software alone.
    Ram,
}

impl FromStr for DiskModel {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "ssd" => Ok(DiskModel::Ssd),
            "hdd" => Ok(DiskModel::Hdd),
            "ram" => Ok(DiskModel::Ram),
            other => Err(Failure::usage(
                format!("unknown device model {other:?}"),
                "the models are ssd, hdd and ram",
            )),
        }
    }
}

impl fmt::Display for DiskModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DiskModel::Ssd => "ssd",
            DiskModel::Hdd => "hdd",
            DiskModel::Ram => "ram",
        })
    }
}

/// Time to move a disk's arm; 0 if a request begins where the last one ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seek {
    pub shortest_ns: u64,
    /// Full stroke, from the first byte to the last; in between the time grows with the square root of the distance.
    pub longest_ns: u64,
    /// The rotational delay after a seek is uniform between 0 and this.
    pub rotation_ns: u64,
}

impl Seek {
    /// Mean of seek plus rotation between two uniformly random positions: the mean of the root distance is 8/15.
    pub fn mean_ns(&self) -> u64 {
        self.shortest_ns + (self.longest_ns - self.shortest_ns) * 8 / 15 + self.rotation_ns / 2
    }
}

/// The service times that a measurement of the device must find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Number of requests served in parallel.
    pub channels: u32,
    /// Fixed time of every read and write.
    pub base_ns: u64,
    /// Throughput of one channel; 0: transfers take no time.
    pub bytes_per_s: u64,
    /// None: the position does not matter.
    pub seek: Option<Seek>,
    pub flush_ns: u64,
}

impl Timing {
    /// None for `ram`, which has no simulated latency.
    pub fn of(model: DiskModel) -> Option<Timing> {
        match model {
            DiskModel::Ssd => Some(Timing {
                channels: 4,
                base_ns: 1_000_000,
                bytes_per_s: 100_000_000,
                seek: None,
                flush_ns: 2_000_000,
            }),
            DiskModel::Hdd => Some(Timing {
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
            DiskModel::Ram => None,
        }
    }

    /// The same time for every request of any size, for the calibration.
    pub fn constant(base_ns: u64) -> Timing {
        Timing {
            channels: 1,
            base_ns,
            bytes_per_s: 0,
            seek: None,
            flush_ns: base_ns,
        }
    }

    /// Issue to completion (D2C) of a single request without a seek.
    pub fn service_ns(&self, bytes: u64) -> u64 {
        let transfer_ns = u128::from(bytes) * 1_000_000_000;
        let transfer_ns = transfer_ns.checked_div(u128::from(self.bytes_per_s));
        self.base_ns + transfer_ns.unwrap_or(0) as u64
    }

    /// Mean issue to completion (D2C) of single requests of this size at random positions.
    pub fn random_service_ns(&self, bytes: u64) -> u64 {
        self.service_ns(bytes) + self.seek.map_or(0, |seek| seek.mean_ns())
    }

    /// Requests per second if every channel is always busy with requests at random positions.
    pub fn random_iops(&self, bytes: u64) -> f64 {
        f64::from(self.channels) * 1e9 / self.random_service_ns(bytes) as f64
    }
}

/// A request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A read or a write.
    Transfer {
        offset: u64,
        bytes: u64,
    },
    Flush,
    /// Discard or write zeroes: moves no data.
    Zero,
}

/// The state of the device: when each channel becomes free, and the position of the arm.
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

    /// Completion time of a request that arrives at `now_ns`. Requests start in call order, each on the first free
    /// channel.
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
                seek.shortest_ns + way_ns as u64 + below(&mut self.rotation, seek.rotation_ns + 1)
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn service(model: DiskModel) -> Service {
        Service::new(Timing::of(model).expect("a model with times"), GIB, 1)
    }
    fn read(offset: u64, bytes: u64) -> Request {
        Request::Transfer { offset, bytes }
    }

    #[test]
    fn names_go_there_and_back() {
        for model in [DiskModel::Ssd, DiskModel::Hdd, DiskModel::Ram] {
            assert_eq!(model.to_string().parse::<DiskModel>().unwrap(), model);
        }
        let error = "tape".parse::<DiskModel>().unwrap_err();
        assert_eq!(crate::failure::kind_of(&error), crate::failure::Kind::Usage);
    }

    #[test]
    fn an_ssd_serves_four_at_once_and_the_fifth_waits() {
        let mut ssd = service(DiskModel::Ssd);
        for place in 0..4 {
            assert_eq!(ssd.complete_at_ns(7, read(place << 20, 4096)), 1_040_967);
        }
        assert_eq!(ssd.complete_at_ns(7, read(0, 4096)), 7 + 2 * 1_040_960);
        // An idle device starts at once, whatever happened before.
        assert_eq!(ssd.complete_at_ns(GIB, read(0, 4096)), GIB + 1_040_960);
    }

    #[test]
    fn an_ssd_takes_the_channel_that_is_free_first() {
        let mut ssd = service(DiskModel::Ssd);
        ssd.complete_at_ns(0, read(0, 1 << 20));
        for _ in 0..3 {
            ssd.complete_at_ns(0, read(0, 4096));
        }
        assert_eq!(ssd.complete_at_ns(0, read(0, 4096)), 2 * 1_040_960);
    }

    #[test]
    fn the_truth_of_the_ssd() {
        let ssd = Timing::of(DiskModel::Ssd).unwrap();
        assert_eq!(ssd.service_ns(4096), 1_040_960);
        assert_eq!(ssd.random_service_ns(4096), 1_040_960);
        assert_eq!(ssd.service_ns(256 << 10), 3_621_440);
        assert!((ssd.random_iops(4096) - 3842.6).abs() < 0.1);
    }

    #[test]
    fn a_disk_that_goes_on_pays_only_the_transfer() {
        let mut hdd = service(DiskModel::Hdd);
        assert_eq!(hdd.complete_at_ns(0, read(0, 120_000)), 1_000_000);
        assert_eq!(hdd.complete_at_ns(0, read(120_000, 120_000)), 2_000_000);
        let back_ns = hdd.complete_at_ns(0, read(0, 120_000)) - 2_000_000;
        assert!(back_ns >= 1_500_000, "no seek was paid: {back_ns}");
    }

    #[test]
    fn random_places_on_a_disk_cost_the_mean_that_the_truth_says() {
        let timing = Timing::of(DiskModel::Hdd).unwrap();
        let mut hdd = service(DiskModel::Hdd);
        let mut places = ChaCha8Rng::seed_from_u64(2);
        let (mut now_ns, count) = (0, 20_000);
        for _ in 0..count {
            let offset = below(&mut places, GIB / 4096) * 4096;
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
            let mut hdd = Service::new(Timing::of(DiskModel::Hdd).unwrap(), GIB, seed);
            (0..50)
                .map(|i| hdd.complete_at_ns(0, read(i * 9_999_360 % GIB, 4096)))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn a_flush_occupies_a_channel_and_leaves_the_arm_where_it_is() {
        let mut hdd = service(DiskModel::Hdd);
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
