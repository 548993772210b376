//! The traces of a result, for the formats that show requests one by one. Pure.

use anyhow::Result;

use super::formats::{Asked, Made, Source};
use crate::failure::Failure;
use crate::measured::snapshot::Op;
use crate::measured::trace::{Trace, TracedOwner, TracedRequest};
use crate::types::disk_id::DiskId;
use crate::types::result::ResultFile;

/// The trace of one arm.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    pub arm: &'a str,
    pub trace: &'a Trace,
}

/// In the order of the arms; of `wanted` alone, if it is given.
pub fn of_arms<'a>(result: &'a ResultFile, wanted: Option<&str>) -> Vec<Of<'a>> {
    let arms = result.design.arms.iter().map(|arm| arm.label.as_str());
    arms.filter(|arm| wanted.is_none_or(|wanted| wanted == *arm))
        .filter_map(|arm| {
            let traced = result.traces.iter().find(|traced| traced.arm == arm)?;
            let trace = traced.trace.as_ref()?;
            Some(Of { arm, trace })
        })
        .collect()
}

/// `4 KiB`; `512 B` if it is not whole.
pub fn size(bytes: u32) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        bytes => format!("{bytes} B"),
    }
}

/// The disk of a request.
pub fn disk<'a>(result: &'a ResultFile, request: &TracedRequest) -> &'a DiskId {
    let group = result.device.group.as_ref();
    let member = group.and_then(|group| group.members.get(request.disk));
    member.map_or(&result.device.device, |member| &member.device)
}

impl Of<'_> {
    pub fn owner(&self, request: &TracedRequest) -> Option<&TracedOwner> {
        self.trace.owners.get(request.owner)
    }

    /// Its part of the workload if it has one, else its name.
    pub fn owner_name(&self, request: &TracedRequest) -> &str {
        self.owner(request).map_or("unknown", |owner| {
            owner.part.as_deref().unwrap_or(&owner.name)
        })
    }

    /// When the trace ended, on the clock of its requests.
    pub fn end_ns(&self) -> i64 {
        (self.trace.time_s * 1e9) as i64
    }

    /// The gaps in it, in words.
    pub fn gaps(&self) -> Option<String> {
        let trace = self.trace;
        let kept = trace.requests.len();
        let all = kept as u64 + trace.left_out;
        let gaps = [
            (
                trace.left_out,
                format!("of {all} requests the first {kept} are shown"),
            ),
            (
                trace.lost_events,
                format!("{} events were lost", trace.lost_events),
            ),
            (
                trace.unseen_ends,
                format!("{} completions were not seen", trace.unseen_ends),
            ),
        ];
        let gaps = gaps.into_iter().filter(|(count, _)| *count > 0);
        let text = gaps.map(|(_, text)| text).collect::<Vec<_>>().join(", ");
        (!text.is_empty()).then_some(text)
    }
}

pub fn op_name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::WriteSync => "sync write",
        Op::WriteAsync => "writeback",
        Op::Flush => "flush",
        Op::Discard => "discard",
        Op::Zone => "zone command",
        Op::Other => "other",
        Op::Passthrough => "passthrough",
    }
}

/// The row of the formats' table.
pub fn perfetto(of: Source<'_>, asked: Asked<'_>) -> Result<Made> {
    let (result, arms) = traced(of, asked)?;
    Ok(Made::Binary(super::perfetto::render(result, &arms)))
}

/// The row of the formats' table.
pub fn blkparse(source: Source<'_>, asked: Asked<'_>) -> Result<Made> {
    let (result, arms) = traced(source, asked)?;
    let [one] = arms[..] else {
        return Err(Failure::usage(
            format!("{} has several traces: {}", asked.file, labels(result)),
            "blkparse's columns hold one: add --arm LABEL",
        ));
    };
    Ok(Made::Text(super::blkparse::render(result, one)))
}

/// At least one trace.
fn traced<'a>(source: Source<'a>, asked: Asked<'_>) -> Result<(&'a ResultFile, Vec<Of<'a>>)> {
    let none = || {
        Failure::usage(
            format!("{} has no trace", asked.file),
            "record one: iosched-ab run --trace 1s",
        )
    };
    let Source::Run(result) = source else {
        return Err(none());
    };
    let arms = of_arms(result, asked.arm);
    let all = labels(result);
    match asked.arm {
        _ if !arms.is_empty() => Ok((result, arms)),
        Some(arm) if !all.is_empty() => Err(Failure::usage(
            format!("{} has no trace of {arm}", asked.file),
            format!("name one of {all}"),
        )),
        _ => Err(none()),
    }
}

/// The arms that have a trace.
fn labels(result: &ResultFile) -> String {
    let all = of_arms(result, None).into_iter().map(|of| of.arm);
    all.collect::<Vec<_>>().join(", ")
}
