//! Traces for ui.perfetto.dev: each arm is a group of tracks, all of which begin at the same time. In it, one lane per
//! request that waited at once (`queued`) and that the device had at once (`device`), and counters of both. Pure.

mod messages;

use prost::Message;

use self::messages::{
    CounterDescriptor, DebugAnnotation, EXPLICIT, EventType, Trace, TracePacket, TrackDescriptor,
    TrackEvent,
};
use super::escape;
use super::traces::{self, Of};
use crate::measured::trace::TracedRequest;
use crate::types::result::ResultFile;

/// Perfetto takes no times before 0; what was queued before a trace is shown up to here.
const ORIGIN_NS: i64 = 1_000_000_000;
const SEQUENCE: u32 = 1;

pub fn render(result: &ResultFile, arms: &[Of<'_>]) -> Vec<u8> {
    let mut tracks = Tracks::default();
    for (rank, traced) in arms.iter().enumerate() {
        let title = match traced.gaps() {
            None => traced.arm.to_owned(),
            Some(gaps) => format!("{} ({gaps})", traced.arm),
        };
        let parent = tracks.add(None, &title, rank, None);
        of_arm(result, *traced, parent, &mut tracks);
    }
    // Stable: on one track, an end comes before a beginning at the same time.
    tracks
        .events
        .sort_by_key(|event| (event.timestamp, is_begin(event)));
    let packet = tracks
        .descriptors
        .into_iter()
        .chain(tracks.events)
        .collect();
    Trace { packet }.encode_to_vec()
}

fn is_begin(packet: &TracePacket) -> bool {
    let event = packet.track_event.as_ref();
    event.is_some_and(|event| event.r#type() == EventType::SliceBegin)
}

/// A part of a request's life.
struct Span<'a> {
    request: &'a TracedRequest,
    begin_ns: i64,
    end_ns: i64,
}

fn of_arm(result: &ResultFile, traced: Of<'_>, parent: u64, tracks: &mut Tracks) {
    let requests = &traced.trace.requests;
    let queued = requests.iter().map(|request| Span {
        request,
        begin_ns: request.begun_ns(),
        end_ns: request.issued_ns,
    });
    let end_ns = traced.end_ns();
    // How long the device had a request whose end was missed is not known.
    let ended = requests.iter().filter(|request| !request.is_end_unseen);
    let on_device = ended.map(|request| Span {
        request,
        begin_ns: request.issued_ns,
        end_ns: request.completed_ns.unwrap_or(end_ns),
    });
    for (rank, (name, spans)) in [
        ("queued", queued.collect::<Vec<_>>()),
        ("device", on_device.collect()),
    ]
    .into_iter()
    .enumerate()
    {
        let group = tracks.add(Some(parent), name, rank, None);
        let counter = tracks.add(
            Some(group),
            &format!("requests: {name}"),
            0,
            Some("requests"),
        );
        count(&spans, counter, tracks);
        let mut lanes: Vec<(i64, u64)> = Vec::new();
        let mut spans = spans;
        spans.retain(|span| span.begin_ns < span.end_ns);
        spans.sort_by_key(|span| span.begin_ns);
        for span in spans {
            let free = lanes.iter().position(|(until, _)| *until <= span.begin_ns);
            let lane = free.unwrap_or_else(|| {
                let number = lanes.len() + 1;
                let name = format!("{name} {number}");
                lanes.push((0, tracks.add(Some(group), &name, number, None)));
                lanes.len() - 1
            });
            lanes[lane].0 = span.end_ns;
            let track = lanes[lane].1;
            tracks.slice(track, &span, annotations(result, traced, span.request));
        }
    }
}

fn count(spans: &[Span<'_>], track: u64, tracks: &mut Tracks) {
    let mut changes: Vec<(i64, i64)> = spans
        .iter()
        .filter(|span| span.begin_ns < span.end_ns)
        .flat_map(|span| [(span.begin_ns, 1), (span.end_ns, -1)])
        .collect();
    changes.sort_unstable();
    let mut value = 0;
    for (index, (ns, change)) in changes.iter().enumerate() {
        value += change;
        if changes.get(index + 1).is_none_or(|(next, _)| next != ns) {
            tracks.event(
                *ns,
                TrackEvent {
                    r#type: Some(EventType::Counter.into()),
                    track_uuid: Some(track),
                    counter_value: Some(value),
                    ..TrackEvent::default()
                },
            );
        }
    }
}

fn annotations(
    result: &ResultFile,
    traced: Of<'_>,
    request: &TracedRequest,
) -> Vec<DebugAnnotation> {
    let text = |name: &str, value: &str| DebugAnnotation {
        name: Some(name.to_owned()),
        string_value: Some(escape::line(value)),
        uint_value: None,
    };
    let number = |name: &str, value: u64| DebugAnnotation {
        name: Some(name.to_owned()),
        uint_value: Some(value),
        string_value: None,
    };
    let owner = traced.owner(request);
    let mut all = vec![
        text("disk", &traces::disk(result, request).name),
        number("sector", request.sector),
        number("bytes", request.bytes.into()),
        number("hardware queue", request.hardware_queue.into()),
        text("owner", owner.map_or("unknown", |owner| &owner.name)),
    ];
    if let Some(owner) = owner {
        all.extend((owner.pid > 0).then(|| number("pid", owner.pid.into())));
        all.extend(owner.part.as_deref().map(|part| text("part", part)));
        all.push(number("control group", owner.cgroup_id));
    }
    if request.is_end_unseen {
        all.push(text("completed", "not seen"));
    } else if request.completed_ns.is_none() {
        all.push(text("completed", "not before the end of the trace"));
    }
    all
}

#[derive(Default)]
struct Tracks {
    descriptors: Vec<TracePacket>,
    events: Vec<TracePacket>,
}

impl Tracks {
    /// Its identifier. `unit`: of a counter.
    fn add(&mut self, parent: Option<u64>, name: &str, rank: usize, unit: Option<&str>) -> u64 {
        let uuid = self.descriptors.len() as u64 + 1;
        self.descriptors.push(TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(escape::line(name)),
                parent_uuid: parent,
                counter: unit.map(|unit| CounterDescriptor {
                    unit_name: Some(unit.to_owned()),
                }),
                child_ordering: Some(EXPLICIT),
                sibling_order_rank: i32::try_from(rank).ok(),
            }),
            ..TracePacket::default()
        });
        uuid
    }

    fn event(&mut self, ns: i64, event: TrackEvent) {
        let ns = ns.saturating_add(ORIGIN_NS).max(0);
        self.events.push(TracePacket {
            timestamp: Some(ns.cast_unsigned()),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            track_descriptor: None,
        });
    }

    fn slice(&mut self, track: u64, span: &Span<'_>, debug_annotations: Vec<DebugAnnotation>) {
        let request = span.request;
        let size = traces::size(request.bytes);
        self.event(
            span.begin_ns,
            TrackEvent {
                debug_annotations,
                r#type: Some(EventType::SliceBegin.into()),
                track_uuid: Some(track),
                name: Some(format!("{} {size}", traces::op_name(request.op))),
                counter_value: None,
            },
        );
        self.event(
            span.end_ns,
            TrackEvent {
                r#type: Some(EventType::SliceEnd.into()),
                track_uuid: Some(track),
                ..TrackEvent::default()
            },
        );
    }
}
