//! ```text
//! 3 disks: 51k IOPS, reads 200 MB/s, writes 1.2 MB/s; Enter shows one
//! DISK     SCHEDULER    busy      IOPS  reads     writes    depth  read   write   wait p99  last 16 s
//! nvme0n1  none         73 %      51k   200 MB/s  1.2 MB/s  31     221 us  80 us  1.2 ms    ▂▃▆▇▇▇▇  changed
//! ```
//! The busiest are first. When columns are scarce, the picture of the last intervals is dropped first, then the wait's p99, the
//! mean latencies, the depth, and the throughput of reads and writes. A disk that was plugged in has the kernel's counters
//! alone if the BPF programs have no room for it. Where many lines are free, the overview of the disk that the other screens show is
//! below the table.

use std::ops::Range;

use iosched_result::report::units::{count, share, throughput, time};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::parts;
use super::table::{self, Column};
use super::{few, fit, line, overview, scroll, spare, strip};
use crate::ui::sampling::sample::{Counters, DeviceSample, Newcomer};
use crate::ui::state::action::{KeyCommand, Screen, Target};
use crate::ui::state::compare::{Scope, ShownStage};
use crate::ui::state::load;
use crate::ui::state::model::{DeviceModel, Model};

/// The width of a name: at least, and at most.
const NAME: (u16, u16) = (8, 32);

/// So many intervals are in the picture of a disk's load.
const LATELY: usize = 16;

/// One row; the numbers are absent until the first interval.
struct DiskRow<'a> {
    name: &'a str,
    scheduler: &'a str,
    /// The index that [`load::order`] knows it by.
    index: usize,
    counters: Option<&'a Counters>,
    /// How busy it was in the last intervals.
    lately: String,
    /// The mean latency of reads, and that of writes.
    mean_ns: [Option<f64>; 2],
    wait_p99: String,
    note: String,
}

pub fn render(frame: &mut Frame, area: Rect, model: &Model) {
    let rows = rows(model);
    let [head, below, spare] = spare::split(area, rows.len());
    let title = fit::plain_line(title(&rows, model), head.width).style(model.palette.faint());
    line(frame, head, 0, title);
    let (_, chosen) = load::order_and_row(model);
    let shown = shown(below, chosen, rows.len());
    let columns = columns(&rows[shown.clone()], heading_of(model.shown_devices()));
    let row_style = |row: usize| {
        if chosen == shown.start + row {
            model.palette.chosen()
        } else {
            Style::new()
        }
    };
    let faint = model.palette.faint();
    table::render(frame.buffer_mut(), below, &columns, faint, row_style);
    scroll::bar(frame, table::body(below), model.palette, shown, rows.len());
    if spare.height > 0 {
        let title = format!(
            "{} of {}",
            Screen::Overview.title(),
            model.device().disk.name
        );
        let area = spare::below(frame, area, spare, model, &title);
        overview::render(frame, area, model);
    }
}

/// `3 disks: 51k IOPS, reads 200 MB/s, writes 1.2 MB/s; Enter shows one`, with ranks.
fn title(rows: &[DiskRow<'_>], model: &Model) -> Vec<(u8, String)> {
    let disks = if rows.len() == 1 { "disk" } else { "disks" };
    let mut title = vec![(0, format!("{} {disks}", count(rows.len() as f64)))];
    if rows.iter().any(|row| row.counters.is_some()) {
        let all = totals(rows.iter().filter_map(|row| row.counters));
        let iops = count(all.reads_per_s + all.writes_per_s);
        let [reads, writes] = [all.read_bytes_per_s, all.write_bytes_per_s].map(throughput);
        title.push((1, format!(": {iops} IOPS")));
        title.push((2, format!(", reads {reads}, writes {writes}")));
    }
    let opens = model.keys.does(KeyCommand::Open, "shows one");
    title.push((3, format!("; {opens}")));
    let words = "; busy: share of the time with an I/O in flight, depth: mean number in flight";
    title.push((4, words.to_owned()));
    title
}

fn totals<'a>(counters: impl Iterator<Item = &'a Counters>) -> Counters {
    counters.fold(Counters::default(), |all, one| Counters {
        reads_per_s: all.reads_per_s + one.reads_per_s,
        writes_per_s: all.writes_per_s + one.writes_per_s,
        read_bytes_per_s: all.read_bytes_per_s + one.read_bytes_per_s,
        write_bytes_per_s: all.write_bytes_per_s + one.write_bytes_per_s,
        ..all
    })
}

fn shown(below: Rect, chosen: usize, rows: usize) -> Range<usize> {
    parts::window(chosen, rows, usize::from(below.height.saturating_sub(1)))
}

/// The target at this place of the screen.
pub fn target(area: Rect, model: &Model, at: Position) -> Option<Target> {
    let rows = rows(model);
    let [_, below, _] = spare::split(area, rows.len());
    let shown = shown(below, load::order_and_row(model).1, rows.len());
    let row = (at.y.checked_sub(below.y)?).checked_sub(1)?;
    let row = shown.start + usize::from(row);
    (below.contains(at) && shown.contains(&row)).then(|| Target::Row(rows[row].index))
}

fn rows(model: &Model) -> Vec<DiskRow<'_>> {
    let devices = model.shown_devices();
    let sample = model.sample();
    let row = |index: usize| {
        let Some(device) = devices.get(index) else {
            let newcomer = sample?.newcomers.get(index - devices.len())?;
            return Some(of_newcomer(index, newcomer));
        };
        let now = sample.and_then(|sample| sample.devices.get(index));
        // A frozen screen, too, shows what is changed now.
        let modified = model.devices[index].modified;
        Some(of_device(index, device, now, modified))
    };
    load::order(model).into_iter().filter_map(row).collect()
}

fn of_device<'a>(
    index: usize,
    device: &'a DeviceModel,
    now: Option<&'a DeviceSample>,
    modified: Option<bool>,
) -> DiskRow<'a> {
    let queue = now.and_then(|now| now.queue.as_ref());
    let now_there = now.filter(|_| queue.is_some());
    let measured = now_there.and_then(|now| now.measured.as_deref());
    let wait = measured.map(|measured| measured.stages.histogram(ShownStage::Wait, Scope::All));
    let counters = now_there.map(|now| &now.counters);
    let mean_ns = match measured {
        Some(measured) => [Scope::Reads, Scope::Writes].map(|scope| {
            measured
                .stages
                .histogram(ShownStage::Total, scope)
                .mean_ns()
        }),
        None => counters.map_or([None; 2], known_means_ns),
    };
    let shares = device.history.iter().rev().take(LATELY);
    let heights: Vec<&str> = shares.map(|it| strip::height(it.busy_share)).collect();
    let lately: String = heights.into_iter().rev().collect();
    DiskRow {
        index,
        // The last interval is at the right end.
        lately: format!("{lately:>LATELY$}"),
        name: &device.disk.name,
        scheduler: match (now, queue) {
            (None, _) => "...",
            (_, None) => "GONE",
            (_, Some(queue)) => &queue.active,
        },
        counters,
        mean_ns,
        wait_p99: wait.map_or("-".to_owned(), |wait| few::quantile(&wait, 0.99)),
        note: match (modified, &device.disk.path_of) {
            (Some(true), _) => "changed".to_owned(),
            (Some(false), _) => "KEPT".to_owned(),
            (None, Some(head)) => format!("path of {}", fit::clip(head, 32)),
            (None, None) if device.is_new => "new".to_owned(),
            (None, None) => String::new(),
        },
    }
}

/// The mean latencies of reads and of writes, where the kernel's milliseconds can tell them.
pub fn known_means_ns(counters: &Counters) -> [Option<f64>; 2] {
    [counters.read_mean_ns, counters.write_mean_ns].map(|mean| mean.filter(|ns| *ns > 0.0))
}

fn of_newcomer(index: usize, newcomer: &Newcomer) -> DiskRow<'_> {
    DiskRow {
        index,
        lately: String::new(),
        name: &newcomer.name,
        scheduler: &newcomer.scheduler,
        counters: Some(&newcomer.counters),
        mean_ns: known_means_ns(&newcomer.counters),
        wait_p99: "-".to_owned(),
        note: "no room".to_owned(),
    }
}

/// The mean number of reads and writes in flight, by Little's law. It is iostat's aqu-sz without flushes and discards, and as
/// there an I/O counts when it completes.
pub fn depth(counters: &Counters) -> f64 {
    let of = |rate: f64, mean: Option<f64>| rate * mean.unwrap_or(0.0) / 1e9;
    of(counters.reads_per_s, counters.read_mean_ns)
        + of(counters.writes_per_s, counters.write_mean_ns)
}

/// `last 16 s`: how long the intervals took that are in the pictures.
fn heading_of(devices: &[DeviceModel]) -> String {
    let seconds = |device: &DeviceModel| {
        let moments = device.history.iter().rev().take(LATELY);
        moments.map(|moment| moment.seconds).sum::<f64>()
    };
    let longest = devices.iter().map(seconds).fold(0.0, f64::max);
    match longest {
        0.0 => String::new(),
        seconds => format!("last {seconds:.0} s"),
    }
}

fn columns<'a>(rows: &[DiskRow<'_>], lately: String) -> Vec<Column<'a>> {
    let number = |heading: &str, level, width, cell: fn(&Counters) -> String| {
        let cells = rows
            .iter()
            .map(|row| row.counters.map_or("-".to_owned(), cell));
        Column::number(heading, level.., width).of(cells)
    };
    let names = |of: fn(&DiskRow<'_>) -> String| rows.iter().map(of).collect::<Vec<String>>();
    vec![
        Column::name("DISK", 0.., NAME.0, NAME.1).of(names(|row| row.name.to_owned())),
        Column::name("SCHEDULER", 0.., 9, NAME.1).of(names(|row| row.scheduler.to_owned())),
        number("busy", 0, 6, |now| share(Some(now.busy_share))),
        number("IOPS", 0, 6, |now| {
            count(now.reads_per_s + now.writes_per_s)
        }),
        number("reads", 1, 9, |now| throughput(now.read_bytes_per_s)),
        number("writes", 1, 9, |now| throughput(now.write_bytes_per_s)),
        number("depth", 2, 6, |now| count(depth(now))),
        Column::number("read mean", 3.., 9).of(names(|row| time(row.mean_ns[0]))),
        Column::number("write mean", 3.., 10).of(names(|row| time(row.mean_ns[1]))),
        Column::number("wait p99", 4.., 9).of(names(|row| row.wait_p99.clone())),
        Column::words(lately, 5.., LATELY as u16).of(names(|row| row.lately.clone())),
        Column::words("", 1.., 7).of(names(|row| row.note.clone())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_below_the_kernels_unit_is_not_0() {
        let counters = Counters {
            read_mean_ns: Some(0.0),
            write_mean_ns: Some(62_500.0),
            ..Counters::default()
        };
        assert_eq!(known_means_ns(&counters), [None, Some(62_500.0)]);
    }
}
