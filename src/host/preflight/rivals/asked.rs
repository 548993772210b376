//! Asks udevadm which rules set a scheduler, where that changes nothing.
//!
//! `udevadm test` wrote what the rules say until version 255, to sysfs and to udev's database; since 256 (systemd's
//! pull requests 31998 and 32084) it says what it would write. It runs PROGRAM and IMPORT{program} in every version, so it is
//! not asked where a rule for the disk starts something that may change more than it asks.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::engine::{self, Source};
use super::udev::{ACTIONS, first_word};
use super::{Agent, Rival, Survey};
use crate::system::device::Device;

/// The first that changes nothing.
const HARMLESS_SINCE: u32 = 256;
/// Programs that distributions' rules start to ask something, and the words of which one follows it if it can do more.
const ASK_ONLY: [(&str, &[&str]); 8] = [
    ("scsi_id", &[]),
    ("ata_id", &[]),
    ("cdrom_id", &[]),
    ("blkid", &[]),
    ("dasdinfo", &[]),
    ("dmsetup", &["info", "splitname"]),
    ("mdadm", &["--detail", "--examine"]),
    ("multipath", &["-u"]),
];

/// Replaces what we read of udev's rules by what udevadm says of them.
pub fn ask(survey: &mut Survey, disks: &[Device]) -> Result<()> {
    let source = asked_of(survey, disks)?;
    survey.sources.insert(0, ("udev's rules", source));
    Ok(())
}

fn asked_of(survey: &mut Survey, disks: &[Device]) -> Result<Source> {
    let Some(program) = engine::program(Path::new("/"), "udevadm") else {
        return Ok(Source::Reading("there is no udevadm".to_owned()));
    };
    let version = match asked(&program, &["--version"]) {
        Ok(said) => said
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<u32>().ok()),
        Err(error) => return Ok(Source::Reading(engine::no_answer(&error)?)),
    };
    let Some(version) = version else {
        return Ok(Source::Reading(
            "udevadm does not say its version".to_owned(),
        ));
    };
    if version < HARMLESS_SINCE {
        let why = format!("`udevadm test` of version {version} would itself write to the disk");
        return Ok(Source::Reading(why));
    }
    if let Some(command) = survey.programs.iter().find(|command| !only_asks(command)) {
        let why = format!("`udevadm test` would run {}", first_word(command));
        return Ok(Source::Reading(why));
    }
    for disk in disks {
        let path = format!("/sys/block/{}", disk.name);
        let mut said = Said::default();
        for action in ACTIONS {
            let action = format!("--action={action}");
            match asked(&program, &["test", &action, &path]) {
                Ok(text) => said.add(&text, &disk.name),
                Err(error) => return Ok(Source::Reading(engine::no_answer(&error)?)),
            }
        }
        apply(survey, &said, &disk.name);
    }
    Ok(Source::Asked(format!(
        "`udevadm test` of version {version}"
    )))
}

/// The program's text on both outputs: which one has the messages depends on the version.
fn asked(program: &Path, words: &[&str]) -> Result<String> {
    let answer = engine::answer(program, words)?;
    let text = [answer.stdout, answer.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn only_asks(command: &str) -> bool {
    let program = first_word(command).rsplit('/').next().unwrap_or_default();
    let known = ASK_ONLY.iter().find(|(name, _)| *name == program);
    known.is_some_and(|(_, words)| {
        words.is_empty() || command.split_whitespace().any(|word| words.contains(&word))
    })
}

/// Places of rules, by file and last line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    writes: BTreeSet<(String, usize, Option<String>)>,
    runs: BTreeSet<(String, usize)>,
}

impl Said {
    /// `sda: /etc/udev/rules.d/60.rules:3 Running in test mode, skipping writing ATTR{/sys/.../queue/scheduler}="bfq".`
    fn add(&mut self, text: &str, disk: &str) {
        for line in text.lines() {
            let Some((file, number, rest)) = place(line, disk) else {
                continue;
            };
            // As the rule names it: `./queue//scheduler`.
            let plain = rest.replace("/./", "/").replace("//", "/");
            if rest.contains("skipping writing") && plain.contains("queue/scheduler") {
                // The form of later versions: `skipping writing "bfq" to sysfs attribute "/sys/..."`.
                let after = rest
                    .split_once("skipping writing ")
                    .map_or("", |(_, after)| after);
                let value = match after.strip_prefix('"') {
                    Some(after) => after.split('"').next(),
                    None => after
                        .split("}=\"")
                        .nth(1)
                        .and_then(|after| after.split('"').next()),
                };
                let value = value.map(str::to_owned);
                self.writes.insert((file.to_owned(), number, value));
            } else if rest.starts_with("RUN") {
                self.runs.insert((file.to_owned(), number));
            }
        }
    }
}

/// The file and line that a message of udev is about, and what follows.
fn place<'a>(line: &'a str, disk: &str) -> Option<(&'a str, usize, &'a str)> {
    let line = line.strip_prefix(disk)?.strip_prefix(": ")?;
    let end = line.find(".rules:")? + ".rules".len();
    let rest = &line[end + 1..];
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    Some((
        &line[..end],
        rest[..digits].parse().ok()?,
        rest[digits..].trim_start(),
    ))
}

fn apply(survey: &mut Survey, said: &Said, disk: &str) {
    let is_said = |rival: &mut Rival| {
        let Some(rule) = rival.rule.as_ref().filter(|_| rival.disk == disk) else {
            return true;
        };
        if rule.is_of_partition {
            return true;
        }
        if rule.is_run {
            return said.runs.contains(&(rule.file.clone(), rule.line));
        }
        let writes = said.writes.iter();
        let mut of_rule = writes
            .filter(|(file, line, _)| *file == rule.file && *line == rule.line)
            .peekable();
        let is_said = of_rule.peek().is_some();
        rival.is_certain |= is_said;
        is_said
    };
    survey.rivals.retain_mut(is_said);
    let known: BTreeSet<(String, usize)> = survey
        .rivals
        .iter()
        .filter(|rival| rival.disk == disk)
        .filter_map(|rival| rival.rule.as_ref())
        .map(|rule| (rule.file.clone(), rule.line))
        .collect();
    for (file, line, value) in &said.writes {
        if known.contains(&(file.clone(), *line)) {
            continue;
        }
        let rule = super::Rule {
            file: file.clone(),
            line: *line,
            is_run: false,
            is_of_partition: false,
        };
        survey.rivals.push(Rival {
            agent: Agent::Udev,
            file: file.clone(),
            line: *line,
            text: format!(
                "udevadm test: ATTR{{queue/scheduler}}={}",
                value.as_deref().unwrap_or("?")
            ),
            value: value.clone(),
            disk: disk.to_owned(),
            is_certain: true,
            rule: Some(rule),
        });
    }
    survey.sort();
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
