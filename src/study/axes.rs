//! The axes of a study: lists of values that a cell's texts name in braces. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::workload::places;

#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Axes(BTreeMap<String, Vec<Value>>);

/// A number, a text, or several of them that belong together: `{ name = "32k", stride = "512k" }`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Value {
    Number(i64),
    Text(String),
    Fields(BTreeMap<String, Scalar>),
}

/// One value in a state of the disk that commands make: `{stage}` is its name, `{stage.field}` any other field.
pub const STAGE: &str = "stage";

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Scalar {
    Number(i64),
    Text(String),
}

/// One value of each axis.
#[derive(Clone, Default)]
pub struct Combination<'a>(Vec<(&'a str, &'a Value)>);

impl Axes {
    /// The axis of stages, in their order. Err: there is one of that name already.
    pub fn add_stages(
        &mut self,
        stages: impl Iterator<Item = BTreeMap<String, Scalar>>,
    ) -> Result<(), String> {
        let stages: Vec<Value> = stages.map(Value::Fields).collect();
        if !stages.is_empty() && self.0.insert(STAGE.to_owned(), stages).is_some() {
            return Err("an axis cannot have the name stage beside stages".to_owned());
        }
        Ok(())
    }

    pub fn stages(&self) -> impl Iterator<Item = Combination<'_>> {
        let stages = self.0.get(STAGE).into_iter().flatten();
        stages.map(|stage| Combination(vec![(STAGE, stage)]))
    }

    /// All combinations of the axes that `name` mentions. Err: more than `most`, or an axis that cannot be used.
    pub fn combinations(&self, name: &str, most: usize) -> Result<Vec<Combination<'_>>, String> {
        let mut combinations = vec![Combination::default()];
        for (axis, values) in &self.0 {
            if places::NAMES.contains(&&*format!("{{{axis}}}")) {
                return Err(format!(
                    "the axis {axis} has the name of a place of commands"
                ));
            }
            let nameless = |value: &Value| matches!(value, Value::Fields(fields) if !fields.contains_key("name"));
            if values.is_empty() || values.iter().any(nameless) {
                return Err(format!(
                    "the axis {axis} has no value, or one without a name"
                ));
            }
            if !name.contains(&format!("{{{axis}}}")) {
                continue;
            }
            combinations = combinations
                .iter()
                .flat_map(|combination| {
                    values.iter().map(move |value| {
                        let mut longer = combination.clone();
                        longer.0.push((axis, value));
                        longer
                    })
                })
                .collect();
            if combinations.len() > most {
                return Err(format!("{name} is more than {most} cells"));
            }
        }
        Ok(combinations)
    }
}

impl Combination<'_> {
    /// The name of its stage.
    pub fn stage(&self) -> Option<String> {
        let is_one = self.0.iter().any(|(axis, _)| *axis == STAGE);
        is_one.then(|| self.fill(&format!("{{{STAGE}}}")))
    }

    /// `text` with the values for `{axis}` and `{axis.field}`.
    pub fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (axis, value) in &self.0 {
            match value {
                Value::Number(number) => {
                    text = text.replace(&format!("{{{axis}}}"), &number.to_string());
                }
                Value::Text(value) => text = text.replace(&format!("{{{axis}}}"), value),
                Value::Fields(fields) => {
                    for (field, value) in fields {
                        let value = match value {
                            Scalar::Number(number) => number.to_string(),
                            Scalar::Text(text) => text.clone(),
                        };
                        if field == "name" {
                            text = text.replace(&format!("{{{axis}}}"), &value);
                        }
                        text = text.replace(&format!("{{{axis}.{field}}}"), &value);
                    }
                }
            }
        }
        text
    }
}
