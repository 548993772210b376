//! The actions that change the model.

use super::axis::Axis;
use super::model::Sort;
use crate::ui::sampling::sample::SamplerReport;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Disks,
    Overview,
    Compare,
    Processes,
    Order,
    Fairness,
    Heatmap,
    Help,
}

impl Screen {
    pub const ALL: [Screen; 8] = [
        Screen::Disks,
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
            Screen::Disks => "Disks",
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
    Report(SamplerReport),
    Do(KeyCommand),
    /// Another axis of times, or none: it follows the I/Os again.
    Axis(Option<Axis>),
    /// A click on something.
    Point(Target),
    /// A character for the open input field.
    Type(char),
    Erase,
    /// The message was there long enough.
    Forget,
    /// The next interval of a replay.
    Tick,
    /// A new text for the message line.
    Say(String),
}

/// The part of the screen that the pointer is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Screen(Screen),
    /// A row of the screen's table.
    Row(usize),
    /// The heading of a column.
    Heading(Sort),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCommand {
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
    Earlier,
    Later,
    MuchEarlier,
    MuchLater,
    WriteHistory,
    SavePicture,
    Copy,
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
    ZoomIn,
    ZoomOut,
    AxisLeft,
    AxisRight,
    FixAxis,
    Statistic,
    Reference,
    Overlay,
    Whose,
    Clear,
    Flip,
    Rotate,
    PauseRotation,
    Export,
    Redraw,
    Suspend,
    Quit,
    /// Asks nothing.
    QuitNow,
}
