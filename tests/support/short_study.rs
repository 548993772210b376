//! A block of some cells of a built-in study, in short rounds, on the simulated disk that it asks for.

use std::fs;
use std::path::PathBuf;

use iosched_experiment::study::builtin;
use iosched_experiment::study::format::Cell;
use iosched_result::metric::{Metric, Origin};
use serde_json::Value;
use toml::Table;

use crate::support::program::{Ended, Program};
use crate::support::traces::traces_of;

pub const TIMES: &str = "ramp_s = 0.2\nround_s = 1\nblocks = 1";

/// Its file with other times.
fn shortened(program: &Program, name: &str, times: &str) -> String {
    let printed = program.run(&["study", name, "--print"]).ends(0, &[]).stdout;
    let mut study: Table = printed.parse().expect("TOML");
    let times: Table = times.parse().expect("TOML");
    study.insert("times".to_owned(), times.into());
    study.remove("quick");
    study.to_string()
}

/// Runs these cells of a study, and holds each to one block in which every arm had its round.
pub fn run(binary: &str, name: &str, cells: &[&str], times: &str) {
    let program = Program::new(binary);
    fs::write(program.file("short.toml"), shortened(&program, name, times)).expect("a study");
    let mut arguments = vec!["study", "./short.toml", "-o", "result"];
    for cell in cells {
        arguments.extend(["--cells", cell]);
    }
    let mut command = program.command(&arguments);
    if let (Some(directory), Ok(path)) = (postgres(), std::env::var("PATH")) {
        command.env("PATH", format!("{path}:{}", directory.display()));
    }
    let ended = Ended::of(command).ends(0, &["made loop"]);
    let result = program.result("result");
    assert_eq!(result["status"], "complete", "{name}: {}", result["error"]);
    let study = builtin::find(name).expect("the study");
    let is_chosen = |cell: &&Cell| cells.contains(&&*cell.name);
    // The one that A/A runs.
    let last = study.cells.iter().rfind(is_chosen).expect("its cell");
    let arms = result["arms"].as_array().expect("arms").len();
    let ran = result["cells"].as_array().expect("cells");
    assert_eq!(ran.len(), cells.len() + 1, "{name}");
    for cell in ran {
        let rounds = cell["result"]["rounds"].as_array().expect("rounds");
        let wanted = if cell["is_placebo"] == true { 2 } else { arms };
        assert_eq!(
            rounds.len(),
            wanted,
            "{name} {}: {}",
            cell["name"],
            cell["hopeless"]
        );
        assert_eq!(cell["hopeless"], Value::Null, "{name}");
        for exact in cell["exact"].as_array().into_iter().flatten() {
            let count = |of: &str| exact[of].as_u64().expect("a count");
            assert!(
                count("rounds") > 0 && count("exact") + count("incomplete") == count("rounds"),
                "{name}: {exact}"
            );
        }
        for round in rounds {
            assert!(round["problem"].is_null(), "{name}: {round:#}");
        }
        // Some metrics have no value in a round as short as these.
        let of_study = study.cells.iter().find(|it| cell["name"] == *it.name);
        let metrics = &of_study.unwrap_or(last).metrics;
        for round in rounds {
            let is_measured = |metric: &Metric| {
                let values = match metric.origin {
                    Origin::Measured => &round["metrics"],
                    Origin::Reported => &round["reported"],
                };
                values[metric.plain_name()].is_number()
            };
            assert!(metrics.iter().any(is_measured), "{name}: {round:#}");
        }
    }
    assert_eq!(traces_of(ended.pid), [""; 0], "{name}");
}

/// The directory of PostgreSQL's newest programs; Debian keeps pg_test_fsync there, outside of every PATH.
pub fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let directories = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    directories
        .filter(|it| it.join("pg_test_fsync").exists())
        .max()
}
