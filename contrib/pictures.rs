//! Draws the pictures of the README from a real run: starts `iosched --demo` on a terminal, rotates the schedulers, and
//! has it save its screens. Needs root, and takes about three minutes:
//!
//!     cargo build --release -p iosched-tui --bin iosched --example pictures
//!     sudo target/release/examples/pictures target/release/iosched docs

#[path = "../tui/tests/terminal/pty.rs"]
mod pty;
#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use pty::Terminal;
use support::program::Program;

const SIZE: (u16, u16) = (100, 30);
/// Four schedulers at 4 s each, settling included: about ten blocks, enough for intervals.
const ROTATES: Duration = Duration::from_secs(170);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().context("pictures IOSCHED DIRECTORY")?;
    let directory = arguments.next().context("pictures IOSCHED DIRECTORY")?;
    let binary = std::fs::canonicalize(&binary).with_context(|| format!("looking for {binary}"))?;
    let binary = binary.to_str().context("a path that is UTF-8")?;
    let program = Program::new(binary);
    let mut terminal = Terminal::start(&program, binary, &["--demo"], SIZE);
    terminal.until("of an I/O's time");
    terminal.keys("F");
    terminal.until("Rotate the schedulers");
    terminal.keys("\r");
    std::thread::sleep(ROTATES);
    for (key, title, name) in [
        ("2", "queue wait of reads", "compare"),
        ("6", "over time", "heatmap"),
    ] {
        terminal.keys(key);
        terminal.until(title);
        std::thread::sleep(Duration::from_millis(1500));
        terminal.keys("S");
        let file = format!("iosched-{name}-");
        terminal.until(&format!("/{file}"));
        let saved = program.export(&file).context("the picture")?;
        let path = Path::new(&directory).join(format!("{name}.svg"));
        std::fs::copy(saved, &path).with_context(|| format!("writing {}", path.display()))?;
    }
    terminal.keys("\u{3}");
    terminal.end();
    Ok(())
}
