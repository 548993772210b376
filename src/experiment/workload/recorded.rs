//! Restores a workload from its description in a result file, to resume an interrupted run.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::application::Application;
use super::command::CommandLine;
use super::description::{Description, Process};
use super::fio::{Fio, FioPart};
use super::job_file::JobFile;
use super::live::Live;
use super::{Workload, names};
use iosched_result::failure::Failure;

/// `may_write`: the user consents anew each time; a file cannot give consent.
pub fn workload(description: &Value, may_write: bool) -> Result<Box<dyn Workload>> {
    let cannot = |why: String| {
        Failure::usage(
            format!("the workload in the result file cannot be run again: {why}"),
            "start a new run",
        )
    };
    match Description::deserialize(description).map_err(|error| cannot(error.to_string()))? {
        Description::Fio {
            name,
            processes,
            disks,
        } => {
            let labels: Vec<&str> = processes.iter().map(|it| it.label.as_str()).collect();
            names::check_workload(&name)
                .and_then(|()| names::check_labels(&labels))
                .map_err(cannot)?;
            if disks == Some(0) {
                return Err(cannot("it runs on no disk".to_owned()));
            }
            let part = |process: Process| {
                process.group.check().map_err(cannot)?;
                Ok(FioPart {
                    job: JobFile::parse(&process.label, &process.job, &[])?,
                    label: process.label,
                    is_background: process.is_background,
                    group: process.group,
                })
            };
            let parts = processes.into_iter().map(part).collect::<Result<_>>()?;
            Ok(Box::new(Fio::new(&name, parts).on_first(disks)))
        }
        Description::Live { metrics } => {
            let application = Application::new(metrics).map_err(|error| cannot(error.to_string()));
            Ok(Box::new(Live::new(application?)))
        }
        Description::Command {
            argv,
            limit_ms,
            places,
            user,
            parse,
            metric_regexes,
            parser: _,
        } => {
            // The replacement character stands for bytes that were not UTF-8.
            if argv.iter().any(|word| word.contains('\u{fffd}')) {
                return Err(cannot("its command line is not UTF-8".to_owned()));
            }
            let argv = argv.into_iter().map(OsString::from).collect();
            let limit = limit_ms.map(Duration::from_millis);
            let patterns = metric_regexes.iter().map(|text| text.parse());
            let patterns = patterns.collect::<Result<_>>()?;
            let command = CommandLine::new(argv, may_write, limit)?
                .with_sources(parse.as_deref(), patterns)?
                .with_user(user.as_deref())?;
            Ok(Box::new(if places {
                command.with_places()
            } else {
                command
            }))
        }
        Description::WithBackground { .. } => Err(cannot("it is a cell of a study".to_owned())),
    }
}

/// As a shell would take it.
pub fn shown(argv: &[String]) -> String {
    let words = argv.iter().map(String::as_str);
    shlex::try_join(words).unwrap_or_else(|_| argv.join(" "))
}

/// One line for each program that the workload of a result file starts, with fio's jobs.
pub fn commands(description: &Value) -> Vec<String> {
    match Description::deserialize(description) {
        Err(_) => Vec::new(),
        Ok(Description::Live { metrics }) => {
            Application::new(metrics).map_or(Vec::new(), |it| it.commands().collect())
        }
        Ok(Description::Command { argv, .. }) => vec![shown(&argv)],
        Ok(Description::WithBackground {
            command,
            background,
            lead_ms: _,
        }) => [command, background].iter().flat_map(commands).collect(),
        Ok(Description::Fio { processes, .. }) => processes
            .iter()
            .map(|process| {
                let job = process.job.lines().filter(|line| !line.is_empty());
                format!(
                    "fio ({}): {}",
                    process.label,
                    job.collect::<Vec<_>>().join("; ")
                )
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload::catalogue;

    #[test]
    fn every_workload_is_the_same_again() {
        for entry in catalogue::list() {
            let original = catalogue::find(entry.name).unwrap();
            let again = workload(&original.description(), false).unwrap();
            assert_eq!(again.description(), original.description());
            assert_eq!(again.name(), original.name());
            assert_eq!(again.properties().lead, original.properties().lead);
            assert_eq!(again.properties().writes, original.properties().writes);
        }
        let asked = json!({ "kind": "live", "metrics": [
            { "cmd": "tps:higher:counter=psql -Atc 'select 1'" },
            { "url": "w:lower=http://127.0.0.1:9/m#mean(w)" },
        ] });
        let live = workload(&asked, false).unwrap();
        assert_eq!(live.description(), asked);
        assert_eq!(commands(&asked), ["psql -Atc 'select 1'"]);
        let plain = json!({ "kind": "live" });
        assert_eq!(workload(&plain, false).unwrap().description(), plain);
        let argv = vec!["cp".into(), "a b".into()];
        let limit = Some(Duration::from_millis(1500));
        let original = CommandLine::new(argv, false, limit)
            .and_then(|it| {
                it.with_sources(
                    Some("pgbench"),
                    vec!["a=([0-9]+):higher:x".parse().unwrap()],
                )
            })
            .unwrap();
        let again = workload(&original.description(), true).unwrap();
        assert_eq!(again.description(), original.description());
        assert!(again.properties().writes);
    }

    fn fio(name: &str, labels: &[&str]) -> Value {
        let process = |label: &&str| json!({ "label": label, "job": "[a]\nrw=read\n", "is_background": false });
        let processes: Vec<Value> = labels.iter().map(process).collect();
        json!({ "kind": "fio", "name": name, "processes": processes })
    }

    #[test]
    fn a_label_or_name_that_is_none_is_refused() {
        assert!(workload(&fio("a b", &["hog", "probe.2"]), true).is_ok());
        let long = "x".repeat(201);
        for (description, says) in [
            (fio("a", &["hog", "../../etc/cron.d/x"]), "must be plain"),
            (fio("a", &["hog/x"]), "must be plain"),
            (fio("a", &[".hog"]), "must be plain"),
            (fio("a", &["-hog"]), "must be plain"),
            (fio("a", &[""]), "must be plain"),
            (fio("a", &["hog\n"]), "must be plain"),
            (fio("a", &[&long[..65]]), "must be plain"),
            (fio("a", &["hog", "hog"]), "two processes have the label"),
            (fio("a\u{1b}[2J", &["hog"]), "cannot be seen"),
            (fio(&long, &["hog"]), "more than 200 characters"),
        ] {
            let Err(error) = workload(&description, true) else {
                panic!("{description} was accepted")
            };
            let text = error.to_string();
            assert!(
                text.contains("cannot be run again") && text.contains(says),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            r#"{"kind":"fake"}"#,
            "null",
            r#"{"kind":"command","argv":["\ufffd"]}"#,
            r#"{"kind":"live","metrics":[{"cmd":"a=b"}]}"#,
            r#"{"kind":"live","metrics":[{"psql":"a:higher=b"}]}"#,
        ] {
            let value = serde_json::from_str(text).unwrap();
            let Err(error) = workload(&value, true) else {
                panic!("{text} was accepted")
            };
            assert!(error.to_string().contains("cannot be run again"), "{error}");
        }
    }
}
