//! Who got how much of a device, and was it fair? Pure.
//!
//! Only flows that wanted the device count: those *backlogged* for at least [`BACKLOGGED_SHARE`] of the window. Jain's
//! index of what n of them got, each over its weight, lies between 1/n (one got all) and 1 (all got their due).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ab::stats::jain_weighted;

/// A flow that asked for less than this share of the window could not be treated unfairly in it.
pub const BACKLOGGED_SHARE: f64 = 0.8;

/// One owner in one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub bytes: f64,
    pub ios: f64,
    pub device_time_ns: f64,
    /// Share of the window in which it had a request under way.
    pub backlogged: f64,
    /// What it is due, relative to the others; none if it is in a class of its own (real-time, idle).
    pub weight: Option<f64>,
}

/// Jain's index three ways; absent below two flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// Flows that were compared.
    pub flows: u64,
    /// Flows left out: not backlogged long enough, or in a priority class of their own.
    pub left_out: u64,
    /// Of their bytes, each over its weight, as the others.
    pub jain_bytes: Option<f64>,
    /// Of their completed requests.
    pub jain_ios: Option<f64>,
    /// Of their parts of the device's time.
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

/// What an I/O priority is due: 8 less its level, as bfq weighs them; 4 where none was set. The real-time and the idle
/// class are served before and after all others and have no weight among them.
pub fn weight_of_ioprio((class, level): (u8, u8)) -> Option<f64> {
    match class {
        0 => Some(4.0),
        2 => Some(8.0 - f64::from(level.min(7))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
