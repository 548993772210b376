//! How busy disks were lately, which is their order on Disks. Pure.

use super::model::Model;

/// The last seconds weigh most: after so many, an interval has a weight of 1/e.
const MEMORY_S: f64 = 10.0;
/// Disks that are as busy as that are in the order of their names, or each interval would move their rows.
const STEP: f64 = 0.05;
/// Below it, a disk is idle.
const IDLE: f64 = 0.001;

/// The share of the time with an I/O in flight, as a mean over the last seconds; None before the first interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load(Option<f64>);

impl Load {
    pub fn add(&mut self, busy_share: f64, seconds: f64) {
        let old = (-seconds / MEMORY_S).exp();
        self.0 = Some(
            self.0
                .map_or(busy_share, |mean| mean * old + busy_share * (1.0 - old)),
        );
    }

    fn rank(self) -> u64 {
        let busy_share = self.0.filter(|share| *share >= IDLE);
        busy_share.map_or(0, |share| (share / STEP).ceil() as u64)
    }
}

/// The disks on the screen, the busiest first: indices into the devices, and beyond these into the disks for which the probe
/// has no room.
pub fn order(model: &Model) -> Vec<usize> {
    let devices = model.shown_devices().iter();
    let newcomers = model
        .sample()
        .into_iter()
        .flat_map(|sample| &sample.newcomers);
    let known = devices.map(|device| (device.load, &*device.disk.name));
    let others = newcomers.map(|it| (Load(Some(it.counters.busy_share)), &*it.name));
    let disks: Vec<(Load, &str)> = known.chain(others).collect();
    let mut order: Vec<usize> = (0..disks.len()).collect();
    order.sort_by(|a, b| {
        let ((a, a_name), (b, b_name)) = (disks[*a], disks[*b]);
        let by_name = || (a_name.len(), a_name).cmp(&(b_name.len(), b_name));
        b.rank().cmp(&a.rank()).then_with(by_name)
    });
    order
}

/// The order, and the row of the cursor in it: where its disk is gone, the last one.
pub fn order_and_row(model: &Model) -> (Vec<usize>, usize) {
    let order = order(model);
    let row = order.iter().position(|disk| *disk == model.disk_row);
    let last = order.len().saturating_sub(1);
    (order, row.unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_interval_moves_a_disk_little_and_many_move_it() {
        let mut load = Load::default();
        load.add(1.0, 1.0);
        assert_eq!(load.rank(), 20, "the first one is all that is known");
        load.add(0.0, 1.0);
        assert!(load.rank() >= 18);
        for _ in 0..60 {
            load.add(0.0, 1.0);
        }
        assert_eq!(load.rank(), 1);
        for _ in 0..60 {
            load.add(0.0, 1.0);
        }
        assert_eq!(load.rank(), 0, "idle");
        let (mut seldom, mut often) = (Load::default(), Load::default());
        for second in 0..40 {
            often.add(0.3, 0.25);
            if second % 4 == 0 {
                seldom.add(0.3, 1.0);
            }
        }
        assert_eq!(seldom.rank(), often.rank(), "whatever the interval");
    }
}
