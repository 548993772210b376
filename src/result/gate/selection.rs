//! Selects the primary comparisons that the gate judges. Their intervals stay those of the whole family: the other
//! comparisons were measured too, and may have been left out because of their results. Pure.

use crate::types::result::{ArmComparison, ResultFile};

/// Names of metrics and labels of arms; an empty list selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    metrics: Vec<String>,
    arms: Vec<String>,
}

/// A name that no primary comparison has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// `metric` or `arm`.
    pub what: &'static str,
    pub name: String,
    pub known: Vec<String>,
}

impl Selection {
    pub fn new(
        result: &ResultFile,
        metrics: &[String],
        arms: &[String],
    ) -> Result<Selection, Unknown> {
        let design = &result.design;
        let primary = design.primary.iter().map(|metric| metric.name.clone());
        ensure_known("metric", metrics, primary.collect())?;
        let labels = design.arms.iter().enumerate();
        let compared = labels.filter(|(index, _)| *index != design.reference);
        let compared = compared.map(|(_, arm)| arm.label.clone());
        ensure_known("arm", arms, compared.collect())?;
        Ok(Selection {
            metrics: metrics.to_vec(),
            arms: arms.to_vec(),
        })
    }

    pub fn has(&self, row: &ArmComparison) -> bool {
        let has = |names: &[String], name| names.is_empty() || names.contains(name);
        has(&self.metrics, &row.metric.name) && has(&self.arms, &row.arm)
    }

    /// The selected primary comparisons.
    pub fn rows<'a>(&self, result: &'a ResultFile) -> Vec<&'a ArmComparison> {
        let rows = result.comparisons.iter();
        rows.filter(|row| row.primary && self.has(row)).collect()
    }

    pub fn metrics(&self) -> &[String] {
        &self.metrics
    }

    pub fn arms(&self) -> &[String] {
        &self.arms
    }
}

fn ensure_known(what: &'static str, wanted: &[String], known: Vec<String>) -> Result<(), Unknown> {
    match wanted.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(Unknown {
            what,
            name: name.clone(),
            known,
        }),
        None => Ok(()),
    }
}
