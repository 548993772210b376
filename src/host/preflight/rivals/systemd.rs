//! Asks systemd which files of units and of tmpfiles.d it uses, and in which order.
//!
//! `systemctl show` asks the manager, which names a unit's file and drop-ins, masks and aliases resolved. `systemctl cat` does
//! too, but ends at the first link that leads nowhere, and comments look like its headings. `systemd-tmpfiles --cat-config`
//! needs no manager. None of them changes anything.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::engine::{self, Said};
use super::tree::Tree;

/// A machine has some hundreds.
const MOST_UNITS: usize = 3000;

/// The files of a unit, its drop-ins after its own; those of one that is masked are none.
pub type Files = Vec<PathBuf>;

/// The files of tmpfiles.d that have an effect.
pub fn tmpfiles(tree: &Tree<'_>) -> Result<Said<Files>> {
    let Some(program) = engine::program(&tree.path(""), "systemd-tmpfiles") else {
        return Ok(Err("there is no systemd-tmpfiles".to_owned()));
    };
    let said = engine::text(&program, &["--no-pager", "--cat-config"]);
    match said.and_then(|text| Ok((version(&program)?, text))) {
        Ok((version, text)) => {
            let name = format!("`systemd-tmpfiles --cat-config` of {version}");
            Ok(Ok((name, headings(tree, &text))))
        }
        Err(error) => Ok(Err(engine::no_answer(&error)?)),
    }
}

/// The files of each service that the manager knows.
pub fn units(tree: &Tree<'_>) -> Result<Said<Vec<Files>>> {
    let Some(program) = engine::program(&tree.path(""), "systemctl") else {
        return Ok(Err("there is no systemctl".to_owned()));
    };
    match shown(&program).and_then(|text| Ok((version(&program)?, text))) {
        Ok((version, text)) => {
            let name = format!("`systemctl show` of {version}");
            let units = text.split("\n\n").map(|unit| files(tree, unit)).collect();
            Ok(Ok((name, units)))
        }
        Err(error) => Ok(Err(engine::no_answer(&error)?)),
    }
}

/// The first line is `systemd 252 (252.39-1)`.
fn version(program: &Path) -> Result<String> {
    let text = engine::text(program, &["--version"])?;
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    Ok(words.join(" "))
}

fn shown(program: &Path) -> Result<String> {
    const LIST: [&str; 5] = [
        "list-unit-files",
        "--full",
        "--no-pager",
        "--no-legend",
        "--type=service",
    ];
    const SHOW: [&str; 6] = [
        "show",
        "--no-pager",
        "--property=LoadState",
        "--property=FragmentPath",
        "--property=DropInPaths",
        "--",
    ];
    let list = engine::text(program, &LIST)?;
    let names: Vec<String> = list.lines().filter_map(unit).collect();
    anyhow::ensure!(names.len() <= MOST_UNITS, "there are {} units", names.len());
    // `systemctl show` without a unit shows the properties of the manager itself.
    if names.is_empty() {
        return Ok(String::new());
    }
    let words: Vec<&str> = SHOW
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    engine::text(program, &words)
}

/// `sshd@.service indirect enabled`: a template has no properties, but any instance of it has its files. An alias is listed as
/// what it stands for, too.
fn unit(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (name, state) = (words.next()?, words.next()?);
    let is_wanted = name.ends_with(".service") && state != "alias";
    is_wanted.then(|| name.replace("@.service", "@iosched.service"))
}

fn files(tree: &Tree<'_>, properties: &str) -> Files {
    let get = |key: &str| {
        let mut lines = properties.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    if get("LoadState") == Some("masked") {
        return Vec::new();
    }
    let own = get("FragmentPath").filter(|path| !path.is_empty());
    let mut files: Files = own.into_iter().map(|path| tree.path(path)).collect();
    files.extend(words(get("DropInPaths").unwrap_or_default()).map(|path| tree.path(path)));
    files
}

/// `/a/b.conf "/a/with space.conf"`
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('"').enumerate();
    parts.flat_map(|(index, part)| {
        let is_quoted = index % 2 == 1;
        let quoted = is_quoted.then_some(part);
        let plain = (!is_quoted).then(|| part.split_whitespace());
        quoted.into_iter().chain(plain.into_iter().flatten())
    })
}

/// The files in what `--cat-config` prints: `# /usr/lib/tmpfiles.d/x.conf`, and the text of the file after it. A comment in
/// that text may look the same, so the text is skipped.
fn headings(tree: &Tree<'_>, text: &str) -> Files {
    let mut files = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let path = line.strip_prefix("# ").filter(|path| path.starts_with('/'));
        let Some(file) = path.map(|path| tree.path(path)) else {
            continue;
        };
        let is_of_directory = file
            .parent()
            .is_some_and(|above| above.ends_with("tmpfiles.d"));
        if let Some(own) = is_of_directory.then(|| tree.read(&file)).flatten() {
            rest = rest.strip_prefix(&*own).unwrap_or(rest);
            files.push(file);
        }
    }
    files
}
