//! What a process waits for, and behind whom: the largest part in a column, all parts on its own screen. A share stands before
//! its words, so that a narrow column cuts words and no number. Pure.

use std::collections::HashMap;

use iosched_result::measured::snapshot::CauseShare;
use iosched_result::report::units::share;
use iosched_result::stat::LiveProcess;
use iosched_result::why::{Does, WhyDevice, WhyOwner};

/// Smaller parts are not named.
const NAMED: f64 = 0.005;

fn waits(process: &LiveProcess) -> impl Iterator<Item = String> {
    let said = |wait: &CauseShare| format!("{} {}", share(Some(wait.share)), wait.cause.name());
    let large = |wait: &&CauseShare| wait.share >= NAMED;
    process.waits.iter().filter(large).map(said)
}

/// `73 % scheduler`
pub fn waits_for(process: &LiveProcess) -> String {
    waits(process).next().unwrap_or("-".to_owned())
}

/// `98 % hog writes`
pub fn behind(process: &LiveProcess, why: &WhyDevice) -> String {
    let largest = parts_behind(process, why).into_iter().next();
    largest.unwrap_or("-".to_owned())
}

/// All parts of both, for a line each.
pub fn all(process: &LiveProcess, why: Option<&WhyDevice>) -> [Vec<String>; 2] {
    let behind = why.map(|why| parts_behind(process, why));
    [waits(process).collect(), behind.unwrap_or_default()]
}

/// Of all its requests together, the largest first. Rows of control groups have no such parts.
fn parts_behind(process: &LiveProcess, why: &WhyDevice) -> Vec<String> {
    let is_its =
        |owner: &&WhyOwner| Some(owner.pid) == process.pid && owner.cgroup_id == process.cgroup_id;
    let own = || why.owners.iter().filter(is_its);
    let sum = |of: fn(&WhyOwner) -> u64| own().map(of).fold(0, u64::saturating_add);
    let (wait_ns, idle_ns) = (
        sum(|owner| owner.wait_ns),
        sum(|owner| owner.device_idle_ns),
    );
    let mut sums: HashMap<(&str, u32, Does), u64> = HashMap::new();
    for of in own().flat_map(|owner| &owner.behind) {
        let sum = sums.entry((of.label(), of.pid, of.does)).or_default();
        *sum = sum.saturating_add(of.ns);
    }
    let named = sums.into_iter().map(|((name, pid, does), ns)| {
        let whose = if Some(pid) == process.pid {
            "its own"
        } else {
            name
        };
        (ns, format!("{whose} {}", does.name()))
    });
    let idle = (idle_ns, "the idle device".to_owned());
    let mut parts: Vec<(u64, String)> = named.chain([idle]).collect();
    parts.retain(|(ns, _)| *ns as f64 > NAMED * wait_ns as f64);
    parts.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    let said =
        |(ns, what): (u64, String)| format!("{} {what}", share(Some(ns as f64 / wait_ns as f64)));
    parts.into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::data;

    #[test]
    fn the_largest_part_stands_in_the_column() {
        let mut model = data::empty();
        data::attached(&mut model);
        data::add_sample(&mut model, "mq-deadline", 1);
        let measured = model.device_sample().unwrap().measured.as_ref().unwrap();
        let why = measured.why.as_deref().unwrap();
        let process = &measured.processes[0];
        let [waits, behind] = all(process, Some(why));
        assert_eq!(waits_for(process), waits[0]);
        assert_eq!(super::behind(process, why), behind[0]);
        assert!(behind[0].starts_with("75.0 % "), "{behind:?}");
        assert!(
            behind[1..].iter().any(|part| part.contains("its own")),
            "{behind:?}"
        );
        assert!(
            behind.iter().any(|part| part.ends_with("the idle device")),
            "{behind:?}"
        );
        let mut group = process.clone();
        group.pid = None;
        assert_eq!(super::behind(&group, why), "-");
        assert_eq!(all(process, None)[1], Vec::<String>::new());
    }
}
