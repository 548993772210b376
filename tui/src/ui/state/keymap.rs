//! The keys in force: those of the table, or the user's. The keys of dialogs stay as they are: what a dialog asks is never
//! answered by a key that a file has chosen. Pure.

use std::collections::BTreeMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{KeyCommand, Screen};
use super::keys::{Binding, KEYS, KeyPlace};

/// Names of the keys that are no characters.
const NAMES: [(&str, KeyCode); 15] = [
    ("Space", KeyCode::Char(' ')),
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Shift-Tab", KeyCode::BackTab),
    ("Backspace", KeyCode::Backspace),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Delete", KeyCode::Delete),
];

pub fn name_of(key: KeyCode) -> String {
    let named = NAMES.iter().find(|(_, other)| *other == key);
    match (named, key) {
        (Some((name, _)), _) => (*name).to_owned(),
        (None, KeyCode::Char(character)) => character.to_string(),
        (None, KeyCode::F(number)) => format!("F{number}"),
        _ => String::new(),
    }
}

/// Err: what is wrong with the name.
pub fn parse(name: &str) -> Result<KeyCode, String> {
    let named = NAMES.iter().find(|(other, _)| *other == name);
    if let Some((_, key)) = named {
        return Ok(*key);
    }
    if let Some(number) = (1..=12).find(|number| *name == format!("F{number}")) {
        return Ok(KeyCode::F(number));
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) if one.is_ascii_graphic() || one.is_alphanumeric() => {
            Ok(KeyCode::Char(one))
        }
        _ => {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "{name:?} is not a key: give a single character, F1 to F12, or one of {}",
                names.join(", ")
            ))
        }
    }
}

/// The keys of each row of [`KEYS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap(Vec<Vec<KeyCode>>);

impl Default for Keymap {
    fn default() -> Self {
        Keymap(KEYS.iter().map(|binding| binding.keys.to_vec()).collect())
    }
}

impl Keymap {
    /// Changes the keys of the commands that `changes` names. The error is the name of a command, and what is wrong with
    /// its keys.
    pub fn with(changes: &BTreeMap<String, Vec<KeyCode>>) -> Result<Keymap, (String, String)> {
        let mut map = Keymap::default();
        for (name, keys) in changes {
            let is_its = |row: &usize| !name.is_empty() && KEYS[*row].name == *name;
            let rows: Vec<usize> = (0..KEYS.len()).filter(is_its).collect();
            for row in &rows {
                map.0[*row].clone_from(keys);
            }
            if rows.is_empty() {
                let why = "it is not the name of a command; `iosched config --print` lists them";
                return Err((name.clone(), why.to_owned()));
            }
        }
        for (name, keys) in changes {
            for key in keys {
                if let Some(other) = map.rival(name, *key) {
                    let key = name_of(*key);
                    let why = format!("{key} is the key of {other}; give {other} another one");
                    return Err((name.clone(), why));
                }
            }
        }
        Ok(map)
    }

    /// Another command of this key in one of the same places.
    fn rival(&self, name: &str, key: KeyCode) -> Option<&'static str> {
        let own = KEYS.iter().filter(|binding| binding.name == name);
        let rows = KEYS.iter().zip(&self.0);
        let others = rows.filter(|(other, keys)| other.name != name && keys.contains(&key));
        let mut others = others.map(|(other, _)| other);
        others
            .find(|other| own.clone().any(|own| meet(own.place, other.place)))
            .map(|other| other.name)
    }

    /// The command of a key here, if it has one.
    pub fn command(
        &self,
        event: KeyEvent,
        screen: Screen,
        is_dialog: bool,
        is_frozen: bool,
    ) -> Option<KeyCommand> {
        if event.modifiers.contains(KeyModifiers::CONTROL) {
            return match event.code {
                KeyCode::Char('c') => Some(KeyCommand::QuitNow),
                KeyCode::Char('l') => Some(KeyCommand::Redraw),
                KeyCode::Char('z') => Some(KeyCommand::Suspend),
                _ => None,
            };
        }
        let fits = |(binding, keys): &(&Binding, &Vec<KeyCode>)| {
            let place = match binding.place {
                KeyPlace::Anywhere => !is_dialog,
                KeyPlace::On(screens) => !is_dialog && screens.contains(&screen),
                KeyPlace::Dialog => is_dialog,
                KeyPlace::Frozen => !is_dialog && is_frozen,
            };
            place && keys.contains(&event.code)
        };
        let mut rows = KEYS.iter().zip(&self.0);
        rows.find(fits).map(|(binding, _)| binding.command)
    }

    /// The keys of a row as the help page shows them; the rows below it without an explanation belong to it.
    pub fn shown(&self, row: usize) -> String {
        let below = KEYS[row + 1..].iter();
        let rest = below.take_while(|below| below.what.is_empty()).count();
        let rows = row..=row + rest;
        if rows
            .clone()
            .all(|row| self.0[row].as_slice() == KEYS[row].keys)
        {
            return KEYS[row].shown.to_owned();
        }
        let keys = rows.flat_map(|row| &self.0[row]).map(|key| name_of(*key));
        // Keys that no configuration changes.
        let fixed = KEYS[row]
            .shown
            .split(' ')
            .filter(|key| key.starts_with("Ctrl-"));
        let keys = keys.chain(fixed.map(str::to_owned));
        keys.collect::<Vec<_>>().join(" ")
    }

    /// The first key of a command outside dialogs; None if the user has left it without one.
    pub fn first(&self, command: KeyCommand) -> Option<String> {
        let rows = KEYS.iter().zip(&self.0);
        let mut its = rows
            .filter(|(binding, _)| binding.command == command && binding.place != KeyPlace::Dialog);
        its.next()?.1.first().copied().map(name_of)
    }

    /// For sentences: `F stops it`.
    pub fn does(&self, command: KeyCommand, what: &str) -> String {
        match self.first(command) {
            Some(key) => format!("{key} {what}"),
            None => format!("no key {what}, see the configuration"),
        }
    }

    /// Each command that can be given other keys, with its keys and their explanation.
    pub fn of_each(&self) -> Vec<(&'static str, &[KeyCode], &'static str)> {
        let mut all: Vec<(&'static str, &[KeyCode], &'static str)> = Vec::new();
        for (binding, keys) in KEYS.iter().zip(&self.0) {
            let is_known = all.iter().any(|(name, ..)| *name == binding.name);
            if !binding.name.is_empty() && !is_known {
                all.push((binding.name, keys, binding.what));
            }
        }
        all
    }
}

/// Whether one key may be pressed for both. A frozen screen has its own keys before their meanings on some screens; a key
/// that works anywhere, such as the one that goes on, must stay within reach.
fn meet(one: KeyPlace, other: KeyPlace) -> bool {
    match (one, other) {
        (KeyPlace::Dialog, _)
        | (_, KeyPlace::Dialog)
        | (KeyPlace::Frozen, KeyPlace::On(_))
        | (KeyPlace::On(_), KeyPlace::Frozen) => false,
        (KeyPlace::On(some), KeyPlace::On(others)) => {
            some.iter().any(|screen| others.contains(screen))
        }
        (KeyPlace::Anywhere | KeyPlace::Frozen, _) | (_, KeyPlace::Anywhere) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeyCode::Char;

    fn plain(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn changed(name: &str, keys: &[&str]) -> Result<Keymap, (String, String)> {
        let keys = keys.iter().map(|key| parse(key).expect("a key")).collect();
        Keymap::with(&BTreeMap::from([(name.to_owned(), keys)]))
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        let map = Keymap::default();
        for (name, keys, _) in map.of_each() {
            for key in keys {
                assert_eq!(map.rival(name, *key), None, "{name}, {key:?}");
            }
        }
    }

    #[test]
    fn a_dialog_takes_all_keys_and_ctrl_c_always_quits() {
        let map = Keymap::default();
        let of = |code, is_dialog| map.command(plain(code), Screen::Overview, is_dialog, false);
        assert_eq!(of(Char('q'), true), Some(KeyCommand::Back));
        assert_eq!(of(Char('q'), false), Some(KeyCommand::Quit));
        assert_eq!(of(Char('f'), true), None);
        let interrupt = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        for is_dialog in [true, false] {
            let found = map.command(interrupt, Screen::Help, is_dialog, false);
            assert_eq!(found, Some(KeyCommand::QuitNow));
        }
    }

    #[test]
    fn a_command_gets_other_keys_everywhere_but_in_dialogs() {
        let map = changed("up", &["i", "F5"]).expect("a map");
        let of = |code, is_dialog| map.command(plain(code), Screen::Processes, is_dialog, false);
        assert_eq!(of(Char('i'), false), Some(KeyCommand::Up));
        assert_eq!(of(KeyCode::F(5), false), Some(KeyCommand::Up));
        assert_eq!(of(Char('k'), false), None);
        assert_eq!(of(Char('k'), true), Some(KeyCommand::Up));
        let row = KEYS.iter().position(|row| row.name == "up").expect("a row");
        assert_eq!(map.shown(row), "i F5");
        assert_eq!(map.first(KeyCommand::Up).as_deref(), Some("i"));
        assert_eq!(map.does(KeyCommand::Rotate, "stops it"), "F stops it");
        // Two rows that are explained as one.
        let map = changed("last", &["End"]).expect("a map");
        let row = KEYS
            .iter()
            .position(|row| row.name == "first")
            .expect("a row");
        assert_eq!(map.shown(row), "g Home End");
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for (name, key, says) in [
            ("rotate", "f", "f is the key of switch"),
            ("statistic", "f", "f is the key of switch"),
            ("reverse", "s", "s is the key of sort"),
            ("", "f", "not the name of a command"),
            ("flip", "f", "not the name of a command"),
        ] {
            let (at, why) = changed(name, &[key]).expect_err(name);
            assert_eq!(at, name);
            assert!(why.contains(says), "{why}");
        }
        // On different screens, or in the frozen ones.
        changed("statistic", &["s"]).expect("Compare has no s");
        changed("earlier", &["s"]).expect("before the meaning on Processes");
        changed("freeze", &["Left"]).expect_err("nothing would go on");
        changed("quit", &[]).expect("Ctrl-C is left");
    }

    #[test]
    fn names_and_keys_are_the_same() {
        for (_, keys, _) in Keymap::default().of_each() {
            for key in keys {
                assert_eq!(parse(&name_of(*key)), Ok(*key));
            }
        }
        for name in [
            "", "ab", "F0", "F13", "F+1", "F01", "\n", "\u{301}", "Ctrl-C",
        ] {
            assert!(parse(name).is_err(), "{name:?}");
        }
        assert_eq!(parse("F"), Ok(Char('F')));
        assert_eq!(parse("é"), Ok(Char('é')));
    }
}
