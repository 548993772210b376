//! `evidence`: results as blocks of plain text, and whether such blocks are what the results say.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use iosched_files::input as files;
use iosched_result::failure::Failure;
use iosched_result::report::evidence::check::{self, Candidate, Checked, Place};
use iosched_result::report::evidence::{self, Origin};
use iosched_result::report::formats::Made;
use iosched_result::types::result::{ResultFile, Status};

use crate::input::{self, Input, STDIO};
use crate::print::{Destination, print};

pub const HELP: &str = "\
A block has at most 40 lines of plain text: the decision, the question, disk, machine, design,
how often such a run errs, the verdicts, the command line, and the SHA-256 of the result.
With --check, blocks in a text are compared with the results: each line, and the SHA-256. The
text may be quoted mail, a comment or a rule that `persist` printed.

Exit codes of --check: 0 every block is what its result says, 3 one is not, 4 one cannot be
checked: its file is not given, it is of another version, or it only looks like a block.

Examples:
  iosched-ab evidence result.json
  iosched-ab evidence result.json | mail -s 'mq-deadline on this disk' linux-block@vger.kernel.org
  iosched-ab evidence study.json --cell writers-4
  iosched-ab evidence --check /etc/udev/rules.d/61-iosched.rules result.json";

#[derive(Args)]
pub struct EvidenceArguments {
    /// Result files of `run`, `tune`, or of `study` with --cell; each gets a block of its own. `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The cell of a study
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    pub cell: Option<String>,
    /// Compare the blocks in this text with the result files, `-` for standard input
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["output", "force"])]
    pub check: Option<PathBuf>,
    #[command(flatten)]
    pub to: Destination,
}

pub fn run(arguments: &EvidenceArguments) -> Result<()> {
    match &arguments.check {
        Some(text) => check_all(text, &arguments.files),
        None => write(arguments),
    }
}

fn write(arguments: &EvidenceArguments) -> Result<()> {
    let blocks = arguments.files.iter().map(|file| {
        let input::Stored { bytes, name, .. } = input::bytes(file)?;
        let result = of_cell(
            input::from_bytes(&bytes, &name)?,
            arguments.cell.as_deref(),
            &name,
        )?;
        Ok(evidence::block(
            &result,
            Origin {
                name: &base(&name),
                bytes: &bytes,
                cell: arguments.cell.as_deref(),
            },
        ))
    });
    let blocks: Vec<String> = blocks.collect::<Result<_>>()?;
    let inputs: Vec<&PathBuf> = arguments.files.iter().collect();
    arguments
        .to
        .deliver(&Made::Text(blocks.join("\n")), &inputs)
}

/// The name without its folders, which say nothing elsewhere.
pub fn base(name: &str) -> String {
    let of_path = Path::new(name).file_name();
    of_path.map_or_else(|| name.to_owned(), |it| it.to_string_lossy().into_owned())
}

/// The result in a file, or of a cell of it.
pub fn of_cell(input: Input, cell: Option<&str>, name: &str) -> Result<ResultFile> {
    match (input, cell) {
        (Input::Study(study), Some(wanted)) => {
            let names: Vec<String> = study.cells.iter().map(|cell| cell.name.clone()).collect();
            let mut cells = study.cells.into_iter();
            let found = cells.find(|cell| cell.name == wanted);
            found.map(|cell| cell.result).ok_or_else(|| {
                Failure::usage(
                    format!("{name} has no cell {wanted:?}"),
                    format!("--cell takes one of: {}", names.join(", ")),
                )
            })
        }
        (Input::Study(study), None) => Err(Failure::usage(
            format!(
                "{name} is the result of a study of {} cells, each with verdicts of its own",
                study.cells.len()
            ),
            "name one: --cell NAME; `iosched-ab report FILE` lists them",
        )),
        (_, Some(_)) => Err(Failure::usage(
            format!("{name} is not the result of a study"),
            "leave out --cell",
        )),
        (Input::Merged(_), None) => Err(Failure::usage(
            format!("{name} has the results of many hosts, merged"),
            "name the result of one host: its block can be checked against its rounds",
        )),
        (Input::Run(result), None) => Ok(*result),
        (input @ Input::Tune(_), None) => match input.judged()? {
            input::Judged::Run(referee) => Ok(*referee),
            input::Judged::Study(_) | input::Judged::Merged(_) => {
                unreachable!("a search is judged by a run")
            }
        },
    }
}

/// Everything that blocks of this file may show: a study has a block for each cell.
fn blocks(input: Input, name: &str, bytes: &[u8]) -> Vec<String> {
    let block = |result: &ResultFile, cell| evidence::block(result, Origin { name, bytes, cell });
    match input {
        Input::Run(result) => vec![block(&result, None)],
        Input::Merged(_) => Vec::new(),
        Input::Study(study) => {
            let cells = study.cells.iter();
            cells
                .map(|cell| block(&cell.result, Some(&cell.name)))
                .collect()
        }
        Input::Tune(tune) => {
            let referee = tune.referee.iter();
            let ended = referee.filter(|it| it.status == Status::Complete);
            ended.map(|it| block(it, None)).collect()
        }
    }
}

fn check_all(text: &Path, files: &[PathBuf]) -> Result<()> {
    let is_stdin = |path: &Path| path == Path::new(STDIO);
    let ours = files.iter().map(PathBuf::as_path).chain([text]);
    if ours.filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::usage(
            "standard input is one file, and `-` is given more than once",
            "name files for the others",
        ));
    }
    let text = read_text(text)?;
    let read = files.iter().map(|file| input::bytes(file));
    let read: Vec<input::Stored> = read.collect::<Result<_>>()?;
    let candidates = read.iter().map(|input::Stored { bytes, name, .. }| {
        Ok(Candidate {
            origin: Origin {
                name,
                bytes,
                cell: None,
            },
            blocks: blocks(input::from_bytes(bytes, name)?, name, bytes),
        })
    });
    let candidates: Vec<Candidate> = candidates.collect::<Result<_>>()?;
    let checked = check::check(&text, &candidates);
    if checked.is_empty() {
        return Err(Failure::usage(
            "the text has no block of evidence",
            "a block begins with the line `iosched evidence`",
        ));
    }
    for (index, place) in checked.iter().enumerate() {
        print(&said(index + 1, place))?;
    }
    let count =
        |is: fn(&Checked) -> bool| checked.iter().filter(|place| is(&place.checked)).count();
    let wrong = count(|one| matches!(one, Checked::Differs { .. }));
    let unknown = count(|one| !matches!(one, Checked::Differs { .. } | Checked::Same { .. }));
    let all = checked.len();
    if wrong > 0 {
        return Err(Failure::gate_failed(
            format!("{wrong} of {all} blocks are not what the result says"),
            "",
        ));
    }
    if unknown > 0 {
        return Err(Failure::undecided(
            format!("{unknown} of {all} blocks cannot be checked"),
            "name the result files that they are made from, and use the version that wrote them",
        ));
    }
    Ok(())
}

fn said(number: usize, place: &Place) -> String {
    let (first, last) = (place.first_line, place.last_line);
    let lines = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first} to {last}")
    };
    let says = match &place.checked {
        Checked::Same { file } => format!("what {file} says"),
        Checked::Differs {
            file,
            line,
            block,
            result,
        } => format!(
            "not what {file} says, from its line {line} on\n  the block:  {block}\n  the result: {result}"
        ),
        Checked::OtherVersion { file, version } => format!(
            "made from {file} by iosched {version}, whose words differ from those of this version"
        ),
        Checked::NoFile { sha256 } => {
            format!("no file that was given has its SHA-256, {sha256}")
        }
        Checked::NoDigest => "it has no SHA-256".to_owned(),
        Checked::NotOne => "it looks like a block of evidence, and is none".to_owned(),
    };
    format!("block {number}, {lines}: {says}\n")
}

fn read_text(text: &Path) -> Result<String> {
    /// A rule, a mail or a page; not a disk image.
    const LIMIT: u64 = 16 << 20;
    let bytes = if text == Path::new(STDIO) {
        files::read_stdin(LIMIT)
    } else {
        files::read(text, LIMIT)
    };
    let bytes = bytes.map_err(|error| {
        Failure::usage(
            format!("cannot read {}: {error}", text.display()),
            "name a text with a block of evidence",
        )
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
