//! The rules of the house, by the sources themselves: who may import whom, and who may touch the machine. A rule is changed
//! here, with its reason, or not at all. docs/architecture.md explains them.

#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/source.rs"]
mod source;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rules::{CRATES, HELPERS, MAY, PURE, SIZES, UI};
use source::Source;

const MAX_LINES: usize = 400;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The product's Rust, without its tests.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let mut sources = Vec::new();
        for top in ["src", "tui/src"] {
            source::collect(root(), &root().join(top), &mut sources);
        }
        assert!(sources.len() > 150, "{}", sources.len());
        sources
    });
    &SOURCES
}

/// The map of a crate: its modules in the order of lib.rs, each of which imports only from those before it.
fn map(of: &str) -> String {
    fs::read_to_string(root().join(format!("src/{of}/lib.rs"))).expect("the map")
}

fn rooms(map: &str) -> Vec<&str> {
    let rooms = map.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("pub mod ")
            .or_else(|| line.strip_prefix("mod "))?;
        rest.split(';').next()
    });
    rooms.collect()
}

/// Imports by `source` from rooms of its crate that stand behind its own.
fn upward(rooms: &[&str], source: &Source) -> Vec<String> {
    let place = |room: &str| rooms.iter().position(|other| *other == room);
    let Some(own) = place(source.room().1) else {
        return vec![format!("{}: not on the map in lib.rs", source.path)];
    };
    let imports = source.paths.iter().filter(|path| path[0] == "crate");
    let upward = imports.filter(|path| place(&path[1]).is_none_or(|other| other > own));
    upward
        .map(|path| format!("{}: {}", source.path, path.join("::")))
        .collect()
}

/// Between crates, cargo sees to it.
#[test]
fn each_room_imports_only_from_rooms_above_it() {
    for of in CRATES {
        let map = map(of);
        let rooms = rooms(&map);
        let found: Vec<String> = sources()
            .iter()
            .filter(|source| source.room().0 == *of && !["lib", "main"].contains(&source.room().1))
            .flat_map(|source| upward(&rooms, source))
            .collect();
        assert_eq!(found, [""; 0], "{of}");
    }
}

/// Imports by a file of the terminal UI from a room that stands behind its own.
fn upward_in_the_ui(source: &Source) -> Vec<String> {
    let below = source.path.strip_prefix("tui/src/ui/").unwrap_or_default();
    let room = below.split(['/', '.']).next().unwrap_or_default();
    let Some(own) = UI.iter().position(|other| *other == room) else {
        return Vec::new();
    };
    let is_room_itself = !below.contains('/');
    let behind = |name: &String| UI[own + 1..].contains(&&**name);
    let is_upward = |path: &Vec<String>| match path.iter().map(|name| &**name).collect::<Vec<_>>()[..]
    {
        ["crate", "ui", ..] | ["super", "super", ..] => path.get(2).is_some_and(behind),
        ["super", ..] => is_room_itself && behind(&path[1]),
        _ => false,
    };
    let upward = source.paths.iter().filter(|path| is_upward(path));
    upward
        .map(|path| format!("{}: {}", source.path, path.join("::")))
        .collect()
}

#[test]
fn the_ui_goes_one_way() {
    let found: Vec<String> = sources().iter().flat_map(upward_in_the_ui).collect();
    assert_eq!(found, [""; 0]);
    for room in UI {
        let directory = root().join("tui/src/ui").join(room);
        assert!(directory.is_dir(), "{room}");
    }
    let of = |path: &str, text: &str| upward_in_the_ui(&Source::parse(path, text)).len();
    let up = "use crate::ui::view::fit; use crate::ui::sampling::sample;";
    assert_eq!(of("tui/src/ui/state/a.rs", up), 1);
    assert_eq!(of("tui/src/ui/view/a.rs", up), 0);
    assert_eq!(
        of("tui/src/ui/sampling.rs", "use super::{state, sampling};"),
        1
    );
    assert_eq!(
        of("tui/src/ui/sampling/a.rs", "use super::super::state;"),
        1
    );
    assert_eq!(of("tui/src/ui.rs", up), 0);
}

/// The crates of this workspace that a crate stands on.
fn below(of: &str) -> Vec<String> {
    let path = root().join(format!("src/{of}/Cargo.toml"));
    let manifest = fs::read_to_string(path).expect("the manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let names = manifest["dependencies"].as_table().expect("a table").keys();
    let names = names.filter_map(|name| name.strip_prefix("iosched-"));
    names.map(str::to_owned).collect()
}

/// Each crate and room, what the maps say of it, and what it imports from.
fn table() -> String {
    let mut table = String::new();
    for of in CRATES {
        let map = map(of);
        let what = map
            .lines()
            .next()
            .expect("a line")
            .trim_start_matches("//! ");
        let below = match below(of).join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            some => some,
        };
        let _ = writeln!(table, "**`src/{of}`**, on {below}: {what}\n");
        table += "| room | what it is | imports |\n|---|---|---|\n";
        for room in rooms(&map).iter().filter(|room| !HELPERS.contains(room)) {
            let mut imports: Vec<&str> = sources()
                .iter()
                .filter(|source| source.room() == (of, room))
                .flat_map(|source| &source.paths)
                .filter(|path| path[0] == "crate" && path[1] != *room)
                .map(|path| &*path[1])
                .collect();
            imports.sort_unstable();
            imports.dedup();
            let line = map
                .lines()
                .find(|line| line.contains(&format!("mod {room};")));
            let what = line.and_then(|line| line.split_once("// "));
            let what = what.expect("what it is").1;
            let imports = imports.join(", ");
            let _ = writeln!(table, "| {room} | {what} | {imports} |");
        }
        table += "\n";
    }
    table.trim_end().to_owned() + "\n"
}

#[test]
fn the_page_shows_the_rooms_as_they_are() {
    let path = root().join("docs/architecture.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("<!-- rooms -->\n").expect("its mark");
    let (found, after) = rest.split_once("<!-- end of rooms -->").expect("its end");
    if std::env::var_os("UPDATE").is_some() {
        let page = format!(
            "{before}<!-- rooms -->\n{}<!-- end of rooms -->{after}",
            table()
        );
        fs::write(&path, page).expect("the page");
    } else {
        assert_eq!(
            found,
            table(),
            "UPDATE=1 cargo test --test architecture writes it"
        );
    }
}

#[test]
fn an_import_from_below_is_found() {
    let of = |path: &str, text: &str| upward(&["machine", "report"], &Source::parse(path, text));
    let up = "use crate::{report::text, machine::device};";
    assert_eq!(of("src/x/report/a.rs", up), [""; 0]);
    assert_eq!(
        of("src/x/machine/a.rs", up),
        ["src/x/machine/a.rs: crate::report::text"]
    );
    let inside = "fn f() { let _ = g!(1, crate::report::text::x()); }";
    assert_eq!(of("src/x/machine.rs", inside).len(), 1);
    assert_eq!(of("src/x/nowhere/a.rs", "").len(), 1);
    let tests = "#[cfg(test)] mod tests { use crate::report::fixture; }";
    assert_eq!(of("src/x/machine/a.rs", tests), [""; 0]);
}

#[test]
fn what_touches_the_machine_stands_where_the_rules_say() {
    let sources = sources();
    for rule in MAY {
        let found: Vec<&str> = sources
            .iter()
            .filter(|source| rule.is_met_by(source))
            .map(|source| &*source.path)
            .collect();
        let breaking: Vec<&&str> = found.iter().filter(|path| !rule.allows(path)).collect();
        assert!(breaking.is_empty(), "{}: {breaking:?}", rule.what);
        for allowed in rule.only {
            let is_used = found.iter().any(|path| path.starts_with(allowed));
            assert!(
                is_used,
                "{}: {allowed} does not need it any more",
                rule.what
            );
        }
    }
}

#[test]
fn what_touches_the_machine_is_found() {
    for rule in MAY {
        let source = Source::parse("src/result/report/made_up.rs", rule.example);
        assert!(rule.is_met_by(&source), "{}: {}", rule.what, rule.example);
        assert!(!rule.allows(&source.path), "{}", rule.what);
    }
}

/// Plain functions: no files, no processes, no clocks.
#[test]
fn pure_rooms_touch_nothing() {
    let touches = |source: &Source| {
        let paths = source.paths.iter();
        let mut paths = paths.map(|path| path.join("::"));
        paths.find(|path| rules::touches_the_machine(path))
    };
    let is_pure = |source: &&Source| {
        PURE.iter()
            .any(|(pure, but)| source.path.starts_with(pure) && !but.contains(&&*source.path))
    };
    let sources = sources();
    let found: Vec<String> = sources
        .iter()
        .filter(is_pure)
        .filter_map(|source| Some(format!("{}: {}", source.path, touches(source)?)))
        .collect();
    assert_eq!(found, [""; 0]);
    for text in [
        "use std::fs;",
        "fn f() { std::time::Instant::now(); }",
        "use rustix::fs::open;",
    ] {
        assert!(
            touches(&Source::parse("src/result/report/a.rs", text)).is_some(),
            "{text}"
        );
    }
}

/// Functions are held to 80 lines by clippy.toml.
#[test]
fn no_file_is_long_without_a_reason() {
    let mut long = Vec::new();
    let mut collect = |directory: &str, ends: &[&str]| {
        source::files(&root().join(directory), &mut |path| {
            let name = path
                .strip_prefix(root())
                .expect("below")
                .display()
                .to_string();
            if ends.iter().any(|end| name.ends_with(end)) && !source::is_test(&name) {
                let lines = fs::read_to_string(path).expect("a source").lines().count();
                if lines > MAX_LINES {
                    long.push(name);
                }
            }
        });
    };
    collect("src", &[".rs"]);
    collect("tui/src", &[".rs"]);
    collect("bpf", &[".rs", ".c", ".h"]);
    long.sort();
    let excused: Vec<&str> = SIZES.iter().map(|(path, _)| *path).collect();
    assert_eq!(long, excused, "above {MAX_LINES} lines");
}

#[test]
fn what_is_printed_is_escaped() {
    let escapes = |source: &Source| {
        let mut paths = source.paths.iter();
        paths.any(|path| {
            path.iter()
                .any(|name| name == "escape" || name == "print_page")
        })
    };
    let is_program = |source: &&Source| {
        source.path.starts_with("src/ab/") || source.path.starts_with("tui/src/")
    };
    let found: Vec<&str> = sources()
        .iter()
        .filter(is_program)
        .filter(|source| rules::prints(source) && !escapes(source))
        .map(|source| &*source.path)
        .collect();
    assert_eq!(found, rules::PRINT_NO_NAMES);
    let text = "fn f() { writeln!(std::io::stdout(), \"\"); }";
    assert!(rules::prints(&Source::parse("src/ab/made_up.rs", text)));
}

/// The recipes of docs/architecture.md: each names several files, and all of them are there.
#[test]
fn the_recipes_name_files_that_are_there() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let (_, recipes) = page
        .split_once("## Where something new goes\n")
        .expect("the recipes");
    let recipes: Vec<&str> = recipes.split("\n### ").skip(1).collect();
    assert!(recipes.len() >= 8, "{}", recipes.len());
    for recipe in recipes {
        let quoted = recipe.split('`').skip(1).step_by(2);
        let names: Vec<&str> = quoted
            .filter(|name| name.contains('/') && !name.contains(' '))
            .collect();
        assert!(names.len() >= 4, "{recipe}");
        for name in names {
            assert!(root().join(name).exists(), "{name} is not there: {recipe}");
        }
    }
}
