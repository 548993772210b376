//! Parses an arm: a scheduler with its settings, written `[LABEL=]SCHEDULER[,SETTING=VALUE]...`.
//! Pure: `scheduler`, `places` and `preflight` check whether a machine offers the scheduler and the settings.

mod check;
pub mod group_file; // files of control groups
pub mod place; // where a setting lives
pub mod system_setting; // settings of the whole system

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use self::place::Place;
use crate::failure::Failure;
use crate::text::hidden::is_hidden;
pub use check::leaves_the_queue;
use check::{check_settings, is_scheduler_name, present_name};

/// One side of a comparison.
///
/// An arm read from a file passes the same checks as one from a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Unchecked")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
pub struct Arm {
    /// The name in reports: the text as written, unless a label was given.
    pub label: String,
    /// The current name of the scheduler in the kernel.
    pub scheduler: String,
    /// The name that the user gave; differs from `scheduler` for a legacy name.
    pub requested: String,
    /// Settings and their values, as the user wrote them: attributes below `queue/`, and names that begin with `cgroup:` or
    /// `vm.`, or are `exec` or `undo`, for what is elsewhere.
    pub settings: Vec<(String, String)>,
    /// Remarks that a reader of a result needs.
    pub notes: Vec<String>,
}

/// An arm as deserialised, before its checks.
#[derive(Deserialize)]
struct Unchecked {
    label: String,
    scheduler: String,
    requested: String,
    settings: Vec<(String, String)>,
}

impl TryFrom<Unchecked> for Arm {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked {
            label,
            scheduler,
            requested,
            settings,
        } = unchecked;
        let arm = Arm::checked(&label, &label, &requested, settings);
        let arm = arm.map_err(|error| match error.downcast::<Failure>() {
            Ok(failure) => failure.what,
            Err(error) => format!("{error:#}"),
        })?;
        if arm.scheduler == scheduler {
            Ok(arm)
        } else {
            Err(format!(
                "arm {label:?}: the scheduler {requested:?} is {:?}, not {scheduler:?}",
                arm.scheduler
            ))
        }
    }
}

/// In place of a scheduler's name: the scheduler in force, with its settings.
pub const PRESENT: &str = "present";

/// A label of this length still fits into a line of a report.
const LABEL_CHARS: usize = 500;

const SYNTAX: &str = "write [LABEL=]SCHEDULER[,SETTING=VALUE]..., for example tight=mq-deadline,iosched/read_expire=100,nr_requests=64; \
    a control group's setting is cgroup:/PATH/FILE, one of the system is vm.NAME";

impl FromStr for Arm {
    type Err = anyhow::Error;

    /// A usage failure names the part that cannot be parsed.
    fn from_str(text: &str) -> Result<Self> {
        let (head, rest) = match text.split_once(',') {
            Some((head, rest)) => (head, Some(rest)),
            None => (text, None),
        };
        // Only the first part may have a label: in all others `=` separates an attribute from its value.
        let (label, requested) = match head.split_once('=') {
            Some((label, scheduler)) => (label.trim(), scheduler),
            None => (text, head),
        };
        Arm::checked(text, label, requested, settings(text, rest)?)
    }
}

impl fmt::Display for Arm {
    /// The arm without its label, in the kernel's current names; parses to the same arm again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheduler)?;
        for (name, value) in &self.settings {
            write!(f, ",{}", place::join(name, value))?;
        }
        Ok(())
    }
}

impl Arm {
    /// `text` names the arm in an error.
    fn checked(
        text: &str,
        label: &str,
        requested: &str,
        settings: Vec<(String, String)>,
    ) -> Result<Self> {
        if label.is_empty() || label.contains(is_hidden) {
            return Err(Failure::usage(
                format!("arm {text:?}: no label, or one with characters that cannot be seen"),
                SYNTAX,
            ));
        }
        if label.chars().count() > LABEL_CHARS {
            return Err(Failure::usage(
                format!("the label of an arm has more than {LABEL_CHARS} characters"),
                "give it a shorter label: --arm LABEL=SCHEDULER,...",
            ));
        }
        if !is_scheduler_name(requested) {
            return Err(Failure::usage(
                format!("arm {text:?}: {requested:?} is not the name of a scheduler"),
                SYNTAX,
            ));
        }
        let (scheduler, note) = present_name(requested)?;
        check_settings(text, scheduler, &settings)?;
        Ok(Arm {
            label: label.to_owned(),
            scheduler: scheduler.to_owned(),
            requested: requested.to_owned(),
            settings,
            notes: note.into_iter().collect(),
        })
    }

    /// Each setting: where it lives, its name and its value.
    pub fn placed(&self) -> impl Iterator<Item = (Place<'_>, &str, &str)> {
        self.settings.iter().filter_map(|(name, value)| {
            let place = place::of(name).ok()?; // each was checked
            Some((place, name.as_str(), value.as_str()))
        })
    }

    /// Attributes below `queue/`, and their values.
    pub fn queue_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let queue = self.placed().filter(|(place, ..)| *place == Place::Queue);
        queue.map(|(_, name, value)| (name, value))
    }

    /// The first setting that is not one of the disk.
    pub fn setting_elsewhere(&self) -> Option<&str> {
        let mut elsewhere = self.placed().filter(|(place, ..)| *place != Place::Queue);
        elsewhere.next().map(|(_, name, _)| name)
    }

    /// The requested value, if any.
    pub fn setting(&self, attribute: &str) -> Option<&str> {
        self.settings
            .iter()
            .find(|(name, _)| name == attribute)
            .map(|(_, value)| value.as_str())
    }
}

fn settings(text: &str, rest: Option<&str>) -> Result<Vec<(String, String)>> {
    let parts = rest.into_iter().flat_map(|rest| rest.split(','));
    parts
        .map(|part| {
            let mistake = format!("arm {text:?}: {part:?} is not SETTING=VALUE");
            place::split(part).ok_or_else(|| Failure::usage(mistake, SYNTAX))
        })
        .collect()
}

/// Each once.
pub fn labels<'a>(arms: impl IntoIterator<Item = &'a Arm>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let labels = arms.into_iter().map(|arm| arm.label.as_str());
    labels.filter(|label| seen.insert(*label)).collect()
}

/// For a program that sets only what is the disk's.
pub fn ensure_of_the_disk(arm: &Arm) -> Result<()> {
    match arm.setting_elsewhere() {
        None => Ok(()),
        Some(name) => Err(Failure::usage(
            format!("arm {:?}: {name} is not a setting of the disk", arm.label),
            "`iosched-ab run` compares arms with such settings; `iosched` and `iosched set` only set what is below the disk's queue/",
        )),
    }
}

/// Labels name the columns of every report, so two arms must not share one.
pub fn refuse_duplicate_labels(arms: &[Arm]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for arm in arms {
        if !seen.insert(arm.label.as_str()) {
            return Err(Failure::usage(
                format!("two arms have the label {:?}", arm.label),
                "give each its own label, for example --arm a=none --arm b=none",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    fn arm(text: &str) -> Arm {
        text.parse().expect(text)
    }

    #[test]
    fn the_text_is_the_label_unless_one_is_given() {
        let plain = arm("mq-deadline,iosched/read_expire=200,nr_requests=128");
        assert_eq!(
            plain.label,
            "mq-deadline,iosched/read_expire=200,nr_requests=128"
        );
        assert_eq!(plain.scheduler, "mq-deadline");
        assert_eq!(plain.setting("iosched/read_expire"), Some("200"));
        assert_eq!(plain.setting("nr_requests"), Some("128"));
        let labelled = arm("tight=kyber,iosched/read_lat_nsec=1000000");
        assert_eq!(labelled.label, "tight");
        assert_eq!(labelled.scheduler, "kyber");
        assert_eq!(
            labelled.settings,
            [("iosched/read_lat_nsec".to_owned(), "1000000".to_owned())]
        );
    }

    #[test]
    fn a_setting_is_never_taken_for_a_label() {
        // The `=` comes after the first comma: there is no label here.
        let arm = arm("kyber,iosched/read_lat_nsec=1000000");
        assert_eq!(arm.scheduler, "kyber");
        assert_eq!(arm.label, "kyber,iosched/read_lat_nsec=1000000");
    }

    #[test]
    fn values_may_hold_what_out_of_tree_schedulers_want() {
        let arm = arm("adios,iosched/lat_model_read=100 20,iosched/x=a=b");
        assert_eq!(arm.setting("iosched/lat_model_read"), Some("100 20"));
        assert_eq!(arm.setting("iosched/x"), Some("a=b"));
    }

    #[test]
    fn legacy_names_are_mapped_with_a_note_or_refused() {
        let noop = arm("noop");
        assert_eq!(
            (&*noop.scheduler, &*noop.requested, &*noop.label),
            ("none", "noop", "noop")
        );
        assert_eq!(noop.notes.len(), 1);
        assert_eq!(arm("old=deadline").scheduler, "mq-deadline");
        assert!(arm("mq-deadline").notes.is_empty());
        for (name, text) in [
            ("cfq", "removed in Linux 5.0; bfq pursues the same goals"),
            ("a=cfq", "removed in Linux 5.0"),
            ("anticipatory", "removed in Linux 2.6.33, no successor"),
            ("as,nr_requests=4", "removed in Linux 2.6.33, no successor"),
        ] {
            let error = name.parse::<Arm>().expect_err(name);
            assert!(error.to_string().contains(text), "{error}");
            assert_eq!(kind_of(&error), Kind::Usage);
        }
    }

    #[test]
    fn what_cannot_be_an_arm_is_a_usage_failure() {
        for text in [
            "",
            "=none",
            "a=",
            "a=b=none",
            "none,",
            "none,nr_requests",
            "none,nr_requests=",
            "none,=4",
            "none,../../x=1",
            "none,iosched/../scheduler=bfq",
            "none,./scheduler=bfq",
            "none,/etc/passwd=1",
            "none,scheduler=bfq",
            "none,queue/nr_requests=4",
            "none,nr_requests=4,nr_requests=8",
            "mq-deadline:fifo_batch=1",
            "no ne",
            "../x",
        ] {
            let error = text.parse::<Arm>().expect_err(text);
            assert_eq!(kind_of(&error), Kind::Usage, "{text}");
        }
    }

    #[test]
    fn an_arm_from_a_file_passes_the_same_checks() {
        for text in ["noop", "tight=kyber,iosched/read_lat_nsec=1000000", "x=bfq"] {
            let original = arm(text);
            let json = serde_json::to_value(&original).expect("JSON");
            let again: Arm = serde_json::from_value(json.clone()).expect("the same arm");
            assert_eq!(again, original);
            for (place, wrong) in [
                ("label", serde_json::json!("")),
                ("label", serde_json::json!("a\nb")),
                ("label", serde_json::json!("a\u{202e}b")),
                ("scheduler", serde_json::json!("../../x")),
                ("scheduler", serde_json::json!("mq-deadline")),
                ("requested", serde_json::json!("/etc/passwd")),
                ("settings", serde_json::json!([["/etc/passwd", "x"]])),
                ("settings", serde_json::json!([["iosched/../../../x", "x"]])),
                ("settings", serde_json::json!([["scheduler", "bfq"]])),
                ("settings", serde_json::json!([["nomerges", "1\n2"]])),
                ("settings", serde_json::json!([["a", "1"], ["a", "2"]])),
            ] {
                let mut json = json.clone();
                json[place] = wrong;
                let refused = serde_json::from_value::<Arm>(json.clone());
                assert!(refused.is_err(), "{json}");
            }
        }
    }

    #[test]
    fn settings_elsewhere_are_told_from_those_of_the_disk() {
        let text = "bfq,nr_requests=64,cgroup:/db.slice/io.bfq.weight=300,vm.dirty_bytes=1048576,\
            exec:./load 'a b',undo:./unload";
        let arm = arm(text);
        assert_eq!(arm.to_string(), text);
        let queue: Vec<_> = arm.queue_settings().collect();
        assert_eq!(queue, [("nr_requests", "64")]);
        assert_eq!(
            arm.setting_elsewhere(),
            Some("cgroup:/db.slice/io.bfq.weight")
        );
        for (text, why) in [
            ("none,cgroup:/a/io.bfq.weight=300", "only bfq acts on it"),
            (
                "none,cgroup:/a/io.max=iops=3",
                "of: rbps, wbps, riops, wiops",
            ),
            ("none,cgroup:/a/memory.max=3", "io.max, io.latency"),
            ("none,vm.dirty_bytes=x", "must be a number"),
            ("none,vm.overcommit_memory=1", "vm.dirty_bytes"),
            (
                "none,vm.dirty_bytes=8192,vm.dirty_ratio=5",
                "only one of them",
            ),
            ("none,exec:./load", "undo:COMMAND"),
            ("none,undo:./unload", "exec:COMMAND"),
            ("none,exec:it's,undo:./unload", "quotes in pairs"),
            ("none,exec:,undo:x", "has no value"),
        ] {
            let error = text.parse::<Arm>().expect_err(text);
            assert_eq!(kind_of(&error), Kind::Usage, "{text}");
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn labels_are_unique() {
        let error = refuse_duplicate_labels(&[arm("none"), arm("none")]).expect_err("same label");
        assert_eq!(kind_of(&error), Kind::Usage);
        refuse_duplicate_labels(&[arm("a=none"), arm("b=none"), arm("none")]).expect("distinct");
    }

    proptest::proptest! {
        #[test]
        fn printing_and_parsing_agree(
            scheduler in "[a-z][a-z-]{2,8}x",
            settings in proptest::collection::btree_map("iosched/[a-z_]{1,12}", "[a-z0-9=.][a-z0-9 ]{0,6}", 0..4),
        ) {
            let text = settings.iter().fold(scheduler.clone(), |text, (name, value)| format!("{text},{name}={value}"));
            let arm: Arm = text.parse().expect("well-formed");
            proptest::prop_assert_eq!(&arm.to_string(), &text);
            proptest::prop_assert_eq!(arm.scheduler, scheduler);
            proptest::prop_assert_eq!(arm.settings.len(), settings.len());
        }
    }
}
