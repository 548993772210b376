//! What the user wants: one metric that should get better, and others that must not get worse.

use serde::{Deserialize, Serialize};

/// A run without goals keeps every primary metric and prefers none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Goals {
    /// The name of the metric that decides; absent: none is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// Names of the metrics that must be shown to be no worse beyond their margins. Empty: all others that are primary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

impl Goals {
    pub fn is_preferred(&self, name: &str) -> bool {
        self.prefer.as_deref() == Some(name)
    }

    pub fn is_kept(&self, name: &str) -> bool {
        let is_named = self.keep.iter().any(|kept| kept == name);
        is_named || (self.keep.is_empty() && !self.is_preferred(name))
    }
}
