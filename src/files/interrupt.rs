//! SIGINT, SIGTERM and SIGHUP set a flag that every wait checks, so that the work ends with an ordinary error, guards
//! run, and every change is undone.

mod unread; // outputs that nobody reads

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use iosched_result::failure::{Failure, kind_of};

static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// Why the work cannot go on although no signal came.
static REASON: OnceLock<String> = OnceLock::new();

/// Turns the three signals into a flag. Call it once, at the start of `main`.
pub fn install() -> anyhow::Result<()> {
    let flag = RECEIVED.get_or_init(|| Arc::new(AtomicUsize::new(0)));
    // `nohup` ignores SIGHUP: it stays ignored. A shell without job control ignores SIGINT for what it starts in the
    // background, and scripts nevertheless end that with `kill -INT`.
    let mut signals = vec![SIGINT, SIGTERM, SIGHUP];
    signals.retain(|signal| *signal != SIGHUP || !is_ignored(*signal));
    for signal in &signals {
        signal_hook::flag::register_usize(*signal, flag.clone(), *signal as usize)?;
    }
    // A file that may not grow (RLIMIT_FSIZE) is an error of the write, as a full disk is.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    unread::give_up_after(&signals)?;
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The signal that asked the process to end, if any.
pub fn received() -> Option<i32> {
    match RECEIVED
        .get()
        .map_or(0, |flag| flag.load(Ordering::Relaxed))
    {
        0 => None,
        signal => Some(signal as i32),
    }
}

/// Ends the work in the same orderly way, from any thread. Only the first reason is kept.
pub fn end_because(reason: &str) {
    let _ = REASON.set(reason.to_owned());
}

/// Fails as soon as a signal has come or a reason to end was given.
pub fn check() -> anyhow::Result<()> {
    if let Some(signal) = received() {
        return Err(Failure::interrupted(signal));
    }
    match REASON.get() {
        None => Ok(()),
        Some(reason) => Err(Failure::runtime(
            reason,
            "the work has ended here and every change was undone",
        )),
    }
}

/// Number of files that are being written.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// While it lives, [`end_soon`] does not end the process.
pub struct Hold(());

#[must_use = "dropping it ends the hold"]
pub fn hold() -> Hold {
    HELD.fetch_add(1, Ordering::SeqCst);
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::SeqCst);
    }
}

/// For commands that change nothing and may compute for minutes, which check for no signal: the process ends soon after one,
/// wherever it is. `say` prints the error.
pub fn end_soon(say: fn(&str)) -> anyhow::Result<()> {
    /// An orderly end is faster, where there is one.
    const PATIENCE: Duration = Duration::from_millis(500);
    const SLICE: Duration = Duration::from_millis(50);
    let wait = move || loop {
        std::thread::sleep(SLICE);
        let Some(signal) = received() else { continue };
        std::thread::sleep(PATIENCE);
        if HELD.load(Ordering::SeqCst) == 0 {
            let error = Failure::interrupted(signal);
            // A full standard error would block this thread.
            if unread::takes_more(rustix::stdio::stderr()) {
                say(&format!("{error:#}"));
            }
            std::process::exit(i32::from(kind_of(&error).exit_code()));
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)?;
    Ok(())
}

/// Sleeps until `deadline`, or ends early with the error of [`check`].
pub fn sleep_until(deadline: Instant) -> anyhow::Result<()> {
    const SLICE: Duration = Duration::from_millis(50);
    loop {
        check()?;
        let now = Instant::now();
        if now >= deadline {
            return Ok(());
        }
        std::thread::sleep(SLICE.min(deadline - now));
    }
}
