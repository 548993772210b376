//! Whether the value of a job file's option is as the option's rule wants it. Pure.
//!
//! fio replaces `${NAME}` by a variable of the environment and `$ncpus` by a number, and asks a shell to do the sum around
//! it. It works out expressions in brackets, too. No rule accepts any of these.

use std::path::PathBuf;

use super::fio_options::{ELSEWHERE, ENGINES, Rule};
use super::names;

/// What fio and iosched write into the directory of a round themselves.
const OWN_FILES: [&str; 4] = [".fio", ".json", ".stdout", ".stderr"];
/// Words that stand for nodes, or say what to do with them.
const NODES: [&str; 7] = [
    "default",
    "prefer",
    "bind",
    "interleave",
    "local",
    "all",
    "same",
];

/// Err says what is wrong. `key` is the option as the file names it, `value` what stands behind its `=`.
pub(super) fn check(
    key: &str,
    value: Option<&str>,
    rule: Rule,
    devices: &[PathBuf],
) -> Result<(), String> {
    let text = value.unwrap_or_default();
    if text.contains('$') {
        return Err(format!(
            "{key}={text} depends on the environment; write the value out"
        ));
    }
    let is_right = match rule {
        Rule::Refused(why) => return Err(format!("{key} {why}")),
        Rule::Only(values, why) => {
            let is_one = values.contains(&text);
            return is_one.then_some(()).ok_or(format!("{key} {why}"));
        }
        Rule::Ours => true,
        Rule::Switch => matches!(value, None | Some("0" | "1")),
        Rule::NameOrNothing if text.is_empty() => true,
        _ if text.is_empty() => return Err(format!("{key} has no value")),
        Rule::Device => devices.iter().any(|device| device.as_os_str() == text),
        Rule::Numbers => are_numbers(text),
        Rule::Shares => are_shares(text),
        Rule::Word(words) => words.contains(&text),
        Rule::WordAndNumbers(words) => is_word_and(text, words, are_numbers),
        Rule::WordAndShares(words) => is_word_and(text, words, are_shares),
        Rule::Signs(signs) => text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || signs.contains(c)),
        Rule::Nodes => are_nodes(text),
        Rule::Engine => ENGINES.contains(&text),
        Rule::Name | Rule::NameOrNothing => names::is_plain(text),
        Rule::WholeName => {
            names::is_plain(text) && !OWN_FILES.iter().any(|end| text.ends_with(end))
        }
        Rule::Text => !text.contains('`'),
    };
    is_right
        .then_some(())
        .ok_or_else(|| problem(key, text, rule))
}

/// Why the value is refused.
fn problem(key: &str, value: &str, rule: Rule) -> String {
    let why = match rule {
        Rule::Device => format!("{ELSEWHERE}; leave it out, the device is given"),
        Rule::Engine => format!(
            "does not go through the scheduler of a block device; use one of {}",
            ENGINES.join(", ")
        ),
        Rule::Switch => "is neither 0 nor 1".to_owned(),
        Rule::Numbers => "is no number, nor a list of numbers".to_owned(),
        Rule::Shares => "is not a list of sizes and shares".to_owned(),
        Rule::Word(words) | Rule::WordAndNumbers(words) | Rule::WordAndShares(words) => {
            format!(
                "is none of the values that iosched knows: {}",
                words.join(", ")
            )
        }
        Rule::Nodes => "is not a list of NUMA nodes".to_owned(),
        Rule::WholeName if names::is_plain(value) => {
            "would write into a file of the round; take another name".to_owned()
        }
        Rule::Name | Rule::NameOrNothing | Rule::WholeName => {
            format!("names files and {}", names::MUST_BE_PLAIN)
        }
        Rule::Signs(_) => "has characters that this option does not take".to_owned(),
        Rule::Text | Rule::Ours | Rule::Only(..) | Rule::Refused(_) => "has a backtick".to_owned(),
    };
    format!("{key}={value} {why}")
}

/// Signs and ranges by hyphens, directions by commas, lists by colons.
fn are_numbers(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text
            .split([',', ':', '-'])
            .all(|part| part.is_empty() || is_number(part))
}

/// Sizes, each with what belongs to it behind slashes.
fn are_shares(text: &str) -> bool {
    text.split([',', ':']).all(|entry| {
        let mut parts = entry.split('/');
        entry.is_empty()
            || parts.next().is_some_and(is_number)
                && parts.all(|part| part.is_empty() || is_number(part))
    })
}

/// A number that may have a unit: 4k, 1.5, 50%, 0x1f, 10ms, 3z.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '%'))
}

fn is_word_and(text: &str, words: &[&str], is_right: impl Fn(&str) -> bool) -> bool {
    match text.split_once(':') {
        None => words.contains(&text),
        Some((word, rest)) => words.contains(&word) && is_right(rest),
    }
}

fn are_nodes(text: &str) -> bool {
    text.split([',', ':', '-'])
        .map(|part| part.trim_start_matches(['!', '+']))
        .all(|part| NODES.contains(&part) || part.parse::<u16>().is_ok())
}
