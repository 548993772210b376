//! The integral autocorrelation time of a load; a round must be long compared with it. Pure.

use std::time::Duration;

use anyhow::Result;

use crate::machine::Machine;
use crate::workload::application::{Application, Read};
use iosched_result::measured::snapshot::{DeviceOp, Interval, Op, Stage};
use iosched_result::types::live::{LiveDesign, Watched};

/// How long the load is observed, and the sampling interval.
const WATCH: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_secs(1);
/// How often the metrics of the application are read meanwhile.
const READING: Duration = Duration::from_secs(5);
/// Length of a window in autocorrelation times, and its limits.
const TIMES: f64 = 10.0;
const SHORTEST: Duration = Duration::from_secs(20);
const LONGEST: Duration = Duration::from_secs(120);

/// The integral autocorrelation time of a series, in steps: 1 for independent values. The sum ends at the first lag
/// that is not positive (Geyer's initial positive sequence, by single lags). None for a constant series, or with fewer
/// than eight values.
pub fn autocorrelation_time(series: &[f64]) -> Option<f64> {
    const FEWEST: usize = 8;
    if series.len() < FEWEST {
        return None;
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let centred: Vec<f64> = series.iter().map(|x| x - mean).collect();
    let variance = centred.iter().map(|x| x * x).sum::<f64>() / n;
    if variance <= 0.0 || !variance.is_finite() {
        return None;
    }
    let correlation = |lag: usize| {
        let pairs = centred.iter().zip(&centred[lag..]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / n / variance
    };
    let positive = (1..series.len() / 2)
        .map(correlation)
        .take_while(|r| *r > 0.0);
    Some(1.0 + 2.0 * positive.sum::<f64>())
}

/// What was seen of the load before the first switch.
pub struct Seen {
    memory_s: Option<f64>,
    load: Watched,
    /// Readings of the application's metrics, one each [`READING`].
    readings: Vec<Vec<Read>>,
}

/// Observes the load. `tells` gets what was seen so far, each second.
pub fn watch(
    machine: &mut dyn Machine,
    application: Option<&Application>,
    tells: &mut dyn FnMut(f64, &Watched),
) -> Result<Seen> {
    let mut series: [Vec<f64>; 3] = Default::default();
    let first = machine.snapshot()?;
    let mut earlier = first.clone();
    let mut load = Watched::default();
    let mut readings = Vec::new();
    let begin = machine.now();
    let mut next_reading = begin;
    loop {
        let now = machine.now();
        let is_over = now >= begin + WATCH;
        if let Some(application) = application.filter(|_| now >= next_reading || is_over) {
            readings.push(application.read(&|| machine.now())?);
            next_reading += READING;
        }
        if is_over {
            break;
        }
        machine.ensure_uninterrupted()?;
        machine.sleep(STEP);
        let snapshot = machine.snapshot()?;
        let second = Interval::between(&earlier, &snapshot)?;
        for (series, value) in series.iter_mut().zip(values(&second)) {
            series.extend(value);
        }
        load = of_load(&Interval::between(&first, &snapshot)?);
        tells(machine.now().saturating_sub(begin).as_secs_f64(), &load);
        earlier = snapshot;
    }
    let times = series
        .iter()
        .filter_map(|series| autocorrelation_time(series));
    let memory_s = times
        .reduce(f64::max)
        .map(|steps| steps * STEP.as_secs_f64());
    Ok(Seen {
        memory_s,
        load,
        readings,
    })
}

impl Seen {
    /// The length of a window, and the reason.
    pub fn window(&self) -> (Duration, String) {
        window(self.memory_s)
    }

    /// Into the design. Err: a metric of the application says nothing.
    pub fn put(
        self,
        live: &mut LiveDesign,
        application: Option<&Application>,
        window: Duration,
    ) -> Result<()> {
        live.watched_s = WATCH.as_secs_f64();
        live.memory_s = self.memory_s;
        let of = |it: &Application| it.watched(&self.readings, window);
        live.watched = Some(Watched {
            application: application.map(of).transpose()?.unwrap_or_default(),
            ..self.load
        });
        Ok(())
    }
}

fn of_load(seen: &Interval) -> Watched {
    let seconds = seen.duration_s();
    let per_s = |ops: &[Op], of: fn(&DeviceOp) -> u64| {
        let ops = seen
            .devices
            .iter()
            .flat_map(|device| ops.iter().map(|op| of(&device.ops[*op as usize])));
        ops.sum::<u64>() as f64 / seconds
    };
    let all = seen.devices.iter().flat_map(|device| {
        Op::DATA.map(|op| {
            let op = &device.ops[op as usize];
            (op.q2c_sum_ns, op.ios)
        })
    });
    let (sum_ns, count) = all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Watched {
        reads_per_s: per_s(&[Op::Read], |op| op.ios),
        writes_per_s: per_s(&Op::WRITES, |op| op.ios),
        bytes_per_s: per_s(&Op::DATA, |op| op.bytes),
        total_mean_ns: (count > 0).then(|| sum_ns as f64 / count as f64),
        application: Vec::new(),
    }
}

fn values(second: &Interval) -> [Option<f64>; 3] {
    let sum = |of: fn(&DeviceOp) -> u64| {
        let ops = second
            .devices
            .iter()
            .flat_map(|device| Op::DATA.map(|op| &device.ops[op as usize]));
        Some(ops.map(of).sum::<u64>() as f64)
    };
    let device = second.devices.first();
    let mean = device.and_then(|device| device.stage(Stage::Q2c, &Op::DATA).mean_ns());
    [sum(|op| op.ios), sum(|op| op.bytes), mean]
}

/// The length of a window, and the reason.
fn window(memory_s: Option<f64>) -> (Duration, String) {
    let Some(memory_s) = memory_s else {
        return (
            SHORTEST,
            format!(
                "the load was constant or absent while it was observed: windows of {} s",
                SHORTEST.as_secs()
            ),
        );
    };
    let wanted = Duration::from_secs_f64((TIMES * memory_s).min(1e6));
    let window = Duration::from_secs(wanted.clamp(SHORTEST, LONGEST).as_secs_f64().ceil() as u64);
    let mut why = format!(
        "the autocorrelation time of the load is {memory_s:.1} s: windows of {} s",
        window.as_secs()
    );
    if wanted > LONGEST {
        why.push_str("; they are short compared with it, so a verdict takes hours");
    }
    (window, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    /// x = a x + noise has the autocorrelation time (1 + a) / (1 - a).
    #[test]
    fn the_time_is_that_of_an_autoregressive_process() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        for (a, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
            let mut x = 0.0;
            let series: Vec<f64> = (0..50_000)
                .map(|_| {
                    let noise: f64 = StandardNormal.sample(&mut rng);
                    x = a * x + noise;
                    x
                })
                .collect();
            let found = autocorrelation_time(&series).unwrap();
            assert!((found / expected - 1.0).abs() < 0.2, "{a}: {found}");
        }
    }

    #[test]
    fn what_does_not_vary_has_none() {
        assert_eq!(autocorrelation_time(&[5.0; 60]), None);
        assert_eq!(autocorrelation_time(&[1.0, 2.0]), None);
    }

    #[test]
    fn a_window_is_long_against_the_memory() {
        assert_eq!(window(None).0, SHORTEST);
        assert_eq!(window(Some(1.0)).0, SHORTEST);
        assert_eq!(window(Some(5.0)).0, Duration::from_secs(50));
        let (longest, why) = window(Some(90.0));
        assert_eq!(longest, LONGEST);
        assert!(why.contains("takes hours"), "{why}");
    }
}
