//! The properties of the scratch device that a measurement must find, for reports and for people.

use serde::{Deserialize, Serialize};

use super::model::{DiskModel, Timing};
use super::spec::DiskSpec;
use crate::types::file_system::FileSystem;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Truth {
    pub model: DiskModel,
    /// Size of the whole disk.
    pub size_bytes: u64,
    /// Block devices that are equal parts of the disk.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub luns: usize,
    /// The file system that was made on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Requests that the driver accepts at once, for each LUN; all others wait where the scheduler can reorder them.
    pub hardware_depth: u32,
    /// None: as fast as memory, so not known in advance.
    pub timing: Option<Timing>,
    /// Latency of the path through the loop driver and FUSE, by which replies leave early.
    pub compensation_ns: u64,
    /// Whether the serving threads have real-time priority, so that a busy machine does not slow the device down.
    pub realtime: bool,
    /// All properties in a sentence for people.
    pub text: String,
}

impl Truth {
    pub fn timed(
        spec: DiskSpec,
        size_bytes: u64,
        hardware_depth: u32,
        timing: Timing,
        compensation_ns: u64,
        realtime: bool,
    ) -> Truth {
        let text = describe(spec, hardware_depth, &timing);
        Truth {
            model: spec.model,
            size_bytes,
            luns: spec.luns,
            file_system: spec.file_system,
            hardware_depth,
            timing: Some(timing),
            compensation_ns,
            realtime,
            text,
        }
    }

    /// For a loop device over memory.
    pub fn untimed(spec: DiskSpec, size_bytes: u64, hardware_depth: u32) -> Truth {
        Truth {
            model: spec.model,
            size_bytes,
            luns: spec.luns,
            file_system: spec.file_system,
            hardware_depth,
            timing: None,
            compensation_ns: 0,
            realtime: false,
            text: format!(
                "{} over memory with {hardware_depth} hardware tags{}: as fast as the machine",
                if spec.luns == 1 {
                    "a loop device".to_owned()
                } else {
                    format!("{} loop devices", spec.luns)
                },
                of_each(spec)
            ),
        }
    }

    /// Spec to ask for to get the same disk again.
    pub fn spec(&self) -> DiskSpec {
        DiskSpec {
            model: self.model,
            luns: self.luns,
            file_system: self.file_system,
        }
    }
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_one(luns: &usize) -> bool {
    *luns == 1
}

/// The words that stand behind the hardware depth, and the file system.
fn of_each(spec: DiskSpec) -> String {
    let each = if spec.luns == 1 { "" } else { " each" };
    match spec.file_system {
        None => each.to_owned(),
        Some(made) => {
            let profile = made.profile(spec.luns);
            let profile = profile.map_or(String::new(), |name| format!(" ({name})"));
            format!("{each} and {made}{profile}")
        }
    }
}

fn describe(spec: DiskSpec, hardware_depth: u32, timing: &Timing) -> String {
    let seek = timing.seek.map_or(String::new(), |seek| {
        format!(
            " and {:.2} ms on average for a seek and the rotation",
            seek.mean_ns() as f64 / 1e6
        )
    });
    format!(
        "{} with {hardware_depth} hardware tags{}, which serves {} at a time, each in {:.2} ms + {} MB/s{seek}: \
         a random 4 KiB read takes {:.3} ms from issue to complete (D2C), and there are at most {:.0} a second",
        if spec.luns == 1 {
            format!("a simulated {}", spec.model)
        } else {
            format!("{} LUNs on one simulated {}", spec.luns, spec.model)
        },
        of_each(spec),
        timing.channels,
        timing.base_ns as f64 / 1e6,
        timing.bytes_per_s / 1_000_000,
        timing.random_service_ns(4096) as f64 / 1e6,
        timing.random_iops(4096),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_has_the_numbers() {
        let ssd = Timing::of(DiskModel::Ssd).unwrap();
        let truth = Truth::timed(DiskModel::Ssd.into(), 1 << 30, 4, ssd, 60_000, true);
        assert_eq!(
            truth.text,
            "a simulated ssd with 4 hardware tags, which serves 4 at a time, each in 1.00 ms + 100 MB/s: \
             a random 4 KiB read takes 1.041 ms from issue to complete (D2C), and there are at most 3843 a second"
        );
        let hdd = Timing::of(DiskModel::Hdd).unwrap();
        let text = Truth::timed(DiskModel::Hdd.into(), 1 << 30, 4, hdd, 0, true).text;
        assert!(text.contains("7.87 ms on average for a seek"), "{text}");
        assert!(text.contains("at most 127 a second"), "{text}");
    }

    #[test]
    fn it_survives_json() {
        let hdd = Timing::of(DiskModel::Hdd).unwrap();
        let truth = Truth::timed(DiskModel::Hdd.into(), 1 << 30, 4, hdd, 0, false);
        let json = serde_json::to_string(&truth).unwrap();
        assert_eq!(serde_json::from_str::<Truth>(&json).unwrap(), truth);
        assert!(json.contains(r#""model":"hdd""#), "{json}");
        let untimed = Truth::untimed(DiskModel::Ram.into(), 4096, 4);
        assert_eq!(untimed.timing, None);
    }
}
