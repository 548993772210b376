//! Errors for users: one line says what failed and on what, the next says what to do.
//! The kind determines the exit code, on which CI scripts may rely.

use std::fmt;

/// Why a command ended without its result. The exit codes are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operation failed.
    Runtime,
    /// This machine does not have what the workload asks for; another workload may work.
    Lacking,
    /// The command line is invalid or names something that does not exist.
    Usage,
    /// A gate failed: an arm was shown to be worse.
    GateFailed,
    /// A decision was required but not reached, or the baseline cannot be compared.
    Undecided,
    /// Refused before anything was changed.
    Refused,
    /// The run is invalid: lost events, changed settings, or rounds without a measurement.
    Invalid,
    /// Ended by this signal, after everything was restored.
    Interrupted(i32),
}

impl Kind {
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Runtime | Kind::Lacking => 1,
            Kind::Usage => 2,
            Kind::GateFailed => 3,
            Kind::Undecided => 4,
            Kind::Refused => 5,
            Kind::Invalid => 6,
            Kind::Interrupted(signal) => 128 + signal as u8,
        }
    }
}

/// An error with its remedy. It travels inside `anyhow::Error`; the binaries extract it to choose the exit code.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    /// The failure and its object.
    pub what: String,
    /// The remedy; empty if `what` already says it.
    pub hint: String,
}

impl Failure {
    fn boxed(kind: Kind, what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Failure {
            kind,
            what: what.into(),
            hint: hint.into(),
        })
    }
    pub fn runtime(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Runtime, what, hint)
    }
    pub fn lacking(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Lacking, what, hint)
    }
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Usage, what, hint)
    }
    pub fn refused(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Refused, what, hint)
    }
    pub fn invalid(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Invalid, what, hint)
    }
    pub fn gate_failed(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::GateFailed, what, hint)
    }
    pub fn undecided(what: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        Self::boxed(Kind::Undecided, what, hint)
    }
    pub fn interrupted(signal: i32) -> anyhow::Error {
        Self::boxed(
            Kind::Interrupted(signal),
            format!("interrupted by signal {signal}"),
            "",
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "\n  {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// The kind of any error: that of the `Failure` inside it, otherwise `Runtime`.
pub fn kind_of(error: &anyhow::Error) -> Kind {
    // Writers and readers can only return an `io::Error`.
    let inside = || {
        let mut errors = error
            .chain()
            .filter_map(|it| it.downcast_ref::<std::io::Error>());
        errors.find_map(|it| it.get_ref()?.downcast_ref::<Failure>())
    };
    let failure = error.downcast_ref::<Failure>().or_else(inside);
    failure.map_or(Kind::Runtime, |failure| failure.kind)
}

/// A failure, and what else could not be restored after it, in this order: the cause is not hidden by what followed from
/// it. Never an interruption or a refusal, which promise that everything is as before.
pub fn unrestored(cause: &anyhow::Error, unrestored: &anyhow::Error) -> anyhow::Error {
    Failure::runtime(format!("{cause:#}\n{unrestored:#}"), "")
}

/// The reader of our output has closed the pipe, as `head` does.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn the_kind_survives_context() {
        let error = Err::<(), _>(Failure::refused(
            "sda is mounted on /",
            "name another device",
        ))
        .context("preflight")
        .unwrap_err();
        assert_eq!(kind_of(&error), Kind::Refused);
        assert_eq!(kind_of(&error).exit_code(), 5);
        assert_eq!(kind_of(&anyhow::anyhow!("disk full")).exit_code(), 1);
        assert_eq!(Kind::Interrupted(15).exit_code(), 143);
    }

    #[test]
    fn the_cause_comes_before_what_it_left() {
        let left = anyhow::anyhow!("invalid argument").context("sda was not restored");
        let both = unrestored(&Failure::interrupted(2), &left);
        let says = "interrupted by signal 2\nsda was not restored: invalid argument";
        assert_eq!(both.to_string(), says);
        assert_eq!(kind_of(&both), Kind::Runtime);
    }
}
