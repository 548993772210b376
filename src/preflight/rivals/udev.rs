//! Reads a file of udev rules: which of its lines can set the scheduler of a disk. Pure.
//!
//! A condition on what is not known of the disk (a parent's attribute, the output of a program) may hold, so a rule is
//! left out only if it certainly does not apply.

use std::cmp::max;
use std::collections::{BTreeMap, BTreeSet};

use crate::files::glob::glob;

/// What the rules can ask of a disk.
pub struct Disk<'a> {
    pub name: &'a str,
    /// Reads a file below `/sys/block/NAME/`.
    pub attribute: &'a dyn Fn(&str) -> Option<String>,
    /// Properties from udev's database; None: there is no entry for the disk.
    pub properties: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    No,
    Perhaps,
    Yes,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Holds::Yes } else { Holds::No }
    }
}

/// `KEY{NAME}OP"VALUE"`
#[derive(Debug, PartialEq, Eq)]
struct Token<'a> {
    key: &'a str,
    name: &'a str,
    operator: &'a str,
    value: &'a str,
}

impl Token<'_> {
    fn is_condition(&self) -> bool {
        matches!(self.operator, "==" | "!=")
    }

    /// Sets a scheduler, itself or by a program that it starts.
    fn sets_scheduler(&self) -> bool {
        const ATTRIBUTE: &str = "queue/scheduler";
        !self.is_condition()
            && match self.key {
                "ATTR" => self.name == ATTRIBUTE,
                "RUN" | "PROGRAM" => self.value.contains(ATTRIBUTE),
                _ => false,
            }
    }
}

/// The lines, from 1, of the rules that can set the scheduler of this disk.
pub fn setters(text: &str, disk: &Disk<'_>) -> Vec<usize> {
    let joined = rules(text);
    let rules: Vec<(usize, Vec<Token>)> = joined
        .iter()
        .map(|(line, rule)| (*line, tokens(rule)))
        .collect();
    let set_here: BTreeSet<&str> = rules
        .iter()
        .flat_map(|(_, tokens)| tokens)
        .filter(|token| token.key == "ENV" && !token.is_condition())
        .map(|token| token.name)
        .collect();
    let mut found = Vec::new();
    // Whether this place in the file is reached, and the label where it certainly is again.
    let (mut reached, mut label) = (Holds::Yes, None);
    for (line, tokens) in &rules {
        if label.is_some() && assigned(tokens, "LABEL") == label {
            (reached, label) = (Holds::Yes, None);
        }
        let conditions = tokens.iter().filter(|token| token.is_condition());
        let holds = conditions
            .map(|token| holds(token, disk, &set_here))
            .min()
            .unwrap_or(Holds::Yes)
            .min(reached);
        if holds == Holds::No {
            continue;
        }
        if tokens.iter().any(Token::sets_scheduler) {
            found.push(*line);
        }
        if let Some(target) = assigned(tokens, "GOTO") {
            let skipped = if holds == Holds::Yes {
                Holds::No
            } else {
                Holds::Perhaps
            };
            // Within a part that is left out perhaps, another jump makes nothing more certain.
            if label.is_none() {
                (reached, label) = (skipped, Some(target));
            } else if skipped == Holds::No {
                (reached, label) = (Holds::No, Some(target));
            }
        }
    }
    found
}

fn assigned<'a>(tokens: &[Token<'a>], key: &str) -> Option<&'a str> {
    let token = tokens.iter().find(|token| token.key == key)?;
    Some(token.value)
}

/// Rules with the number of their first line; a backslash continues a line.
fn rules(text: &str) -> Vec<(usize, String)> {
    let mut rules = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let (part, continues) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        let (_, rule) = open.get_or_insert_with(|| (index + 1, String::new()));
        rule.push_str(part);
        if !continues {
            rules.extend(open.take().filter(|(_, rule)| !rule.trim().is_empty()));
        }
    }
    rules.extend(open);
    rules
}

/// Skips what is not in the form of a token.
fn tokens(rule: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = rule;
    while let Some(quote) = rest.find('"') {
        let (before, after) = (&rest[..quote], &rest[quote + 1..]);
        let end = end_of_value(after);
        tokens.extend(token(before, &after[..end]));
        rest = after.get(end + 1..).unwrap_or("");
    }
    tokens
}

/// A backslash keeps a quotation mark from ending the value.
fn end_of_value(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return index,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn token<'a>(before: &'a str, value: &'a str) -> Option<Token<'a>> {
    let before = before.trim_start_matches([',', ' ', '\t']);
    // `e"..."` has escape sequences, `i"..."` ignores the case.
    let before = before.trim_end_matches(['e', 'i']);
    let at = before.find(['=', '!', '+', '-', ':'])?;
    let (key, operator) = (before[..at].trim(), before[at..].trim());
    let (key, name) = match key.split_once('{') {
        Some((key, name)) => (key, name.strip_suffix('}')?),
        None => (key, ""),
    };
    Some(Token {
        key,
        name,
        operator,
        value,
    })
}

fn holds(token: &Token, disk: &Disk<'_>, set_here: &BTreeSet<&str>) -> Holds {
    let known = match token.key {
        // What udev does when a disk appears, and after a change.
        "ACTION" => return any_of(token, &["add", "change"]),
        "SUBSYSTEM" => Some("block".to_owned()),
        "KERNEL" => Some(disk.name.to_owned()),
        "ATTR" => (disk.attribute)(token.name),
        "ENV" if token.name == "DEVTYPE" => Some("disk".to_owned()),
        "ENV" if set_here.contains(token.name) => None,
        "ENV" => disk
            .properties
            .as_ref()
            .map(|properties| properties.get(token.name).cloned().unwrap_or_default()),
        "TEST" if !token.value.starts_with('/') => {
            let exists = (disk.attribute)(token.value).is_some();
            return Holds::from(exists == (token.operator == "=="));
        }
        _ => None,
    };
    match known {
        Some(value) => compare(token, &value),
        None if token.key == "ATTR" && token.operator == "==" => Holds::No,
        None => Holds::Perhaps,
    }
}

fn any_of(token: &Token, values: &[&str]) -> Holds {
    let holds = values.iter().map(|value| compare(token, value));
    holds.fold(Holds::No, max)
}

fn compare(token: &Token, value: &str) -> Holds {
    let is_same = token.value.split('|').any(|pattern| glob(pattern, value));
    // A substitution such as `$env{X}`, or a class of characters, is not evaluated.
    if !is_same && token.value.contains(['$', '%', '[']) {
        return Holds::Perhaps;
    }
    Holds::from(is_same == (token.operator == "=="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let attribute = |name: &str| match name {
            "queue/rotational" => Some("0".to_owned()),
            "queue/zoned" => Some("none".to_owned()),
            "queue/scheduler" => Some("[none] kyber".to_owned()),
            _ => None,
        };
        let properties = [("ID_FS_TYPE", "ext4"), ("ID_MODEL", "Fast one")];
        let disk = Disk {
            name: "sda",
            attribute: &attribute,
            properties: Some(properties.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
        };
        setters(text, &disk)
    }

    #[test]
    fn the_zoned_rule_of_btrfs_is_for_zoned_disks() {
        let rule = r#"SUBSYSTEM!="block", GOTO="btrfs_end"
ACTION!="add|change", GOTO="btrfs_end"
ENV{ID_FS_TYPE}!="btrfs", GOTO="btrfs_end"
ATTR{queue/zoned}=="host-managed", ATTR{queue/scheduler}="mq-deadline"
LABEL="btrfs_end"
ATTR{queue/scheduler}="bfq"
"#;
        assert_eq!(found(rule), [6]);
        let of_ext4 = rule
            .replace("btrfs\"", "ext4\"")
            .replace("host-managed", "none");
        assert_eq!(found(&of_ext4), [4, 6]);
    }

    #[test]
    fn a_rule_applies_unless_a_condition_certainly_fails() {
        for (rule, applies) in [
            (r#"ATTR{queue/scheduler}="bfq""#, true),
            (r#"ACTION=="add", ATTR{queue/scheduler}="bfq""#, true),
            (r#"ACTION=="remove", ATTR{queue/scheduler}="bfq""#, false),
            (
                r#"KERNEL=="sd[a-z]|nvme*", ATTR{queue/scheduler}="bfq""#,
                true,
            ),
            (r#"KERNEL=="sd?", ATTR{queue/scheduler}="bfq""#, true),
            (r#"KERNEL=="nvme*", ATTR{queue/scheduler}="bfq""#, false),
            (r#"KERNEL!="sd*", ATTR{queue/scheduler}="bfq""#, false),
            (
                r#"ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="bfq""#,
                false,
            ),
            (r#"ATTR{nothing}=="1", ATTR{queue/scheduler}="bfq""#, false),
            (r#"ATTRS{model}=="X", ATTR{queue/scheduler}="bfq""#, true),
            (
                r#"ENV{ID_MODEL}=="Slow*", ATTR{queue/scheduler}="bfq""#,
                false,
            ),
            (
                r#"ENV{ID_MODEL}=="Fast*", ATTR{queue/scheduler}="bfq""#,
                true,
            ),
            (
                r#"ENV{DEVTYPE}=="partition", ATTR{queue/scheduler}="bfq""#,
                false,
            ),
            (
                r#"TEST!="queue/scheduler", ATTR{queue/scheduler}="bfq""#,
                false,
            ),
            (
                r#"ATTR{queue/scheduler}=="bfq", ATTR{queue/nr_requests}="8""#,
                false,
            ),
            (
                r#"RUN+="/bin/sh -c 'echo bfq > /sys/block/%k/queue/scheduler'""#,
                true,
            ),
            (r#"ATTR{queue/read_ahead_kb}="128""#, false),
            ("# ATTR{queue/scheduler}=\"bfq\"", false),
            ("KERNEL==\"sda\", \\\n  ATTR{queue/scheduler}=\"bfq\"", true),
            (
                "ENV{MINE}=\"1\"\nENV{MINE}==\"1\", ATTR{queue/scheduler}=\"bfq\"",
                true,
            ),
            ("ENV{MINE}==\"1\", ATTR{queue/scheduler}=\"bfq\"", false),
            (
                "PROGRAM==\"/x\", GOTO=\"end\"\nATTR{queue/scheduler}=\"bfq\"\nLABEL=\"end\"",
                true,
            ),
            (
                "GOTO=\"end\"\nATTR{queue/scheduler}=\"bfq\"\nLABEL=\"end\"",
                false,
            ),
        ] {
            assert_eq!(!found(rule).is_empty(), applies, "{rule}");
        }
    }

    #[test]
    fn garbage_is_no_rule() {
        for text in [
            "\"",
            "=\"\"",
            "a{=\"x",
            "\\",
            "ATTR{queue/scheduler}",
            "é=\"é\"",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}
