//! The one table of keys: it decides what a key does, and it is the help page.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Command, Screen};

/// Where a key means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    On(&'static [Screen]),
    /// While a dialog is open, and nothing else then.
    Dialog,
}

pub struct Binding {
    pub keys: &'static [KeyCode],
    /// As the help writes them.
    pub shown: &'static str,
    pub command: Command,
    pub place: Place,
    pub what: &'static str,
}

const fn key(
    shown: &'static str,
    keys: &'static [KeyCode],
    command: Command,
    place: Place,
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
use Place::{Anywhere, Dialog, On};
use Screen::{Compare, Fairness, Heatmap, Help, Order, Overview, Processes};

const MOVES: Place = On(&[Processes, Fairness, Help, Compare]);
const STAGES: Place = On(&[Compare, Heatmap]);

/// Read from top to bottom: the first that fits is taken.
#[rustfmt::skip] // a table: one line a key
pub const KEYS: &[Binding] = &[
    key("Up k", &[KeyCode::Up, Char('k')], Command::Up, Dialog, "up"),
    key("Down j", &[KeyCode::Down, Char('j')], Command::Down, Dialog, "down"),
    key("Left h", &[KeyCode::Left, Char('h'), Char('-')], Command::Left, Dialog, "shorter rounds"),
    key("Right l", &[KeyCode::Right, Char('l'), Char('+'), Char('=')], Command::Right, Dialog, "longer rounds"),
    key("Space", &[Char(' ')], Command::Toggle, Dialog, "choose the arm"),
    key("p", &[Char('p')], Command::Pause, Dialog, "put back on exit, or not"),
    key("Enter", &[KeyCode::Enter], Command::Open, Dialog, "do it"),
    key("Esc q", &[KeyCode::Esc, Char('q')], Command::Back, Dialog, "leave it"),
    key("1", &[Char('1')], Command::Show(Overview), Anywhere, "Overview"),
    key("2", &[Char('2')], Command::Show(Compare), Anywhere, "Compare: the schedulers side by side"),
    key("3", &[Char('3')], Command::Show(Processes), Anywhere, "Processes"),
    key("4", &[Char('4')], Command::Show(Order), Anywhere, "Order of dispatch"),
    key("5", &[Char('5')], Command::Show(Fairness), Anywhere, "Fairness"),
    key("6", &[Char('6')], Command::Show(Heatmap), Anywhere, "Heatmap: latency over time"),
    key("? 7", &[Char('?'), Char('7'), KeyCode::F(1)], Command::Show(Help), Anywhere, "this page"),
    key("Tab", &[KeyCode::Tab], Command::Next, Anywhere, "next screen"),
    key("Shift-Tab", &[KeyCode::BackTab], Command::Previous, Anywhere, "screen before"),
    key("f", &[Char('f')], Command::Flip, Anywhere, "switch the scheduler, after a question"),
    key("F", &[Char('F')], Command::Rotate, Anywhere, "rotate through schedulers; again: stop"),
    key("Space", &[Char(' ')], Command::Pause, Anywhere, "freeze what is shown; measuring goes on"),
    key("+ -", &[Char('+'), Char('=')], Command::Slower, Anywhere, "longer, shorter intervals"),
    key("", &[Char('-')], Command::Faster, Anywhere, ""),
    key("d", &[Char('d')], Command::NextDevice, Anywhere, "next device"),
    key("x", &[Char('x')], Command::Export, Anywhere, "export: the comparison as JSON, else the processes as CSV"),
    key("t", &[Char('t')], Command::Theme, Anywhere, "next theme"),
    key("q Ctrl-C", &[Char('q')], Command::Quit, Anywhere, "put back what was changed, and quit"),
    key("Esc", &[KeyCode::Esc], Command::Back, Anywhere, "back; the filter goes, too"),
    key("Up k", &[KeyCode::Up, Char('k')], Command::Up, MOVES, "up"),
    key("Down j", &[KeyCode::Down, Char('j')], Command::Down, MOVES, "down"),
    key("PgUp PgDn", &[KeyCode::PageUp], Command::PageUp, MOVES, "a page"),
    key("", &[KeyCode::PageDown], Command::PageDown, MOVES, ""),
    key("g G", &[Char('g'), KeyCode::Home], Command::First, MOVES, "first, last"),
    key("", &[Char('G'), KeyCode::End], Command::Last, MOVES, ""),
    key("Enter l", &[KeyCode::Enter, KeyCode::Right, Char('l')], Command::Open, On(&[Processes]), "the process' histograms"),
    key("Left h", &[KeyCode::Left, Char('h')], Command::Back, On(&[Processes]), "back to the table"),
    key("/", &[Char('/')], Command::Filter, On(&[Processes, Fairness]), "only rows that hold a text"),
    key("s", &[Char('s')], Command::Sort, On(&[Processes]), "sort by the next column"),
    key("r", &[Char('r')], Command::Reverse, On(&[Processes]), "the other way round"),
    key("c", &[Char('c')], Command::Cgroups, On(&[Processes, Fairness]), "processes or control groups"),
    key("w", &[Char('w')], Command::Stage, STAGES, "queue wait, device time, total"),
    key("o", &[Char('o')], Command::Scope, STAGES, "reads, writes, both"),
    key("m", &[Char('m')], Command::Statistic, On(&[Compare]), "which number the ratio is of"),
    key("r", &[Char('r')], Command::Reference, On(&[Compare]), "next reference"),
    key("v", &[Char('v')], Command::Overlay, On(&[Compare]), "histograms or cumulative curves"),
    key("C", &[Char('C')], Command::Clear, On(&[Compare]), "forget what was compared"),
];

/// What a key means here, if anything.
pub fn command(event: KeyEvent, screen: Screen, is_dialog: bool) -> Option<Command> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            Char('c') => Some(Command::Quit),
            _ => None,
        };
    }
    let fits = |binding: &&Binding| {
        let place = match binding.place {
            Anywhere => !is_dialog,
            On(screens) => !is_dialog && screens.contains(&screen),
            Dialog => is_dialog,
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
                    Dialog => false,
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
            command(plain(Char('q')), Overview, true),
            Some(Command::Back)
        );
        assert_eq!(
            command(plain(Char('q')), Overview, false),
            Some(Command::Quit)
        );
        assert_eq!(command(plain(Char('f')), Overview, true), None);
        let interrupt = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
        for dialog in [true, false] {
            assert_eq!(command(interrupt, Help, dialog), Some(Command::Quit));
        }
    }
}
