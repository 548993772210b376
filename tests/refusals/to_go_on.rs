//! What a run that is to go on would do, without doing it.

use std::fs::{self, File};
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::BINARY;
use crate::support::program::Program;

/// A run of eight blocks of four arms on a simulated disk.
fn ended(program: &Program, name: &str, change: impl FnOnce(&mut Value)) {
    let mut text = String::new();
    let file = File::open("tests/data/pages/demo.json.gz").expect("a result");
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("gzip");
    let mut result: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut result);
    fs::write(program.file(name), result.to_string()).expect("a file");
}

/// `resume FILE --dry-run`: the lines of blocks, each with its arms.
fn would_run(program: &Program, arguments: &[&str], says: &[&str]) -> Vec<(String, Vec<String>)> {
    let files = program.files();
    let ended = program
        .run(&[&["run", "--dry-run", "--resume"], arguments].concat())
        .ends(0, says);
    assert_eq!(program.files(), files, "nothing is written");
    assert!(program.journals().is_empty(), "nothing is changed");
    let blocks = ended.stdout.lines().filter_map(|line| {
        let (block, arms) = line.strip_prefix("block ")?.split_once(": ")?;
        let mut arms: Vec<String> = arms.split("  ").map(str::to_owned).collect();
        arms.sort();
        Some((block.to_owned(), arms))
    });
    blocks.collect()
}

#[test]
fn a_run_that_would_go_on_says_which_rounds_are_left() {
    let program = Program::new(BINARY);
    let all = ["bfq", "kyber", "mq-deadline", "none"].map(str::to_owned);
    ended(&program, "ended", |_| {});
    let says = [
        "adds 2 blocks to the 8 so far",
        "32 rounds are done, and there are 8 more",
    ];
    let added = would_run(&program, &["ended", "--rounds", "+2"], &says);
    let wanted = ["9", "10"].map(|block| (block.to_owned(), all.to_vec()));
    assert_eq!(added, wanted);
    let complete = ["run", "--dry-run", "--resume", "ended"];
    program
        .run(&complete)
        .ends(2, &["there is nothing to resume"]);

    ended(&program, "interrupted", |result| {
        result["status"] = json!("interrupted");
        let rounds = result["rounds"].as_array_mut().expect("rounds");
        rounds.truncate(26);
        // The last block that was complete does not count.
        rounds[20]["exclusion"] = json!("foreign_io");
        rounds[20]["problem"] = json!("others");
    });
    let says = ["26 rounds are done, and there are 10 more", " left"];
    let rest = would_run(&program, &["interrupted"], &says);
    let blocks: Vec<&str> = rest.iter().map(|(block, _)| block.as_str()).collect();
    assert_eq!(blocks, ["6 again", "7", "8"]);
    assert_eq!(
        rest.iter().map(|(_, arms)| arms.len()).collect::<Vec<_>>(),
        [4, 2, 4]
    );
    assert_eq!(rest[0].1, all);
}
