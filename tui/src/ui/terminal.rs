//! Takes over the terminal, draws on it, and restores it, also after a panic.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsFd;

use anyhow::{Context, Result};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};

use super::state::model::Model;
use super::view;

/// Holds a whole frame of 200x60 in true colour, so that it takes two writes instead of thousands.
const BUFFER_BYTES: usize = 256 << 10;

pub struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<BufWriter<File>>>,
}

impl TerminalScreen {
    pub fn open() -> Result<Self> {
        let stdout = std::io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .context("the terminal")?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, File::from(stdout));
        // Enters raw mode and the alternate screen, and installs a panic hook that leaves both.
        drop(ratatui::try_init().context("taking over the terminal")?);
        let terminal = Terminal::new(CrosstermBackend::new(out));
        let screen = terminal.map(|terminal| TerminalScreen { terminal });
        if screen.is_err() {
            ratatui::restore();
        }
        screen.context("taking over the terminal")
    }

    pub fn draw(&mut self, model: &mut Model) -> Result<()> {
        execute!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| view::draw(frame, model))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()?;
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // Errors are ignored: the terminal may be gone.
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}
