//! Files that lead to actions: a file that another user may have written is used only after the user has said so.

use iosched_result::failure::Failure;

/// `what`: what comes from the file, as in `the commands that it would run`. `doubt`: why another user may have written
/// it, if that is so.
pub fn ensure(trust: bool, doubt: Option<&str>, file: &str, what: &str) -> anyhow::Result<()> {
    match doubt.filter(|_| !trust) {
        None => Ok(()),
        Some(doubt) => Err(Failure::refused(
            format!("{file}: another user may have written {what}: {doubt}"),
            "check the commands and settings in it; if they are what you want, add --trust",
        )),
    }
}
