//! A panic is a bug of iosched. It ends the work as an error does, so that every change is undone, and what a report of
//! the bug needs is said at the end.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::safety::journal;
use iosched_files::interrupt;
use iosched_result::failure::Failure;

/// That of every Rust program that panics; no error has it.
const EXIT_CODE: u8 = 101;

/// The first panic of this process. Those that follow from it say less.
static FIRST: Mutex<Option<Bug>> = Mutex::new(None);

/// Where a panic happened, and what it said.
#[derive(Clone, Debug)]
struct Bug {
    thread: String,
    place: String,
    message: String,
    backtrace: Option<String>,
}

/// Runs the whole of a program. A panic in any of its threads ends the work; after all was undone, the bug is described
/// through `print`, whatever else the work came to.
pub fn end_in_order(print: fn(&str), work: impl FnOnce() -> ExitCode) -> ExitCode {
    panic::set_hook(Box::new(move |info| {
        let bug = Bug::of(info);
        interrupt::end_because(&format!("a bug ended the work: {}", bug.message));
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            None => *first = Some(bug),
            // One while another is handled may end the process at once.
            Some(earlier) => print(&format!("{earlier}\n{bug}")),
        }
    }));
    let ended = panic::catch_unwind(AssertUnwindSafe(work));
    let _ = panic::take_hook();
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (first, ended) {
        (None, ended) => ended.unwrap_or(ExitCode::from(EXIT_CODE)),
        (Some(bug), _) => {
            print(&bug.report(journal::has_that_of_this_process()));
            ExitCode::from(EXIT_CODE)
        }
    }
}

/// Turns a panic of `work` into an error, so that what follows an error follows it, too.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let ended = panic::catch_unwind(AssertUnwindSafe(work));
    ended.unwrap_or_else(|payload| {
        let message = message(&*payload);
        Err(Failure::runtime(
            format!("a bug ended the work: {message}"),
            "the finished rounds are kept",
        ))
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

impl Bug {
    fn of(info: &PanicHookInfo<'_>) -> Bug {
        let thread = std::thread::current();
        let place = info.location().map(ToString::to_string);
        // Only if RUST_BACKTRACE asks for it.
        let backtrace = Backtrace::capture();
        Bug {
            thread: thread.name().unwrap_or("without a name").to_owned(),
            place: place.unwrap_or_else(|| "an unknown place".to_owned()),
            message: message(info.payload()),
            backtrace: (backtrace.status() == BacktraceStatus::Captured)
                .then(|| backtrace.to_string()),
        }
    }

    fn report(&self, is_something_left: bool) -> String {
        let restored = if is_something_left {
            "Not every change was undone: `iosched restore` shows what is left, and tries again."
        } else {
            "Every change to the machine was undone."
        };
        let system = rustix::system::uname();
        let mut text = format!("{self}\n  iosched {}", env!("CARGO_PKG_VERSION"));
        let (release, machine) = (system.release(), system.machine());
        let _ = write!(
            text,
            ", Linux {} {}\n  command line: {}\n{restored}\n\
             Please report this to whoever maintains iosched, with the lines above, what you expected, and the result file, \
             if there is one.",
            release.to_string_lossy(),
            machine.to_string_lossy(),
            journal::command(),
        );
        text
    }
}

impl std::fmt::Display for Bug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (thread, place) = (&self.thread, &self.place);
        let message = &self.message;
        write!(
            f,
            "this is a bug in iosched: it panicked\n  thread {thread}, {place}: {message}"
        )?;
        match &self.backtrace {
            None => Ok(()),
            Some(backtrace) => write!(f, "\n{backtrace}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert_eq!(caught(|| Ok(3)).expect("no panic"), 3);
        let of = |work: fn() -> Result<()>| caught(work).expect_err("a panic").to_string();
        let says = "a bug ended the work: index 7 is wrong\n  the finished rounds are kept";
        assert_eq!(of(|| panic!("index {} is wrong", 7)), says);
        assert!(of(|| panic!("plain")).contains("the work: plain\n"));
        assert!(of(|| panic::panic_any(7)).contains("a panic without a message"));
        let error = caught(|| Err::<(), _>(Failure::usage("a", "b"))).expect_err("an error");
        assert_eq!(error.to_string(), "a\n  b");
    }

    #[test]
    fn the_report_says_what_maintainers_ask_for() {
        let bug = Bug {
            thread: "main".into(),
            place: "src/ab/run.rs:7:3".into(),
            message: "on purpose".into(),
            backtrace: None,
        };
        let text = bug.report(false);
        for part in [
            "thread main, src/ab/run.rs:7:3: on purpose",
            concat!("iosched ", env!("CARGO_PKG_VERSION"), ", Linux "),
            "command line: ",
            "Every change to the machine was undone.",
            "Please report this",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(bug.report(true).contains("`iosched restore`"));
    }
}
