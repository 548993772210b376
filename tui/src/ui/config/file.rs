//! The text of the file. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use iosched_result::failure::Failure;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use crate::ui::state::appearance::{Rgb, Theme};
use crate::ui::state::keymap::{self, Keymap};
use crate::ui::state::model::INTERVALS;
use crate::ui::view::columns;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    theme: Option<Spanned<String>>,
    interval: Option<Spanned<f64>>,
    mouse: Option<bool>,
    history: Option<bool>,
    directory: Option<Spanned<String>>,
    processes: ProcessesTable,
    colors: ColorsTable,
    keys: BTreeMap<Spanned<String>, Spanned<OneOrMore>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProcessesTable {
    columns: Vec<Spanned<String>>,
    sort: Option<Spanned<String>>,
    reversed: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ColorsTable {
    series: Option<Spanned<Vec<String>>>,
    heat: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "give a key or a list of keys, in quotes")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// `file`: its name, for errors.
pub fn parse(file: &str, text: &str) -> Result<Config> {
    let line_of = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count() + 1;
    let usage = |line: usize, what: &str| {
        Failure::usage(
            format!("{file}:{line}: {what}"),
            "fix the file, or start with --no-config. `iosched config --no-config --print` prints a file with all defaults",
        )
    };
    let at = |start: usize, what: String| usage(line_of(start), &what);
    let written: ConfigFile = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        usage(line, error.message())
    })?;
    let mut config = Config::default();
    if let Some(theme) = &written.theme {
        config.theme = theme_named(theme.get_ref()).map_err(|why| at(theme.span().start, why))?;
    }
    if let Some(interval) = &written.interval {
        let seconds = *interval.get_ref();
        if !INTERVALS.iter().any(|known| (known - seconds).abs() < 1e-9) {
            let all: Vec<String> = INTERVALS.iter().map(f64::to_string).collect();
            let why = format!("interval is one of {}", all.join(", "));
            return Err(at(interval.span().start, why));
        }
        config.interval = seconds;
    }
    config.has_mouse = written.mouse.unwrap_or(true);
    config.has_history = written.history.unwrap_or(true);
    if let Some(directory) = &written.directory {
        let path = PathBuf::from(directory.get_ref());
        if !path.is_absolute() {
            let why = "directory is an absolute path, such as /var/tmp/iosched".to_owned();
            return Err(at(directory.span().start, why));
        }
        config.directory = Some(path);
    }
    for column in &written.processes.columns {
        let start = column.span().start;
        let name = columns::named(column.get_ref()).map_err(|why| at(start, why))?;
        if config.columns.contains(&name) {
            return Err(at(start, format!("the column {name} is there twice")));
        }
        config.columns.push(name);
    }
    if let Some(sort) = &written.processes.sort {
        let found = columns::named(sort.get_ref()).and_then(columns::sort_of);
        config.sort = found.map_err(|why| at(sort.span().start, why))?;
    }
    config.is_reversed = written.processes.reversed;
    if let Some(series) = &written.colors.series {
        let found = colors(series.get_ref()).map_err(|why| at(series.span().start, why))?;
        config.colors.series = found;
    }
    if let Some(heat) = &written.colors.heat {
        let found = colors(heat.get_ref()).map_err(|why| at(heat.span().start, why))?;
        config.colors.heat = found;
    }
    config.keys = keys(&written.keys, &at)?;
    Ok(config)
}

fn theme_named(name: &str) -> Result<Theme, String> {
    let mut all = Theme::ALL.into_iter();
    all.find(|theme| theme.title() == name).ok_or_else(|| {
        let all = Theme::ALL.map(Theme::title);
        format!("theme is one of {}", all.join(", "))
    })
}

/// `#rrggbb`, exactly `N` of them.
fn colors<const N: usize>(texts: &[String]) -> Result<[Rgb; N], String> {
    let found: Result<Vec<Rgb>, String> = texts.iter().map(|text| color(text)).collect();
    found?.try_into().map_err(|found: Vec<Rgb>| {
        format!("{N} colors are needed here, and there are {}", found.len())
    })
}

fn color(text: &str) -> Result<Rgb, String> {
    let digits = text.strip_prefix('#').filter(|digits| {
        digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    let all = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, r, g, b] = all
        .ok_or_else(|| format!("{text:?} is not a color: give #rrggbb, such as #56b4e9"))?
        .to_be_bytes();
    Ok((r, g, b))
}

fn keys(
    written: &BTreeMap<Spanned<String>, Spanned<OneOrMore>>,
    at: &impl Fn(usize, String) -> anyhow::Error,
) -> Result<Keymap> {
    let mut changes = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (name, keys) in written {
        let texts = match keys.get_ref() {
            OneOrMore::One(text) => std::slice::from_ref(text),
            OneOrMore::More(texts) => texts,
        };
        let keys: Result<Vec<_>, String> = texts.iter().map(|text| keymap::parse(text)).collect();
        let start = name.span().start;
        let keys = keys.map_err(|why| at(start, why))?;
        places.insert(name.get_ref().clone(), start);
        changes.insert(name.get_ref().clone(), keys);
    }
    Keymap::with(&changes).map_err(|(name, why)| {
        let start = places.get(&name).copied().unwrap_or(0);
        at(start, format!("{name}: {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::print;
    use super::*;
    use crate::ui::state::action::KeyCommand;
    use crate::ui::state::model::Sort;
    use proptest::prelude::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let default = Config::default();
        assert_eq!(parse("f", &print::text(&default)).expect("a file"), default);
        let own = parse(
            "f",
            "theme = \"light\"\ninterval = 0.5\nmouse = false\nhistory = false\n\
             directory = \"/var/tmp/i\"\n\
             [processes]\ncolumns = [\"command\", \"wait-p99\"]\nsort = \"wait-p99\"\nreversed = true\n\
             [colors]\nseries = [\"#000001\", \"#000002\", \"#000003\", \"#000004\", \"#000005\", \"#0a0B0c\"]\n\
             [keys]\nrotate = [\"R\", \"F2\"]\nquit = []\nup = \"\\\\\"\n",
        )
        .expect("a file");
        assert_eq!((own.theme, own.interval), (Theme::Light, 0.5));
        assert!(!own.has_mouse && !own.has_history && own.is_reversed);
        assert_eq!(own.directory, Some("/var/tmp/i".into()));
        assert_eq!(own.columns, ["command", "wait-p99"]);
        assert_eq!(own.sort, Sort::WaitP99);
        assert_eq!(own.colors.series[5], (10, 11, 12));
        assert_eq!(own.keys.first(KeyCommand::Rotate).as_deref(), Some("R"));
        assert_eq!(own.keys.first(KeyCommand::Quit), None);
        assert_eq!(own.keys.first(KeyCommand::Up).as_deref(), Some("\\"));
        assert_eq!(parse("f", &print::text(&own)).expect("a file"), own);
        assert_eq!(parse("f", "").expect("a file"), default);
    }

    #[test]
    fn errors_name_the_line_and_what_to_write() {
        for (text, says) in [
            ("theme = 1", "f:1: "),
            ("\ntheme = \"blue\"", "f:2: theme is one of dark, light"),
            ("interval = 3.0", "f:1: interval is one of 0.25, 0.5, 1"),
            ("mous = true", "f:1: unknown field `mous`"),
            ("directory = \"here\"", "f:1: directory is an absolute path"),
            (
                "[keys]\nflip = \"f\"",
                "f:2: flip: it is not the name of a command",
            ),
            ("[keys]\nswitch = \"ab\"", "f:2: \"ab\" is not a key"),
            (
                "[keys]\n\nswitch = \"F\"",
                "f:3: switch: F is the key of rotate",
            ),
            (
                "[processes]\ncolumns = [\n\"pid\",\n\"nice\"]",
                "f:4: \"nice\" is not a column",
            ),
            (
                "[processes]\ncolumns = [\"pid\", \"pid\"]",
                "the column pid is there twice",
            ),
            (
                "[processes]\nsort = \"reads\"",
                "f:2: rows cannot be sorted by reads",
            ),
            (
                "[colors]\nheat = [\"#000\"]",
                "f:2: \"#000\" is not a color",
            ),
            (
                "[colors]\nheat = [\"#000000\"]",
                "f:2: 5 colors are needed here, and there are 1",
            ),
            ("theme = ", "f:1: "),
        ] {
            let error = format!("{:#}", parse("f", text).expect_err(text));
            assert!(error.contains(says), "{text}: {error}");
            assert!(error.contains("--no-config"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_configuration_or_an_error(text in "[a-z\\[\\]=\"\n#0-9., -]{0,200}") {
            let _ = parse("f", &text);
        }
    }
}
