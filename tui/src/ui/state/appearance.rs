//! The terminal's colour depth, and the theme and colours that the user chose.

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
    Contrast,
    Mono,
}

impl Theme {
    pub const ALL: [Theme; 4] = [Theme::Dark, Theme::Light, Theme::Contrast, Theme::Mono];

    pub fn next(self) -> Theme {
        Theme::ALL[(self as usize + 1) % Theme::ALL.len()]
    }

    pub fn title(self) -> &'static str {
        match self {
            Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::Contrast => "high-contrast",
            Theme::Mono => "monochrome",
        }
    }
}

/// Red, green and blue.
pub type Rgb = (u8, u8, u8);

/// Colours of the series, and those of the heatmap from rare to frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colors {
    pub series: [Rgb; 6],
    pub heat: [Rgb; 5],
}

impl Default for Colors {
    /// From palettes for colour-blind readers. Series: Okabe and Ito, "Color Universal Design" (2008), without black and
    /// yellow. Heat: Viridis (van der Walt and Smith, CC0) at even steps, which look equally different to everyone.
    fn default() -> Self {
        Colors {
            series: [
                (86, 180, 233),
                (230, 159, 0),
                (0, 158, 115),
                (204, 121, 167),
                (0, 114, 178),
                (213, 94, 0),
            ],
            heat: [
                (68, 1, 84),
                (59, 82, 139),
                (33, 145, 140),
                (94, 201, 98),
                (253, 231, 37),
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub depth: Depth,
    pub theme: Theme,
    pub colors: Colors,
    /// The terminal shows ASCII only.
    pub is_ascii: bool,
}
