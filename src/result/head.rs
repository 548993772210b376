//! What a file says of itself: its schema and the version. Pure.
//!
//! Both stand at the beginning of what iosched writes, and reading ends there: a result has megabytes, and there may be thousands.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

#[derive(Debug, Default)]
pub struct Head {
    /// The name of the schema: it tells runs, studies, searches and merged files apart.
    pub schema: Option<String>,
    pub schema_version: Option<u64>,
}

impl Head {
    /// Err: it is no JSON object, or these two are not what they should be. What follows them is not looked at.
    pub fn of(bytes: &[u8]) -> Result<Head, serde_json::Error> {
        let mut head = Head::default();
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let filled = Fill(&mut head).deserialize(&mut reader);
        if !head.is_whole() {
            filled?;
            reader.end()?;
        }
        Ok(head)
    }

    /// Whether the schema's name begins with these letters.
    pub fn is_of(&self, kind: &str) -> bool {
        let schema = self.schema.as_deref();
        schema.is_some_and(|schema| schema.starts_with(kind))
    }

    fn is_whole(&self) -> bool {
        self.schema.is_some() && self.schema_version.is_some()
    }
}

struct Fill<'a>(&'a mut Head);

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a file of iosched")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "$schema" => self.0.schema = map.next_value()?,
                "schema_version" => self.0.schema_version = map.next_value()?,
                _ => map.next_value::<IgnoredAny>().map(drop)?,
            }
            // The reader calls what follows an error, which `of` knows.
            if self.0.is_whole() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_not_read() {
        let head = Head::of(br#"{"a": [1], "$schema": "merge-1.json", "schema_version": 1, "#);
        let head = head.expect("a head");
        assert!(head.is_of("merge-") && head.schema_version == Some(1));
    }

    #[test]
    fn what_is_missing_is_missing() {
        let head = Head::of(br#"{"schema_version": 7, "rounds": []}"#).expect("an object");
        assert!(head.schema.is_none() && head.schema_version == Some(7));
        assert!(Head::of(b"{}").is_ok_and(|head| !head.is_of("")));
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["", "[]", "7", "{", r#"{"schema_version": "1"}"#, "{}x"] {
            let of = Head::of(text.as_bytes());
            assert!(of.is_err(), "{text}: {of:?}");
        }
    }
}
