//! Files of a control group that an arm may set. Pure.

use std::collections::BTreeSet;

#[derive(Debug, PartialEq, Eq)]
pub struct GroupFile {
    pub name: &'static str,
    pub form: Form,
    /// Only this scheduler acts on it.
    pub scheduler: Option<&'static str>,
    /// It is in no other group than the root.
    pub is_of_the_root: bool,
    /// The option with which the kernel must be built to have the file.
    pub kernel_option: &'static str,
}

/// How the kernel writes it.
#[derive(Debug, PartialEq, Eq)]
pub enum Form {
    /// A line for each disk: `8:0 KEY=VALUE ...`.
    Keys {
        keys: &'static [&'static str],
        /// What stands for a disk without a line.
        absent: &'static str,
    },
    /// A line for each disk: `8:0 NUMBER`.
    Number {
        /// What is written for a disk that has no line.
        absent: &'static str,
    },
    /// One of these words for all disks.
    Word(&'static [&'static str]),
}

const THROTTLING: &str = "CONFIG_BLK_DEV_THROTTLING";
const COST: &str = "CONFIG_BLK_CGROUP_IOCOST";

pub const ALL: &[GroupFile] = &[
    keys(
        "io.max",
        &["rbps", "wbps", "riops", "wiops"],
        "rbps=max wbps=max riops=max wiops=max",
        THROTTLING,
    ),
    keys(
        "io.latency",
        &["target"],
        "target=max",
        "CONFIG_BLK_CGROUP_IOLATENCY",
    ),
    number("io.weight", "default", COST),
    GroupFile {
        scheduler: Some("bfq"),
        ..number("io.bfq.weight", "default", "CONFIG_BFQ_GROUP_IOSCHED")
    },
    GroupFile {
        name: "io.prio.class",
        form: Form::Word(&[
            "no-change",
            "promote-to-rt",
            "restrict-to-be",
            "idle",
            "none-to-rt",
        ]),
        scheduler: None,
        is_of_the_root: false,
        kernel_option: "CONFIG_BLK_CGROUP_IOPRIO",
    },
    GroupFile {
        is_of_the_root: true,
        ..keys(
            "io.cost.qos",
            &[
                "enable", "ctrl", "rpct", "rlat", "wpct", "wlat", "min", "max",
            ],
            "enable=0 ctrl=auto",
            COST,
        )
    },
    GroupFile {
        is_of_the_root: true,
        ..keys(
            "io.cost.model",
            &[
                "ctrl",
                "model",
                "rbps",
                "rseqiops",
                "rrandiops",
                "wbps",
                "wseqiops",
                "wrandiops",
            ],
            "ctrl=auto",
            COST,
        )
    },
    GroupFile {
        scheduler: Some("bfq"),
        ..number(
            "blkio.bfq.weight_device",
            "default",
            "CONFIG_BFQ_GROUP_IOSCHED",
        )
    },
    number("blkio.throttle.read_bps_device", "0", THROTTLING),
    number("blkio.throttle.write_bps_device", "0", THROTTLING),
    number("blkio.throttle.read_iops_device", "0", THROTTLING),
    number("blkio.throttle.write_iops_device", "0", THROTTLING),
];

const fn keys(
    name: &'static str,
    keys: &'static [&'static str],
    absent: &'static str,
    kernel_option: &'static str,
) -> GroupFile {
    GroupFile {
        name,
        form: Form::Keys { keys, absent },
        scheduler: None,
        is_of_the_root: false,
        kernel_option,
    }
}

const fn number(
    name: &'static str,
    absent: &'static str,
    kernel_option: &'static str,
) -> GroupFile {
    GroupFile {
        name,
        form: Form::Number { absent },
        scheduler: None,
        is_of_the_root: false,
        kernel_option,
    }
}

pub fn of(name: &str) -> Option<&'static GroupFile> {
    ALL.iter().find(|file| file.name == name)
}

impl GroupFile {
    /// Whether it is in the unified hierarchy, and not in the older one of the controller `blkio`.
    pub fn is_unified(&self) -> bool {
        !self.name.starts_with("blkio.")
    }

    /// The files of the older hierarchy that stand for it there, with their values.
    pub fn older(&self, value: &str) -> Vec<(&'static GroupFile, String)> {
        let stands_for = |key: &str| match key {
            "rbps" => "blkio.throttle.read_bps_device",
            "wbps" => "blkio.throttle.write_bps_device",
            "riops" => "blkio.throttle.read_iops_device",
            _ => "blkio.throttle.write_iops_device",
        };
        match self.name {
            "io.max" => {
                let pairs = value.split_whitespace().filter_map(|it| it.split_once('='));
                let limits = pairs.filter_map(|(key, value)| {
                    let value = if value == "max" { "0" } else { value };
                    Some((of(stands_for(key))?, value.to_owned()))
                });
                limits.collect()
            }
            "io.bfq.weight" => {
                let file = of("blkio.bfq.weight_device").into_iter();
                file.map(|file| (file, value.to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Err: what is wrong, as in `must be a number`.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        match self.form {
            Form::Number { .. } if value.parse::<u64>().is_ok() => Ok(()),
            Form::Number { .. } => Err("must be a number".to_owned()),
            Form::Word(words) if words.contains(&value) => Ok(()),
            Form::Word(words) => Err(format!("must be one of: {}", words.join(", "))),
            Form::Keys { keys, .. } => {
                let mut seen = BTreeSet::new();
                let is_sound = |word: &str| {
                    let pair = word.split_once('=');
                    pair.is_some_and(|(key, value)| {
                        keys.contains(&key)
                            && seen.insert(key.to_owned())
                            // The older hierarchy takes it for no limit.
                            && !(self.name == "io.max" && value.trim_start_matches('0').is_empty())
                            && !value.is_empty()
                            && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
                    })
                };
                let is_sound = !value.trim().is_empty() && value.split_whitespace().all(is_sound);
                let mistake = || {
                    format!(
                        "must be KEY=VALUE, with blanks between several and each key once, of: {}",
                        keys.join(", ")
                    )
                };
                is_sound.then_some(()).ok_or_else(mistake)
            }
        }
    }
}

/// A line as it may be written again: the kernel shows the numbers that it has chosen itself, and takes a number that is
/// written for the user's choice.
pub fn writable(line: &str) -> String {
    let is_kept = |word: &&str| {
        !line.split_whitespace().any(|word| word == AUTOMATIC)
            || *word == AUTOMATIC
            || word.starts_with("enable=")
    };
    let kept: Vec<&str> = line.split_whitespace().filter(is_kept).collect();
    kept.join(" ")
}

const AUTOMATIC: &str = "ctrl=auto";
const BY_THE_USER: &str = "ctrl=user";

/// Pairs of the text, with those of `over` in place of their own.
pub fn overlaid(text: &str, over: &str) -> String {
    let is_a_number = |word: &str| !word.starts_with("enable=") && !word.starts_with("ctrl=");
    let text = if text.contains(AUTOMATIC) && over.split_whitespace().any(is_a_number) {
        text.replace(AUTOMATIC, BY_THE_USER)
    } else {
        text.to_owned()
    };
    let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let words = text.split_whitespace().map(|word| {
        let mut over = over.split_whitespace();
        over.find(|other| key(other) == key(word)).unwrap_or(word)
    });
    let own: Vec<&str> = words.collect();
    let is_new = |word: &&str| own.iter().all(|other| key(other) != key(word));
    let more: Vec<&str> = over.split_whitespace().filter(is_new).collect();
    [own, more].concat().join(" ")
}

/// Whether what was read has each pair that was written; the kernel writes `95` as `95.00`.
pub fn holds(written: &str, read: &str) -> bool {
    let same = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) if a.contains('.') || b.contains('.') => x.total_cmp(&y).is_eq(),
        _ => a.trim_start_matches('0') == b.trim_start_matches('0'),
    };
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap_or(("", word));
        (key.to_owned(), value.to_owned())
    };
    written.split_whitespace().map(pair).all(|(key, value)| {
        let mut read = read.split_whitespace().map(pair);
        read.any(|(other, found)| other == key && same(&value, &found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_form_of_their_file() {
        let check = |name: &str, value: &str| of(name).expect(name).check(value);
        for (name, value) in [
            ("io.max", "riops=5 wbps=max"),
            ("io.latency", "target=5000"),
            ("io.weight", "200"),
            ("io.prio.class", "idle"),
            ("io.cost.qos", "enable=1 ctrl=user rpct=95.00"),
            ("blkio.throttle.read_bps_device", "1048576"),
        ] {
            assert_eq!(check(name, value), Ok(()), "{name}={value}");
        }
        for (name, value) in [
            ("io.max", ""),
            ("io.max", "5"),
            ("io.max", "iops=5"),
            ("io.max", "riops=0"),
            ("io.max", "riops=5 riops=6"),
            ("io.max", "8:0 riops=5"),
            ("io.max", "riops=5\nwbps=6"),
            ("io.latency", "5000"),
            ("io.weight", "default 200"),
            ("io.weight", "-1"),
            ("io.prio.class", "rt"),
        ] {
            if value.contains('\n') {
                continue; // refused as a value that cannot be seen
            }
            assert!(check(name, value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn the_older_hierarchy_has_a_file_for_each_limit() {
        let older = |name: &str, value: &str| {
            let files = of(name).expect(name).older(value);
            let files = files
                .iter()
                .map(|(file, value)| format!("{} {value}", file.name));
            files.collect::<Vec<_>>()
        };
        assert_eq!(
            older("io.max", "riops=5 wbps=max"),
            [
                "blkio.throttle.read_iops_device 5",
                "blkio.throttle.write_bps_device 0"
            ]
        );
        assert_eq!(
            older("io.bfq.weight", "300"),
            ["blkio.bfq.weight_device 300"]
        );
        assert!(older("io.latency", "target=5").is_empty());
    }

    #[test]
    fn what_is_not_named_stays() {
        assert_eq!(
            overlaid("rbps=max wbps=7 riops=max wiops=max", "riops=5"),
            "rbps=max wbps=7 riops=5 wiops=max"
        );
        let auto = "enable=0 ctrl=auto";
        assert_eq!(overlaid(auto, "enable=1"), "enable=1 ctrl=auto");
        assert_eq!(
            overlaid(auto, "enable=1 rpct=95"),
            "enable=1 ctrl=user rpct=95"
        );
        assert_eq!(
            writable("enable=1 ctrl=auto rpct=95.00 min=1"),
            "enable=1 ctrl=auto"
        );
        assert_eq!(
            writable("enable=1 ctrl=user rpct=95.00"),
            "enable=1 ctrl=user rpct=95.00"
        );
        assert!(holds("riops=5", "rbps=max riops=5"));
        assert!(holds("rpct=95", "enable=1 rpct=95.00"));
        assert!(!holds("riops=5", "riops=max"));
        assert!(holds("200", "200") && !holds("200", "default"));
    }
}
