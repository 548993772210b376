//! Exactly what a workload runs, as a result file has it: written when a run begins, read when it is resumed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::application::asked::Asked;
use super::group_settings::GroupSettings;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Description {
    Fio {
        name: String,
        processes: Vec<Process>,
        /// It runs on the first so many of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disks: Option<usize>,
    },
    Live {
        /// Metrics of the application.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        metrics: Vec<Asked>,
    },
    Command {
        argv: Vec<String>,
        limit_ms: Option<u64>,
        /// Its words may name places.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        places: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The parser that the user named, or `none`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parse: Option<String>,
        /// The parser that reads its output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parser: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        metric_regexes: Vec<String>,
    },
    WithBackground {
        command: Value,
        background: Value,
        #[serde(default)]
        lead_ms: u64,
    },
}

/// A process of fio.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    #[serde(flatten)]
    pub group: GroupSettings,
    pub label: String,
    pub job: String,
    pub is_background: bool,
}

impl Description {
    pub fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default() // its keys are strings
    }
}
