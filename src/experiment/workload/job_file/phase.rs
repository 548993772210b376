//! Jobs that would run one after another, separated by `stonewall` or `wait_for`. A round has one window for all its
//! jobs, so they must be of one phase. Pure.

use anyhow::Result;

use super::JobFile;
use super::line::Reader;
use iosched_result::failure::Failure;

const OPTIONS: [&str; 2] = ["stonewall", "wait_for"];
const IN_ORDER: &str = "would run jobs one after another, and a round has one window for all: choose the jobs of one \
    phase with --section NAME";

/// Every chosen name is one of a job.
pub(super) fn ensure_present(file: &str, chosen: &[String], reader: &Reader<'_>) -> Result<()> {
    let sections = reader.sections.iter();
    let mut jobs: Vec<&str> = sections
        .filter(|section| !section.is_global())
        .map(|section| section.name.as_str())
        .collect();
    let Some(missing) = chosen.iter().find(|name| !jobs.contains(&name.as_str())) else {
        return Ok(());
    };
    jobs.extend(reader.left_out.iter().map(String::as_str));
    jobs.dedup();
    Err(Failure::usage(
        format!("{file} has no job [{missing}]"),
        format!("its jobs are: {}", jobs.join(", ")),
    ))
}

/// Removes the options once they separate nothing. Err is the line and what is wrong with it.
pub(super) fn settle(jobs: &mut JobFile) -> Result<(), (usize, String)> {
    let names: Vec<&str> = jobs
        .jobs()
        .map(|(section, _)| section.name.as_str())
        .collect();
    for (index, (_, all)) in jobs.jobs().enumerate() {
        let stonewall = all.get("stonewall").filter(|setting| setting.is_on());
        // Before the first job there is none to wait for.
        let stonewall = stonewall.filter(|_| index > 0);
        // The job that it waits for may be left out.
        let waits = |name: &str| names.contains(&name);
        let wait_for = all.get("wait_for").filter(|it| waits(it.value()));
        if let Some(setting) = stonewall.or(wait_for) {
            return Err((setting.line, format!("{} {IN_ORDER}", setting.key)));
        }
    }
    for section in &mut jobs.sections {
        let options = &mut section.options;
        options.retain(|setting| !OPTIONS.contains(&setting.option));
    }
    Ok(())
}
