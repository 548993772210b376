//! Renders results for people and machines. Types and pure functions; nothing here accesses the machine.

mod axis; // scales and ticks
pub mod benchfmt; // Go's benchmark format, for benchstat
pub mod blkparse; // the columns of blkparse
pub mod bmf; // Bencher
mod cases; // each primary comparison as a test case
pub mod characters; // pictures for terminals
mod checks; // what the verdicts took into account
pub mod csv; // one row per round
pub mod decision; // what to do, in words
pub mod escape; // escapes untrusted names
pub mod evidence; // a block of plain text that travels
mod findings; // tables of comparisons
pub mod formats; // all formats, one row each
pub mod gate; // the findings of a gate, in each of its formats
pub mod github_benchmark; // github-action-benchmark
pub mod html; // a page with pictures
pub mod junit; // JUnit's XML
pub mod ktap; // KTAP, the kernel's test protocol
mod labels; // on what a result was measured
pub mod left; // how long a run goes on
pub mod level; // whether the disks kept their level
mod levels; // what the intervals hold, and what a run could detect
pub mod limits; // which arms stay within what the user set
pub mod live; // what a live run saw
pub mod markdown; // Markdown for code hosts
pub mod merge; // what many hosts say together
mod no_ratio; // why blocks have no ratio
pub mod noise; // what an arm against itself tells
pub mod openmetrics; // Prometheus
pub mod page; // lines and tables that fit a terminal
pub mod paint; // colours of the text report
pub mod perfetto; // traces for Perfetto
mod rounds; // the rounds that pictures show
pub mod shift; // what an arm does to each decile of the latencies
mod size; // arms and blocks
pub mod study; // a study: a matrix of verdicts
pub mod text; // the result as a text table
pub mod times; // what the wall-clock time was spent on
pub mod traces; // the traces of a result, for the formats that show them
pub mod tune; // a search and its referee
pub mod units; // formats numbers with units
mod waiting; // how many requests waited
pub mod why; // who waits behind whom
pub mod words; // describes comparisons in words

#[cfg(any(test, feature = "fixture"))]
pub mod fixture; // a made-up run
