//! The form of result files: what is written down is what is written out.

use std::fs;
use std::path::Path;

use iosched::doctor::{self, Diagnosis};
use iosched::report::live::{self, LiveRecord};
use iosched::report::result::{ResultFile, SCHEMA, SCHEMA_VERSION};
use serde_json::{Value, json};

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
