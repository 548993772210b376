//! The studies that iosched brings, as files like those that users write.

use anyhow::Result;

use super::format::{self, Study};
use iosched_result::failure::Failure;
use iosched_result::study::BUILT_IN;

/// In the order of [`BUILT_IN`].
const FILES: [&str; BUILT_IN.len()] = [
    include_str!("../../../data/studies/record-size.toml"),
    include_str!("../../../data/studies/oltp-web.toml"),
    include_str!("../../../data/studies/read-buffer.toml"),
    include_str!("../../../data/studies/fsync.toml"),
    include_str!("../../../data/studies/oltp-dss.toml"),
    include_str!("../../../data/studies/interference.toml"),
    include_str!("../../../data/studies/startup.toml"),
    include_str!("../../../data/studies/fairness.toml"),
    include_str!("../../../data/studies/fill.toml"),
    include_str!("../../../data/studies/wbt.toml"),
    include_str!("../../../data/studies/nvme-era.toml"),
    include_str!("../../../data/studies/device-ladder.toml"),
    include_str!("../../../data/studies/kyber-targets.toml"),
    include_str!("../../../data/studies/isolation.toml"),
    include_str!("../../../data/studies/cgroup.toml"),
    include_str!("../../../data/studies/dirty.toml"),
    include_str!("../../../data/studies/etcd.toml"),
    include_str!("../../../data/studies/blame.toml"),
];

fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.into_iter().zip(FILES)
}

pub fn all() -> Result<Vec<Study>> {
    named()
        .map(|(name, text)| format::parse(name, text))
        .collect()
}

pub fn find(name: &str) -> Result<Study> {
    let file = named().find(|(known, _)| *known == name);
    let (name, text) = file.ok_or_else(|| {
        Failure::usage(
            format!("there is no study {name}"),
            format!(
                "take one of {}, or the path of a file such as ./mine.toml",
                BUILT_IN.join(", ")
            ),
        )
    })?;
    format::parse(name, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_valid_and_has_its_own_name() {
        for (study, (name, _)) in all().unwrap().iter().zip(named()) {
            assert_eq!(study.name, name);
            assert!(!study.title.is_empty() && !study.about.is_empty(), "{name}");
            assert!(
                study.cells.iter().all(|cell| !cell.expect.is_empty()),
                "{name}"
            );
        }
        assert!(
            find("nothing")
                .unwrap_err()
                .to_string()
                .contains("there is no study")
        );
    }
}
