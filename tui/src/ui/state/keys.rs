//! The table of keys: it decides what a key does unless the user's configuration says otherwise, and the help page shows
//! it.

use ratatui::crossterm::event::KeyCode;

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
    /// As the configuration names the command; empty if its keys cannot be changed.
    pub name: &'static str,
    pub keys: &'static [KeyCode],
    /// As the help page shows the keys.
    pub shown: &'static str,
    pub command: KeyCommand,
    pub place: KeyPlace,
    pub what: &'static str,
}

const fn key(
    name: &'static str,
    shown: &'static str,
    keys: &'static [KeyCode],
    command: KeyCommand,
    place: KeyPlace,
    what: &'static str,
) -> Binding {
    Binding {
        name,
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
const PICTURES: KeyPlace = On(&[Overview, Compare, Processes, Heatmap]);

/// Searched from top to bottom; the first match wins.
#[rustfmt::skip] // a table: one line per key
pub const KEYS: &[Binding] = &[
    key("", "Up k", &[KeyCode::Up, Char('k')], KeyCommand::Up, Dialog, "up"),
    key("", "Down j", &[KeyCode::Down, Char('j')], KeyCommand::Down, Dialog, "down"),
    key("", "Left h", &[KeyCode::Left, Char('h'), Char('-')], KeyCommand::Left, Dialog, "shorter rounds"),
    key("", "Right l", &[KeyCode::Right, Char('l'), Char('+'), Char('=')], KeyCommand::Right, Dialog, "longer rounds"),
    key("", "Space", &[Char(' ')], KeyCommand::Toggle, Dialog, "select this, or not"),
    key("", "p", &[Char('p')], KeyCommand::Pause, Dialog, "restore on exit, or not"),
    key("", "Enter", &[KeyCode::Enter], KeyCommand::Open, Dialog, "confirm"),
    key("", "Esc q", &[KeyCode::Esc, Char('q')], KeyCommand::Back, Dialog, "cancel"),
    key("earlier", "Left Right", &[KeyCode::Left], KeyCommand::Earlier, Frozen, "frozen: the interval before, after"),
    key("later", "", &[KeyCode::Right], KeyCommand::Later, Frozen, ""),
    key("much-earlier", "[ ]", &[Char('[')], KeyCommand::MuchEarlier, Frozen, "frozen: 60 intervals back, forth"),
    key("much-later", "", &[Char(']')], KeyCommand::MuchLater, Frozen, ""),
    key("disks", "0", &[Char('0')], KeyCommand::Show(Disks), Anywhere, "Disks: all of them, with their load"),
    key("overview", "1", &[Char('1')], KeyCommand::Show(Overview), Anywhere, "Overview"),
    key("compare", "2", &[Char('2')], KeyCommand::Show(Compare), Anywhere, "Compare: the schedulers side by side"),
    key("processes", "3", &[Char('3')], KeyCommand::Show(Processes), Anywhere, "Processes"),
    key("order", "4", &[Char('4')], KeyCommand::Show(Order), Anywhere, "Order of dispatch"),
    key("fairness", "5", &[Char('5')], KeyCommand::Show(Fairness), Anywhere, "Fairness"),
    key("heatmap", "6", &[Char('6')], KeyCommand::Show(Heatmap), Anywhere, "Heatmap: latency over time"),
    key("help", "? 7", &[Char('?'), Char('7'), KeyCode::F(1)], KeyCommand::Show(Help), Anywhere, "this page"),
    key("next-screen", "Tab", &[KeyCode::Tab], KeyCommand::Next, Anywhere, "next screen"),
    key("previous-screen", "Shift-Tab", &[KeyCode::BackTab], KeyCommand::Previous, Anywhere, "previous screen"),
    key("switch", "f", &[Char('f')], KeyCommand::Flip, Anywhere, "switch the scheduler; asks first"),
    key("rotate", "F", &[Char('F')], KeyCommand::Rotate, Anywhere, "rotate through the schedulers and compare them; again to stop"),
    key("pause-rotation", "P", &[Char('P')], KeyCommand::PauseRotation, Anywhere, "pause the rotation, under the settings from before it; again to go on"),
    key("freeze", "Space", &[Char(' ')], KeyCommand::Pause, Anywhere, "freeze the screen, and go back from there; measuring continues"),
    key("longer-interval", "+ -", &[Char('+'), Char('=')], KeyCommand::Slower, Anywhere, "longer, shorter intervals"),
    key("shorter-interval", "", &[Char('-')], KeyCommand::Faster, Anywhere, ""),
    key("next-device", "d", &[Char('d')], KeyCommand::NextDevice, Anywhere, "next device"),
    key("export", "x", &[Char('x')], KeyCommand::Export, Anywhere, "export: rounds as JSON on Compare, else processes as CSV"),
    key("write-history", "W", &[Char('W')], KeyCommand::WriteHistory, Anywhere, "write the intervals that are held, for `iosched replay`"),
    key("save-picture", "S", &[Char('S')], KeyCommand::SavePicture, Anywhere, "save the screen as SVG"),
    key("copy", "y", &[Char('y')], KeyCommand::Copy, Anywhere, "copy the screen's text (OSC 52)"),
    key("theme", "t", &[Char('t')], KeyCommand::Theme, Anywhere, "next theme"),
    key("quit", "q", &[Char('q')], KeyCommand::Quit, Anywhere, "restore what was changed, and quit; asks while something is changed or recorded"),
    key("", "Ctrl-C", &[], KeyCommand::QuitNow, Anywhere, "the same, without a question"),
    key("", "Ctrl-L", &[], KeyCommand::Redraw, Anywhere, "draw the whole screen again"),
    key("", "Ctrl-Z", &[], KeyCommand::Suspend, Anywhere, "suspend; `fg` comes back"),
    key("back", "Esc", &[KeyCode::Esc], KeyCommand::Back, Anywhere, "back, or clear the filter"),
    key("up", "Up k", &[KeyCode::Up, Char('k')], KeyCommand::Up, MOVES, "up"),
    key("down", "Down j", &[KeyCode::Down, Char('j')], KeyCommand::Down, MOVES, "down"),
    key("page-up", "PgUp PgDn", &[KeyCode::PageUp], KeyCommand::PageUp, MOVES, "a page"),
    key("page-down", "", &[KeyCode::PageDown], KeyCommand::PageDown, MOVES, ""),
    key("first", "g G", &[Char('g'), KeyCode::Home], KeyCommand::First, MOVES, "first, last"),
    key("last", "", &[Char('G'), KeyCode::End], KeyCommand::Last, MOVES, ""),
    key("open", "Enter l", &[KeyCode::Enter, KeyCode::Right, Char('l')], KeyCommand::Open, On(&[Processes]), "histograms of the process"),
    key("open", "Enter l", &[KeyCode::Enter, KeyCode::Right, Char('l')], KeyCommand::Open, On(&[Disks]), "Overview of the disk"),
    key("close", "Left h", &[KeyCode::Left, Char('h')], KeyCommand::Back, On(&[Processes]), "back to the table"),
    key("filter", "/", &[Char('/')], KeyCommand::Filter, On(&[Processes, Fairness]), "filter the rows by a text"),
    key("sort", "s", &[Char('s')], KeyCommand::Sort, On(&[Processes]), "sort by the next column"),
    key("reverse", "r", &[Char('r')], KeyCommand::Reverse, On(&[Processes]), "reverse the order"),
    key("cgroups", "c", &[Char('c')], KeyCommand::Cgroups, On(&[Processes, Fairness]), "show processes or control groups"),
    key("stage", "w", &[Char('w')], KeyCommand::Stage, STAGES, "show queue wait, device time or total"),
    key("reads-or-writes", "o", &[Char('o')], KeyCommand::Scope, STAGES, "show reads, writes or both"),
    key("zoom-in", "z Z", &[Char('z')], KeyCommand::ZoomIn, PICTURES, "zoom the axis of times in, out; so does the mouse wheel on a picture"),
    key("zoom-out", "", &[Char('Z')], KeyCommand::ZoomOut, PICTURES, ""),
    key("axis-left", ", .", &[Char(',')], KeyCommand::AxisLeft, PICTURES, "move the axis to shorter, longer times"),
    key("axis-right", "", &[Char('.')], KeyCommand::AxisRight, PICTURES, ""),
    key("axis", "A", &[Char('A')], KeyCommand::FixAxis, PICTURES, "fix the axis as it is, or let it follow the I/Os again"),
    key("statistic", "m", &[Char('m')], KeyCommand::Statistic, On(&[Compare]), "next statistic for the ratio"),
    key("reference", "r", &[Char('r')], KeyCommand::Reference, On(&[Compare]), "next reference"),
    key("overlay", "v", &[Char('v')], KeyCommand::Overlay, On(&[Compare]), "show histograms or cumulative curves"),
    key("programs", "a", &[Char('a')], KeyCommand::Whose, On(&[Compare]), "choose up to four programs or control groups"),
    key("clear", "C", &[Char('C')], KeyCommand::Clear, On(&[Compare]), "clear the comparison"),
];
