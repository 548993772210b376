//! A result as a block of plain text, for a pull request, a mailing list or the comment of a rule. Pure.

pub mod check; // whether a block is what a result says

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use textwrap::{Options, WordSeparator, WordSplitter};

use super::{decision, escape, limits, size, text, times, units, words};
use crate::gate;
use crate::statistics::verdict::Verdict;
use crate::types::outcome::Fixed;
use crate::types::result::{ArmComparison, DeviceInfo, ResultFile};

/// The first line of each block begins with this, and the version of the format.
const TITLE: &str = "iosched evidence 1, by iosched ";
const SHA256: &str = "SHA-256    ";
/// A block is no longer and no wider, however large the result is.
const LINES: usize = 40;
const WIDTH: usize = 76;
/// Lines of a field.
const MOST_OF_FIELD: usize = 6;
const LABEL: usize = 11;

/// The file that a result is in.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// The cell, if it is that of a study.
    pub cell: Option<&'a str>,
}

/// The verdicts are drawn from the rounds again.
pub fn block(result: &ResultFile, origin: Origin<'_>) -> String {
    let result = gate::redrawn(result, 1);
    let all: Vec<&ArmComparison> = result.primary().collect();
    let mut shown: Vec<usize> = (0..all.len()).collect();
    loop {
        let made = with_rows(&result, &all, &shown, origin);
        if made.len() <= LINES || shown.len() <= 1 {
            return made.join("\n") + "\n";
        }
        // What is against an arm goes last.
        let least = shown.iter().max_by_key(|row| (weight(all[**row]), **row));
        let least = least.copied();
        shown.retain(|row| Some(*row) != least);
    }
}

fn weight(row: &ArmComparison) -> u8 {
    let found = &row.comparison;
    match found.verdict {
        Verdict::Worse => 0,
        _ if gate::cannot_be_judged(found) => 0,
        Verdict::Better | Verdict::Differs => 1,
        Verdict::Inconclusive => 2,
        Verdict::Equivalent => 3,
    }
}

fn with_rows(
    result: &ResultFile,
    all: &[&ArmComparison],
    shown: &[usize],
    origin: Origin<'_>,
) -> Vec<String> {
    let version = escape::line(&result.environment.iosched_version);
    let mut lines = vec![format!("{TITLE}{version}")];
    lines.extend(field("Decision", &decision::sentence(result)));
    lines.extend(field("Question", &question(result, origin.cell)));
    lines.extend(field("Disk", &disks(&result.device)));
    lines.extend(field("Machine", &machine(result)));
    lines.extend(field("Design", &design(result)));
    if let Some(doubts) = doubts(result) {
        lines.extend(field("Doubts", &doubts));
    }
    lines.extend(field("Errs", &errs(result)));
    lines.push(String::new());
    let rows: Vec<&ArmComparison> = shown.iter().map(|row| all[*row]).collect();
    if !rows.is_empty() {
        let table = text::table(&rows, WIDTH);
        lines.extend(table.lines().flat_map(|line| wrapped(line, "       ")));
    }
    if let Some(rest) = rest(all, shown) {
        lines.push(rest);
    }
    let of_limits = limits::in_words(result);
    lines.extend(of_limits.lines().flat_map(|line| wrapped(line, "  ")));
    lines.push(String::new());
    lines.extend(reproduce(result));
    let name = escape::line(origin.name);
    let of_file = format!("{} bytes, {name}", origin.bytes.len());
    lines.push(labelled("Result", &of_file));
    lines.push(format!("{SHA256}{}", sha256(origin.bytes)));
    lines.push(labelled(
        "Check",
        "iosched-ab evidence --check THIS_BLOCK RESULT",
    ));
    lines
}

/// In hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// No name begins a block.
fn labelled(label: &str, text: &str) -> String {
    let text = text.replace(TITLE, "iosched evidence, by iosched ");
    format!("{label:LABEL$}{text}").trim_end().to_owned()
}

/// Names come from files: a field has lines of its own only.
fn field(label: &str, text: &str) -> Vec<String> {
    let options = options(WIDTH - LABEL);
    let text = escape::line(text);
    let lines = textwrap::wrap(&text, options);
    let is_cut = lines.len() > MOST_OF_FIELD;
    let lines = lines.iter().take(MOST_OF_FIELD).enumerate();
    let mut lines: Vec<String> = lines
        .map(|(index, line)| labelled(if index == 0 { label } else { "" }, line))
        .collect();
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        last.push_str(" ...");
    }
    lines
}

fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
}

/// Rows of a table stay as they are: their columns would be lost.
fn wrapped(line: &str, indent: &str) -> Vec<String> {
    if line.trim().contains("  ") {
        return vec![line.trim_end().to_owned()];
    }
    let lines = textwrap::wrap(line, options(WIDTH).subsequent_indent(indent));
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn question(result: &ResultFile, cell: Option<&str>) -> String {
    let design = &result.design;
    let reference = &design.arms[design.reference].label;
    let others = design.arms.iter().map(|arm| arm.label.as_str());
    let others: Vec<&str> = others.filter(|label| label != reference).collect();
    let cell = cell.map_or_else(String::new, |cell| format!(", cell {cell} of a study"));
    let goals = design.goals.as_ref().map_or_else(String::new, |goals| {
        let prefer = goals.prefer.iter().map(|name| format!("; prefer {name}"));
        let keep = goals.keep.iter().map(|name| format!("; keep {name}"));
        prefer.chain(keep).collect()
    });
    format!(
        "{} against {reference}; workload {}{cell}{goals}",
        others.join(", "),
        result.workload.name,
    )
}

fn disks(device: &DeviceInfo) -> String {
    let one = |disk: &DeviceInfo| {
        let model = disk.model.as_deref().map_or("model unknown", str::trim);
        let firmware = disk.firmware.as_deref().map_or_else(
            || "firmware unknown".to_owned(),
            |firmware| format!("firmware {}", firmware.trim()),
        );
        let size = disk
            .size_bytes
            .map(|bytes| format!(", {}", units::bytes(bytes as f64)));
        let kind = match disk.rotational {
            Some(true) => ", rotational",
            Some(false) | None => "",
        };
        format!("{model}, {firmware}{}{kind}", size.unwrap_or_default())
    };
    let mut seen: Vec<String> = Vec::new();
    for disk in device.disks() {
        let text = match &disk.scratch {
            Some(truth) => format!("simulated: {}", truth.text),
            None => one(disk),
        };
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    let count = match device.disks().len() {
        1 => String::new(),
        count => format!("{count} disks: "),
    };
    format!("{count}{}", seen.join("; "))
}

fn machine(result: &ResultFile) -> String {
    let environment = &result.environment;
    let cpu = environment.cpu_model.as_deref();
    let cpu = cpu.map_or_else(String::new, |cpu| format!(" ({})", cpu.trim()));
    format!(
        "Linux {}, {}, {} CPUs{cpu}",
        environment.kernel_release, environment.architecture, environment.cpus
    )
}

fn design(result: &ResultFile) -> String {
    let each = match result.workload.fixed {
        Fixed::Time => format!("each round {}", times::rounds(result)),
        Fixed::Work => "each round one execution".to_owned(),
    };
    format!(
        "{}, in random order within blocks, {each}; seed {}; {}",
        size::of(result),
        result.plan.seed,
        result.started
    )
}

/// What a reader must know before the table.
fn doubts(result: &ResultFile) -> Option<String> {
    let mut doubts = Vec::new();
    let status = text::status(result);
    doubts.extend(status.lines().next().map(str::to_owned));
    let excluded = result.excluded.len();
    if excluded > 0 {
        doubts.push(format!(
            "{excluded} of {} blocks did not count, regardless of their results",
            result.blocks_begun()
        ));
    }
    let blind = result.blind_controls();
    if !blind.is_empty() {
        let names: Vec<&str> = blind.keys().copied().collect();
        doubts.push(format!(
            "the negative control {} varies too much to show whether something else differed",
            names.join(", ")
        ));
    }
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

fn errs(result: &ResultFile) -> String {
    if result.design.is_placebo {
        return "an arm against itself: every difference is noise".to_owned();
    }
    let percent = (result.design.alpha * 1e4).round() / 1e2;
    format!(
        "where nothing differs, at most {percent} % of such runs call any row better or worse; all intervals hold together with {} %",
        100.0 - percent
    )
}

fn rest(all: &[&ArmComparison], shown: &[usize]) -> Option<String> {
    let left = (0..all.len()).filter(|row| !shown.contains(row));
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for row in left {
        let word = words::plain(all[row].comparison.verdict);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let sum: usize = counts.iter().map(|(_, count)| count).sum();
    let counts: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    (sum > 0).then(|| format!(" and {sum} more rows in the result: {}", counts.join(", ")))
}

/// The command line that made it, in lines that can be pasted.
fn reproduce(result: &ResultFile) -> Vec<String> {
    let Some((program, arguments)) = result.command.split_first() else {
        return field("Reproduce", "the file does not have the command line");
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let mut words = vec![name.to_owned()];
    // What follows belongs to a command.
    let own = arguments.iter().take_while(|it| *it != "--");
    let has_seed = { own.clone() }.any(|it| it == "--seed" || it.starts_with("--seed="));
    if !has_seed && arguments.first().is_some_and(|it| it == "run") {
        words.push("run".to_owned());
        words.push(format!("--seed {}", result.plan.seed));
        words.extend(arguments[1..].iter().map(|word| quoted(word)));
    } else {
        words.extend(arguments.iter().map(|word| quoted(word)));
    }
    let line = escape::line(&words.join(" "));
    // Two columns for what continues a line.
    let lines = textwrap::wrap(&line, options(WIDTH - LABEL - 2));
    let last = lines.len().min(MOST_OF_FIELD) - 1;
    let lines = lines.iter().take(MOST_OF_FIELD).enumerate();
    lines
        .map(|(index, line)| {
            let label = if index == 0 { "Reproduce" } else { "" };
            let end = if index < last { " \\" } else { "" };
            labelled(label, &format!("{line}{end}"))
        })
        .collect()
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| "''".to_owned(), Cow::into_owned)
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
