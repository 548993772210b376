//! Colours for the terminal's colour depth. Colour is never the only
//! information: every series has its name beside it, and every heat level its own character.

use iosched_result::statistics::verdict::Verdict;
use ratatui::style::{Color, Modifier, Style};

use crate::ui::state::appearance::{Colors, Depth, Palette, Rgb, Theme};

/// For terminals with 16 colours: the nearest of the default series and heat.
const SERIES_16: [Color; 6] = [
    Color::LightBlue,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Blue,
    Color::Red,
];
const HEAT_16: [Color; 5] = [
    Color::DarkGray,
    Color::Blue,
    Color::Cyan,
    Color::Green,
    Color::Yellow,
];

/// The 16 colours of a terminal without black, as xterm has them.
const ANSI: [(Rgb, Color); 15] = [
    ((205, 0, 0), Color::Red),
    ((0, 205, 0), Color::Green),
    ((205, 205, 0), Color::Yellow),
    ((0, 0, 238), Color::Blue),
    ((205, 0, 205), Color::Magenta),
    ((0, 205, 205), Color::Cyan),
    ((229, 229, 229), Color::Gray),
    ((127, 127, 127), Color::DarkGray),
    ((255, 0, 0), Color::LightRed),
    ((0, 255, 0), Color::LightGreen),
    ((255, 255, 0), Color::LightYellow),
    ((92, 92, 255), Color::LightBlue),
    ((255, 0, 255), Color::LightMagenta),
    ((0, 255, 255), Color::LightCyan),
    ((255, 255, 255), Color::White),
];

fn nearest((r, g, b): Rgb) -> Color {
    let apart = |one: u8, other: u8| (i32::from(one) - i32::from(other)).pow(2);
    let distance =
        |(other, _): &&(Rgb, Color)| apart(r, other.0) + apart(g, other.1) + apart(b, other.2);
    let found = ANSI.iter().min_by_key(distance);
    found.map_or(Color::Reset, |(_, color)| *color)
}

#[allow(clippy::unused_self)] // these styles may depend on the depth later
impl Palette {
    fn is_mono(self) -> bool {
        self.depth == Depth::Mono || self.theme == Theme::Mono
    }

    fn colour(self, rgb: Rgb, ansi: Color) -> Color {
        match self.depth {
            Depth::Mono => Color::Reset,
            Depth::Ansi16 => ansi,
            Depth::Ansi256 => Color::Indexed(cube(rgb)),
            Depth::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
        }
    }

    fn coloured(self, rgb: Rgb, ansi: Color) -> Style {
        if self.is_mono() {
            Style::new()
        } else {
            Style::new().fg(self.colour(rgb, ansi))
        }
    }

    pub fn series(self, index: usize) -> Style {
        let index = index % self.colors.series.len();
        let rgb = self.colors.series[index];
        let ansi = if rgb == Colors::default().series[index] {
            SERIES_16[index]
        } else {
            nearest(rgb)
        };
        let shaded = |part: u8| match self.theme {
            Theme::Light => (u16::from(part) * 7 / 10) as u8,
            Theme::Contrast => part + (255 - part) / 2,
            Theme::Dark | Theme::Mono => part,
        };
        self.coloured((shaded(rgb.0), shaded(rgb.1), shaded(rgb.2)), ansi)
    }

    /// `share` is from 0 to 1; the ends of the scale that are close to the background are not used.
    pub fn heat(self, share: f64) -> Style {
        let heat = self.colors.heat;
        let last = heat.len() - 1;
        let share = share.clamp(0.0, 1.0);
        let share = match self.theme {
            Theme::Light => 0.8 - 0.8 * share,
            Theme::Dark | Theme::Contrast | Theme::Mono => 0.2 + 0.8 * share,
        };
        let place = share * last as f64;
        let low = (place as usize).min(last - 1);
        let part = place - low as f64;
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part) as u8;
        let (a, b) = (heat[low], heat[low + 1]);
        let rgb = (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2));
        let step = place.round() as usize;
        let ansi = if heat == Colors::default().heat {
            HEAT_16[step]
        } else {
            nearest(heat[step])
        };
        self.coloured(rgb, ansi)
    }

    pub fn title(self) -> Style {
        self.series(0).add_modifier(Modifier::BOLD)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn faint(self) -> Style {
        match (self.is_mono(), self.theme) {
            (true, _) => Style::new().add_modifier(Modifier::DIM),
            (_, Theme::Contrast) => Style::new(),
            (_, Theme::Light) => self.coloured((95, 95, 95), Color::DarkGray),
            _ => self.coloured((138, 138, 138), Color::DarkGray),
        }
    }

    pub fn warning(self) -> Style {
        self.series(5).add_modifier(Modifier::BOLD)
    }

    /// Better is green, worse is red, and what is not decided is faint; the sign before the number says the same.
    pub fn verdict(self, verdict: Verdict) -> Style {
        match verdict {
            Verdict::Better => self.series(2).add_modifier(Modifier::BOLD),
            Verdict::Worse => self.warning(),
            Verdict::Differs => self.strong(),
            Verdict::Equivalent => Style::new(),
            Verdict::Inconclusive => self.faint(),
        }
    }

    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// The nearest colour of the 6 x 6 x 6 cube, or of the greys, of 256 colours.
fn cube((r, g, b): Rgb) -> u8 {
    if r == g && g == b && (8..=238).contains(&r) {
        return 232 + (r - 8) / 10;
    }
    let level = |part: u8| match part {
        0..=47 => 0,
        48..=114 => 1,
        _ => (part - 35) / 40,
    };
    16 + 36 * level(r) + 6 * level(g) + level(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(variables: &[(&str, &str)]) -> Depth {
        Depth::of_terminal(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_decides() {
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Ansi256);
        assert_eq!(depth(&[("TERM", "xterm")]), Depth::Ansi16);
        assert_eq!(
            depth(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]),
            Depth::True
        );
        assert_eq!(
            depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]),
            Depth::Mono
        );
        assert_eq!(
            depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]),
            Depth::Ansi256
        );
        assert_eq!(depth(&[("TERM", "dumb")]), Depth::Mono);
        assert_eq!(depth(&[]), Depth::Mono);
    }

    #[test]
    fn mono_has_no_colour_at_all() {
        for (depth, theme) in [(Depth::Mono, Theme::Dark), (Depth::True, Theme::Mono)] {
            let palette = Palette {
                depth,
                theme,
                colors: Colors::default(),
                is_ascii: false,
            };
            let styles = [
                palette.series(1),
                palette.heat(0.7),
                palette.title(),
                palette.faint(),
                palette.warning(),
            ];
            assert!(
                styles
                    .iter()
                    .all(|style| style.fg.is_none() && style.bg.is_none())
            );
        }
    }

    #[test]
    fn colours_are_mapped_to_the_cube() {
        assert_eq!(cube((255, 255, 255)), 231);
        assert_eq!(cube((0, 0, 0)), 16);
        assert_eq!(cube((86, 180, 233)), 16 + 36 + 6 * 3 + 4);
        assert_eq!(cube((138, 138, 138)), 245);
    }
}
