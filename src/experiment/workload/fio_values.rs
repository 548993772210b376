//! Checks the value of an option in a job file against the option's rule. Pure.
//!
//! fio replaces `${NAME}` by an environment variable and `$ncpus` by a number, lets a shell compute the sum, and
//! evaluates expressions in parentheses. No rule accepts any of these.

use super::fio_options::{ENGINES, Rule};
use super::names;

/// Suffixes of the files that fio and iosched write into a round's directory.
const OWN_FILES: [&str; 4] = [".fio", ".json", ".stdout", ".stderr"];
/// fio's words for nodes and policies.
const NODES: [&str; 7] = [
    "default",
    "prefer",
    "bind",
    "interleave",
    "local",
    "all",
    "same",
];

/// Err says what is wrong. `key`: the option as the file spells it; `value`: the text after its `=`.
pub(super) fn check(key: &str, value: Option<&str>, rule: Rule) -> Result<(), String> {
    let text = value.unwrap_or_default();
    // fio does not see the name of a place.
    if text.contains('$') && !matches!(rule, Rule::Place) {
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
        Rule::Ours | Rule::Phase | Rule::Place => true,
        Rule::Switch => matches!(value, None | Some("0" | "1")),
        Rule::NameOrNothing if text.is_empty() => true,
        _ if text.is_empty() => return Err(format!("{key} has no value")),
        Rule::File => !names_several(text) && !is_no_storage(text),
        Rule::Directory => !names_several(text),
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
        Rule::File if !names_several(value) => {
            "is no file or disk whose I/O a scheduler sees".to_owned()
        }
        Rule::File => "names several files, and a job has one file here: name one".to_owned(),
        Rule::Directory => {
            "names several directories, and a job has one file here: name one".to_owned()
        }
        Rule::Engine => format!(
            "does not go through the scheduler of a block device; use one of {}",
            ENGINES.join(", ")
        ),
        Rule::Switch => "is neither 0 nor 1".to_owned(),
        Rule::Numbers => "is neither a number nor a list of numbers".to_owned(),
        Rule::Shares => "is not a list of sizes and shares".to_owned(),
        Rule::Word(words) | Rule::WordAndNumbers(words) | Rule::WordAndShares(words) => {
            format!(
                "is not one of the values that iosched knows: {}",
                words.join(", ")
            )
        }
        Rule::Nodes => "is not a list of NUMA nodes".to_owned(),
        Rule::WholeName if names::is_plain(value) => {
            "would overwrite a file of the round; use another name".to_owned()
        }
        Rule::Name | Rule::NameOrNothing | Rule::WholeName => {
            format!("names files and {}", names::MUST_BE_PLAIN)
        }
        Rule::Signs(_) => "has characters that this option does not accept".to_owned(),
        Rule::Text | Rule::Ours | Rule::Place | Rule::Phase | Rule::Only(..) | Rule::Refused(_) => {
            "has a backtick".to_owned()
        }
    };
    format!("{key}={value} {why}")
}

/// In fio a colon separates names, unless a backslash precedes it.
fn names_several(text: &str) -> bool {
    text.replace("\\:", "").contains(':')
}

/// Standard input and output, and the kernel's files that hold nothing.
fn is_no_storage(text: &str) -> bool {
    const NONE: [&str; 8] = [
        "-",
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/stdin",
        "/dev/stdout",
    ];
    NONE.contains(&text)
}

/// Numbers with signs, in ranges (hyphens), per direction (commas) or in lists (colons).
fn are_numbers(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text
            .split([',', ':', '-'])
            .all(|part| part.is_empty() || is_number(part))
}

/// Sizes, each with its shares after slashes.
fn are_shares(text: &str) -> bool {
    text.split([',', ':']).all(|entry| {
        let mut parts = entry.split('/');
        entry.is_empty()
            || parts.next().is_some_and(is_number)
                && parts.all(|part| part.is_empty() || is_number(part))
    })
}

/// A number with an optional unit: 4k, 1.5, 50%, 0x1f, 10ms, 3z.
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
