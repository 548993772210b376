//! What can be done, and the one table of keys: it decides what a key does and it is the help page.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::sample::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Overview,
    Compare,
    Processes,
    Order,
    Fairness,
    Heatmap,
    Help,
}

impl Screen {
    pub const ALL: [Screen; 7] = [
        Screen::Overview,
        Screen::Compare,
        Screen::Processes,
        Screen::Order,
        Screen::Fairness,
        Screen::Heatmap,
        Screen::Help,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Screen::Overview => "Overview",
            Screen::Compare => "Compare",
            Screen::Processes => "Processes",
            Screen::Order => "Order",
            Screen::Fairness => "Fairness",
            Screen::Heatmap => "Heatmap",
            Screen::Help => "Help",
        }
    }

    pub fn after(self, steps: usize) -> Screen {
        Screen::ALL[(self as usize + steps) % Screen::ALL.len()]
    }
}

/// Everything that changes the model.
#[derive(Debug)]
pub enum Action {
    Report(Report),
    Do(Command),
    /// Into the field that is open.
    Type(char),
    Erase,
    /// The message line has stood long enough, or the file is written.
    Say(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Show(Screen),
    Next,
    Previous,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Back,
    Toggle,
    Pause,
    Faster,
    Slower,
    NextDevice,
    Theme,
    Filter,
    Sort,
    Reverse,
    Cgroups,
    Stage,
    Scope,
    Statistic,
    Reference,
    Overlay,
    Clear,
    Flip,
    Rotate,
    Export,
    Quit,
}

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
pub const KEYS: &[Binding] = &[
    key("Up k", &[KeyCode::Up, Char('k')], Command::Up, Dialog, "up"),
    key(
        "Down j",
        &[KeyCode::Down, Char('j')],
        Command::Down,
        Dialog,
        "down",
    ),
    key(
        "Left h",
        &[KeyCode::Left, Char('h'), Char('-')],
        Command::Left,
        Dialog,
        "shorter rounds",
    ),
    key(
        "Right l",
        &[KeyCode::Right, Char('l'), Char('+'), Char('=')],
        Command::Right,
        Dialog,
        "longer rounds",
    ),
    key(
        "Space",
        &[Char(' ')],
        Command::Toggle,
        Dialog,
        "choose the arm",
    ),
    key(
        "p",
        &[Char('p')],
        Command::Pause,
        Dialog,
        "put back on exit, or not",
    ),
    key("Enter", &[KeyCode::Enter], Command::Open, Dialog, "do it"),
    key(
        "Esc q",
        &[KeyCode::Esc, Char('q')],
        Command::Back,
        Dialog,
        "leave it",
    ),
    key(
        "1",
        &[Char('1')],
        Command::Show(Overview),
        Anywhere,
        "Overview",
    ),
    key(
        "2",
        &[Char('2')],
        Command::Show(Compare),
        Anywhere,
        "Compare: the schedulers side by side",
    ),
    key(
        "3",
        &[Char('3')],
        Command::Show(Processes),
        Anywhere,
        "Processes",
    ),
    key(
        "4",
        &[Char('4')],
        Command::Show(Order),
        Anywhere,
        "Order of dispatch",
    ),
    key(
        "5",
        &[Char('5')],
        Command::Show(Fairness),
        Anywhere,
        "Fairness",
    ),
    key(
        "6",
        &[Char('6')],
        Command::Show(Heatmap),
        Anywhere,
        "Heatmap: latency over time",
    ),
    key(
        "?  7",
        &[Char('?'), Char('7'), KeyCode::F(1)],
        Command::Show(Help),
        Anywhere,
        "this page",
    ),
    key(
        "Tab",
        &[KeyCode::Tab],
        Command::Next,
        Anywhere,
        "next screen",
    ),
    key(
        "Shift-Tab",
        &[KeyCode::BackTab],
        Command::Previous,
        Anywhere,
        "screen before",
    ),
    key(
        "f",
        &[Char('f')],
        Command::Flip,
        Anywhere,
        "switch the scheduler, after a question",
    ),
    key(
        "F",
        &[Char('F')],
        Command::Rotate,
        Anywhere,
        "rotate through schedulers; again: stop",
    ),
    key(
        "Space",
        &[Char(' ')],
        Command::Pause,
        Anywhere,
        "freeze what is shown; measuring goes on",
    ),
    key(
        "+ -",
        &[Char('+'), Char('=')],
        Command::Slower,
        Anywhere,
        "longer, shorter intervals",
    ),
    key("", &[Char('-')], Command::Faster, Anywhere, ""),
    key(
        "d",
        &[Char('d')],
        Command::NextDevice,
        Anywhere,
        "next device",
    ),
    key(
        "x",
        &[Char('x')],
        Command::Export,
        Anywhere,
        "export: the comparison as JSON, else the processes as CSV",
    ),
    key("t", &[Char('t')], Command::Theme, Anywhere, "next theme"),
    key(
        "q Ctrl-C",
        &[Char('q')],
        Command::Quit,
        Anywhere,
        "put back what was changed, and quit",
    ),
    key(
        "Esc",
        &[KeyCode::Esc],
        Command::Back,
        Anywhere,
        "back; the filter goes, too",
    ),
    key("Up k", &[KeyCode::Up, Char('k')], Command::Up, MOVES, "up"),
    key(
        "Down j",
        &[KeyCode::Down, Char('j')],
        Command::Down,
        MOVES,
        "down",
    ),
    key(
        "PgUp PgDn",
        &[KeyCode::PageUp],
        Command::PageUp,
        MOVES,
        "a page",
    ),
    key("", &[KeyCode::PageDown], Command::PageDown, MOVES, ""),
    key(
        "g G",
        &[Char('g'), KeyCode::Home],
        Command::First,
        MOVES,
        "first, last",
    ),
    key("", &[Char('G'), KeyCode::End], Command::Last, MOVES, ""),
    key(
        "Enter l",
        &[KeyCode::Enter, KeyCode::Right, Char('l')],
        Command::Open,
        On(&[Processes]),
        "the process' histograms",
    ),
    key(
        "Left h",
        &[KeyCode::Left, Char('h')],
        Command::Back,
        On(&[Processes]),
        "back to the table",
    ),
    key(
        "/",
        &[Char('/')],
        Command::Filter,
        On(&[Processes, Fairness]),
        "only rows that hold a text",
    ),
    key(
        "s",
        &[Char('s')],
        Command::Sort,
        On(&[Processes]),
        "sort by the next column",
    ),
    key(
        "r",
        &[Char('r')],
        Command::Reverse,
        On(&[Processes]),
        "the other way round",
    ),
    key(
        "c",
        &[Char('c')],
        Command::Cgroups,
        On(&[Processes, Fairness]),
        "processes or control groups",
    ),
    key(
        "w",
        &[Char('w')],
        Command::Stage,
        STAGES,
        "queue wait, device time, total",
    ),
    key(
        "o",
        &[Char('o')],
        Command::Scope,
        STAGES,
        "reads, writes, both",
    ),
    key(
        "m",
        &[Char('m')],
        Command::Statistic,
        On(&[Compare]),
        "which number the ratio is of",
    ),
    key(
        "r",
        &[Char('r')],
        Command::Reference,
        On(&[Compare]),
        "next reference",
    ),
    key(
        "v",
        &[Char('v')],
        Command::Overlay,
        On(&[Compare]),
        "histograms or cumulative curves",
    ),
    key(
        "C",
        &[Char('C')],
        Command::Clear,
        On(&[Compare]),
        "forget what was compared",
    ),
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

/// What the words mean; the help page's other half.
pub const WORDS: &[(&str, &str)] = &[
    (
        "queue wait",
        "Q2D: from the bio's arrival to its first issue. What a scheduler decides.",
    ),
    (
        "device time",
        "D2C: from the first issue to completion. What the disk and its driver take.",
    ),
    ("total", "Q2C: both together."),
    ("p99", "99 of 100 I/Os took no longer."),
    (
        "waiting",
        "Requests between arrival and issue, on average: queue waits over time.",
    ),
    (
        "merged",
        "Bios that joined a request that was there already, of all bios.",
    ),
    (
        "arm",
        "A scheduler with its settings: one side of a comparison.",
    ),
    (
        "round",
        "One arm's time between two flips. A block has one round of every arm, in random order.",
    ),
    (
        "ratio",
        "Of a round to the reference's round in the same block; the mean on a log scale.",
    ),
    (
        "interval",
        "Holds at 95 % however often you look; for all arms together, one metric at a time.",
    ),
    (
        "left out",
        "I/Os asked for under one scheduler and completed under another, and those of the first moments.",
    ),
    (
        "stood still",
        "How long the queue is frozen by a flip: whoever submits waits.",
    ),
    ("reordered", "Issued after a request that started later."),
    (
        "seek",
        "From the end of a request to the start of the next.",
    ),
    (
        "device share",
        "Of a moment with n requests at the device each has 1/n.",
    ),
    ("backlogged", "Time with a request asked for and not done."),
    (
        "starved",
        "The longest time in which a request waited and none of its owner was issued.",
    ),
    (
        "Jain's index",
        "1: everyone backlogged got the same. 1/n: one of n got all.",
    ),
    (
        "lost",
        "What the measurement itself missed. 0 is a clean measurement.",
    ),
    ("-", "Not measured, or nothing happened: never a zero."),
];

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
