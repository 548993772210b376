//! Everything that rules can ask of a disk or of one of its partitions.

use std::collections::BTreeMap;

use super::super::pattern;
use super::parse::Token;

/// The device of an event. Attributes are of sysfs, as text without the last line break.
pub trait Subject {
    /// Below its directory in sysfs; `parent` 0 is the device itself, 1 the next above.
    fn attribute(&self, parent: usize, name: &str) -> Option<String>;
    /// The permissions of a file, by its absolute path, whose `*` stands for one name.
    fn mode(&self, path: &str) -> Option<u32>;
    fn known(&self) -> &Known;
}

#[derive(Clone, Debug, Default)]
pub struct Known {
    /// As udev calls it: `sda`, `cciss/c0d0`.
    pub name: String,
    /// `/devices/virtual/block/loop0`; None if sysfs does not show it.
    pub path: Option<String>,
    /// Properties of the kernel's event: DEVNAME, DEVTYPE, MAJOR and so on.
    pub event: BTreeMap<String, String>,
    /// The device itself, then the devices above; None: not known.
    pub parents: Option<Vec<Parent>>,
    /// Properties from udev's database; None: there is no entry for the device.
    pub properties: Option<BTreeMap<String, String>>,
    pub command_line: Option<String>,
    /// The paths of the attribute that is looked for, as rules for this device can name it.
    pub scheduler: String,
    /// Its disk's name in `[block/NAME]queue/scheduler`.
    pub disk: String,
}

#[derive(Clone, Debug, Default)]
pub struct Parent {
    pub name: String,
    pub subsystem: String,
    pub driver: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    No,
    Perhaps,
    Yes,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Holds::Yes } else { Holds::No }
    }
}

impl Holds {
    /// The opposite of what holds, for `!=`.
    pub fn as_asked(self, token: &Token) -> Self {
        match (self, token.operator) {
            (Holds::Yes, "!=") => Holds::No,
            (Holds::No, "!=") => Holds::Yes,
            (other, _) => other,
        }
    }
}

/// The patterns of a condition are not substituted: `$` and `%` stand for themselves.
pub fn compare(token: &Token, value: &str) -> Holds {
    let has_patterns = token.value.contains(['*', '?', '[']);
    let is_same = token.value.split('|').any(|wanted| {
        if has_patterns {
            pattern::matches_with(wanted, value, token.ignores_case)
        } else if token.ignores_case {
            wanted.eq_ignore_ascii_case(value)
        } else {
            wanted == value
        }
    });
    Holds::from(is_same).as_asked(token)
}

/// The conditions on a device above: all must hold of the same one.
pub fn parents_hold(tokens: &[&Token], subject: &dyn Subject) -> Holds {
    let Some(parents) = &subject.known().parents else {
        return Holds::Perhaps;
    };
    let of = |(index, parent): (usize, &Parent)| {
        let each = tokens.iter().map(|token| match token.key.as_str() {
            "KERNELS" => compare(token, &parent.name),
            "SUBSYSTEMS" => compare(token, &parent.subsystem),
            "DRIVERS" => compare(token, &parent.driver),
            "ATTRS" => attribute_holds(token, &token.name, index, subject),
            _ => Holds::Perhaps,
        });
        each.min().unwrap_or(Holds::Yes)
    };
    let each = parents.iter().enumerate().map(of);
    each.max().unwrap_or(Holds::No)
}

/// A missing attribute is neither equal nor different.
pub fn attribute_holds(token: &Token, name: &str, parent: usize, subject: &dyn Subject) -> Holds {
    if name.contains(['$', '%']) || name.starts_with('[') || name.contains("..") {
        return Holds::Perhaps;
    }
    let Some(value) = subject.attribute(parent, name) else {
        return Holds::No;
    };
    let keeps_spaces = token.value.ends_with([' ', '\t']);
    compare(
        token,
        if keeps_spaces {
            &value
        } else {
            value.trim_end()
        },
    )
}
