//! The form of result files: what is written down is what is written out.

use std::fs;
use std::path::Path;

use iosched_experiment::doctor::{self, Diagnosis};
use iosched_experiment::study::{builtin, format};
use iosched_measure::history::file as history;
use iosched_measure::history::frame::Frame;
use iosched_result::merge::{self, Merged};
use iosched_result::report::gate::study::StudyGateRecord;
use iosched_result::report::gate::{self, GateRecord, study as study_gate};
use iosched_result::report::why::{self, WhyRecord};
use iosched_result::stat::{self, LightRecord, LiveRecord};
use iosched_result::study::result as study;
use iosched_result::study::result::StudyResult;
use iosched_result::tune::{self, TuneResult};
use iosched_result::types::result::{ResultFile, SCHEMA, SCHEMA_VERSION};
use serde_json::{Map, Value, json};

#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
enum HistoryLine {
    /// The first line.
    Head(Box<history::Head>),
    /// Every other line: an interval.
    Interval(Box<Frame>),
}

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
    schema["$id"] = json!(stat::SCHEMA);
    schema["title"] = json!("One interval of iosched stat");
    schema
}

fn generated_light() -> Value {
    let mut schema = schemars::schema_for!(LightRecord).to_value();
    schema["$id"] = json!(stat::LIGHT_SCHEMA);
    schema["title"] = json!("One interval of iosched stat --light");
    schema
}

fn generated_why() -> Value {
    let mut schema = schemars::schema_for!(WhyRecord).to_value();
    schema["$id"] = json!(why::SCHEMA);
    schema["title"] = json!("What iosched why found");
    schema
}

/// Each line is one of the two.
fn generated_history() -> Value {
    let mut schema = schemars::schema_for!(HistoryLine).to_value();
    schema["$id"] = json!(history::SCHEMA);
    schema["title"] = json!("A line of a file of iosched snapshot");
    schema
}

fn generated_doctor() -> Value {
    let mut schema = schemars::schema_for!(Diagnosis).to_value();
    schema["$id"] = json!(doctor::SCHEMA);
    schema["title"] = json!("What iosched doctor found");
    schema
}

fn generated_gate() -> Value {
    let mut schema = schemars::schema_for!(GateRecord).to_value();
    schema["$id"] = json!(gate::SCHEMA);
    schema["title"] = json!("What iosched-ab gate found");
    schema
}

fn generated_study_gate() -> Value {
    let mut schema = schemars::schema_for!(StudyGateRecord).to_value();
    schema["$id"] = json!(study_gate::SCHEMA);
    schema["title"] = json!("What iosched-ab gate found in a study");
    schema
}

fn generated_study() -> Value {
    let mut schema = schemars::schema_for!(StudyResult).to_value();
    schema["$id"] = json!(study::SCHEMA);
    schema["title"] = json!("Result of iosched-ab study");
    schema
}

fn generated_tune() -> Value {
    let mut schema = schemars::schema_for!(TuneResult).to_value();
    schema["$id"] = json!(tune::SCHEMA);
    schema["title"] = json!("Result of iosched-ab tune");
    schema
}

fn generated_merge() -> Value {
    let mut schema = schemars::schema_for!(Merged).to_value();
    schema["$id"] = json!(merge::SCHEMA);
    schema["title"] = json!("Results of many hosts, by iosched-ab merge");
    schema
}

fn generated_study_file() -> Value {
    let mut schema = format::file_schema().to_value();
    schema["$id"] = json!(format::FILE_SCHEMA);
    schema["title"] = json!("File of a study of iosched-ab");
    schema
}

/// `UPDATE=1 cargo test --test schema` writes the files; a change that breaks readers takes another version and name.
#[test]
fn the_schemas_in_docs_are_those_of_the_types() {
    for (name, version, generated) in [
        (SCHEMA, SCHEMA_VERSION, generated()),
        (stat::SCHEMA, stat::SCHEMA_VERSION, generated_live()),
        (
            stat::LIGHT_SCHEMA,
            stat::LIGHT_SCHEMA_VERSION,
            generated_light(),
        ),
        (why::SCHEMA, why::SCHEMA_VERSION, generated_why()),
        (
            history::SCHEMA,
            history::SCHEMA_VERSION,
            generated_history(),
        ),
        (doctor::SCHEMA, doctor::SCHEMA_VERSION, generated_doctor()),
        (gate::SCHEMA, gate::SCHEMA_VERSION, generated_gate()),
        (study::SCHEMA, study::SCHEMA_VERSION, generated_study()),
        (tune::SCHEMA, tune::SCHEMA_VERSION, generated_tune()),
        (merge::SCHEMA, merge::SCHEMA_VERSION, generated_merge()),
        (format::FILE_SCHEMA, 1, generated_study_file()),
        (
            study_gate::SCHEMA,
            study_gate::SCHEMA_VERSION,
            generated_study_gate(),
        ),
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
    for other in [generated_light(), generated_why()] {
        let (_, missing) = undescribed(&other);
        assert!(missing.is_empty(), "without a doc comment: {missing:?}");
    }
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

/// By the schema in docs/, as Python's jsonschema reads it. What the program refuses for its form, the schema refuses.
#[test]
fn files_of_studies_are_what_their_schema_says() {
    let schema = generated_study_file();
    let (_, missing) = undescribed(&schema);
    assert!(missing.is_empty(), "without a doc comment: {missing:?}");
    let python = |script: &str, files: &[String]| {
        let mut command = std::process::Command::new("python3");
        command.args(["-c", script]).args(files).output()
    };
    let is_there = python("import jsonschema", &[]).is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: python3 with jsonschema cannot be run");
        return;
    }
    let script = "import json, sys, jsonschema\n\
        schema = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))\n\
        for name in sys.argv[2:]:\n\
        \x20   study = json.load(open(name))\n\
        \x20   schema.validate(study)\n\
        \x20   for field, value in [('cell', []), ('cells', 1), ('metrics', 'x'), ('arms', [1])]:\n\
        \x20       wrong = {**study, field: value} if field != 'cell' else {**study, 'cell': [{'name': 'a', 'x': 1}]}\n\
        \x20       assert not schema.is_valid(wrong), (name, field)";
    let directory = tempfile::tempdir().expect("a directory");
    let mut files = vec![docs(format::FILE_SCHEMA).display().to_string()];
    for study in builtin::all().expect("studies") {
        let table: toml::Table = study.text.parse().expect("TOML");
        let path = directory.path().join(format!("{}.json", study.name));
        fs::write(&path, serde_json::to_vec(&table).expect("JSON")).expect("a file");
        files.push(path.display().to_string());
    }
    let output = python(script, &files).expect("python3");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
}

/// Readers find each field of a result in docs/result.md.
#[test]
fn every_field_is_explained() {
    let names = names_in(&generated());
    assert!(names.len() > 100, "{names:?}");
    is_explained("result.md", &names);
}

/// And each field of a gate's findings in docs/ci.md, unless it is one of the result.
#[test]
fn every_field_of_a_gate_is_explained() {
    let of_a_result = names_in(&generated());
    let mut names = names_in(&generated_gate());
    assert!(names.len() > 40, "{names:?}");
    names.retain(|name| !of_a_result.contains(name));
    assert!(names.len() > 15, "{names:?}");
    is_explained("ci.md", &names);
    let schema = generated_gate();
    let (_, missing) = undescribed(&schema);
    let of_its_own = missing.iter().filter(|name| names.contains(name));
    assert_eq!(of_its_own.count(), 0, "without a doc comment: {missing:?}");
}

#[track_caller]
fn is_explained(page: &str, names: &[String]) {
    let text = fs::read_to_string(docs(page)).expect("a page");
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !text.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/{page}: {missing:?}");
}

/// All fields of a schema, each once.
fn names_in(schema: &Value) -> Vec<String> {
    let fields = |object: &Value| -> Vec<String> {
        let properties = object["properties"].as_object();
        properties
            .into_iter()
            .flat_map(|p| p.keys().cloned())
            .collect()
    };
    let mut names = fields(schema);
    for (_, definition) in schema["$defs"].as_object().expect("definitions") {
        names.extend(fields(definition));
        for variant in definition["oneOf"].as_array().into_iter().flatten() {
            names.extend(fields(variant));
        }
    }
    names.sort();
    names.dedup();
    names
}
