//! One line of a job file: a section or an option. Pure.

use std::collections::HashMap;
use std::time::Duration;

use super::super::fio_options::{self, Rule};
use super::super::{fio_values, names};

/// fio reads a line in pieces of 4096 bytes or more, and treats each piece as a line of its own.
const LONGEST_LINE: usize = 2048;

#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) struct Section {
    pub name: String,
    pub line: usize,
    pub options: Vec<Setting>,
    /// Options that rounds set, which therefore are ignored.
    pub replaced: Vec<Setting>,
    /// For a job: the delay that it and the global sections before it set together.
    pub start_delay: Duration,
    /// The option, if any, because of which fio does not measure its latency.
    pub unmeasured: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) struct Setting {
    /// fio's first name for the option.
    pub option: &'static str,
    /// The name in the file.
    pub key: String,
    pub value: Option<String>,
    pub line: usize,
}

impl Section {
    /// Parses the text after the opening bracket.
    fn begin(line: &str, number: usize) -> Result<Self, String> {
        let name = line
            .strip_suffix(']')
            .ok_or("has a section without a closing bracket")?;
        let name = name.trim();
        if !names::is_plain(name) {
            return Err(format!("[{name}] names files and {}", names::MUST_BE_PLAIN));
        }
        Ok(Section {
            name: name.to_owned(),
            line: number,
            options: Vec::new(),
            replaced: Vec::new(),
            start_delay: Duration::ZERO,
            unmeasured: None,
        })
    }

    /// Adds its options to those of the sections before, overriding them.
    pub fn overlay<'a>(&'a self, all: &mut HashMap<&'static str, &'a Setting>) {
        // fio applies gtod_reduce immediately when it reads it, and no later line undoes it.
        let reduced = all.get("gtod_reduce").copied().filter(|s| s.is_on());
        all.extend(self.options.iter().map(|s| (s.option, s)));
        if let Some(reduced) = reduced {
            all.insert(reduced.option, reduced);
        }
    }

    /// As in fio: every section whose name begins with "global".
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Reads the lines of a file one by one. Like fio's `--section`, jobs that are not among `chosen` are left out with
/// all their lines; none chosen means all.
pub(super) struct Reader<'a> {
    chosen: &'a [String],
    pub sections: Vec<Section>,
    /// The names of the jobs left out.
    pub left_out: Vec<String>,
    is_left_out: bool,
}

impl<'a> Reader<'a> {
    pub fn new(chosen: &'a [String]) -> Self {
        Reader {
            chosen,
            sections: Vec::new(),
            left_out: Vec::new(),
            is_left_out: false,
        }
    }

    /// Err says what is wrong with the line.
    pub fn read(&mut self, line: &str, number: usize) -> Result<(), String> {
        // fio ends a line at a NUL.
        if line.contains(|c: char| c.is_control() && c != '\t') {
            return Err("has a control character".to_owned());
        }
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.len() > LONGEST_LINE {
            return Err(format!(
                "has more than {LONGEST_LINE} bytes, which fio would split into several lines"
            ));
        }
        if line.is_empty() {
            return Ok(());
        }
        if let Some(name) = line.strip_prefix('[') {
            // Options of a section that cannot be used are not looked at.
            self.is_left_out = true;
            self.begin(Section::begin(name, number)?);
            return Ok(());
        }
        if line.starts_with("include") {
            return Err("includes another file".to_owned());
        }
        if self.is_left_out {
            return Ok(());
        }
        let section = self
            .sections
            .last_mut()
            .ok_or("has an option before the first section")?;
        let (setting, is_replaced) = Setting::parse(line, number)?;
        let list = if is_replaced {
            &mut section.replaced
        } else {
            &mut section.options
        };
        // fio sorts a section's options, so that the last of two settings may not stay the last: keep only that one.
        list.retain(|earlier| earlier.option != setting.option);
        list.push(setting);
        Ok(())
    }

    fn begin(&mut self, section: Section) {
        self.is_left_out =
            !(self.chosen.is_empty() || section.is_global() || self.chosen.contains(&section.name));
        if self.is_left_out {
            self.left_out.push(section.name);
        } else {
            self.sections.push(section);
        }
    }
}

impl Setting {
    /// Also whether rounds set that option. Err says what is wrong with it.
    fn parse(line: &str, number: usize) -> Result<(Self, bool), String> {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let (option, rule) = fio_options::find(key).ok_or_else(|| unknown(key))?;
        fio_values::check(key, value, rule)?;
        let setting = Setting {
            option,
            key: key.to_owned(),
            value: value.map(str::to_owned),
            line: number,
        };
        Ok((setting, matches!(rule, Rule::Ours)))
    }

    pub fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// The value of a switch.
    pub fn is_on(&self) -> bool {
        self.value() != "0"
    }

    /// As in the file.
    pub fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }
}

fn unknown(key: &str) -> String {
    let guess = fio_options::similar(key);
    let guess = guess.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    format!("{key} is not an option of fio that iosched knows{guess}")
}
