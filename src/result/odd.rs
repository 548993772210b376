//! Input that is not as expected, for tests of parsers: documents with changed places, texts with other words.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Values that users, other programs and attackers put in place of expected ones.
fn odd_value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(63),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e-308),
        json!(0.5),
        json!(""),
        json!("none"),
        json!("=cmd|\u{9b}2J\u{7f}\r\n#"),
        json!("\u{1b}[31m|\n\"\\\0</script>"),
        json!([]),
        json!({}),
        json!([[0, u64::MAX], [1, u64::MAX]]),
    ])
}

/// A place in a document, from the top down and at each step into any child, so that the few outer places are chosen as
/// often as the many inner ones.
fn place<'a>(document: &'a mut Value, steps: &[Index]) -> &'a mut Value {
    let mut value = &*document;
    let mut pointer = String::new();
    for step in steps {
        let names: Vec<String> = match value {
            Value::Object(object) => object.keys().cloned().collect(),
            Value::Array(array) => (0..array.len()).map(|i| i.to_string()).collect(),
            _ => Vec::new(),
        };
        if names.is_empty() {
            break;
        }
        let name = &names[step.index(names.len())];
        let next = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        value = document.pointer(&next).expect("a child");
        pointer = next;
    }
    document.pointer_mut(&pointer).expect("a place")
}

/// Places in a document, each to be replaced by an odd value or by the value of another place.
pub type Changes = Vec<(Vec<Index>, Option<Value>, Vec<Index>)>;

pub fn changes() -> impl Strategy<Value = Changes> {
    let steps = || prop::collection::vec(any::<Index>(), 1..7);
    prop::collection::vec(
        (steps(), prop::option::weighted(0.8, odd_value()), steps()),
        1..4,
    )
}

pub fn tampered(document: &Value, changes: Changes) -> Vec<u8> {
    let mut document = document.clone();
    for (steps, value, other) in changes {
        let value = value.unwrap_or_else(|| place(&mut document, &other).clone());
        *place(&mut document, &steps) = value;
    }
    serde_json::to_vec(&document).unwrap()
}

/// Realistic inputs, with which a fuzzer also starts.
pub fn seeds(kind: &str) -> Vec<Vec<u8>> {
    let below = match kind {
        "command_output" => "tests/data/commands".to_owned(),
        _ => format!("fuzz/seeds/{kind}"),
    };
    let directory = format!("{}/../../{below}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{directory}: {e}"));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{directory}");
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

pub fn text_seeds(kind: &str) -> Vec<String> {
    let texts = seeds(kind).into_iter();
    texts.map(|text| String::from_utf8(text).unwrap()).collect()
}

/// A seed with some of its words replaced.
pub fn worn(kind: &str) -> impl Strategy<Value = String> {
    let word = "|-1|0|1|nan|none|18446744073709551616|[0-9]{1,20}|\\[|\\]|=|/dev/sdx|\\.\\./x|\u{1b}\\[31m|\n|[a-z_/]{1,9}";
    let exchange = (any::<Index>(), word);
    (
        select(text_seeds(kind)),
        prop::collection::vec(exchange, 0..4),
    )
        .prop_map(|(mut text, exchanges)| {
            for (place, word) in exchanges {
                let is_end = |c: char| !c.is_ascii_alphanumeric();
                let mut starts = vec![0];
                for part in text.split_inclusive(is_end) {
                    starts.push(starts[starts.len() - 1] + part.len());
                }
                starts.pop();
                let start = starts.get(place.index(starts.len().max(1)));
                let start = start.copied().unwrap_or_default();
                let length = text[start..].find(is_end);
                let end = length.map_or(text.len(), |length| start + length);
                text.replace_range(start..end, &word);
            }
            text
        })
}

/// How many of a hundred inputs are accepted; the inputs are always the same.
pub fn accepted<T>(strategy: impl Strategy<Value = T>, is_accepted: impl Fn(T) -> bool) -> usize {
    let mut runner = TestRunner::deterministic();
    let drawn = (0..200).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    drawn.filter_map(|it| is_accepted(it).then_some(())).count() / 2
}
