//! The order of dispatch: where on the disk successive requests lie, from their traces. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use super::look;
use super::plot::Plot;
use crate::measured::order::reordering;
use crate::measured::snapshot::Op;
use crate::measured::trace::{Trace, TracedRequest};
use crate::report::axis::{Axis, Spread};
use crate::report::traces::{self, Of};
use crate::report::units;
use crate::types::result::ResultFile;

/// Requests of the busiest arm in its panel: more than that cannot be told apart.
const MOST_SHOWN: usize = 150;
/// A difference of the seeks that is worth a headline, and the requests that a headline needs.
const NOTABLE: f64 = 1.1;
const ENOUGH: usize = 30;

pub fn figure(result: &ResultFile) -> Option<Figure> {
    let arms = traces::of_arms(result, None);
    let looks = look::colours(&result.design.arms);
    let shown_ns = shown_ns(&arms)?;
    let addresses: Vec<f64> = shown(&arms, shown_ns).map(address).collect();
    let (unit, name_of_y) = match addresses.iter().copied().fold(0.0, f64::max) {
        last if last < 1e10 => (1e6, "address on the disk (MB)"),
        _ => (1e9, "address on the disk (GB)"),
    };
    let y = Axis::around(Spread::Linear, addresses)?;
    let panels = arms.iter().enumerate().map(|(index, traced)| {
        let plot = Plot {
            x: Axis::between(Spread::Linear, 0.0, shown_ns as f64 / 1e6),
            y,
            x_name: "time in the trace (ms)",
            y_name: name_of_y,
            x_label: &|ms| units::count(ms),
            y_label: &|bytes| units::count(bytes / unit),
            alternative: &format!("addresses of the requests in their order under {}", traced.arm),
            is_bare: index + 1 < arms.len(),
        };
        let marks = marks(&plot, traced, shown_ns);
        let look = result.arm_index(traced.arm).and_then(|arm| looks.get(arm));
        let look = look.map_or("", String::as_str);
        html! { div class=(format!("panel {look}")) { h3 { (name(traced.arm)) } (plot.draw(&marks)) } }
    });
    let panels: Vec<Markup> = panels.collect();
    Some(Figure {
        id: "dispatch".to_owned(),
        title: title(&arms),
        says: format!(
            "The first {} of each arm's trace, which was recorded in one more run and is in no value. A dot is a request at \
             its issue{}; the bar before it is its wait since it was queued. The line goes from issue to issue: the shorter \
             its jumps, the fewer seeks a rotating disk has. A seek is counted from the end of one request to the start \
             of the next.",
            units::time(Some(shown_ns as f64)),
            if result.device.group.is_some() {
                " to the first disk"
            } else {
                ""
            },
        ),
        picture: html! { div.dispatch { @for panel in &panels { (panel) } } },
        data: data(&arms),
    })
}

/// Requests of the first disk that move data.
fn on_disk(trace: &Trace) -> impl Iterator<Item = &TracedRequest> {
    let requests = trace.requests.iter();
    requests.filter(|request| request.disk == 0 && Op::DATA.contains(&request.op))
}

/// The time in which the busiest arm issues as many requests as can be shown, at most the longest trace: an arm that
/// issues little does not shorten it. None without any trace.
fn shown_ns(arms: &[Of<'_>]) -> Option<i64> {
    let longest = arms.iter().map(Of::end_ns).max()?;
    let busy = arms.iter().filter_map(|traced| {
        let last = on_disk(traced.trace).nth(MOST_SHOWN - 1)?;
        Some(last.issued_ns)
    });
    Some(busy.min().unwrap_or(longest).max(1000))
}

fn shown<'a>(arms: &'a [Of<'a>], until_ns: i64) -> impl Iterator<Item = &'a TracedRequest> {
    let all = arms.iter().flat_map(|traced| on_disk(traced.trace));
    all.filter(move |request| request.issued_ns <= until_ns)
}

fn address(request: &TracedRequest) -> f64 {
    request.sector as f64 * 512.0
}

fn marks(plot: &Plot<'_>, traced: &Of<'_>, until_ns: i64) -> Vec<Markup> {
    let ms = |ns: i64| ns as f64 / 1e6;
    let arms = [*traced];
    let requests: Vec<&TracedRequest> = shown(&arms, until_ns).collect();
    let at = |request: &TracedRequest| (ms(request.issued_ns), address(request));
    let path = plot.curve("thin", requests.iter().map(|request| at(request)));
    let waits = requests.iter().map(|request| {
        plot.segment(
            "queued",
            (ms(request.begun_ns()), address(request)),
            at(request),
        )
    });
    let dots = requests.iter().map(|request| {
        let says = format!(
            "{} of {} for {}, sector {}: waited {}",
            traces::op_name(request.op),
            traces::size(request.bytes),
            traced.owner_name(request),
            request.sector,
            units::time(Some(
                request.issued_ns.saturating_sub(request.begun_ns()) as f64
            )),
        );
        plot.dot("dot small", at(request), &says)
    });
    [path].into_iter().chain(waits).chain(dots).collect()
}

/// The effect of an arm on the order.
struct Seeks {
    at_start: f64,
    at_issue: f64,
}

impl Seeks {
    /// Mean distances in bytes; None with fewer than two requests.
    fn of(trace: &Trace) -> Option<Seeks> {
        let by_issue: Vec<&TracedRequest> = on_disk(trace).collect();
        let mut by_start = by_issue.clone();
        by_start.sort_by_key(|request| start_ns(request));
        Some(Seeks {
            at_start: mean_seek(&by_start)?,
            at_issue: mean_seek(&by_issue)?,
        })
    }

    /// How many times as far the disk would have moved in the order of the starts.
    fn gain(&self) -> Option<f64> {
        (self.at_issue > 0.0).then(|| self.at_start / self.at_issue)
    }
}

fn start_ns(request: &TracedRequest) -> i64 {
    request.started_ns.unwrap_or_else(|| request.begun_ns())
}

fn mean_seek(requests: &[&TracedRequest]) -> Option<f64> {
    let pairs = requests.windows(2);
    let count = pairs.len();
    let sectors = pairs.map(|pair| pair[0].end_sector().abs_diff(pair[1].sector) as f64);
    (count > 0).then(|| sectors.sum::<f64>() * 512.0 / count as f64)
}

fn title(arms: &[Of<'_>]) -> String {
    let gains = arms.iter().filter_map(|traced| {
        let gain = Seeks::of(traced.trace)?.gain()?;
        let is_enough = on_disk(traced.trace).nth(ENOUGH - 1).is_some();
        is_enough.then_some((traced.arm, gain))
    });
    match gains.max_by(|a, b| a.1.total_cmp(&b.1)) {
        None => "Order of dispatch: too few requests to say what the arms do to it".to_owned(),
        Some((arm, gain)) if gain >= NOTABLE => format!(
            "Order of dispatch: seeks under {arm} were 1/{} as long as in the order in which requests started",
            units::count(gain)
        ),
        _ => "Order of dispatch: no arm shortened the seeks by more than a tenth".to_owned(),
    }
}

fn data(arms: &[Of<'_>]) -> Data {
    let head = [
        "arm",
        "requests",
        "mean seek in the order of starts",
        "mean seek in the order of issues",
        "gain",
        "issued out of order",
        "not complete at the end",
        "not shown",
    ];
    let row = |traced: &Of<'_>| {
        let requests: Vec<&TracedRequest> = on_disk(traced.trace).collect();
        let seeks = Seeks::of(traced.trace);
        let bytes = |of: fn(&Seeks) -> f64| {
            let bytes = seeks.as_ref().map(of);
            bytes.map_or_else(|| "-".to_owned(), units::bytes)
        };
        let gain = seeks.as_ref().and_then(Seeks::gain);
        let unfinished = requests
            .iter()
            .filter(|request| request.completed_ns.is_none() && !request.is_end_unseen);
        vec![
            traced.arm.to_owned(),
            requests.len().to_string(),
            bytes(|seeks| seeks.at_start),
            bytes(|seeks| seeks.at_issue),
            gain.map_or_else(|| "-".to_owned(), |gain| format!("{gain:.2}")),
            reordered(&requests)
                .map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            unfinished.count().to_string(),
            traced.gaps().unwrap_or_else(|| "nothing".to_owned()),
        ]
    };
    Data {
        head: head.map(str::to_owned).to_vec(),
        rows: arms.iter().map(row).collect(),
    }
}

fn reordered(by_issue: &[&TracedRequest]) -> Option<f64> {
    let mut starts: Vec<(i64, usize)> = by_issue
        .iter()
        .enumerate()
        .map(|(place, request)| (start_ns(request), place))
        .collect();
    starts.sort_unstable();
    let mut sequences = vec![0; by_issue.len()];
    for (sequence, (_, place)) in starts.into_iter().enumerate() {
        sequences[place] = sequence as u32;
    }
    reordering(&sequences).reordered_share()
}
