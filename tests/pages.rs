//! The pages of `docs/` that answer a question each: every command of theirs is one that the programs take, and what stands
//! below it is what they print. No root. `UPDATE=1` writes the output anew.
//!
//! In a block ```` ```console ````, `$ COMMAND` is run beside the results of `tests/data/pages`, and the lines below it are its
//! output, with `[exit code N]` where that is not 0. Before the first of them, `# COMMAND` needs root and a disk: only its words are checked.
//! Later in the block such a line is output, as rules for udev have it.

mod support;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use tempfile::TempDir;

const PAGES: [&str; 6] = [
    "blame.md",
    "database.md",
    "trust.md",
    "rollout.md",
    "fleet.md",
    "agents.md",
];
/// `iosched` is built beside it.
const BINARY: &str = support::under_test!("iosched-ab");

fn page(name: &str) -> PathBuf {
    Path::new("docs").join(name)
}

/// A directory with the results.
struct Desk(TempDir);

impl Desk {
    fn set() -> Self {
        let desk = Desk(tempfile::tempdir().expect("a directory"));
        for entry in fs::read_dir("tests/data/pages").expect("results") {
            let path = entry.expect("a result").path();
            let mut text = Vec::new();
            let file = fs::File::open(&path).expect("a result");
            GzDecoder::new(file).read_to_end(&mut text).expect("gzip");
            let name = path.file_stem().expect("a name");
            fs::write(desk.0.path().join(name), text).expect("a copy");
        }
        desk
    }

    fn command(&self, words: &str) -> Command {
        let path = std::env::var("PATH").expect("a path");
        let programs = Path::new(BINARY).parent().expect("a directory");
        let mut command = Command::new("sh");
        command
            .args(["-c", words])
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("LC_ALL", "C.UTF-8")
            // Otherwise notes on what earlier runs left on this machine would be in the output.
            .env("IOSCHED_STATE_DIR", self.0.path().join("state"))
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS");
        command
    }

    /// What it prints; what it says on standard error comes after it.
    fn output(&self, words: &str) -> String {
        let ended = self.command(words).output().expect("sh");
        let mut text = String::from_utf8_lossy(&ended.stdout).into_owned();
        text += &String::from_utf8_lossy(&ended.stderr);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match ended.status.code() {
            Some(0) => text,
            code => text + &format!("[exit code {}]\n", code.expect("no signal")),
        }
    }

    /// The program knows these words: with `--help` among them, it says so before it does anything.
    fn is_known(&self, words: &str) -> Result<(), String> {
        let words = words.split(" | ").next().expect("a command");
        let words = words.split(" > ").next().expect("a command");
        let asked = match words.split_once(" -- ") {
            Some((own, rest)) => format!("{own} --help -- {rest}"),
            None => format!("{words} --help"),
        };
        let ended = self.command(&asked).output().expect("sh");
        if ended.status.success() {
            return Ok(());
        }
        Err(format!(
            "{words}: {}",
            String::from_utf8_lossy(&ended.stderr)
        ))
    }
}

/// The page with the output of each command as it is now, and what is wrong with its other commands.
fn with_output(text: &str, desk: &Desk) -> (String, Vec<String>) {
    let (mut made, mut wrong) = (String::new(), Vec::new());
    let (mut is_console, mut has_run) = (false, false);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        match line {
            "```console" => (is_console, has_run) = (true, false),
            "```" => is_console = false,
            _ => {}
        }
        let as_root = line.strip_prefix("# ").filter(|_| !has_run);
        let command = line.strip_prefix("$ ").or(as_root);
        let Some(command) = command.filter(|_| is_console) else {
            // What is not written again is the old output.
            if !is_console || line == "```console" {
                made.extend([line, "\n"]);
            }
            continue;
        };
        made.extend([line, "\n"]);
        let mut command = command.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            let further = lines.next().expect("the rest of the command");
            made.extend([further, "\n"]);
            command = format!("{begun}{}", further.trim_start());
        }
        if line.starts_with('$') {
            has_run = true;
            let output = desk.output(&command);
            let wide = output.lines().find(|line| line.chars().count() > 125);
            if output.lines().any(|line| line.starts_with("$ ")) {
                wrong.push(format!(
                    "{command}: a line of its output looks like a command"
                ));
            }
            wrong.extend(wide.map(|line| format!("{command}: too wide: {line}")));
            made += &output;
        } else if command.starts_with("iosched") {
            wrong.extend(desk.is_known(&command).err());
        }
    }
    (made, wrong)
}

#[test]
fn the_pages_show_what_the_programs_print() {
    let desk = Desk::set();
    for name in PAGES {
        let path = page(name);
        let text = fs::read_to_string(&path).expect(name);
        let (made, wrong) = with_output(&text, &desk);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        assert!(made.matches("\n$ ").count() >= 2, "{name} shows commands");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &made).expect(name);
        }
        assert!(
            text == made || std::env::var_os("UPDATE").is_some(),
            "{name} says otherwise; UPDATE=1 mends it:\n{}",
            first_difference(&text, &made)
        );
    }
}

fn first_difference(old: &str, new: &str) -> String {
    let lines = old.lines().zip(new.lines());
    let differing = lines.into_iter().find(|(old, new)| old != new);
    differing.map_or("one is longer".to_owned(), |(old, new)| {
        format!("- {old}\n+ {new}")
    })
}

/// The test would find a page that says otherwise.
#[test]
fn another_output_and_an_unknown_option_are_found() {
    let desk = Desk::set();
    let text = "```console\n# iosched-ab run sda --no-such-option\n# iosched stat sda\n$ echo two\nthree\n```\n";
    let (made, wrong) = with_output(text, &desk);
    assert!(made.contains("$ echo two\ntwo\n"), "{made}");
    // A page that is made anew stays as it is, whatever the output looks like.
    let comment = "```console\n$ echo '# iosched is a comment'\n# iosched is a comment\n```\n";
    assert_eq!(
        with_output(comment, &desk),
        (comment.to_owned(), Vec::new())
    );
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("--no-such-option"), "{wrong:?}");
    assert_eq!(desk.output("exit 3"), "[exit code 3]\n");
}
