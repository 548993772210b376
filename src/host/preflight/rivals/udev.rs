//! Follows udev's rules for a disk: which lines set its scheduler, and to what. Pure.
//!
//! A condition on what is not known (the output of a program, what a builtin finds) may hold, so a rule is left out only if
//! it certainly does not apply. It follows each event by itself: `add` of a new disk and at boot, `change` later.

pub mod parse; // a file of rules
pub mod state; // properties and substitutions on the way
pub mod subject; // the device that an event is about

use std::collections::{BTreeMap, BTreeSet};

use super::pattern;
use parse::{Rule, Token};
use state::{LONGEST, Property, State};
use subject::{Holds, Subject, attribute_holds, compare, parents_hold};

pub const ACTIONS: [&str; 2] = ["add", "change"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// `ATTR{queue/scheduler}=`
    Writes,
    /// A program that runs at this place in the rules.
    Asks(String),
    /// A program that runs after all rules.
    Runs(String),
}

/// A part of a rule that sets a scheduler, or starts a program that may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file, by its place in the list, the line of the value, and the last line of the rule.
    pub file: usize,
    pub line: usize,
    pub last: usize,
    pub how: How,
    /// None: not known.
    pub value: Option<String>,
    pub is_certain: bool,
}

/// The steps of one event, in the order in which udev takes them. `files` are in the order of their names.
pub fn steps(files: &[Vec<Rule>], subject: &dyn Subject, action: &'static str) -> Vec<Step> {
    let tokens = files.iter().flatten().flat_map(|rule| &rule.tokens);
    let set_somewhere: BTreeSet<&str> = tokens
        .filter(|token| token.key == "ENV" && !token.is_condition())
        .map(|token| &*token.name)
        .collect();
    let mut run = Run {
        state: State {
            subject,
            action,
            set_somewhere: &set_somewhere,
            properties: BTreeMap::new(),
            written: BTreeSet::new(),
            is_opaque: false,
        },
        steps: Vec::new(),
        programs: Vec::new(),
    };
    for (index, rules) in files.iter().enumerate() {
        run.file(index, rules);
    }
    let mut steps = run.steps;
    steps.extend(run.programs);
    steps
}

struct Run<'a> {
    state: State<'a>,
    steps: Vec<Step>,
    /// Steps of RUN, which come last.
    programs: Vec<Step>,
}

impl Run<'_> {
    fn file(&mut self, file: usize, rules: &[Rule]) {
        // Whether this place is reached from the rule before, and whether jumps lead to a rule.
        let mut reached = Holds::Yes;
        let mut jumps: BTreeMap<usize, Holds> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            reached = reached.max(jumps.remove(&index).unwrap_or(Holds::No));
            // Where no jump is under way, every way leads here.
            if jumps.is_empty() {
                reached = Holds::Yes;
            }
            if reached == Holds::No {
                continue;
            }
            let own = self.conditions(file, rule, reached);
            let holds = own.min(reached);
            if holds == Holds::No {
                continue;
            }
            for token in rule.tokens.iter().filter(|token| !token.is_condition()) {
                self.assign(file, rule, token, holds);
            }
            if let Some(target) = rule.jump {
                let jump = jumps.entry(target).or_insert(Holds::No);
                *jump = (*jump).max(holds);
                // Whenever this place is reached, it jumps.
                reached = match own {
                    Holds::Yes => Holds::No,
                    _ => reached.min(Holds::Perhaps),
                };
            }
        }
    }

    /// Whether the rule applies where it is reached.
    fn conditions(&mut self, file: usize, rule: &Rule, reached: Holds) -> Holds {
        let mut own = Holds::Yes;
        let is_of_parent = |token: &&Token| {
            matches!(
                &*token.key,
                "KERNELS" | "SUBSYSTEMS" | "DRIVERS" | "ATTRS" | "TAGS"
            )
        };
        let parents: Vec<&Token> = rule.tokens.iter().filter(is_of_parent).collect();
        if !parents.is_empty() {
            own = own.min(parents_hold(&parents, self.state.subject));
        }
        for token in rule.tokens.iter().filter(|token| token.is_condition()) {
            if own == Holds::No {
                break;
            }
            if is_of_parent(&token) {
                continue;
            }
            let so_far = own.min(reached);
            own = own.min(match token.key.as_str() {
                "PROGRAM" => self.program(file, rule, token, so_far),
                "IMPORT" => self.import(file, rule, token, so_far),
                _ => self.plain(token),
            });
        }
        own
    }

    /// A condition without an effect.
    fn plain(&self, token: &Token) -> Holds {
        let state = &self.state;
        let known = state.subject.known();
        match token.key.as_str() {
            "ACTION" => compare(token, state.action),
            "SUBSYSTEM" => compare(token, "block"),
            "KERNEL" => compare(token, &known.name),
            "NAME" => compare(token, ""),
            "DEVPATH" => known
                .path
                .as_ref()
                .map_or(Holds::Perhaps, |path| compare(token, path)),
            "DRIVER" => match known.parents.as_ref().and_then(|all| all.first()) {
                Some(own) => compare(token, &own.driver),
                None => Holds::Perhaps,
            },
            "ENV" => match state.property(&token.name) {
                Property::Is(value) => compare(token, &value),
                Property::Likely(value) => compare(token, &value).max(Holds::Perhaps),
                Property::Unknown => Holds::Perhaps,
            },
            "ATTR" => match state.expanded(&token.name) {
                Some(name) if !state.written.contains(&name) => {
                    attribute_holds(token, &name, 0, state.subject)
                }
                _ => Holds::Perhaps,
            },
            "TEST" => self.test(token),
            _ => Holds::Perhaps,
        }
    }

    fn test(&self, token: &Token) -> Holds {
        let state = &self.state;
        let Some(path) = state.expanded(&token.value) else {
            return Holds::Perhaps;
        };
        let path = match (&state.subject.known().path, path.starts_with('/')) {
            (_, true) => path,
            (Some(own), false) if !path.starts_with('[') => format!("/sys{own}/{path}"),
            _ => return Holds::Perhaps,
        };
        let wanted = u32::from_str_radix(&token.name, 8).unwrap_or(u32::MAX);
        let found = state.subject.mode(&path);
        Holds::from(found.is_some_and(|mode| mode & wanted != 0 || token.name.is_empty()))
            .as_asked(token)
    }

    fn program(&mut self, file: usize, rule: &Rule, token: &Token, holds: Holds) -> Holds {
        let command = self
            .state
            .expanded(&token.value)
            .unwrap_or_else(|| token.value.clone());
        let how = How::Asks(command);
        self.steps.push(step(file, rule, token, how, None, holds));
        Holds::Perhaps
    }

    fn import(&mut self, file: usize, rule: &Rule, token: &Token, holds: Holds) -> Holds {
        let known = self.state.subject.known();
        let stored = match token.name.as_str() {
            "db" => known
                .properties
                .as_ref()
                .map(|all| all.get(&token.value).cloned()),
            "cmdline" => known
                .command_line
                .as_ref()
                .map(|line| parameter(line, &token.value)),
            "parent" if known.parents.as_ref().is_some_and(|all| all.len() == 1) => Some(None),
            "program" => {
                // Properties that these set have their names; udev's database has them.
                self.state.is_opaque |= !["_id", "dmsetup", "mdadm", "blkid"]
                    .iter()
                    .any(|name| first_word(&token.value).ends_with(name));
                return self.program(file, rule, token, holds);
            }
            "builtin" => {
                self.state.is_opaque |= token.value.starts_with("hwdb");
                return Holds::Perhaps;
            }
            _ => None,
        };
        match stored {
            None => {
                self.state.is_opaque |= token.name != "db" && token.name != "cmdline";
                let unknown = Property::Unknown;
                self.state.properties.insert(token.value.clone(), unknown);
                Holds::Perhaps
            }
            Some(None) => Holds::No.as_asked(token),
            Some(Some(value)) => {
                self.set(&token.value, Property::Is(value), holds);
                Holds::Yes.as_asked(token)
            }
        }
    }

    fn set(&mut self, name: &str, new: Property, holds: Holds) {
        let new = match holds {
            Holds::Yes => new,
            _ if self.state.property(name) == new => new,
            _ => Property::Unknown,
        };
        let new = match new {
            Property::Is(value) if value.len() > LONGEST => Property::Unknown,
            new => new,
        };
        self.state.properties.insert(name.to_owned(), new);
    }

    fn assign(&mut self, file: usize, rule: &Rule, token: &Token, holds: Holds) {
        let value = self.state.expanded(&token.value);
        match token.key.as_str() {
            "ENV" => {
                let new = match (value, token.operator) {
                    (Some(added), "+=") if added.is_empty() => return,
                    (Some(added), "+=") => match self.state.property(&token.name) {
                        Property::Is(old) if old.is_empty() => Property::Is(added),
                        Property::Is(old) => Property::Is(format!("{old} {added}")),
                        Property::Likely(_) | Property::Unknown => Property::Unknown,
                    },
                    (Some(value), _) => Property::Is(value),
                    (None, _) => Property::Unknown,
                };
                self.set(&token.name, new, holds);
            }
            "ATTR" => {
                let aim = self.aim(&token.name);
                self.state.written.insert(token.name.clone());
                if aim > Holds::No {
                    self.state
                        .written
                        .insert(self.state.subject.known().scheduler.clone());
                    self.steps
                        .push(step(file, rule, token, How::Writes, value, holds.min(aim)));
                }
            }
            "RUN" if token.name != "builtin" => {
                if token.operator != "+=" && holds == Holds::Yes {
                    self.programs.clear();
                }
                let command = value.unwrap_or_else(|| token.value.clone());
                let how = How::Runs(command);
                self.programs
                    .push(step(file, rule, token, how, None, holds));
            }
            _ => {}
        }
    }

    /// Whether an attribute is the scheduler that is looked for.
    fn aim(&self, name: &str) -> Holds {
        let known = self.state.subject.known();
        if let Some(rest) = name.strip_prefix('[') {
            let other = format!("block/{}]queue/scheduler", known.disk);
            return Holds::from(rest == other || rest == other.replacen(']', "]/", 1));
        }
        let parts: Vec<&str> = name
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .collect();
        let plain = parts.join("/");
        if plain == known.scheduler {
            return Holds::Yes;
        }
        let is_pattern = name.contains("/*/") && pattern::matches(&plain, &known.scheduler);
        if is_pattern {
            Holds::Perhaps
        } else {
            Holds::No
        }
    }
}

fn step(
    file: usize,
    rule: &Rule,
    token: &Token,
    how: How,
    value: Option<String>,
    holds: Holds,
) -> Step {
    Step {
        file,
        line: token.line,
        last: rule.line,
        how,
        value,
        is_certain: holds == Holds::Yes,
    }
}

pub fn first_word(command: &str) -> &str {
    let first = command.split_whitespace().next().unwrap_or_default();
    first.trim_matches(['"', '\''])
}

/// `name` or `name=value` of the kernel's command line.
fn parameter(line: &str, name: &str) -> Option<String> {
    line.split_whitespace()
        .find_map(|word| match word.split_once('=') {
            Some((key, value)) if key == name => Some(value.to_owned()),
            None if word == name => Some("1".to_owned()),
            _ => None,
        })
}

#[cfg(test)]
#[path = "udev/tests.rs"]
mod tests;
