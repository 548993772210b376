//! The table of keys: it decides what a key does, and the help page shows it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{KeyCommand, Screen};

/// Where a key is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    Anywhere,
    On(&'static [Screen]),
    /// Only while a dialog is open; the other keys are inactive then.
    Dialog,
    /// Only while the screen is frozen; before their other meanings.
    Frozen,
}

pub struct Binding {
    pub keys: &'static [KeyCode],
    /// As the help page shows the keys.
    pub shown: &'static str,
    pub command: KeyCommand,
    pub place: KeyPlace,
    pub what: &'static str,
}

const fn key(
    shown: &'static str,
    keys: &'static [KeyCode],
    command: KeyCommand,
    place: KeyPlace,
    what: &'static str,
) -> Binding {
    Binding {
        keys,
        shown,
        command,
        place,
        what,
    }
}

use KeyCode::Char;
use KeyPlace::{Anywhere, Dialog, Frozen, On};
use Screen::{Compare, Disks, Fairness, Heatmap, Help, Order, Overview, Processes};

const MOVES: KeyPlace = On(&[Disks, Processes, Fairness, Help, Compare]);
const STAGES: KeyPlace = On(&[Compare, Heatmap]);

/// Searched from top to bottom; the first match wins.
#[rustfmt::skip] // a table: one line per key
pub const KEYS: &[Binding] = &[
    key("Up k", &[KeyCode::Up, Char('k')], KeyCommand::Up, Dialog, "up"),
    key("Down j", &[KeyCode::Down, Char('j')], KeyCommand::Down, Dialog, "down"),
    key("Left h", &[KeyCode::Left, Char('h'), Char('-')], KeyCommand::Left, Dialog, "shorter rounds"),
    key("Right l", &[KeyCode::Right, Char('l'), Char('+'), Char('=')], KeyCommand::Right, Dialog, "longer rounds"),
    key("Space", &[Char(' ')], KeyCommand::Toggle, Dialog, "select this, or not"),
    key("p", &[Char('p')], KeyCommand::Pause, Dialog, "restore on exit, or not"),
    key("Enter", &[KeyCode::Enter], KeyCommand::Open, Dialog, "confirm"),
    key("Esc q", &[KeyCode::Esc, Char('q')], KeyCommand::Back, Dialog, "cancel"),
    key("Left Right", &[KeyCode::Left], KeyCommand::Earlier, Frozen, "frozen: the interval before, after"),
    key("", &[KeyCode::Right], KeyCommand::Later, Frozen, ""),
    key("[ ]", &[Char('[')], KeyCommand::MuchEarlier, Frozen, "frozen: 60 intervals back, forth"),
    key("", &[Char(']')], KeyCommand::MuchLater, Frozen, ""),
    key("0", &[Char('0')], KeyCommand::Show(Disks), Anywhere, "Disks: all of them, with their load"),
    key("1", &[Char('1')], KeyCommand::Show(Overview), Anywhere, "Overview"),
    key("2", &[Char('2')], KeyCommand::Show(Compare), Anywhere, "Compare: the schedulers side by side"),
    key("3", &[Char('3')], KeyCommand::Show(Processes), Anywhere, "Processes"),
    key("4", &[Char('4')], KeyCommand::Show(Order), Anywhere, "Order of dispatch"),
    key("5", &[Char('5')], KeyCommand::Show(Fairness), Anywhere, "Fairness"),
    key("6", &[Char('6')], KeyCommand::Show(Heatmap), Anywhere, "Heatmap: latency over time"),
    key("? 7", &[Char('?'), Char('7'), KeyCode::F(1)], KeyCommand::Show(Help), Anywhere, "this page"),
    key("Tab", &[KeyCode::Tab], KeyCommand::Next, Anywhere, "next screen"),
    key("Shift-Tab", &[KeyCode::BackTab], KeyCommand::Previous, Anywhere, "previous screen"),
    key("f", &[Char('f')], KeyCommand::Flip, Anywhere, "switch the scheduler; asks first"),
    key("F", &[Char('F')], KeyCommand::Rotate, Anywhere, "rotate through the schedulers and compare them; again to stop"),
    key("P", &[Char('P')], KeyCommand::PauseRotation, Anywhere, "pause the rotation, under the settings from before it; again to go on"),
    key("Space", &[Char(' ')], KeyCommand::Pause, Anywhere, "freeze the screen, and go back from there; measuring continues"),
    key("+ -", &[Char('+'), Char('=')], KeyCommand::Slower, Anywhere, "longer, shorter intervals"),
    key("", &[Char('-')], KeyCommand::Faster, Anywhere, ""),
    key("d", &[Char('d')], KeyCommand::NextDevice, Anywhere, "next device"),
    key("x", &[Char('x')], KeyCommand::Export, Anywhere, "export: rounds as JSON on Compare, else processes as CSV"),
    key("W", &[Char('W')], KeyCommand::WriteHistory, Anywhere, "write the intervals that are held, for `iosched replay`"),
    key("S", &[Char('S')], KeyCommand::SavePicture, Anywhere, "save the screen as SVG"),
    key("y", &[Char('y')], KeyCommand::Copy, Anywhere, "copy the screen's text (OSC 52)"),
    key("t", &[Char('t')], KeyCommand::Theme, Anywhere, "next theme"),
    key("q Ctrl-C", &[Char('q')], KeyCommand::Quit, Anywhere, "restore what was changed, and quit"),
    key("Ctrl-L", &[], KeyCommand::Redraw, Anywhere, "draw the whole screen again"),
    key("Ctrl-Z", &[], KeyCommand::Suspend, Anywhere, "suspend; `fg` comes back"),
    key("Esc", &[KeyCode::Esc], KeyCommand::Back, Anywhere, "back, or clear the filter"),
    key("Up k", &[KeyCode::Up, Char('k')], KeyCommand::Up, MOVES, "up"),
    key("Down j", &[KeyCode::Down, Char('j')], KeyCommand::Down, MOVES, "down"),
    key("PgUp PgDn", &[KeyCode::PageUp], KeyCommand::PageUp, MOVES, "a page"),
    key("", &[KeyCode::PageDown], KeyCommand::PageDown, MOVES, ""),
    key("g G", &[Char('g'), KeyCode::Home], KeyCommand::First, MOVES, "first, last"),
    key("", &[Char('G'), KeyCode::End], KeyCommand::Last, MOVES, ""),
    key("Enter l", &[KeyCode::Enter, KeyCode::Right, Char('l')], KeyCommand::Open, On(&[Processes]), "histograms of the process"),
    key("Enter l", &[KeyCode::Enter, KeyCode::Right, Char('l')], KeyCommand::Open, On(&[Disks]), "Overview of the disk"),
    key("Left h", &[KeyCode::Left, Char('h')], KeyCommand::Back, On(&[Processes]), "back to the table"),
    key("/", &[Char('/')], KeyCommand::Filter, On(&[Processes, Fairness]), "filter the rows by a text"),
    key("s", &[Char('s')], KeyCommand::Sort, On(&[Processes]), "sort by the next column"),
    key("r", &[Char('r')], KeyCommand::Reverse, On(&[Processes]), "reverse the order"),
    key("c", &[Char('c')], KeyCommand::Cgroups, On(&[Processes, Fairness]), "show processes or control groups"),
    key("w", &[Char('w')], KeyCommand::Stage, STAGES, "show queue wait, device time or total"),
    key("o", &[Char('o')], KeyCommand::Scope, STAGES, "show reads, writes or both"),
    key("m", &[Char('m')], KeyCommand::Statistic, On(&[Compare]), "next statistic for the ratio"),
    key("r", &[Char('r')], KeyCommand::Reference, On(&[Compare]), "next reference"),
    key("v", &[Char('v')], KeyCommand::Overlay, On(&[Compare]), "show histograms or cumulative curves"),
    key("a", &[Char('a')], KeyCommand::Whose, On(&[Compare]), "compare one or two programs or control groups"),
    key("C", &[Char('C')], KeyCommand::Clear, On(&[Compare]), "clear the comparison"),
];

/// The command of a key here, if it has one.
pub fn command(
    event: KeyEvent,
    screen: Screen,
    is_dialog: bool,
    is_frozen: bool,
) -> Option<KeyCommand> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            Char('c') => Some(KeyCommand::Quit),
            Char('l') => Some(KeyCommand::Redraw),
            Char('z') => Some(KeyCommand::Suspend),
            _ => None,
        };
    }
    let fits = |binding: &&Binding| {
        let place = match binding.place {
            Anywhere => !is_dialog,
            On(screens) => !is_dialog && screens.contains(&screen),
            Dialog => is_dialog,
            Frozen => !is_dialog && is_frozen,
        };
        place && binding.keys.contains(&event.code)
    };
    KEYS.iter().find(fits).map(|binding| binding.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for screen in Screen::ALL {
            let mut seen = Vec::new();
            for binding in KEYS {
                let here = match binding.place {
                    Anywhere => true,
                    On(screens) => screens.contains(&screen),
                    // These come before the others.
                    Dialog | Frozen => false,
                };
                for code in binding.keys.iter().filter(|_| here) {
                    assert!(!seen.contains(code), "{code:?} on {}", screen.title());
                    seen.push(*code);
                }
            }
        }
    }

    #[test]
    fn a_dialog_takes_all_keys_and_ctrl_c_always_quits() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        assert_eq!(
            command(plain(Char('q')), Overview, true, false),
            Some(KeyCommand::Back)
        );
        assert_eq!(
            command(plain(Char('q')), Overview, false, false),
            Some(KeyCommand::Quit)
        );
        assert_eq!(command(plain(Char('f')), Overview, true, false), None);
        let interrupt = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        for dialog in [true, false] {
            assert_eq!(
                command(interrupt, Help, dialog, false),
                Some(KeyCommand::Quit)
            );
        }
    }
}
