//! The axes of a study: lists of values that a cell's texts name in braces. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::workload::places;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Axes(BTreeMap<String, Vec<Value>>);

/// A number, a text, or several of them that belong together: `{ name = "32k", stride = "512k" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Number(i64),
    Text(String),
    Fields(BTreeMap<String, Scalar>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Number(i64),
    Text(String),
}

/// One value of each axis.
#[derive(Clone, Default)]
pub struct Combination<'a>(Vec<(&'a str, &'a Value)>);

impl Axes {
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
