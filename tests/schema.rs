//! The form of result files: what is written down is what is written out.

use std::fs;
use std::path::Path;

use iosched::doctor::{self, Diagnosis};
use iosched::report::live::{self, LiveRecord};
use iosched::report::result::{ResultFile, SCHEMA, SCHEMA_VERSION};
use serde_json::{Map, Value, json};

fn docs(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name)
}

fn generated() -> Value {
    let mut schema = schemars::schema_for!(ResultFile).to_value();
    schema["$id"] = json!(SCHEMA);
    schema["title"] = json!("Result of iosched-ab");
    schema
}

fn generated_live() -> Value {
    let mut schema = schemars::schema_for!(LiveRecord).to_value();
    schema["$id"] = json!(live::SCHEMA);
    schema["title"] = json!("One interval of iosched stat");
    schema
}

fn generated_doctor() -> Value {
    let mut schema = schemars::schema_for!(Diagnosis).to_value();
    schema["$id"] = json!(doctor::SCHEMA);
    schema["title"] = json!("What iosched doctor found");
    schema
}

/// `UPDATE=1 cargo test --test schema` writes the files; a change that breaks readers takes another version and name.
#[test]
fn the_schemas_in_docs_are_those_of_the_types() {
    for (name, version, generated) in [
        (SCHEMA, SCHEMA_VERSION, generated()),
        (live::SCHEMA, live::SCHEMA_VERSION, generated_live()),
        (doctor::SCHEMA, doctor::SCHEMA_VERSION, generated_doctor()),
    ] {
        let path = docs(name);
        if std::env::var_os("UPDATE").is_some() {
            let text = serde_json::to_string_pretty(&generated).expect("JSON");
            fs::write(&path, text + "\n").expect("docs/");
        }
        let kept: Value =
            serde_json::from_slice(&fs::read(&path).expect("a schema")).expect("JSON");
        assert!(
            kept == generated,
            "docs/{name} is not what the types say: UPDATE=1 cargo test --test schema"
        );
        assert!(name.contains(&format!("-{version}.")));
    }
}

/// Readers of a watch's JSON have its schema.
#[test]
fn every_field_of_a_watch_is_described() {
    let schema = generated_live();
    let (count, missing) = undescribed(&schema);
    assert!(count > 130, "{count}");
    assert!(missing.is_empty(), "without a doc comment: {missing:?}");
    // And one that is taken away is missed, wherever it stands.
    for place in [
        "/properties/interval_s",
        "/$defs/LiveProcess/properties/bios",
        "/$defs/Merges",
    ] {
        let mut schema = schema.clone();
        let object = schema.pointer_mut(place).and_then(Value::as_object_mut);
        let taken = object.expect(place).remove("description");
        assert!(
            taken.is_some() && !undescribed(&schema).1.is_empty(),
            "{place}"
        );
    }
}

/// The objects of a schema, those in definitions and variants, too: each as its fields.
fn objects<'a>(schema: &'a Value, found: &mut Vec<&'a Map<String, Value>>) {
    found.extend(schema["properties"].as_object());
    match schema {
        Value::Object(parts) => parts.values().for_each(|part| objects(part, found)),
        Value::Array(parts) => parts.iter().for_each(|part| objects(part, found)),
        _ => {}
    }
}

/// How many fields there are, and those that neither have a description nor are of a type with one.
fn undescribed(schema: &Value) -> (usize, Vec<&String>) {
    let has_text = |of: &Value| {
        of["description"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    };
    let is_described = |field: &Value| {
        let or_null = field["anyOf"].as_array().into_iter().flatten();
        let mut types = or_null.chain([field]).filter_map(|of| of["$ref"].as_str());
        has_text(field) || types.any(|path| has_text(schema.pointer(&path[1..]).expect(path)))
    };
    let mut all = Vec::new();
    objects(schema, &mut all);
    let fields = all.iter().copied().flatten();
    let missing = fields.filter(|(_, field)| !is_described(field));
    let missing = missing.map(|(name, _)| name).collect();
    (all.iter().map(|fields| fields.len()).sum(), missing)
}

/// Readers find each field of a result in docs/result.md.
#[test]
fn every_field_is_explained() {
    let text = fs::read_to_string(docs("result.md")).expect("docs/result.md");
    let schema = generated();
    let fields = |object: &Value| -> Vec<String> {
        let properties = object["properties"].as_object();
        properties
            .into_iter()
            .flat_map(|p| p.keys().cloned())
            .collect()
    };
    let mut names = fields(&schema);
    for (_, definition) in schema["$defs"].as_object().expect("definitions") {
        names.extend(fields(definition));
        for variant in definition["oneOf"].as_array().into_iter().flatten() {
            names.extend(fields(variant));
        }
    }
    assert!(names.len() > 100, "{names:?}");
    names.sort();
    names.dedup();
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !text.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/result.md: {missing:?}");
}
