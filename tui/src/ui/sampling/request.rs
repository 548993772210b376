//! The requests to the sampling thread.

#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Interval(f64),
    ByCgroup(bool),
    /// What the present screen shows.
    Read(Wanted),
    Flip {
        device: usize,
        arm: String,
        put_back: bool,
    },
    Rotate {
        device: usize,
        arms: Vec<String>,
        /// Index of the reference arm in `arms`.
        reference: usize,
        seconds: u64,
    },
    StopRotating,
    ExportComparison(usize),
}

/// Data that is more expensive to read than counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub order: bool,
    pub owner_histograms: bool,
}
