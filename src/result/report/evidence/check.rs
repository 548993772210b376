//! Whether blocks of evidence in a text are what results say. Pure.

use super::{Origin, SHA256, TITLE, sha256};
use crate::report::escape;
use crate::text::comment::comment;

/// What became of one block of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It is what this file says.
    Same { file: String },
    /// The file is the one it names, and says something else from this line on.
    Differs {
        file: String,
        line: usize,
        block: String,
        result: String,
    },
    /// The file is the one it names; the block is of another version of iosched, whose words may differ.
    OtherVersion { file: String, version: String },
    /// No file has its SHA-256.
    NoFile { sha256: String },
    /// It names no file.
    NoDigest,
    /// It only looks like a block.
    NotOne,
}

/// What a file may say: each of its results, by its blocks.
pub struct Candidate<'a> {
    pub origin: Origin<'a>,
    pub blocks: Vec<String>,
}

/// A block, and where in the text it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1 on.
    pub first_line: usize,
    pub last_line: usize,
    pub checked: Checked,
}

/// Every block of a text, which may be quoted or a comment, and whatever looks like one. Empty: there is none.
pub fn check(text: &str, candidates: &[Candidate<'_>]) -> Vec<Place> {
    let lines: Vec<&str> = text.lines().collect();
    // Whatever text is quoted by: no letters.
    let begins = |line: &str| {
        let column = line.find(TITLE)?;
        let is_quote = line[..column].chars().all(|c| !c.is_alphanumeric());
        is_quote.then_some(column)
    };
    let mut places: Vec<Place> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(column) = begins(line) else {
            let is_inside = places.last().is_some_and(|of| index < of.last_line);
            if !is_inside && looks_like_one(line) {
                places.push(Place {
                    first_line: index + 1,
                    last_line: index + 1,
                    checked: Checked::NotOne,
                });
            }
            continue;
        };
        let prefix = &line[..column];
        let next = lines[index + 1..]
            .iter()
            .position(|line| begins(line).is_some());
        let end = next.map_or(lines.len(), |next| index + 1 + next);
        let own = lines[index..end].iter().map(|line| unquoted(line, prefix));
        let (checked, length) = check_one(&own.collect::<Vec<_>>(), candidates);
        places.push(Place {
            first_line: index + 1,
            last_line: index + length.clamp(1, end - index),
            checked,
        });
    }
    places
}

/// A reader would take it for a block, and it is none that can be checked.
fn looks_like_one(line: &str) -> bool {
    let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
    let text = words.join(" ");
    let after = text.split_once("iosched evidence ").map(|(_, after)| after);
    after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

fn unquoted<'a>(line: &'a str, prefix: &str) -> &'a str {
    line.strip_prefix(prefix)
        .or_else(|| line.strip_prefix(prefix.trim_end()))
        .unwrap_or(line)
        .trim_end()
}

/// With the number of its lines.
fn check_one(lines: &[&str], candidates: &[Candidate<'_>]) -> (Checked, usize) {
    let digest = lines.iter().enumerate().find_map(|(index, line)| {
        let digest = line.strip_prefix(SHA256)?.split_whitespace().next()?;
        Some((index, digest))
    });
    let Some((index, digest)) = digest else {
        return (Checked::NoDigest, 1);
    };
    // A line on how to check follows.
    let length = index + 2;
    let is_named = |it: &&Candidate<'_>| sha256(it.origin.bytes) == digest;
    let Some(named) = candidates.iter().find(is_named) else {
        let sha256 = escape::line(digest);
        return (Checked::NoFile { sha256 }, length);
    };
    let file = named.origin.name.to_owned();
    let found = named
        .blocks
        .iter()
        .map(|block| (first_difference(lines, block, 0), block));
    // Of several cells, the one that is most alike.
    let nearest =
        found.max_by_key(|(found, _)| found.as_ref().map_or(usize::MAX, |(line, ..)| *line));
    let Some((found, made)) = nearest else {
        return (Checked::NoDigest, length);
    };
    let checked = match found {
        None => Checked::Same { file },
        // Another version may have other words.
        Some((1, block, _)) => match first_difference(lines, made, 1) {
            None => Checked::Same { file },
            Some(_) => Checked::OtherVersion {
                file,
                version: escape::line(block.trim_start_matches(TITLE)),
            },
        },
        Some((line, block, result)) => Checked::Differs {
            file,
            line,
            block: escape::line(&block),
            result,
        },
    };
    (checked, length)
}

/// The number of the first line that differs, from 1 on, and both.
fn first_difference(lines: &[&str], made: &str, skipped: usize) -> Option<(usize, String, String)> {
    let mut own = lines.iter().skip(skipped);
    for (index, made) in made.lines().enumerate().skip(skipped) {
        let of_block = own.next().copied().unwrap_or("");
        if alike(of_block) != alike(made) {
            return Some((index + 1, of_block.to_owned(), made.to_owned()));
        }
    }
    None
}

/// Comments of rules have no quotes, and the name of the file may have changed.
fn alike(line: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_file = line.strip_prefix("Result").unwrap_or("");
    match of_file.trim_start().split_once(" bytes, ") {
        Some((size, _)) if is_number(size) => size.to_owned(),
        _ => comment(line.trim_end()),
    }
}
