//! Takes over the terminal, draws on it, and restores it, also after a panic.

use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate,
};
use ratatui::layout::Size;
use rustix::process::Signal;

use super::state::model::Model;
use super::view;

/// Holds a whole frame of 200x60 in true colour, so that it takes two writes instead of thousands.
const BUFFER_BYTES: usize = 256 << 10;
/// A signal stops all threads within this time; nobody brings them back within a few of it.
const STOPS_WITHIN: Duration = Duration::from_millis(25);

type Screen = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Each write looks up the descriptor: after a signal it may be another file, where nobody reads the terminal.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub struct TerminalScreen {
    terminal: Screen,
    has_mouse: bool,
}

/// Knows nothing of what is on the screen.
fn blank() -> Result<Screen> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, Stdout);
    Ok(Terminal::new(CrosstermBackend::new(out))?)
}

impl TerminalScreen {
    /// With a mouse, the terminal's own selection of text needs Shift.
    pub fn open(has_mouse: bool) -> Result<Self> {
        // Enters raw mode and the alternate screen, and installs a panic hook that leaves both.
        drop(ratatui::try_init().context("taking over the terminal")?);
        let screen = blank().map(|terminal| TerminalScreen {
            terminal,
            has_mouse,
        });
        if screen.is_err() {
            ratatui::restore();
        }
        let mut screen = screen.context("taking over the terminal")?;
        screen.listen()?;
        Ok(screen)
    }

    pub fn draw(&mut self, model: &mut Model) -> Result<()> {
        let size = self.terminal.size()?;
        model.help_row = model.help_row.min(view::last_help_row(model, size));
        execute!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| view::draw(frame, model))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()?;
        Ok(())
    }
}

impl TerminalScreen {
    /// The next frame draws every cell. `Terminal::clear` would ask the terminal where the cursor is, and wait for the
    /// answer, which the thread that waits for keys may read.
    pub fn redraw(&mut self) -> Result<()> {
        self.terminal = blank()?;
        execute!(self.terminal.backend_mut(), Clear(ClearType::All))?;
        Ok(())
    }

    pub fn size(&self) -> Result<Size> {
        Ok(self.terminal.size()?)
    }

    /// Asks the terminal to put a text into the clipboard: xterm's control sequence 52.
    pub fn copy(&mut self, text: &str) -> Result<()> {
        let encoded = BASE64_STANDARD.encode(text);
        let out = self.terminal.backend_mut();
        write!(out, "\x1b]52;c;{encoded}\x07")?;
        Write::flush(out)?;
        Ok(())
    }

    /// Gives the terminal back to the shell and stops all processes of this job, until `fg`. Returns false if nothing
    /// stopped this program: without a shell with job control the kernel ignores the signal.
    pub fn suspend(&mut self) -> Result<bool> {
        let _ = self.terminal.show_cursor();
        self.listen_no_more();
        ratatui::try_restore().context("giving the terminal back")?;
        let before = Instant::now();
        rustix::process::kill_current_process_group(Signal::TSTP).context("stopping")?;
        // Another thread may take the signal first.
        std::thread::sleep(STOPS_WITHIN);
        let was_stopped = before.elapsed() >= 4 * STOPS_WITHIN;
        drop(ratatui::try_init().context("taking over the terminal")?);
        self.listen()?;
        self.redraw()?;
        Ok(was_stopped)
    }

    /// To the mouse, and to pasted text as such.
    fn listen(&mut self) -> Result<()> {
        let out = self.terminal.backend_mut();
        execute!(out, EnableBracketedPaste)?;
        if self.has_mouse {
            execute!(out, EnableMouseCapture)?;
        }
        Ok(())
    }

    fn listen_no_more(&mut self) {
        let out = self.terminal.backend_mut();
        let _ = execute!(out, DisableMouseCapture, DisableBracketedPaste);
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // Errors are ignored: the terminal may be gone.
        self.listen_no_more();
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}
