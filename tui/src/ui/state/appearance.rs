//! The terminal's colour depth, and the theme that the user chose.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Mono,
    Ansi16,
    Ansi256,
    True,
}

impl Depth {
    /// Reads TERM, COLORTERM and NO_COLOR.
    pub fn of_terminal(variable: impl Fn(&str) -> Option<String>) -> Depth {
        let term = variable("TERM").unwrap_or_default();
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colorterm = variable("COLORTERM").unwrap_or_default();
        if no_color || term == "dumb" || term.is_empty() {
            Depth::Mono
        } else if colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct") {
            Depth::True
        } else if term.contains("256") {
            Depth::Ansi256
        } else {
            Depth::Ansi16
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Dark,
    Light,
    Mono,
}

impl Theme {
    pub fn next(self) -> Theme {
        match self {
            Theme::Dark => Theme::Light,
            Theme::Light => Theme::Mono,
            Theme::Mono => Theme::Dark,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::Mono => "monochrome",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub depth: Depth,
    pub theme: Theme,
    /// The terminal shows ASCII only.
    pub is_ascii: bool,
}
