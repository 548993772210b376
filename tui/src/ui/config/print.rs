//! A configuration as a file that can be edited. Pure.

use std::fmt::Write;

use super::Config;
use crate::ui::state::appearance::{Rgb, Theme};
use crate::ui::state::keymap;
use crate::ui::state::model::INTERVALS;
use crate::ui::view::columns;

pub fn text(config: &Config) -> String {
    let themes = Theme::ALL.map(Theme::title).join(", ");
    let intervals: Vec<String> = INTERVALS.iter().map(f64::to_string).collect();
    let mut out = format!(
        "# Configuration of the terminal UI of iosched. Lines that you delete get their default.\n\n\
         # {themes}\n\
         theme = {}\n\n\
         # Seconds between two updates: {}\n\
         interval = {:?}\n\n\
         # false: the mouse is left to the terminal\n\
         mouse = {}\n\n\
         # false: no intervals are kept, which saves CPU time and memory\n\
         history = {}\n\n\
         # Where rounds, intervals, tables and pictures are written to; without it, $XDG_STATE_HOME/iosched or\n\
         # ~/.local/state/iosched\n\
         {}\n",
        quoted(config.theme.title()),
        intervals.join(", "),
        config.interval,
        config.has_mouse,
        config.has_history,
        directory(config)
    );
    let _ = write!(
        out,
        "\n[processes]\n\
         # Columns from left to right; the last ones are left out if there is no room. Empty: as many as fit, the most\n\
         # important ones first. There are\n\
         # {}\n\
         columns = {}\n\
         # The column by which the rows are sorted: {}\n\
         sort = {}\n\
         reversed = {}\n",
        columns::all().join(", "),
        list(config.columns.iter().map(|name| (*name).to_owned())),
        columns::sorting().join(", "),
        quoted(columns::of_sort(config.sort)),
        config.is_reversed
    );
    let _ = write!(
        out,
        "\n[colors]\n\
         # Of the series: schedulers, reads, writes. The first one is that of the titles, the third one that of better, the\n\
         # last one that of warnings and worse.\n\
         series = {}\n\
         # Of the heatmap, from rare to frequent\n\
         heat = {}\n",
        list(config.colors.series.into_iter().map(hex)),
        list(config.colors.heat.into_iter().map(hex))
    );
    out.push_str(
        "\n[keys]\n\
         # A character, F1 to F12, Space, Enter, Esc, Tab, Up, PgUp ..., or a list of them; [] is none. Dialogs have their own\n\
         # keys, and Ctrl-C always restores and quits.\n",
    );
    for (name, keys, what) in config.keys.of_each() {
        let names = keys.iter().map(|key| keymap::name_of(*key));
        let keys = match keys {
            [key] => quoted(&keymap::name_of(*key)),
            _ => list(names),
        };
        let what = if what.is_empty() {
            String::new()
        } else {
            format!(" # {what}")
        };
        let _ = writeln!(out, "{name} = {keys}{what}");
    }
    out
}

fn directory(config: &Config) -> String {
    match &config.directory {
        Some(path) => format!("directory = {}", quoted(&path.to_string_lossy())),
        None => "# directory = \"/var/tmp/iosched\"".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.map(|text| quoted(&text)).collect();
    format!("[{}]", texts.join(", "))
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
