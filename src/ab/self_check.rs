//! `iosched-ab self-check`: what depends on the features that this binary was built with. Tests are built with more of them
//! (those of their own dependencies), so that only the released binary itself can tell.

use anyhow::Result;
use iosched_experiment::workload::reported::pattern;
use iosched_result::failure::Failure;

pub fn run() -> Result<()> {
    let compiled = pattern::self_check().map_err(|why| {
        Failure::runtime(
            format!("this build is broken: {why}"),
            "build it with the features of regex that Cargo.toml names",
        )
    })?;
    println!("patterns: {compiled} compiled");
    Ok(())
}
