//! A scrollbar in the margin at the right of a list that does not fit.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Scrollbar, ScrollbarOrientation, ScrollbarState};

use crate::ui::state::appearance::Palette;

/// `list`: the rows of the list, without its margin and its heading; `shown` of `all` are visible.
pub fn bar(frame: &mut Frame, list: Rect, palette: Palette, shown: Range<usize>, all: usize) {
    let column = list.right();
    let is_on_screen = column < frame.area().right();
    if shown.len() >= all || shown.is_empty() || list.height < 2 || !is_on_screen {
        return;
    }
    let area = Rect {
        x: column,
        width: 1,
        ..list
    };
    // The widget places the first shown row among those that can come first.
    let mut state = ScrollbarState::new(all - shown.len() + 1)
        .position(shown.start)
        .viewport_content_length(shown.len());
    let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .begin_symbol(None)
        .end_symbol(None)
        .track_symbol(Some("│"))
        .thumb_symbol("█")
        .style(palette.faint());
    frame.render_stateful_widget(bar, area, &mut state);
}
