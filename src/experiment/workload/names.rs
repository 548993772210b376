//! Validates untrusted names of files, control groups and rows of reports. Pure.

use iosched_result::text::hidden::is_hidden;

/// Longest name of a file that fio or a round creates.
const LONGEST_PLAIN: usize = 128;
const LONGEST_LABEL: usize = 64;
const LONGEST_WORKLOAD: usize = 200;

pub(super) const MUST_BE_PLAIN: &str = "must be plain: letters, digits, `.`, `_`, `-` and blanks, at most 128 of them, \
    beginning with neither `.` nor `-`";

/// Whether it names a file in the current directory and nowhere else.
pub(super) fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ');
    (1..=LONGEST_PLAIN).contains(&name.len())
        && !name.starts_with(['.', '-', ' '])
        && name.chars().all(is_plain)
}

/// Labels become part of names of files and control groups. Err says what is wrong.
pub(super) fn check_label(label: &str) -> Result<(), String> {
    if is_plain(label) && !label.contains(' ') && label.len() <= LONGEST_LABEL {
        return Ok(());
    }
    Err(format!(
        "the label {label:?} must be plain: letters, digits, `.`, `_` and `-`, at most {LONGEST_LABEL} of them, beginning \
         with neither `.` nor `-`"
    ))
}

/// Like [`check_label`] for several: two processes with the same label would share their files.
pub(crate) fn check_labels(labels: &[&str]) -> Result<(), String> {
    for (index, label) in labels.iter().enumerate() {
        check_label(label)?;
        if labels[..index].contains(label) {
            return Err(format!("two processes have the label {label}"));
        }
    }
    Ok(())
}

/// The name of a workload appears in reports. Err says what is wrong.
pub(super) fn check_workload(name: &str) -> Result<(), String> {
    if name.contains(is_hidden) {
        return Err(format!(
            "the name {name:?} has a character that cannot be seen"
        ));
    }
    if name.chars().count() > LONGEST_WORKLOAD {
        return Err(format!(
            "the name of the workload has more than {LONGEST_WORKLOAD} characters"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_a_file_in_the_directory() {
        for name in ["a", "db.4k", "job 1", "_-", "4k-read", &"x".repeat(128)] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".x",
            "-x",
            " x",
            "a/b",
            "/",
            "../x",
            "a\0b",
            "a\nb",
            "a:b",
            "a=b",
            "größe",
            "$x",
            "a`b",
            &"x".repeat(129),
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
    }

    #[test]
    fn labels_are_plain_short_and_each_there_once() {
        check_labels(&["hog", "probe", "probe.2", &"x".repeat(64)]).unwrap();
        for label in [
            "",
            "a b",
            "../x",
            "a/b",
            ".x",
            "-x",
            "a\nb",
            &"x".repeat(65),
        ] {
            let why = check_labels(&["hog", label]).expect_err(label);
            assert!(why.contains("must be plain"), "{why}");
            assert!(!why.contains('\n'), "{why}");
        }
        let why = check_labels(&["hog", "probe", "hog"]).unwrap_err();
        assert!(why.contains("two processes have the label hog"), "{why}");
    }

    #[test]
    fn the_name_of_a_workload_can_be_shown() {
        for name in ["randread", "größe 4k / db", &"ö".repeat(200)] {
            check_workload(name).unwrap();
        }
        for name in ["a\nb", "\u{1b}[31m", "a\u{202e}b", &"ö".repeat(201)] {
            assert!(check_workload(name).is_err(), "{name:?}");
        }
    }
}
