//! The studies that iosched brings, as files like those that users write.

use anyhow::Result;

use super::format::{self, Study};
use crate::failure::Failure;

const FILES: [(&str, &str); 15] = [
    (
        "record-size",
        include_str!("../../data/studies/record-size.toml"),
    ),
    ("oltp-web", include_str!("../../data/studies/oltp-web.toml")),
    (
        "read-buffer",
        include_str!("../../data/studies/read-buffer.toml"),
    ),
    ("fsync", include_str!("../../data/studies/fsync.toml")),
    ("oltp-dss", include_str!("../../data/studies/oltp-dss.toml")),
    (
        "interference",
        include_str!("../../data/studies/interference.toml"),
    ),
    ("startup", include_str!("../../data/studies/startup.toml")),
    ("fairness", include_str!("../../data/studies/fairness.toml")),
    ("fill", include_str!("../../data/studies/fill.toml")),
    ("wbt", include_str!("../../data/studies/wbt.toml")),
    ("nvme-era", include_str!("../../data/studies/nvme-era.toml")),
    (
        "device-ladder",
        include_str!("../../data/studies/device-ladder.toml"),
    ),
    (
        "kyber-targets",
        include_str!("../../data/studies/kyber-targets.toml"),
    ),
    (
        "isolation",
        include_str!("../../data/studies/isolation.toml"),
    ),
    ("etcd", include_str!("../../data/studies/etcd.toml")),
];

pub fn all() -> Result<Vec<Study>> {
    FILES
        .iter()
        .map(|(name, text)| format::parse(name, text))
        .collect()
}

pub fn find(name: &str) -> Result<Study> {
    let file = FILES.iter().find(|(known, _)| *known == name);
    let (name, text) = file.ok_or_else(|| {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        Failure::usage(
            format!("there is no study {name}"),
            format!(
                "take one of {}, or the path of a file such as ./mine.toml",
                names.join(", ")
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
        for (study, (name, _)) in all().unwrap().iter().zip(FILES) {
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
