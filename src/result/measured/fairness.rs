//! How a device's service was divided among owners, and whether fairly. Pure.
//!
//! Only flows that were *backlogged* for at least [`BACKLOGGED_SHARE`] of the window count. Jain's index over n flows,
//! each divided by its weight, is between 1/n (one flow got everything) and 1 (all got their due).

use serde::{Deserialize, Serialize};

/// A flow that was backlogged for less than this share of the window cannot have been treated unfairly in it.
pub const BACKLOGGED_SHARE: f64 = 0.8;

/// One owner in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub bytes: f64,
    pub ios: f64,
    pub device_time_ns: f64,
    /// Share of the window in which it had a request in flight.
    pub backlogged: f64,
    /// Its weight relative to the other flows; None in a priority class of its own (real-time, idle).
    pub weight: Option<f64>,
}

/// Jain's index of three quantities; absent with fewer than two flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fairness {
    /// Number of flows compared.
    pub flows: u64,
    /// Number of flows left out: not backlogged long enough, or in a priority class of their own.
    pub left_out: u64,
    /// Index of the flows' bytes, divided by their weights.
    pub jain_bytes: Option<f64>,
    /// Index of their completed requests.
    pub jain_ios: Option<f64>,
    /// Index of their shares of the device time.
    pub jain_device_time: Option<f64>,
}

pub fn fairness(flows: &[Flow]) -> Fairness {
    let compared: Vec<(&Flow, f64)> = flows
        .iter()
        .filter(|flow| flow.backlogged >= BACKLOGGED_SHARE)
        .filter_map(|flow| Some((flow, flow.weight?)))
        .collect();
    let weights: Vec<f64> = compared.iter().map(|(_, weight)| *weight).collect();
    let index = |part: fn(&Flow) -> f64| {
        let parts: Vec<f64> = compared.iter().map(|(flow, _)| part(flow)).collect();
        jain_weighted(&parts, &weights).filter(|_| parts.len() > 1)
    };
    Fairness {
        flows: compared.len() as u64,
        left_out: (flows.len() - compared.len()) as u64,
        jain_bytes: index(|flow| flow.bytes),
        jain_ios: index(|flow| flow.ios),
        jain_device_time: index(|flow| flow.device_time_ns),
    }
}

/// Weight of an I/O priority: 8 minus its level, as in bfq; 4 if none was set. The real-time and idle classes are
/// served before and after all others and have no weight relative to them.
pub fn weight_of_ioprio((class, level): (u8, u8)) -> Option<f64> {
    match class {
        0 => Some(4.0),
        2 => Some(8.0 - f64::from(level.min(7))),
        _ => None,
    }
}

/// Jain's fairness index, from 1/n (one got everything) to 1 (equal); `None` for fewer than two values or if all are 0.
pub fn jain(x: &[f64]) -> Option<f64> {
    let fit = x.len() > 1 && x.iter().all(|&v| v.is_finite() && v >= 0.0);
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|v| v * v).sum();
    let index = sum * sum / (x.len() as f64 * squares);
    (fit && index.is_finite()).then_some(index)
}

/// Jain's index of `x[i] / weights[i]`; `None` also when the lengths differ or a weight is not positive.
pub fn jain_weighted(x: &[f64], weights: &[f64]) -> Option<f64> {
    if x.len() != weights.len() || !weights.iter().all(|&w| w > 0.0) {
        return None;
    }
    jain(
        &x.iter()
            .zip(weights)
            .map(|(x, w)| x / w)
            .collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index() {
        assert_eq!(jain(&[1.0; 4]), Some(1.0));
        assert_eq!(jain(&[4.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[3.0, 1.0, 1.0, 1.0]), Some(0.75));
        let close = |x: &[f64], to: f64| (jain(x).unwrap() - to).abs() < 5e-7;
        assert!(close(&[10.0, 20.0, 30.0], 0.857_143));
        let x = [100.0, 200.0, 400.0];
        assert!(close(&x, 0.777_778));
        assert_eq!(jain_weighted(&x, &x), Some(1.0));
        assert_eq!(jain_weighted(&x, &[1.0, 2.0]), None);
        assert_eq!(jain_weighted(&x, &[1.0, 2.0, 0.0]), None);
        for x in [&[][..], &[1.0], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
            assert_eq!(jain(x), None);
        }
    }

    fn flow(bytes: f64) -> Flow {
        Flow {
            bytes,
            ios: 1.0,
            device_time_ns: 1e9 / bytes,
            backlogged: 1.0,
            weight: Some(4.0),
        }
    }

    #[test]
    fn equal_flows_are_fair_and_one_that_gets_all_is_not() {
        let equal = fairness(&[flow(5.0), flow(5.0)]);
        assert_eq!((equal.flows, equal.jain_bytes), (2, Some(1.0)));
        let three = fairness(&[flow(10.0), flow(20.0), flow(30.0)]);
        assert!((three.jain_bytes.unwrap() - 0.857_143).abs() < 1e-6);
        assert_eq!(three.jain_ios, Some(1.0));
    }

    #[test]
    fn those_who_did_not_want_it_are_left_out() {
        let idle = Flow {
            backlogged: 0.79,
            ..flow(1.0)
        };
        let found = fairness(&[flow(5.0), idle]);
        assert_eq!((found.flows, found.left_out), (1, 1));
        assert_eq!(found.jain_bytes, None, "nobody to compare with");
        let real_time = Flow {
            weight: weight_of_ioprio((1, 4)),
            ..flow(9.0)
        };
        assert_eq!(fairness(&[flow(5.0), flow(5.0), real_time]).left_out, 1);
    }

    #[test]
    fn weights_are_dues() {
        let high = Flow {
            weight: weight_of_ioprio((2, 0)),
            ..flow(80.0)
        };
        let low = Flow {
            weight: weight_of_ioprio((2, 7)),
            ..flow(10.0)
        };
        assert_eq!(fairness(&[high, low]).jain_bytes, Some(1.0));
        assert_eq!(weight_of_ioprio((0, 0)), Some(4.0));
    }
}
