//! What went wrong, for people: one line that says what failed and on what, one that says what to do.
//! The kind decides the exit code, which is a contract with CI.

use std::fmt;

/// Why a command ends without its result. The numbers are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something failed on the way.
    Runtime,
    /// The command line asks for something that does not exist.
    Usage,
    /// A gate failed: something was shown to be worse.
    GateFailed,
    /// No decision where one was required, or a baseline that cannot be compared.
    Undecided,
    /// Refused before anything was touched.
    Refused,
    /// The run is invalid: lost events, drifted settings, rounds that did not measure.
    Invalid,
    /// Ended by this signal, after everything was put back.
    Interrupted(i32),
}

impl Kind {
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Runtime => 1,
            Kind::Usage => 2,
            Kind::GateFailed => 3,
            Kind::Undecided => 4,
            Kind::Refused => 5,
            Kind::Invalid => 6,
            Kind::Interrupted(signal) => 128 + signal as u8,
        }
    }
}

/// An error with its remedy. Travels inside `anyhow::Error`; binaries take it out to choose the exit code.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    /// What failed, and on what.
    pub what: String,
    /// What to do about it; may be empty when the first line says it all.
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

/// The kind of any error: that of the `Failure` inside it, else a run-time error.
pub fn kind_of(error: &anyhow::Error) -> Kind {
    error
        .downcast_ref::<Failure>()
        .map_or(Kind::Runtime, |failure| failure.kind)
}

/// Whoever read our output has seen enough, as `head` does.
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
}
