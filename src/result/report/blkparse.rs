//! A trace in the columns of blkparse's default output, for the eyes and scripts that know them. Pure.
//!
//! Differences, because a trace has requests and not bios: Q is the first bio of a request, with the size that the
//! request had when it was issued; there are no merges; the CPU and the error of a completion are `-`, and the
//! PID is that of the owner in all lines.

use std::fmt::Write;

use super::escape;
use super::traces::{self, Of};
use crate::measured::snapshot::Op;
use crate::measured::trace::TracedRequest;
use crate::types::result::ResultFile;

pub fn render(result: &ResultFile, traced: Of<'_>) -> String {
    let mut events: Vec<(i64, char, &TracedRequest)> = traced
        .trace
        .requests
        .iter()
        .flat_map(|request| {
            let steps = [
                ('Q', request.queued_ns),
                ('G', request.started_ns),
                ('I', request.inserted_ns),
                ('D', Some(request.issued_ns)),
                ('C', request.completed_ns),
            ];
            steps
                .into_iter()
                .filter_map(move |(step, ns)| Some((ns?, step, request)))
        })
        .collect();
    // Stable: the steps of a request stay in their order.
    events.sort_by_key(|(ns, ..)| *ns);
    let first = events.first().map_or(0, |(ns, ..)| *ns);
    let mut text = String::new();
    for (number, (ns, step, request)) in events.into_iter().enumerate() {
        let disk = traces::disk(result, request);
        let since = ns.saturating_sub(first);
        let end = match step {
            // Errors are not in a trace.
            'C' => "[-]".to_owned(),
            _ => format!("[{}]", escape::line(traced.owner_name(request))),
        };
        let _ = writeln!(
            text,
            "{:>3},{:<3}  - {:>8} {:5}.{:09} {:>5}  {step} {:>3} {} + {} {end}",
            disk.major,
            disk.minor,
            number + 1,
            since / 1_000_000_000,
            since % 1_000_000_000,
            traced.owner(request).map_or(0, |owner| owner.pid),
            rwbs(request.op),
            request.sector,
            request.bytes / 512,
        );
    }
    text
}

/// As far as the class of the operation tells it.
fn rwbs(op: Op) -> &'static str {
    match op {
        Op::Read => "R",
        Op::WriteSync => "WS",
        Op::WriteAsync => "W",
        Op::Flush => "F",
        Op::Discard => "D",
        Op::Zone | Op::Other | Op::Passthrough => "N",
    }
}
