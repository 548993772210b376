//! The benchmark that a command line runs: itself, behind programs that start others, or in a simple command of a shell. Pure.

use std::ffi::OsString;
use std::path::Path;

use crate::workload::reported::programs::{self, Program};

/// Programs that run another one, named in their arguments.
const WRAPPERS: [&str; 16] = [
    "chrt", "env", "exec", "ionice", "nice", "numactl", "perf", "prlimit", "runuser", "setpriv",
    "stdbuf", "su", "sudo", "taskset", "time", "timeout",
];
/// Programs that take a command as one word, after -c.
const SHELLS: [&str; 8] = ["ash", "bash", "dash", "ksh", "runuser", "sh", "su", "zsh"];
/// A command with any of these is more than one program and its words.
const NOT_SIMPLE: [char; 11] = [';', '|', '&', '<', '>', '`', '\n', '(', ')', '{', '}'];
/// A shell in a shell.
const DEEPEST: usize = 3;

#[derive(Debug)]
pub struct Benchmark {
    pub program: &'static Program,
    /// Its own words, and those before it.
    pub words: Vec<String>,
    /// Its arguments are a part of one of the command's words.
    pub is_in_shell: bool,
}

impl Benchmark {
    pub fn of(argv: &[OsString]) -> Option<Benchmark> {
        let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
        find(&words.collect::<Vec<_>>(), 0)
    }

    /// The words before it belong to its own: they may switch the user.
    fn behind(self, before: &[String]) -> Benchmark {
        Benchmark {
            words: [before, &self.words].concat(),
            ..self
        }
    }
}

fn find(words: &[String], depth: usize) -> Option<Benchmark> {
    let first = name(words.first()?)?;
    if let Some(program) = programs::find(first).filter(|it| !programs::wrappers::is_beside(it)) {
        return Some(Benchmark {
            program,
            words: words.to_vec(),
            is_in_shell: depth > 0,
        });
    }
    if let Some(line) = is_shell(first).then(|| line_of(words)).flatten() {
        let found = simple(line).filter(|_| depth < DEEPEST);
        return found.and_then(|inner| Some(find(&inner, depth + 1)?.behind(&words[..1])));
    }
    if !WRAPPERS.contains(&first) {
        return None;
    }
    // The words of what starts it come first; the first one that names a program or a shell is that.
    let is_next = |word: &&String| {
        name(word).is_some_and(|name| {
            programs::find(name).is_some() || is_shell(name) || WRAPPERS.contains(&name)
        })
    };
    let next = 1 + words[1..].iter().position(|word| is_next(&word))?;
    Some(find(&words[next..], depth)?.behind(&words[..next]))
}

fn name(word: &str) -> Option<&str> {
    Path::new(word).file_name()?.to_str()
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// The word behind -c, -lc or --command.
fn line_of(words: &[String]) -> Option<&str> {
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        if let Some(line) = word.strip_prefix("--command=") {
            return Some(line);
        }
        let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        if is_cluster || word == "--command" {
            return rest.next().map(String::as_str);
        }
    }
    None
}

/// The words of a line that runs one program and nothing else. Its standard error may go to standard output.
fn simple(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let line = line.strip_suffix("2>&1").unwrap_or(line);
    let words = shlex::split(line).filter(|_| !line.contains(NOT_SIMPLE))?;
    let is_assignment = |word: &String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    Some(words.into_iter().skip_while(is_assignment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn runs(argv: &[&str], program: Option<&str>, is_in_shell: bool, is_timed: bool) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let found = Benchmark::of(&argv);
        let name = found.as_ref().map(|found| found.program.name);
        assert_eq!(name, program, "{argv:?}");
        if let Some(found) = found {
            assert_eq!(found.is_in_shell, is_in_shell, "{argv:?}");
            assert_eq!((found.program.is_timed)(&found.words), is_timed, "{argv:?}");
        }
    }

    #[test]
    fn a_program_is_found_behind_what_starts_it() {
        runs(&["pgbench", "-T", "5"], Some("pgbench"), false, true);
        runs(&["/usr/bin/fio", "--size=1g"], Some("fio"), false, false);
        runs(
            &["nice", "-n", "5", "ioping", "-c", "3", "."],
            Some("ioping"),
            false,
            true,
        );
        runs(&["env", "LC_ALL=C", "dd", "if=a"], Some("dd"), false, false);
        runs(
            &["sudo", "-u", "postgres", "pgbench", "-T", "5"],
            Some("pgbench"),
            false,
            true,
        );
        let line = ["perf", "stat", "-d", "fio", "--runtime=3"];
        runs(&line, Some("fio"), false, true);
        let line = ["/usr/bin/time", "-v", "nice", "pgbench", "-T", "5"];
        runs(&line, Some("pgbench"), false, true);
        let line = ["sh", "-c", "perf stat fio --runtime=3"];
        runs(&line, Some("fio"), true, true);
        runs(&["time", "-v", "cp", "a", "b"], None, false, false);
        runs(&["perf", "stat", "cp", "a", "b"], None, false, false);
        let line = ["./ycsb.sh", "run", "basic"];
        runs(&line, Some("ycsb"), false, false);
        runs(&["mariadb-slap", "-a"], Some("mysqlslap"), false, false);
        runs(&["cp", "fio", "b"], None, false, false);
        runs(&["./fio.sh"], None, false, false);
    }

    #[test]
    fn a_simple_command_of_a_shell_is_read() {
        runs(
            &["su", "postgres", "-c", "pgbench -T 5"],
            Some("pgbench"),
            true,
            true,
        );
        runs(
            &["su", "-", "postgres", "-c", "pgbench -t 5 2>&1"],
            Some("pgbench"),
            true,
            false,
        );
        runs(
            &["su", "postgres", "--command=pgbench -T 5"],
            Some("pgbench"),
            true,
            true,
        );
        runs(
            &["runuser", "-u", "postgres", "pgbench", "-T", "5"],
            Some("pgbench"),
            false,
            true,
        );
        runs(
            &["runuser", "-l", "postgres", "-c", "pgbench -T 5"],
            Some("pgbench"),
            true,
            true,
        );
        let line =
            "fio --name=r --filename=$IOSCHED_DEVICE \\\n --runtime=3 --time_based --size=100%";
        runs(
            &["sh", "-c", &line.replace("\\\n", "")],
            Some("fio"),
            true,
            true,
        );
        runs(
            &["bash", "-lc", "LC_ALL=C exec fio --size=1g"],
            Some("fio"),
            true,
            false,
        );
        runs(
            &["sudo", "sh", "-c", "nice fio --runtime=3"],
            Some("fio"),
            true,
            true,
        );
        runs(
            &["sh", "-c", "sh -c 'fio --runtime=3'"],
            Some("fio"),
            true,
            true,
        );
    }

    #[test]
    fn what_runs_more_than_one_program_is_left_alone() {
        for line in [
            "fio a.fio; fio b.fio",
            "fio a.fio | tee log",
            "fio a.fio > log",
            "fio $(cat options)",
            "sleep 5 & fio a.fio",
            "cd / && fio a.fio",
            "echo fio",
            "fio 'a",
            "",
        ] {
            runs(&["sh", "-c", line], None, false, false);
        }
        runs(&["sh", "run.sh"], None, false, false);
        runs(&["sh"], None, false, false);
    }
}
