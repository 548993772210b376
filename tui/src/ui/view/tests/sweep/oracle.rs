//! Knows what may be on a screen: the model's own numbers in the forms of units.rs, its names, and the words of
//! words.txt. It does not know the layout, so a number that lost a digit is recognised as wrong.

use std::cell::RefCell;
use std::collections::HashSet;

use iosched_result::report::escape;
use iosched_result::stat::LiveProcess;
use ratatui::buffer::{Buffer, Cell};

use super::numbers;
use crate::ui::state::model::{Access, Dialog, Model};

const UNITS: [&str; 27] = [
    "ns", "us", "ms", "s", "min", "h", "y", "%", "B", "kB", "MB", "GB", "TB", "PB", "EB", "B/s",
    "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s", "KiB", "MiB", "GiB", "TiB", "PiB",
];
/// Numbers that are part of sentences.
const STATIC: [(&str, &str); 18] = [
    ("60", ""),
    ("52", ""),
    ("6", "%"),
    ("25", "%"),
    ("56", "%"),
    ("83x", ""),
    ("70x", ""),
    ("12", "%"),
    ("1/n", ""),
    ("0", "%"),
    ("1", "%"),
    ("50", "%"),
    ("95", "%"),
    ("100", "%"),
    ("1", ""),
    ("99", ""),
    ("100", ""),
    (".1s", ""),
];
pub const WORDS: &str = include_str!("words.txt");
/// Words that occur only in headings of narrow screens, or beside paths of multipath disks.
const SHORT: [&str; 2] = ["dev", "path"];
/// Characters that may surround a word or a number.
const AROUND: &str = "()[],;:\"'~^+->`_=≥≠?";

pub struct Known {
    numbers: HashSet<(String, String)>,
    words: HashSet<String>,
    names: Vec<String>,
    good: RefCell<HashSet<String>>,
}

impl Known {
    pub fn of(model: &Model) -> Self {
        let names = names(model);
        let words = WORDS.lines().chain(SHORT).map(str::to_owned);
        Known {
            numbers: numbers::of(model),
            words: words.chain(names.iter().cloned()).collect(),
            names,
            good: RefCell::default(),
        }
    }

    /// Everything on the screen that should not be there.
    pub fn complaints(&self, buffer: &Buffer) -> Vec<String> {
        let mut complaints = Vec::new();
        for row in rows(buffer) {
            let row = row.trim();
            // Most rows occur on other screens, too.
            if self.good.borrow().contains(row) {
                continue;
            }
            let its = self.of_row(row);
            if its.is_empty() {
                self.good.borrow_mut().insert(row.to_owned());
            }
            complaints.extend(its);
        }
        complaints
    }

    fn of_row(&self, row: &str) -> Vec<String> {
        let tokens = tokens(row);
        let mut complaints = Vec::new();
        if row.contains(escape::is_hidden) {
            complaints.push(format!("something hidden: {row:?}"));
        }
        let mut before_is_number = false;
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1).map_or("", |next| &**next);
            let is_key = matches!(
                (&**token, next),
                ("s", "sort") | ("h", "shorter" | "back") | ("y", "copy")
            );
            if UNITS.contains(&&**token) && !is_key {
                if !before_is_number {
                    complaints.push(format!("{token:?} without a number: {row}"));
                }
                before_is_number = false;
                continue;
            }
            before_is_number = is_number(token);
            let unit = if UNITS.contains(&next) { next } else { "" };
            let is_known = self.words.contains(token)
                || (before_is_number && self.is_mine(token, unit))
                || self.is_shortened(token);
            if !is_known {
                complaints.push(format!("{token:?} {unit}: {row}"));
            }
        }
        complaints
    }

    fn is_mine(&self, number: &str, unit: &str) -> bool {
        let has = |number: &str, unit: &str| {
            let pair = (number.to_owned(), unit.to_owned());
            self.numbers.contains(&pair) || STATIC.contains(&(number, unit))
        };
        // An axis has its own round numbers, such as 100us.
        let digits = number.trim_end_matches(char::is_alphabetic);
        let is_on_an_axis = ["ns", "us", "ms", "s"].contains(&&number[digits.len()..])
            && digits.len() <= 3
            && (digits == "0" || !digits.starts_with('0'));
        has(number, unit) || is_on_an_axis
    }

    /// A cut name ends in an ellipsis; a name longer than a line may be broken.
    fn is_shortened(&self, token: &str) -> bool {
        let is_part = |name: &String| name.len() > 100 && name.contains(token);
        let is_broken = !is_number(token) && self.names.iter().any(is_part);
        is_broken
            || token.strip_suffix('…').is_some_and(|kept| {
                let kept = kept.trim_end_matches(|c| AROUND.contains(c));
                kept.is_empty() || self.names.iter().any(|name| name.starts_with(kept))
            })
    }
}

pub fn rows(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width.max(1));
    let row = |cells: &[Cell]| cells.iter().map(Cell::symbol).collect();
    buffer.content.chunks(width).map(row).collect()
}

/// The words of a row, without pictures and surrounding characters.
pub fn tokens(row: &str) -> Vec<String> {
    let is_picture = |c: char| matches!(c, '\u{2500}'..='\u{28ff}' | '|' | '•' | '#');
    let text: String = row
        .chars()
        .filter(|&c| !escape::is_hidden(c))
        .map(|c| if is_picture(c) { ' ' } else { c })
        .collect();
    let words = text.replace("..", " ");
    let words = words.split_whitespace().map(|word| {
        let is_around = |c| AROUND.contains(c);
        let word = word.trim_matches(is_around);
        word.trim_end_matches('.').trim_end_matches(is_around)
    });
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

pub fn is_number(token: &str) -> bool {
    let digits = token.trim_start_matches(['x', '.']);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// The words of the model's names, and of its texts.
pub fn names(model: &Model) -> Vec<String> {
    let mut names = Names(Vec::new());
    names.of(model);
    names.0.sort();
    names.0.dedup();
    names.0
}

struct Names(Vec<String>);

impl Names {
    fn add(&mut self, text: &str) {
        self.0.extend(tokens(text));
    }

    fn of(&mut self, model: &Model) {
        model.notes.iter().for_each(|note| self.add(note));
        model.demo.iter().for_each(|text| self.add(text));
        model.message.iter().for_each(|text| self.add(text));
        model.named_arms.iter().for_each(|arm| self.add(arm));
        self.add(&model.table.filter);
        self.add(&format!("/{}", model.table.filter));
        if let Some(Dialog::Flipped(flip)) = &model.dialog {
            self.add(&flip.to);
            flip.changes.iter().for_each(|change| self.add(change));
        }
        if let Access::Sysfs(why) = &model.access {
            self.add(why);
        }
        for device in &model.devices {
            self.add(&device.disk.name);
            self.add(device.disk.model.as_deref().unwrap_or_default());
            for arm in &device.seen.arms {
                self.add(&arm.label);
            }
            for arm in device.seen.score.iter().flat_map(|score| &score.arms) {
                arm.excluded.iter().for_each(|(cause, _)| self.add(cause));
            }
            for part in device.seen.score.iter().flat_map(|score| &score.parts) {
                self.add(&part.name.cgroup);
                part.name.cgroup.split('/').for_each(|name| self.add(name));
                self.add(part.name.comm.as_deref().unwrap_or_default());
            }
            let waiters = device.seen.score.iter().flat_map(|score| &score.waiters);
            for waiter in waiters {
                self.add(&waiter.name);
                waiter.behind.iter().for_each(|(name, _)| self.add(name));
            }
            for flip in &device.seen.flips {
                self.add(&flip.from);
                self.add(&flip.to);
                flip.changes.iter().for_each(|change| self.add(change));
            }
            for moment in &device.history {
                self.add(&moment.time);
                self.add(&moment.scheduler);
                // A narrow picture shows only the first letters of its label.
                let letters = |n| moment.scheduler.chars().take(n).collect::<String>();
                self.0.extend([letters(1), letters(2)]);
                moment.shares.iter().for_each(|(name, _)| self.add(name));
            }
        }
        for newcomer in model.last.iter().flat_map(|last| &last.newcomers) {
            self.add(&newcomer.name);
        }
        for device in model.last.iter().flat_map(|last| &last.devices) {
            if let Some(queue) = &device.queue {
                queue.available.iter().for_each(|name| self.add(name));
                self.add(&queue.active);
                for (name, value) in &queue.settings {
                    let name = name.strip_prefix("iosched/").unwrap_or(name);
                    self.add(&format!("{name}={value} {name} {value}"));
                }
            }
            for process in device.measured.iter().flat_map(|all| &all.processes) {
                self.add_process(process);
            }
        }
        let pages = model.devices.iter().flat_map(|device| &device.page);
        for process in pages.flat_map(|page| &page.process) {
            self.add_process(process);
        }
    }

    fn add_process(&mut self, process: &LiveProcess) {
        self.add(&process.comm);
        let cgroup = process.cgroup.as_deref().unwrap_or_default();
        self.add(cgroup);
        cgroup.split('/').for_each(|part| self.add(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::sweep::models;

    #[test]
    fn what_is_cut_is_seen() {
        let known = Known::of(&models::rotated(3));
        let complaints = |row: &str| known.complaints(&Buffer::with_lines([row])).len();
        for right in [
            " none  12  1800   221 us ~1.52 ms  few reference",
            " mq-dead…   9.05 ms  ▼42x slower [42x..42x]",
            " IOPS v throughput  wait p50",
            " |10us  |100us",
            " reads 1800  7.37 MB/s",
        ] {
            assert_eq!(complaints(right), 0, "{right}");
        }
        for wrong in [
            " oughput",
            " ait p50",
            " mq-dead",
            " .37 MB/s",
            " 37 MB/s",
            " 7.37 MB",
            " 7.37",
            " us",
            " 1 us",
            " 21 us",
            " 180",
            " 800",
            " ▼2x",
            " 22…",
            " 00us",
        ] {
            assert_ne!(complaints(wrong), 0, "{wrong}");
        }
    }
}
