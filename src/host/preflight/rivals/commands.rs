//! Finds in scripts, units and command lines what writes to a scheduler's file, of which disks, and what. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern;

const FILE: &str = "/scheduler";

/// A place that writes, or may write, to a scheduler's file of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// None: not known.
    pub value: Option<String>,
    pub is_certain: bool,
}

/// A text, and what it says of a disk: over which disks its loops go.
pub struct Scope<'a> {
    disk: &'a str,
    /// By the name of its variable; None: that is not known.
    loops: BTreeMap<String, Option<bool>>,
    /// Whether a path in the text is this disk's; None: the text names no disk, or one that is not known.
    is_named: Option<bool>,
}

/// So many paths of a line are looked at, the last ones.
const MOST_PATHS: usize = 100;

impl<'a> Scope<'a> {
    pub fn new(whole: &str, disk: &'a str) -> Self {
        let whole = whole.replace(['"', '\''], "");
        let is_ours = |names: Vec<String>| names.iter().any(|wanted| is_disk(wanted, disk));
        let loops = whole.match_indices("for ").filter_map(|(at, _)| {
            let (name, words) = whole[at + 4..].lines().next()?.split_once(" in ")?;
            Some((name.trim().to_owned(), loop_over(words).map(is_ours)))
        });
        Scope {
            disk,
            loops: loops.collect(),
            is_named: named_in(&whole).map(is_ours),
        }
    }

    /// The effect of a line of the text on the disk.
    pub fn write(&self, line: &str) -> Option<Write> {
        let line = line.trim_start();
        if line.starts_with(['#', ';']) || !line.contains(FILE) {
            return None;
        }
        let line = line.replace(['"', '\''], "");
        let mut perhaps = None;
        // The last of a line wins.
        for (at, word) in words(&line).into_iter().rev().take(MOST_PATHS) {
            let Some(is_ours) = self.aims_at(word) else {
                continue;
            };
            let Some((value, is_write)) = use_of(&line[..at]) else {
                continue;
            };
            let is_certain = is_ours && is_write;
            let new = Write { value, is_certain };
            if is_certain {
                return Some(new);
            }
            perhaps = perhaps.or(Some(new));
        }
        perhaps
    }

    /// None: it is the file of other disks. Otherwise whether it certainly is this disk's.
    fn aims_at(&self, word: &str) -> Option<bool> {
        let base = word.strip_suffix(FILE)?;
        let device = base.strip_suffix("/queue").unwrap_or(base);
        let device = device.rsplit('/').next().unwrap_or_default();
        if device.contains(['$', '%']) || device.is_empty() {
            let name: String = device
                .chars()
                .filter(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let is_ours = match self.loops.get(&name) {
                Some(Some(is_ours)) => Some(*is_ours),
                _ => self.is_named,
            };
            return is_ours.unwrap_or(true).then_some(false);
        }
        // Not a disk's: `/sys/kernel/x/scheduler`.
        let is_queue = base.ends_with("/queue") || base.ends_with("/*");
        (is_queue && is_disk(device, self.disk)).then_some(true)
    }
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-*?[]{}$!%@:,+~^\\".contains(c)
}

/// The paths of schedulers in a line, and where they begin.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut begin = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (begin, is_of_path(c)) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                let word = line[from..at].trim_end_matches([',', ':']);
                if word.ends_with(FILE) {
                    words.push((from, word));
                }
                begin = None;
            }
            _ => {}
        }
    }
    words
}

fn is_disk(wanted: &str, disk: &str) -> bool {
    braces(wanted)
        .iter()
        .any(|wanted| pattern::matches(wanted, disk))
}

/// `sd{a,b}` is `sda` and `sdb`. One pair, as scripts have it.
fn braces(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    match parts {
        Some((before, inside, after)) => inside
            .split(',')
            .map(|part| format!("{before}{part}{after}"))
            .collect(),
        None => vec![word.to_owned()],
    }
}

/// The words of `for NAME in WORDS`, if they can be known without running it.
fn loop_over(words: &str) -> Option<Vec<String>> {
    let words = words.split(';').next()?;
    if words.contains(['$', '`', '(']) {
        return None;
    }
    Some(words.split_whitespace().map(component).collect())
}

/// Patterns of disks anywhere in the text: `/sys/block/sd*`.
fn named_in(whole: &str) -> Option<Vec<String>> {
    let mut found = BTreeSet::new();
    for begin in ["/sys/block/", "/sys/class/block/"] {
        for (at, _) in whole.match_indices(begin) {
            let rest = &whole[at + begin.len()..];
            let end = rest
                .find(|c| !is_of_path(c) || c == '/')
                .unwrap_or(rest.len());
            let name = &rest[..end];
            // One that is not known leaves all open.
            if name.is_empty() || name.contains(['$', '%']) {
                return None;
            }
            found.insert(name.to_owned());
        }
    }
    (!found.is_empty()).then(|| found.into_iter().collect())
}

/// The name of the disk in a path.
fn component(word: &str) -> String {
    let after = ["/block/", "/dev/"]
        .iter()
        .find_map(|part| word.split_once(part));
    let rest = after.map_or(word, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// Programs that only read what they name.
const READERS: [&str; 15] = [
    "cat", "grep", "egrep", "head", "tail", "awk", "cut", "ls", "stat", "test", "[", "[[", "read",
    "sed", "wc",
];
const BEFORE_A_COMMAND: [&str; 9] = [
    "if", "while", "until", "!", "do", "then", "else", "sudo", "{",
];

/// The use of a path by the command before it: the value, and whether it certainly writes. None: it only reads.
fn use_of(before: &str) -> Option<(Option<String>, bool)> {
    let (commands, piped) = match before.rfind([';', '|', '&', '`', '(']) {
        Some(at) => (
            &before[at + 1..],
            before[at..].starts_with('|').then(|| &before[..at]),
        ),
        None => (before, None),
    };
    let after_sign = |sign: char| commands.trim_end().ends_with(sign);
    if after_sign('>') {
        return Some((echoed(commands), true));
    }
    let mut words = commands
        .split_whitespace()
        .skip_while(|word| BEFORE_A_COMMAND.contains(word));
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    if program == "tee" {
        let said = piped.and_then(|said| echoed(said.rsplit([';', '&', '(']).next()?));
        return Some((said, true));
    }
    if after_sign('<') || READERS.contains(&program) || matches!(program, "echo" | "printf") {
        return None;
    }
    Some((None, false))
}

/// The word that `echo` or `printf` says, if it is one.
fn echoed(command: &str) -> Option<String> {
    let mut words = command.split_whitespace().skip_while(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        !matches!(name, "echo" | "printf")
    });
    words.next()?;
    let said: Vec<&str> = words
        .map(|word| word.trim_end_matches('>'))
        .take_while(|word| !word.starts_with('>'))
        .filter(|word| !word.is_empty() && !word.starts_with('-') && *word != "%s")
        .collect();
    match said[..] {
        [one] if !one.contains(['$', '`', '%']) => {
            let one = one.split('>').next().unwrap_or(one);
            Some(one.trim_end_matches("\\n").to_owned())
        }
        _ => None,
    }
}

/// The absolute paths of a command line that may be programs of their own.
pub fn paths(line: &str) -> Vec<&str> {
    let words = line.split(|c: char| c.is_whitespace() || "\"';|&<>()=`".contains(c));
    words
        .map(|word| word.trim_start_matches(['@', '-', '+', '!', ':']))
        .filter(|word| word.starts_with('/'))
        .filter(|word| {
            !["/sys/", "/proc/", "/dev/"]
                .iter()
                .any(|begin| word.starts_with(begin))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, whole: &str) -> Option<(Option<String>, bool)> {
        let write = Scope::new(whole, "loop0").write(line);
        write.map(|write| (write.value, write.is_certain))
    }

    #[test]
    fn what_writes_is_told_from_what_reads() {
        let certain = |value: &str| Some((Some(value.to_owned()), true));
        for (line, expected) in [
            (
                "echo bfq > /sys/block/loop0/queue/scheduler",
                certain("bfq"),
            ),
            ("echo bfq>/sys/block/loop0/queue/scheduler", certain("bfq")),
            (
                "echo -n \"bfq\" >> \"/sys/block/loop0/queue/scheduler\"",
                certain("bfq"),
            ),
            (
                "ExecStart=/bin/sh -c 'echo bfq >/sys/block/loop0/queue/scheduler'",
                certain("bfq"),
            ),
            (
                "printf 'bfq\\n' | sudo tee /sys/block/loop*/queue/scheduler >/dev/null",
                certain("bfq"),
            ),
            (
                "echo $X > /sys/block/loop0/queue/scheduler",
                Some((None, true)),
            ),
            (
                "echo bfq > /sys/block/{sda,loop0}/queue/scheduler",
                certain("bfq"),
            ),
            ("echo bfq > /sys/block/sda/queue/scheduler", None),
            ("echo bfq > /sys/block/sd*/queue/scheduler", None),
            (
                "echo none >/sys/block/sda/queue/scheduler; echo bfq >/sys/block/loop0/queue/scheduler",
                certain("bfq"),
            ),
            ("cat /sys/block/loop0/queue/scheduler", None),
            ("x=$(cat /sys/block/loop0/queue/scheduler)", None),
            ("read x < /sys/block/loop0/queue/scheduler", None),
            ("if [ -w /sys/block/loop0/queue/scheduler ]; then", None),
            ("grep -q bfq /sys/block/loop0/queue/scheduler && exit", None),
            ("f=/sys/block/loop0/queue/scheduler", Some((None, false))),
            (
                "open('/sys/block/loop0/queue/scheduler', 'w').write('bfq')",
                Some((None, false)),
            ),
            ("# echo bfq > /sys/block/loop0/queue/scheduler", None),
            ("echo bfq > /sys/block/loop0/queue/scheduler_of_mine", None),
            ("echo 1 > /sys/kernel/debug/scheduler", None),
        ] {
            assert_eq!(found(line, line), expected, "{line}");
        }
    }

    #[test]
    fn a_loop_says_over_which_disks_it_goes() {
        let written = "echo bfq >$d/scheduler";
        for (whole, expected) in [
            ("for d in /sys/block/*/queue; do", true),
            ("for d in /sys/block/sd*/queue; do", false),
            ("for d in $(list); do", true),
            ("d=/sys/block/sda/queue", false),
            ("", true),
        ] {
            let is_found = found(written, &format!("{whole}\n{written}")).is_some();
            assert_eq!(is_found, expected, "{whole}");
        }
        let named = "echo bfq > /sys/block/${x}/queue/scheduler";
        for (whole, expected) in [
            ("for x in sda sdb; do\n", false),
            ("for x in sda loop0; do\n", true),
        ] {
            assert_eq!(
                found(named, &format!("{whole}{named}")).is_some(),
                expected,
                "{whole}"
            );
        }
    }

    #[test]
    fn programs_of_a_command_line_are_found() {
        assert_eq!(
            paths("ExecStart=-/bin/sh /opt/x.sh --to=/sys/block >/dev/null"),
            ["/bin/sh", "/opt/x.sh"]
        );
        assert_eq!(
            paths("@reboot root /usr/local/sbin/x"),
            ["/usr/local/sbin/x"]
        );
    }
}
