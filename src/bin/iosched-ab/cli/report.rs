//! The command line of `iosched-ab report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args)]
pub struct ReportArguments {
    /// Result file that `run`, `aa` or `demo` wrote, `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Show the exploratory metrics and the shift functions too, in the text format
    #[arg(long)]
    pub all: bool,
    /// Text format: leave out the pictures in characters
    #[arg(long)]
    pub no_plot: bool,
    /// Show the trace of this arm only; blkparse needs it if several arms have a trace
    #[arg(long, value_name = "LABEL")]
    pub arm: Option<String>,
    /// File to write, `-` for standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    /// Report for people
    Text,
    /// One page with pictures, which opens in a browser and needs nothing else
    Html,
    /// The whole result
    Json,
    /// One row per round
    Csv,
    /// For a CI step summary or a comment
    Markdown,
    /// One test case per primary comparison: worse is a failure, an invalid or incomplete run an error
    Junit,
    /// The same in the kernel's test protocol
    Ktap,
    /// Go's benchmark format, for `benchstat -col /arm`
    Benchfmt,
    /// Bencher Metric Format
    Bmf,
    /// For github-action-benchmark; with `-o NAME` it writes NAME-smaller.json and NAME-bigger.json
    GithubBenchmark,
    /// For Prometheus
    Openmetrics,
    /// Each request of a run with --trace, for ui.perfetto.dev: binary
    Perfetto,
    /// Each request of a run with --trace, in blkparse's columns
    Blkparse,
}
