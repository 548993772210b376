use iosched_result::odd::{Changes, accepted, changes, seeds, tampered, text_seeds, worn};
use proptest::prelude::*;

use super::*;

fn tampered_journal(changes: Changes) -> Vec<u8> {
    let document = serde_json::from_slice(&seeds("journal")[0]).unwrap();
    tampered(&document, changes)
}

fn words_of_tables() -> impl Strategy<Value = String> {
    let word = "[0-9]{1,20}|-|[0-9]{1,3}:[0-9]{1,12}|/[a-z\\\\0-9+]{0,9}|cgroup2?|blkio,cpu|cpu|user_usec|system_usec|default|MemTotal:|kB|nan|inf|\n";
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

fn words_of_attributes() -> impl Strategy<Value = String> {
    let word = "[a-z-]{1,8}|\\[[a-z]{0,5}\\]?|-?[0-9]{1,40}|bitmap_tags:|depth=[0-9]{1,12}|[0-9]{1,12}:[0-9]{1,12}|\n";
    prop::collection::vec(word, 0..20).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_journal_is_used_or_refused(changes in changes()) {
        journal(&tampered_journal(changes));
    }

    #[test]
    fn any_table_is_used_or_passed_over(words in words_of_tables(), seed in worn("tables")) {
        tables(&words);
        tables(&words.replace(" \n ", "\n"));
        tables(&seed);
    }

    #[test]
    fn any_attribute_is_used_or_passed_over(words in words_of_attributes(), seed in worn("attributes")) {
        attributes(&words);
        attributes(&words.replace(" \n ", "\n"));
        attributes(&seed);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_used_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        journal(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        tables(&text);
        attributes(&text);
    }
}

/// Input refused at its first byte does not test the rest; input that is always accepted does not test refusals.
#[test]
fn a_share_of_what_is_tried_gets_past_the_first_refusal() {
    let shares = [
        (
            "journal",
            accepted(changes(), |changes| journal(&tampered_journal(changes))),
        ),
        ("tables", accepted(worn("tables"), |text| tables(&text))),
        (
            "attributes",
            accepted(worn("attributes"), |text| attributes(&text)),
        ),
    ];
    println!("{shares:?}");
    for (kind, per_cent) in shares {
        assert!((5..100).contains(&per_cent), "{kind}: {per_cent} %");
    }
}

/// The fuzzer mutates the seeds: a seed that is refused leads it nowhere.
#[test]
fn every_seed_is_accepted() {
    assert!(seeds("journal").iter().all(|seed| journal(seed)));
    for (kind, is_accepted) in [
        ("tables", tables as fn(&str) -> bool),
        ("attributes", attributes),
    ] {
        for seed in text_seeds(kind) {
            assert!(is_accepted(&seed), "{kind}: {seed}");
        }
    }
}

/// Every kind of change that a journal can contain is in a seed.
#[test]
fn the_seeds_have_every_kind_of_entry() {
    let text = text_seeds("journal").concat();
    let source = include_str!("safety/journal/undo.rs");
    let variants = source.split_once("pub enum Undo {").expect("the enum").1;
    let variants = variants.split_once("\n}").expect("its end").0.lines();
    let names = variants.filter_map(|line| {
        let name = line.strip_prefix("    ")?;
        name.starts_with(char::is_uppercase).then_some(name)
    });
    let mut found = 0;
    for name in names {
        let letters = name.chars().take_while(|c| c.is_alphabetic());
        let mut kind = String::new();
        for letter in letters {
            if letter.is_uppercase() && !kind.is_empty() {
                kind.push('_');
            }
            kind.extend(letter.to_lowercase());
        }
        assert!(text.contains(&format!("\"kind\": \"{kind}\"")), "{kind}");
        found += 1;
    }
    assert!(found >= 7, "{found}");
}

/// The parsers limit how deep a document may nest: deep recursion would exhaust the stack.
#[test]
fn nesting_without_end_is_refused() {
    let deep = [b"{\"format\":1,\"x\":".as_slice(), &vec![b'['; 1 << 20]].concat();
    let error = journal::parse(Path::new("/j"), &deep).unwrap_err();
    assert!(error.to_string().contains("not a journal"), "{error:#}");
}
