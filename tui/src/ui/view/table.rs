//! Tables that leave out whole columns if there is no room, so that no number is cut.

use std::ops::RangeFrom;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::fit;

/// How much a table shows. Each level adds a column, or replaces a short form by a longer one. The highest level that
/// fits is shown.
pub type TableLevel = u8;

pub struct Column<'a> {
    heading: String,
    from: TableLevel,
    until: TableLevel,
    is_right: bool,
    /// The minimum and maximum width of a name.
    name: Option<(u16, u16)>,
    least: u16,
    cells: Vec<Line<'a>>,
}

impl<'a> Column<'a> {
    fn new(heading: impl Into<String>, levels: RangeFrom<TableLevel>, least: u16) -> Self {
        Column {
            heading: heading.into(),
            from: levels.start,
            until: TableLevel::MAX,
            is_right: false,
            name: None,
            least,
            cells: Vec::new(),
        }
    }

    /// At least `least` columns wide, so that it does not move with every number.
    pub fn number(heading: impl Into<String>, levels: RangeFrom<TableLevel>, least: u16) -> Self {
        Column {
            is_right: true,
            ..Column::new(heading, levels, least)
        }
    }

    pub fn words(heading: impl Into<String>, levels: RangeFrom<TableLevel>, least: u16) -> Self {
        Column::new(heading, levels, least)
    }

    /// A name may be cut to `least` columns.
    pub fn name(
        heading: impl Into<String>,
        levels: RangeFrom<TableLevel>,
        least: u16,
        most: u16,
    ) -> Self {
        Column {
            name: Some((least, most)),
            ..Column::new(heading, levels, least)
        }
    }

    /// From this level on, another column replaces this one.
    pub fn until(self, level: TableLevel) -> Self {
        Column {
            until: level,
            ..self
        }
    }

    pub fn of<T: Into<Line<'a>>>(mut self, cells: impl IntoIterator<Item = T>) -> Self {
        self.cells = cells.into_iter().map(Into::into).collect();
        self
    }

    fn longest(&self) -> u16 {
        let longest = self.cells.iter().map(Line::width).max().unwrap_or(0);
        u16::try_from(longest).unwrap_or(u16::MAX)
    }

    fn needs(&self) -> u16 {
        let heading = fit::width(&self.heading) as u16;
        let cells = if self.name.is_some() {
            0
        } else {
            self.longest()
        };
        self.least.max(heading).max(cells)
    }
}

/// The columns that fit, with their widths; one blank separates two columns.
fn chosen<'c, 'a>(columns: &'c [Column<'a>], room: u16) -> Vec<(&'c Column<'a>, u16)> {
    let at = |level: TableLevel| {
        let is_shown = move |column: &&Column| column.from <= level && level < column.until;
        columns.iter().filter(is_shown)
    };
    let total = |needs: u32, column: &Column| needs + u32::from(column.needs()) + 1;
    let fits = |level: &TableLevel| at(*level).fold(0, total) <= u32::from(room) + 1;
    let last = columns.iter().map(|column| column.from).max().unwrap_or(0);
    let level = (0..=last).rev().find(fits);
    let mut left = room + 1;
    let mut shown = Vec::new();
    for column in at(level.unwrap_or(0)) {
        let needs = column.needs();
        if needs < left {
            left -= needs + 1;
            shown.push((column, needs));
        }
    }
    // Names use the remaining width, if they need it.
    for (column, width) in &mut shown {
        if let Some((_, most)) = column.name {
            let more = column.longest().min(most).saturating_sub(*width).min(left);
            *width += more;
            left -= more;
        }
    }
    shown
}

/// The rows below the heading.
pub fn body(area: Rect) -> Rect {
    Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// The index of the column at `x` from the left.
pub fn column_at(columns: &[Column<'_>], room: u16, x: u16) -> Option<usize> {
    let mut left = 0;
    for (column, width) in chosen(columns, room) {
        if (left..left + width).contains(&x) {
            return columns.iter().position(|other| std::ptr::eq(other, column));
        }
        left += width + 1;
    }
    None
}

pub fn render(
    buffer: &mut Buffer,
    area: Rect,
    columns: &[Column<'_>],
    heading: Style,
    row_style: impl Fn(usize) -> Style,
) {
    let shown = chosen(columns, area.width);
    let rows = columns.iter().map(|column| column.cells.len()).max();
    let mut draw = |row: usize, style: Style| {
        let y = area.y + row as u16;
        if y >= area.bottom() {
            return;
        }
        let mut x = area.x;
        for (column, width) in &shown {
            let cell = match row.checked_sub(1) {
                None => Line::raw(&*column.heading),
                Some(row) => column.cells.get(row).cloned().unwrap_or_default(),
            };
            let cell = if column.name.is_some() {
                clipped(cell, *width)
            } else {
                cell
            };
            let space = width.saturating_sub(cell.width() as u16);
            let from = if column.is_right { x + space } else { x };
            buffer.set_line(from, y, &cell, *width);
            x += width + 1;
        }
        buffer.set_style(
            Rect {
                y,
                height: 1,
                ..area
            },
            style,
        );
    };
    draw(0, heading);
    (0..rows.unwrap_or(0)).for_each(|row| draw(row + 1, row_style(row)));
}

fn clipped(cell: Line<'_>, width: u16) -> Line<'_> {
    if cell.width() <= usize::from(width) {
        return cell;
    }
    let style = cell.spans.first().map_or(Style::new(), |span| span.style);
    Line::from(Span::styled(
        fit::name(&cell.to_string(), usize::from(width)),
        style,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u16) -> Vec<String> {
        let columns = [
            Column::name("NAME", 0.., 5, 20).of(["mq-deadline", "bfq"]),
            Column::number("bytes/s", 1.., 7)
                .until(3)
                .of(["850", "12.3 MB/s"]),
            Column::number("throughput", 3.., 7).of(["850", "12.3 MB/s"]),
            Column::number("IOPS", 0.., 5).of(["7", "1234567"]),
        ];
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 3));
        render(
            &mut buffer,
            Rect::new(0, 0, width, 3),
            &columns,
            Style::new(),
            |_| Style::new(),
        );
        let rows = buffer.content.chunks(usize::from(width));
        let text = |cells: &[ratatui::buffer::Cell]| -> String {
            cells.iter().map(ratatui::buffer::Cell::symbol).collect()
        };
        rows.map(|cells| text(cells).trim_end().to_owned())
            .collect()
    }

    #[test]
    fn columns_go_whole_and_names_take_what_is_left() {
        assert_eq!(
            drawn(30),
            [
                "NAME        throughput    IOPS",
                "mq-deadline        850       7",
                "bfq          12.3 MB/s 1234567"
            ]
        );
        assert_eq!(drawn(23)[1], "mq-d…       850       7");
        assert_eq!(
            drawn(22),
            [
                "NAME           IOPS",
                "mq-deadline       7",
                "bfq         1234567"
            ]
        );
        assert_eq!(drawn(12), ["NAME", "mq-deadline", "bfq"]);
    }
}
