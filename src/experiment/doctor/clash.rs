//! What is on this machine already and sets the scheduler of disks that a new rule is about, and which of them wins. Pure.

use std::collections::BTreeMap;

use iosched_host::preflight::rivals::{Agent, Rival};
use iosched_result::persist::Placed;

use super::persistent::{against, base};

/// A line for each line of other settings. `rivals` in the order in which they act; `of` is the scheduler that a disk would
/// get.
pub fn clashes(rivals: &[Rival], placed: &Placed, of: &BTreeMap<String, String>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for rival in rivals {
        let Some(said) = of.get(&rival.disk).and_then(|it| said(rival, placed, it)) else {
            continue;
        };
        match lines.iter_mut().find(|(line, _)| *line == said) {
            Some((_, disks)) => disks.push(&rival.disk),
            None => lines.push((said, vec![&rival.disk])),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|(said, disks)| format!("{}: {said}", disks.join(", ")))
        .collect()
}

/// None: it is the same file, or nothing that acts on this machine.
fn said(rival: &Rival, placed: &Placed, scheduler: &str) -> Option<String> {
    let (is_later, own) = match placed {
        Placed::Udev(file) => {
            if base(&rival.file) == base(file) {
                return None;
            }
            (is_after_rule(rival, base(file)), file.as_str())
        }
        Placed::Tmpfiles => (rival.agent > Agent::Tmpfiles, ""),
        Placed::Tuned => (rival.agent > Agent::Tuned, ""),
        Placed::Elsewhere => return None,
    };
    let place = format!("{}:{}", rival.file, rival.line);
    let sets = if rival.is_certain { "sets" } else { "may set" };
    let value = rival.value.as_deref().map(str::trim);
    let value_said = value.unwrap_or("the scheduler");
    Some(match (value == Some(scheduler), is_later) {
        (true, _) => format!("{place} {sets} {value_said}, too"),
        (false, false) => format!("{place} {sets} {value_said}; this acts later, and wins"),
        (false, true) => format!(
            "{place} {sets} {value_said} after this, and wins: {}",
            against(own, rival)
        ),
    })
}

/// udev takes files by name, whatever their directory, and starts programs at the end; all other agents act after it.
fn is_after_rule(rival: &Rival, own: &str) -> bool {
    match &rival.rule {
        _ if rival.agent != Agent::Udev => true,
        Some(rule) => rule.is_run || base(&rule.file) > own,
        None => base(&rival.file) > own,
    }
}

#[cfg(test)]
mod tests {
    use iosched_host::preflight::rivals::Rule;

    use super::*;

    fn rival(agent: Agent, file: &str, value: &str) -> Rival {
        let rule = Rule {
            file: file.to_owned(),
            line: 3,
            is_run: false,
            is_of_partition: false,
        };
        Rival {
            agent,
            file: file.to_owned(),
            line: 3,
            text: String::new(),
            value: Some(value.to_owned()),
            disk: "sda".to_owned(),
            is_certain: true,
            rule: (agent == Agent::Udev).then_some(rule),
        }
    }

    #[test]
    fn the_last_to_act_wins() {
        let of = BTreeMap::from([("sda".to_owned(), "bfq".to_owned())]);
        let rule = Placed::Udev("/etc/udev/rules.d/61-iosched-x.rules".to_owned());
        let tuned = "/etc/tuned/x/tuned.conf";
        for (placed, agent, file, value, says) in [
            (
                &rule,
                Agent::Udev,
                "/usr/lib/udev/rules.d/60-a.rules",
                "none",
                "this acts later, and wins",
            ),
            (
                &rule,
                Agent::Udev,
                "/usr/lib/udev/rules.d/90-a.rules",
                "none",
                "after this, and wins: give it a name",
            ),
            (
                &rule,
                Agent::Tuned,
                tuned,
                "none",
                "after this, and wins: TuneD acts after udev",
            ),
            (
                &Placed::Tuned,
                Agent::Udev,
                "/usr/lib/udev/rules.d/90-a.rules",
                "none",
                "this acts later",
            ),
            (
                &Placed::Tmpfiles,
                Agent::Tuned,
                tuned,
                "none",
                "after this, and wins",
            ),
            (&rule, Agent::Tuned, tuned, "bfq", "sets bfq, too"),
        ] {
            let found = clashes(&[rival(agent, file, value)], placed, &of);
            let [line] = &found[..] else {
                panic!("{found:?}")
            };
            assert!(
                line.starts_with(&format!("sda: {file}:3 sets {value}")),
                "{line}"
            );
            assert!(line.contains(says), "{says}: {line}");
        }
        for (placed, file) in [
            (&rule, "/etc/udev/rules.d/61-iosched-x.rules"),
            (&Placed::Elsewhere, "/etc/udev/rules.d/60-a.rules"),
        ] {
            let found = clashes(&[rival(Agent::Udev, file, "none")], placed, &of);
            assert_eq!(found, [""; 0]);
        }
        let other = BTreeMap::from([("sdb".to_owned(), "bfq".to_owned())]);
        assert_eq!(
            clashes(&[rival(Agent::Udev, "/a", "none")], &rule, &other),
            [""; 0]
        );
    }
}
