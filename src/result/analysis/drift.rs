//! Settings that changed: such a round does not count for its arm. Pure.

use crate::measured::snapshot::Interval;
use crate::types::queue::{Applied, State};

/// Changes during a round or since the first round of its arm; with several disks, prefixed with the disk's name.
/// `disks`: their names.
pub fn drifted(disks: &[&str], first: &[State], applied: &[Applied], now: &[State]) -> Vec<String> {
    let mut drifted = Vec::new();
    for (((disk, first), applied), now) in disks.iter().zip(first).zip(applied).zip(now) {
        let name = match disks.len() {
            1 => String::new(),
            _ => format!("{disk} "),
        };
        for change in differences(first, &applied.effective) {
            drifted.push(format!("{name}since the first round of this arm {change}"));
        }
        for change in differences(&applied.effective, now) {
            drifted.push(format!("{name}{change}"));
        }
    }
    drifted
}

/// Attributes that changed, with both values.
pub fn differences(was: &State, now: &State) -> Vec<String> {
    let mut drifted = Vec::new();
    if now.active != was.active {
        drifted.push(format!("scheduler: {} -> {}", was.active, now.active));
    }
    for (name, value) in &was.settings {
        match now.settings.get(name) {
            Some(current) if current == value => {}
            current => drifted.push(format!(
                "{name}: {value} -> {}",
                current.map_or("gone", |text| text)
            )),
        }
    }
    if now.hardware_depth != was.hardware_depth {
        let depth = |state: &State| state.hardware_depth.map_or(0, |hardware| hardware.depth);
        drifted.push(format!("hardware depth: {} -> {}", depth(was), depth(now)));
    }
    drifted
}

/// Another program that switched a disk since the arm was applied, even if it switched back.
pub fn rival(
    disks: &[&str],
    applied: &[Applied],
    now: &[State],
    whole: &Interval,
) -> Option<String> {
    let mut all = disks.iter().zip(applied).zip(now);
    let differs = all.find_map(|((disk, applied), now)| {
        let (was, is) = (&applied.effective.active, &now.active);
        (was != is).then(|| format!("another program switched {disk} from {was} to {is}"))
    });
    let switched_back = || {
        let mut devices = whole.devices.iter();
        // Our own switch shows with the first I/O after it.
        let device = devices.find(|device| device.edges.switches > 1)?;
        Some(format!("another program switched {} and back", device.name))
    };
    differs.or_else(switched_back)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(active: &str, nomerges: &str) -> State {
        State {
            active: active.into(),
            available: vec![active.into()],
            settings: [("nomerges".to_owned(), nomerges.to_owned())].into(),
            hardware_depth: None,
        }
    }

    #[test]
    fn a_change_is_told_with_its_disk_where_there_are_several() {
        let applied = |nomerges| Applied {
            effective: state("bfq", nomerges),
            switch_ns: None,
            notes: Vec::new(),
        };
        let disks = ["sda", "sdb"];
        let first = [state("bfq", "0"), state("bfq", "0")];
        let applied = [applied("0"), applied("1")];
        let now = [state("none", "0"), state("bfq", "1")];
        assert_eq!(
            drifted(&disks, &first, &applied, &now),
            [
                "sda scheduler: bfq -> none",
                "sdb since the first round of this arm nomerges: 0 -> 1"
            ]
        );
        assert_eq!(
            drifted(&disks[..1], &first, &applied, &now),
            ["scheduler: bfq -> none"]
        );
    }
}
