//! The JSON of a program, kept as text: as a tree it takes ten times the memory, for every round of a result.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawJson(Box<str>);

impl From<&Value> for RawJson {
    fn from(value: &Value) -> RawJson {
        RawJson(value.to_string().into_boxed_str())
    }
}

impl RawJson {
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default() // it is the text of a value
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        Value::deserialize(deserializer).map(|value| RawJson::from(&value))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Value::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_written() {
        let text = r#"{"a":[1,2.5,"x\n",null],"b":18446744073709551615}"#;
        let raw: RawJson = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&raw).expect("JSON"), text);
        assert_eq!(raw.value()["a"][1], 2.5);
    }
}
