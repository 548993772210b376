//! A histogram as a strip of blocks over a logarithmic axis; several strips share the axis and the scale.

use iosched_result::measured::histogram::Histogram;
use iosched_result::report::units;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::few;
use super::fit::Piece;
use crate::ui::state::appearance::Palette;
use crate::ui::state::axis::Axis;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
pub const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// One block for a share from 0 to 1; what is not 0 is visible.
pub fn height(share: f64) -> &'static str {
    EIGHTHS[(share * 8.0).ceil().clamp(0.0, 8.0) as usize]
}

/// Draws the blocks; `highest` is the share that fills the height. Every non-empty column is visible.
pub fn blocks(buffer: &mut Buffer, area: Rect, shares: &[f64], highest: f64, style: Style) {
    if area.height == 0 {
        return;
    }
    let full = f64::from(area.height) * 8.0;
    for (x, &share) in shares.iter().enumerate().take(usize::from(area.width)) {
        let level = if highest > 0.0 {
            (share / highest * full).round() as usize
        } else {
            0
        };
        let level = if share > 0.0 {
            level.clamp(1, full as usize)
        } else {
            0
        };
        for row in 0..usize::from(area.height) {
            let eighths = level.saturating_sub(row * 8).min(8);
            if eighths > 0 {
                let (x, y) = (area.x + x as u16, area.bottom() - 1 - row as u16);
                buffer[(x, y)].set_symbol(EIGHTHS[eighths]).set_style(style);
            }
        }
    }
}

/// The share that fills the height, if several strips have the same scale.
pub fn highest<'a>(strips: impl IntoIterator<Item = &'a Vec<f64>>) -> f64 {
    strips.into_iter().flatten().copied().fold(0.0, f64::max)
}

/// `^p50    ^p99`: marks the percentiles. Marks that would overlap are left out, and percentiles of too few I/Os.
pub fn marks(buffer: &mut Buffer, area: Rect, axis: Axis, histogram: &Histogram, style: Style) {
    let mut free = 0;
    let told = |&(_, p): &(&str, f64)| few::is_compared(histogram.count(), p);
    for (name, p) in QUANTILES.into_iter().filter(told) {
        let Some(ns) = histogram.quantile_ns(p) else {
            continue;
        };
        if axis.is_chosen && !(axis.low_ns..axis.high_ns).contains(&ns) {
            continue;
        }
        let column = axis.column(ns, usize::from(area.width));
        let text = format!("^{name}");
        // At the right end the text is before the mark: `p99^`.
        let (start, text) = if column + text.len() > usize::from(area.width) {
            ((column + 1).saturating_sub(text.len()), format!("{name}^"))
        } else {
            (column, text)
        };
        let has_room = start + text.len() <= usize::from(area.width);
        if start >= free && has_room && area.height > 0 {
            let room = usize::from(area.width) - start;
            buffer.set_stringn(area.x + start as u16, area.y, &text, room, style);
            free = start + text.len() + 1;
        }
    }
}

/// Rounding errors are not told.
pub const LEAST_BEYOND: f64 = 1e-9;

/// `  3.1 % beyond the axis`, if the user has chosen an axis that does not show all.
pub fn beyond(axis: Axis, histogram: &Histogram) -> Option<Piece<'static>> {
    let share = units::share(Some(most_beyond(axis, [histogram])?));
    let text = format!("  {share} beyond the axis");
    Some(Piece::new(1, Style::new(), [text]))
}

/// The largest share of a histogram's I/Os that the axis does not show; None if it shows all of them.
pub fn most_beyond<'a>(
    axis: Axis,
    histograms: impl IntoIterator<Item = &'a Histogram>,
) -> Option<f64> {
    let of = |histogram| axis.beyond(histogram).iter().sum();
    let most = histograms.into_iter().map(of).fold(0.0, f64::max);
    (most > LEAST_BEYOND).then_some(most)
}

/// Labels the times along the bottom.
pub fn axis(buffer: &mut Buffer, area: Rect, axis: Axis, palette: Palette) {
    if area.height == 0 {
        return;
    }
    let mut free = 0;
    for ns in axis.ticks() {
        let column = axis.column(ns, usize::from(area.width));
        let text = format!("|{}", short(ns));
        if column >= free && column + text.len() <= usize::from(area.width) {
            buffer.set_string(area.x + column as u16, area.y, &text, palette.faint());
            free = column + text.len() + 1;
        }
    }
}

/// `10us`, `1ms`.
pub fn short(ns: f64) -> String {
    let (number, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "us"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{number:.0}{unit}")
}

/// p50, p99 and max; the least important one is dropped first.
pub fn summary(histogram: &Histogram, longest_ns: Option<f64>) -> Vec<Piece<'static>> {
    let plain = |rank, text| Piece::new(rank, Style::new(), [text]);
    if histogram.count() == 0 {
        return vec![plain(1, "no I/O".to_owned())];
    }
    let of = |p: f64| few::quantile_up_to(histogram, p, longest_ns);
    vec![
        plain(1, format!("p50 {}", of(0.5))),
        plain(2, format!("  p99 {}", of(0.99))),
        plain(3, format!("  max {}", units::time(longest_ns))),
    ]
}
