//! Writes reports to standard output, or into a file that the user named.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use clap::Args;
use iosched_files::{output, stdout};
use iosched_result::failure::Failure;
use iosched_result::report::characters::{Form, has_utf8};
use iosched_result::report::formats::Made;
use iosched_result::report::text::Look;
use iosched_result::report::{escape, paint};

use crate::fit;
use crate::input::STDIO;

/// The destination that the user chose.
#[derive(Args, Clone, Debug, Default)]
pub struct Destination {
    /// File to write, `-` for standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long)]
    pub force: bool,
}

impl Destination {
    /// None: standard output, also as `-`.
    fn file(&self) -> Option<&Path> {
        let wanted = self.output.as_deref();
        wanted.filter(|path| *path != Path::new(STDIO))
    }

    pub fn is_file(&self) -> bool {
        self.file().is_some()
    }

    /// Standard output and standard error go to the same terminal, pipe or file.
    pub fn is_seen_beside_errors(&self) -> bool {
        let place = |found: rustix::io::Result<rustix::fs::Stat>| {
            found.ok().map(|it| (it.st_dev, it.st_ino))
        };
        let out = place(rustix::fs::fstat(std::io::stdout()));
        !self.is_file() && out.is_some() && out == place(rustix::fs::fstat(std::io::stderr()))
    }

    /// That of the terminal that shows it, if one does.
    pub fn width(&self) -> Option<usize> {
        let is_shown = self.file().is_none();
        is_shown.then(|| fit::columns(&std::io::stdout())).flatten()
    }

    /// `inputs`: what it was made from, and so may not be replaced by it.
    pub fn deliver(&self, made: &Made, inputs: &[&PathBuf]) -> Result<()> {
        let write = |path: &Path, bytes: &[u8]| {
            ensure_may_write(path, self.force, inputs)?;
            output::write_whole(path, bytes)
        };
        match (made, self.file()) {
            (Made::Painted(text) | Made::Text(text), Some(path)) => write(path, text.as_bytes()),
            (Made::Painted(text), None) => print_painted(text),
            (Made::Text(text), None) => print(text),
            (Made::Binary(bytes), Some(path)) => write(path, bytes),
            (Made::Binary(_), None) if std::io::stdout().is_terminal() => Err(Failure::usage(
                "a Perfetto trace is binary, and would upset the terminal",
                "name a file: -o trace.perfetto; then open it in ui.perfetto.dev",
            )),
            (Made::Binary(bytes), None) => stdout::write_all(bytes).context("writing the trace"),
            (Made::Several(files), _) => {
                let stem = self.output.as_ref().ok_or_else(|| {
                    Failure::usage(
                        "github-benchmark needs two output files, one for each direction",
                        "give -o NAME, which writes NAME-smaller.json and NAME-bigger.json",
                    )
                })?;
                files.iter().try_for_each(|(end, text)| {
                    let path = format!("{}{end}", stem.display());
                    write(Path::new(&path), text.as_bytes())
                })
            }
        }
    }
}

/// An input is not replaced by what was made from it, whatever the user allows.
fn ensure_may_write(path: &Path, force: bool, inputs: &[&PathBuf]) -> Result<()> {
    output::ensure_may_write(path, force, "")?;
    let same = |input: &&PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(input).ok();
    if path.exists() && inputs.iter().any(same) {
        return Err(Failure::refused(
            format!("{} is the input of this report", path.display()),
            "name another file",
        ));
    }
    Ok(())
}

pub fn print(text: &str) -> Result<()> {
    stdout::write_all(text.as_bytes()).context("writing the report")
}

/// Text that names from outside may be in.
pub fn print_page(text: &str) -> Result<()> {
    print(&escape::page(text))
}

/// For people: in colours where they are wanted, and as wide as the terminal.
pub fn print_painted(text: &str) -> Result<()> {
    let painted = paint::report(text);
    let is_plain = AutoStream::choice(&std::io::stdout()) == ColorChoice::Never;
    let text = if is_plain {
        anstream::adapter::strip_str(&painted).to_string()
    } else {
        painted
    };
    print(&fit::to_terminal(&text, &std::io::stdout()))
}

/// Pictures for where standard output goes: as wide as the terminal, and without special characters where the locale has
/// none.
pub fn pictures() -> Form {
    const WIDTH: usize = 100;
    Form {
        width: fit::columns(&std::io::stdout()).unwrap_or(WIDTH),
        is_ascii: !has_utf8(|name| std::env::var(name).ok()),
    }
}

/// A report on standard output, after what made it.
pub fn look() -> Look {
    Look {
        all: false,
        pictures: Some(pictures()),
        width: fit::columns(&std::io::stdout()),
    }
}

/// As a shell needs it.
pub fn quoted(path: &Path) -> String {
    let file = path.display().to_string();
    shlex::try_quote(&file).unwrap_or_default().into_owned()
}

/// Prints the path of the result, and the command that makes a page with pictures of it.
pub fn say_where(path: &Path) -> Result<()> {
    let (file, quoted) = (path.display(), quoted(path));
    print_page(&format!(
        "Result file: {file}\nWith pictures: `iosched-ab report {quoted} --format html -o report.html`\n"
    ))
}
