//! What a measurement of the scratch device must find, for the report and for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Model, Timing};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Truth {
    pub model: Model,
    pub size_bytes: u64,
    /// Requests that the driver takes at a time; all others wait where the scheduler can reorder them.
    pub hardware_depth: u32,
    /// None: as fast as memory, and not known beforehand.
    pub timing: Option<Timing>,
    /// The way through the loop driver and FUSE, by which replies leave early.
    pub compensation_ns: u64,
    /// The serving threads have real-time priority, so that a busy machine does not slow the device down.
    pub realtime: bool,
    /// All of it in a sentence for people.
    pub text: String,
}

impl Truth {
    pub fn timed(
        model: Model,
        size_bytes: u64,
        hardware_depth: u32,
        timing: Timing,
        compensation_ns: u64,
        realtime: bool,
    ) -> Truth {
        let text = describe(model, hardware_depth, &timing);
        Truth {
            model,
            size_bytes,
            hardware_depth,
            timing: Some(timing),
            compensation_ns,
            realtime,
            text,
        }
    }

    /// Of a loop device over memory.
    pub fn untimed(model: Model, size_bytes: u64, hardware_depth: u32) -> Truth {
        Truth {
            model,
            size_bytes,
            hardware_depth,
            timing: None,
            compensation_ns: 0,
            realtime: false,
            text: format!(
                "a loop device over memory with {hardware_depth} hardware tags: as fast as the machine"
            ),
        }
    }
}

fn describe(model: Model, hardware_depth: u32, timing: &Timing) -> String {
    let seek = timing.seek.map_or(String::new(), |seek| {
        format!(
            " and {:.2} ms on average for a seek and the rotation",
            seek.mean_ns() as f64 / 1e6
        )
    });
    format!(
        "a simulated {model} with {hardware_depth} hardware tags that serves {} at a time, each in {:.2} ms + {} MB/s{seek}: \
         a random 4 KiB read takes {:.3} ms from issue to complete (D2C), and there are at most {:.0} a second",
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
        let ssd = Timing::of(Model::Ssd).unwrap();
        let truth = Truth::timed(Model::Ssd, 1 << 30, 4, ssd, 60_000, true);
        assert_eq!(
            truth.text,
            "a simulated ssd with 4 hardware tags that serves 4 at a time, each in 1.00 ms + 100 MB/s: \
             a random 4 KiB read takes 1.041 ms from issue to complete (D2C), and there are at most 3843 a second"
        );
        let hdd = Timing::of(Model::Hdd).unwrap();
        let text = Truth::timed(Model::Hdd, 1 << 30, 4, hdd, 0, true).text;
        assert!(text.contains("7.87 ms on average for a seek"), "{text}");
        assert!(text.contains("at most 127 a second"), "{text}");
    }

    #[test]
    fn it_survives_json() {
        let hdd = Timing::of(Model::Hdd).unwrap();
        let truth = Truth::timed(Model::Hdd, 1 << 30, 4, hdd, 0, false);
        let json = serde_json::to_string(&truth).unwrap();
        assert_eq!(serde_json::from_str::<Truth>(&json).unwrap(), truth);
        assert!(json.contains(r#""model":"hdd""#), "{json}");
        let untimed = Truth::untimed(Model::Ram, 4096, 4);
        assert_eq!(untimed.timing, None);
    }
}
