//! Properties that rules have set so far, and what `$env{X}` and the like stand for.

use std::collections::{BTreeMap, BTreeSet};

use super::subject::Subject;

/// A property at some place in the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Not set is empty.
    Is(String),
    /// In the end; another rule may have set it only later.
    Likely(String),
    Unknown,
}

pub struct State<'a> {
    pub subject: &'a dyn Subject,
    pub action: &'static str,
    /// Properties that some rule sets with ENV.
    pub set_somewhere: &'a BTreeSet<&'a str>,
    pub properties: BTreeMap<String, Property>,
    /// Attributes that rules have perhaps written.
    pub written: BTreeSet<String>,
    /// Something has run that may set any property.
    pub is_opaque: bool,
}

/// Beginnings of properties that udev's own programs set, and the kernel with some events only.
const FOREIGN: [&str; 11] = [
    "ID_", "DM_", "MD_", "LVM_", "UDISKS_", "SYSTEMD_", "DISK_", "SYNTH_", "SEQNUM", "DEVLINKS",
    "USEC_",
];

/// Bytes that udev keeps of a value.
pub const LONGEST: usize = 512;

impl State<'_> {
    pub fn property(&self, name: &str) -> Property {
        if let Some(known) = self.properties.get(name) {
            return known.clone();
        }
        let known = self.subject.known();
        let own = match name {
            "ACTION" => Some(self.action.to_owned()),
            "SUBSYSTEM" => Some("block".to_owned()),
            "DEVPATH" => known.path.clone(),
            name => known.event.get(name).cloned(),
        };
        if let Some(own) = own {
            return Property::Is(own);
        }
        let is_foreign = FOREIGN.iter().any(|begin| name.starts_with(begin));
        let stored = known.properties.as_ref().map(|all| all.get(name).cloned());
        match stored {
            Some(Some(value)) if !self.set_somewhere.contains(name) => Property::Is(value),
            Some(Some(value)) if is_foreign => Property::Likely(value),
            // A rule that follows may have set it.
            Some(Some(_)) | None if is_foreign || self.is_opaque => Property::Unknown,
            // The database does not keep names that begin with a dot.
            Some(None) if self.is_opaque && name.starts_with('.') => Property::Unknown,
            _ => Property::Is(String::new()),
        }
    }

    /// With its substitutions; None: one of them is not known.
    pub fn expanded(&self, text: &str) -> Option<String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '%']) {
            result.push_str(&rest[..at]);
            let sign = &rest[at..=at];
            let after = &rest[at + 1..];
            if let Some(after) = after.strip_prefix(sign) {
                result.push_str(sign);
                rest = after;
                continue;
            }
            let Some((name, after)) = named(sign, after) else {
                result.push_str(sign);
                rest = after;
                continue;
            };
            let (argument, after) = match after
                .strip_prefix('{')
                .and_then(|inside| inside.split_once('}'))
            {
                Some((argument, after)) if matches!(name, "attr" | "env" | "result" | "sysfs") => {
                    (argument, after)
                }
                _ => ("", after),
            };
            result.push_str(&self.substitution(name, argument)?);
            // udev cuts it off; and one that names itself would grow without end.
            if result.len() > LONGEST {
                return None;
            }
            rest = after;
        }
        result.push_str(rest);
        Some(result)
    }

    fn substitution(&self, name: &str, argument: &str) -> Option<String> {
        let known = self.subject.known();
        match name {
            "kernel" | "name" => Some(known.name.clone()),
            "number" => {
                let digits = known
                    .name
                    .trim_end_matches(|c: char| c.is_ascii_digit())
                    .len();
                Some(known.name[digits..].to_owned())
            }
            "devnode" | "tempnode" => Some(format!("/dev/{}", known.name)),
            "root" => Some("/dev".to_owned()),
            "sys" => Some("/sys".to_owned()),
            "devpath" => known.path.clone(),
            "major" => known.event.get("MAJOR").cloned(),
            "minor" => known.event.get("MINOR").cloned(),
            "env" => match self.property(argument) {
                Property::Is(value) | Property::Likely(value) => Some(value),
                Property::Unknown => None,
            },
            "attr" | "sysfs" if !self.written.contains(argument) => {
                self.subject.attribute(0, argument)
            }
            _ => None,
        }
    }
}

const NAMES: [(&str, &str); 18] = [
    ("devnode", "N"),
    ("tempnode", "N"),
    ("attr", "s"),
    ("sysfs", "s"),
    ("env", "E"),
    ("kernel", "k"),
    ("number", "n"),
    ("driver", "d"),
    ("devpath", "p"),
    ("id", "b"),
    ("major", "M"),
    ("minor", "m"),
    ("result", "c"),
    ("parent", "P"),
    ("name", "D"),
    ("links", "L"),
    ("root", "r"),
    ("sys", "S"),
];

/// `$kernel` and `%k` are the same.
fn named<'a>(sign: &str, after: &'a str) -> Option<(&'static str, &'a str)> {
    NAMES.iter().find_map(|(long, short)| {
        let rest = after.strip_prefix(if sign == "$" { long } else { short })?;
        Some((*long, rest))
    })
}
