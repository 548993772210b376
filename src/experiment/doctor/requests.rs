//! I/O classes that a scheduler ignores, and throttles. Pure.

use super::facts::Facts;
use super::{Item, ItemState, item};
use iosched_host::system::cgroup::requests::Class;

const CLASSES: &str = "I/O classes";
const THROTTLES: &str = "throttles";
/// Schedulers that tell realtime from idle.
const READERS: [&str; 2] = ["bfq", "mq-deadline"];
const MOST: usize = 10;

pub fn items(facts: &Facts) -> Vec<Item> {
    let mut items = classes(facts);
    items.extend(throttles(facts));
    items
}

fn classes(facts: &Facts) -> Vec<Item> {
    let classes = &facts.requests.classes;
    if classes.is_empty() {
        let found = "no service or control group has one of its own; those of single processes (ionice) were not looked at";
        return vec![item(CLASSES, ItemState::Ok, found, "")];
    }
    let ignoring = facts
        .disks
        .iter()
        .filter(|disk| !READERS.contains(&&*disk.active));
    let items: Vec<Item> = ignoring
        .map(|disk| {
            let found = format!(
                "{}: {} ignores the class of {}",
                disk.name,
                disk.active,
                listed(classes)
            );
            let remedy = format!("use bfq or mq-deadline on {}", disk.name);
            item(CLASSES, ItemState::Missing, found, remedy)
        })
        .collect();
    if items.is_empty() {
        let found = format!("applied on every disk: {}", listed(classes));
        return vec![item(CLASSES, ItemState::Ok, found, "")];
    }
    items
}

/// The first three.
fn listed(classes: &[Class]) -> String {
    let first: Vec<String> = classes
        .iter()
        .take(3)
        .map(|class| format!("{} ({})", class.of, class.class))
        .collect();
    match classes.len() {
        0..=3 => first.join(", "),
        more => format!("{} and {} others", first.join(", "), more - 3),
    }
}

fn throttles(facts: &Facts) -> Vec<Item> {
    let requests = &facts.requests;
    let mut items = Vec::new();
    let mut left_out = 0;
    for disk in &facts.disks {
        for throttle in requests
            .throttles
            .iter()
            .filter(|throttle| throttle.device == disk.number)
        {
            let own = requests.own.as_deref().unwrap_or_default();
            let is_own = own == throttle.of || own.starts_with(&format!("{}/", throttle.of));
            if items.len() >= MOST {
                left_out += 1;
                continue;
            }
            let found = format!(
                "{} limits its I/O on {}: {}",
                throttle.of, disk.name, throttle.limits
            );
            items.push(if is_own {
                item(
                    THROTTLES,
                    ItemState::Conflict,
                    format!("{found}; iosched runs in it"),
                    "start it from a group without a limit: what is measured would be the limit",
                )
            } else {
                item(THROTTLES, ItemState::Ok, found, "")
            });
        }
    }
    if left_out > 0 {
        items.push(item(
            THROTTLES,
            ItemState::Ok,
            format!("{left_out} more"),
            "",
        ));
    }
    if items.is_empty() {
        items.push(item(
            THROTTLES,
            ItemState::Ok,
            "no control group limits the I/O of these disks",
            "",
        ));
    }
    items
}
