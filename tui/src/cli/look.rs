//! Options and the configuration of the terminal UI.

use std::path::PathBuf;

use clap::Args;

/// How the terminal UI looks and what its keys do.
#[derive(Args)]
pub struct Look {
    /// Leave the mouse to the terminal, for its own selection of text
    #[arg(long)]
    pub no_mouse: bool,
    /// Write rounds, intervals, tables and pictures into this directory [default: the one of the configuration, or
    /// $XDG_STATE_HOME/iosched, or ~/.local/state/iosched, or the working directory if that cannot be written to]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub file: ConfigFile,
}

#[derive(Args)]
pub struct ConfigFile {
    /// Configuration of keys, colors and columns [default: $XDG_CONFIG_HOME/iosched/config.toml, or
    /// ~/.config/iosched/config.toml, if it exists]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long)]
    pub no_config: bool,
}

#[derive(Args)]
pub struct Config {
    /// Print the configuration in force as a file that can be edited
    #[arg(long)]
    pub print: bool,
    #[command(flatten)]
    pub file: ConfigFile,
}
