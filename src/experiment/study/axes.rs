//! The axes of a study: lists of values that a cell's texts name in braces. Pure.

use std::cell::Cell;
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

/// Longest text of a cell.
const TEXT_BYTES: usize = 64 << 10;
/// All texts of all cells together.
const ALL_BYTES: usize = 16 << 20;

/// How much the texts of all cells may still grow: a small file can describe any amount of text.
pub struct Room(Cell<usize>);

impl Default for Room {
    fn default() -> Self {
        Room(Cell::new(ALL_BYTES))
    }
}

impl Room {
    fn take(&self, bytes: usize) -> Result<(), String> {
        let left = self.0.get().checked_sub(bytes).ok_or_else(|| {
            let most = ALL_BYTES >> 20;
            format!(
                "makes the texts of all cells longer than {most} MiB; make several studies of it"
            )
        })?;
        self.0.set(left);
        Ok(())
    }
}

/// One value of each axis.
#[derive(Clone)]
pub struct Combination<'a> {
    values: Vec<(&'a str, &'a Value)>,
    room: &'a Room,
}

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

    pub fn stages<'a>(&'a self, room: &'a Room) -> impl Iterator<Item = Combination<'a>> {
        let stages = self.0.get(STAGE).into_iter().flatten();
        stages.map(move |stage| Combination {
            values: vec![(STAGE, stage)],
            room,
        })
    }

    /// All combinations of the axes that `name` mentions. Err: more than `most`, or an axis that cannot be used.
    pub fn combinations<'a>(
        &'a self,
        name: &str,
        most: usize,
        room: &'a Room,
    ) -> Result<Vec<Combination<'a>>, String> {
        let mut used: Vec<(&str, &[Value])> = Vec::new();
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
            if name.contains(&format!("{{{axis}}}")) {
                used.push((axis, values));
            }
        }
        // Before any of them is made.
        let sizes = used.iter().map(|(_, values)| values.len());
        let cells = sizes.fold(1_usize, usize::saturating_mul);
        if cells > most {
            return Err(format!(
                "{name} is {cells} cells, more than {most}: make several studies of it"
            ));
        }
        let mut all = vec![Combination {
            values: Vec::new(),
            room,
        }];
        for (axis, values) in used {
            let shorter = std::mem::take(&mut all);
            for combination in shorter {
                for value in values {
                    let mut longer = combination.clone();
                    longer.values.push((axis, value));
                    all.push(longer);
                }
            }
        }
        Ok(all)
    }
}

impl Combination<'_> {
    /// The name of its stage.
    pub fn stage(&self) -> Option<String> {
        let mut axes = self.values.iter();
        let (_, stage) = axes.find(|(axis, _)| *axis == STAGE)?;
        stage.text(None)
    }

    /// `text` with the values for `{axis}` and `{axis.field}`. They are put in once: a value that has braces is a text.
    /// Err: what is wrong, as in `has a text that ...`.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(open) = rest.find('{') {
            let (before, after) = (&rest[..open], &rest[open + 1..]);
            filled.push_str(before);
            let name = after.find(['{', '}']).map(|end| &after[..end]);
            let name = name.filter(|name| after[name.len()..].starts_with('}'));
            let value = name.and_then(|name| Some((name, self.value(name)?)));
            rest = if let Some((name, value)) = value {
                filled.push_str(&value);
                &after[name.len() + 1..]
            } else {
                filled.push('{');
                after
            };
            if filled.len() > TEXT_BYTES {
                break;
            }
        }
        filled.push_str(rest);
        if filled.len() > TEXT_BYTES {
            let most = TEXT_BYTES >> 10;
            return Err(format!(
                "has a text longer than {most} KiB; use shorter values, or a script"
            ));
        }
        self.room.take(filled.len())?;
        Ok(filled)
    }

    /// The value of `axis` or `axis.field`.
    fn value(&self, name: &str) -> Option<String> {
        self.values.iter().find_map(|(axis, value)| {
            let field = name.strip_prefix(axis)?;
            match field.strip_prefix('.') {
                Some(field) => value.text(Some(field)),
                None if field.is_empty() => value.text(None),
                None => None,
            }
        })
    }
}

impl Value {
    /// None as a field: its name.
    fn text(&self, field: Option<&str>) -> Option<String> {
        match (self, field) {
            (Value::Number(number), None) => Some(number.to_string()),
            (Value::Text(text), None) => Some(text.clone()),
            (Value::Number(_) | Value::Text(_), Some(_)) => None,
            (Value::Fields(fields), field) => match fields.get(field.unwrap_or("name"))? {
                Scalar::Number(number) => Some(number.to_string()),
                Scalar::Text(text) => Some(text.clone()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(text: &str) -> Axes {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn values_are_put_in_once() {
        let axes = axes("a = [\"{b}\"]\nb = [{ name = \"x\", size = 7 }]\n");
        let room = Room::default();
        let all = axes.combinations("{a}{b}", 9, &room).unwrap();
        for (text, filled) in [
            ("{a}-{b}-{b.size}", "{b}-x-7"),
            ("{b.none} {c} {", "{b.none} {c} {"),
            ("{ {b} } {{b}}", "{ x } {x}"),
            ("awk '{print $1}' {device}", "awk '{print $1}' {device}"),
            ("", ""),
        ] {
            assert_eq!(all[0].fill(text).unwrap(), filled);
        }
    }

    #[test]
    fn a_small_file_does_not_make_much_text() {
        let long = "x".repeat(1000);
        let text = format!("a = [\"{long}\"]\nb = [1, 2, 3]\n");
        let (axes, room) = (axes(&text), Room::default());
        let all = axes.combinations("{a} {b}", 3, &room).unwrap();
        let why = all[0].fill(&"{a}".repeat(1000)).unwrap_err();
        assert!(why.contains("longer than 64 KiB"), "{why}");
        let many = "{a}".repeat(60);
        let why = (0..1000).find_map(|_| all[0].fill(&many).err());
        assert!(why.is_some_and(|why| why.contains("longer than 16 MiB")));
        let Err(why) = axes.combinations("{b}", 2, &room) else {
            panic!("three are not two");
        };
        assert!(why.contains("{b} is 3 cells, more than 2"), "{why}");
    }

    #[test]
    fn combinations_are_counted_before_they_are_made() {
        let numbers: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let numbers = numbers.join(",");
        let letters = || ('a'..='z').map(String::from);
        let text = letters()
            .map(|c| format!("{c} = [{numbers}]"))
            .collect::<Vec<_>>()
            .join("\n");
        let name = letters()
            .map(|c| format!("{{{c}}}"))
            .collect::<Vec<_>>()
            .concat();
        let (axes, room) = (axes(&text), Room::default());
        assert!(axes.combinations(&name, 200, &room).is_err());
    }
}
