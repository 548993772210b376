//! Weights of control groups that the kernel does not apply. Pure.

use super::facts::Facts;
use super::{Item, ItemState, item};
use iosched_host::system::cgroup::weights::{Reader, Weight};

const NAME: &str = "weights";

pub fn items(facts: &Facts) -> Vec<Item> {
    let set = &facts.weights;
    if set.weights.is_empty() {
        return vec![item(
            NAME,
            ItemState::Ok,
            "no control group has one of its own",
            "",
        )];
    }
    let mut items = Vec::new();
    let (unseen, seen): (Vec<&Weight>, Vec<&Weight>) = set
        .weights
        .iter()
        .partition(|weight| weight.readers.is_empty());
    if !unseen.is_empty() {
        items.push(item(
            NAME,
            ItemState::Missing,
            format!("no file of the kernel has the weight of {}", listed(&unseen)),
            "enable the io controller for its group (`IOAccounting=yes` in the unit and its slice), and load bfq",
        ));
    }
    for disk in &facts.disks {
        let applies = |reader: &Reader| match reader {
            Reader::Bfq => disk.active == "bfq",
            Reader::CostModel => set.cost_model.contains(&disk.number),
        };
        let ignored: Vec<&Weight> = seen
            .iter()
            .filter(|weight| {
                weight
                    .device
                    .as_ref()
                    .is_none_or(|number| *number == disk.number)
            })
            .filter(|weight| !weight.readers.iter().any(applies))
            .copied()
            .collect();
        if !ignored.is_empty() {
            items.push(item(
                NAME,
                ItemState::Missing,
                format!(
                    "{}: {} ignores the weight of {}",
                    disk.name,
                    disk.active,
                    listed(&ignored)
                ),
                format!(
                    "use bfq on {0} (it reads io.bfq.weight), or enable io.cost (`{1} enable=1` in io.cost.qos; it reads \
                     io.weight)",
                    disk.name, disk.number
                ),
            ));
        }
    }
    if items.is_empty() {
        let count = set.weights.len();
        items.push(item(
            NAME,
            ItemState::Ok,
            format!("{count} set, and applied on every disk"),
            "",
        ));
    }
    items
}

/// The first three.
fn listed(weights: &[&Weight]) -> String {
    let first = weights.iter().take(3);
    let first: Vec<String> = first
        .map(|weight| match &weight.device {
            None => format!("{} ({})", weight.of, weight.weight),
            Some(number) => format!("{} ({} for {number})", weight.of, weight.weight),
        })
        .collect();
    match weights.len() {
        0..=3 => first.join(", "),
        more => format!("{} and {} others", first.join(", "), more - 3),
    }
}
