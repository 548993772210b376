//! The actions that change the model.

use crate::ui::sampling::sample::SamplerReport;

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
    Report(SamplerReport),
    Do(KeyCommand),
    /// A character for the open input field.
    Type(char),
    Erase,
    /// A new text for the message line.
    Say(String),
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
    Whose,
    Clear,
    Flip,
    Rotate,
    PauseRotation,
    Export,
    Redraw,
    Suspend,
    Quit,
}
