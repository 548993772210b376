//! Text for a terminal: lines and tables that fit its width. The least important columns go first, then long names are cut
//! in their middle. Without a width (a pipe, a file, `--wide`) everything is there. Pure.

use comfy_table::{CellAlignment, Table, presets};
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter};

/// Between two columns, and one space before the first.
const GAP: usize = 2;
/// A cut name keeps so much.
const LEAST_NAME: usize = 8;
/// A longer name makes no column go.
const USUAL_NAME: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Right-aligned and never cut. As wide as its usual values, so that columns do not come and go with them.
    Number { usual: usize },
    /// Cut in its middle: paths differ at their ends.
    Name,
    /// Cut at its end: what stands first matters most.
    List,
}

#[derive(Clone, Copy)]
pub struct Column {
    header: &'static str,
    kind: Kind,
    /// 0: always there. The column with the highest rank goes first.
    rank: u8,
}

impl Column {
    pub const fn name(header: &'static str, rank: u8) -> Self {
        let kind = Kind::Name;
        Column { header, kind, rank }
    }

    pub const fn list(header: &'static str, rank: u8) -> Self {
        let kind = Kind::List;
        Column { header, kind, rank }
    }

    pub const fn count(header: &'static str, rank: u8) -> Self {
        let kind = Kind::Number { usual: 6 };
        Column { header, kind, rank }
    }

    /// A time, a size or a rate, with its unit.
    pub const fn quantity(header: &'static str, rank: u8) -> Self {
        let kind = Kind::Number { usual: 9 };
        Column { header, kind, rank }
    }
}

pub struct Page {
    width: Option<usize>,
    pub text: String,
    /// A table had no room for all of its columns.
    pub has_left_out: bool,
}

impl Page {
    pub fn new(width: Option<usize>) -> Self {
        Page {
            width,
            text: String::new(),
            has_left_out: false,
        }
    }

    /// Lines that are broken at their commas, semicolons and wide gaps.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines() {
            for line in self.broken(line) {
                self.text += line.trim_end();
                self.text.push('\n');
            }
        }
    }

    fn broken(&self, line: &str) -> Vec<String> {
        let Some(width) = self.width else {
            return vec![line.to_owned()];
        };
        let further = " ".repeat(line.len() - line.trim_start_matches(' ').len() + 2);
        let options =
            options(width)
                .subsequent_indent(&further)
                .word_separator(WordSeparator::Custom(|line| {
                    Box::new(pieces(line).into_iter().map(Word::from))
                }));
        let lines = textwrap::wrap(line, options);
        lines.into_iter().map(String::from).collect()
    }

    /// A sentence after `head`, whose further lines begin below its first word.
    pub fn sentence(&mut self, head: &str, sentence: &str) {
        let indent = " ".repeat(display_width(head));
        let options = options(self.width.unwrap_or(usize::MAX))
            .initial_indent(head)
            .subsequent_indent(&indent)
            .word_separator(WordSeparator::AsciiSpace);
        for line in textwrap::wrap(sentence, options) {
            self.text += line.trim_end();
            self.text.push('\n');
        }
    }

    /// Words in as many columns as there is room for, read line by line.
    pub fn grid(&mut self, indent: usize, words: &[String]) {
        const WITHOUT_TERMINAL: usize = 96;
        let room = self.width.unwrap_or(WITHOUT_TERMINAL) + GAP;
        let widths = |columns: usize| -> Vec<usize> {
            let widest = |column: usize| words.iter().skip(column).step_by(columns);
            (0..columns)
                .map(|column| {
                    widest(column)
                        .map(|word| display_width(word))
                        .max()
                        .unwrap_or(0)
                        + GAP
                })
                .collect()
        };
        let fitting = (1..=words.len()).rev().map(widths);
        let mut fitting = fitting
            .skip_while(|widths| widths.len() > 1 && indent + widths.iter().sum::<usize>() > room);
        let Some(widths) = fitting.next() else {
            return;
        };
        for row in words.chunks(widths.len()) {
            let mut line = " ".repeat(indent);
            for (word, width) in row.iter().zip(&widths) {
                line += word;
                line += &" ".repeat(width - display_width(word));
            }
            self.text += line.trim_end();
            self.text.push('\n');
        }
    }

    /// Nothing if there are no rows.
    pub fn table(&mut self, columns: &[Column], rows: &[Vec<String>]) {
        if rows.is_empty() {
            return;
        }
        let natural: Vec<usize> = (0..columns.len())
            .map(|index| natural_width(columns, rows, index))
            .collect();
        let (shown, widths) = match self.width {
            None => ((0..columns.len()).collect(), natural),
            Some(width) => {
                let shown = those_that_fit(columns, &natural, width);
                let widths = with_short_names(columns, &natural, &shown, width);
                (shown, widths)
            }
        };
        self.has_left_out |= shown.len() < columns.len();
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(shown.iter().map(|index| columns[*index].header));
        for row in rows {
            table.add_row(shown.iter().map(|index| {
                let index = *index;
                cut(&row[index], widths[index], columns[index].kind)
            }));
        }
        for (place, index) in shown.iter().enumerate() {
            if let (Kind::Number { .. }, Some(column)) =
                (columns[*index].kind, table.column_mut(place))
            {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.to_string().lines() {
            self.text += line.trim_end();
            self.text.push('\n');
        }
    }
}

/// No word is broken: it may be a path.
fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

fn natural_width(columns: &[Column], rows: &[Vec<String>], index: usize) -> usize {
    let cells = rows.iter().map(|row| display_width(&row[index]));
    let widest = cells.max().unwrap_or(0);
    widest.max(display_width(columns[index].header))
}

/// The columns in their order, without those of the highest ranks.
fn those_that_fit(columns: &[Column], natural: &[usize], width: usize) -> Vec<usize> {
    let usual = |index: usize| match columns[index].kind {
        Kind::Number { usual } => natural[index].max(usual),
        Kind::Name | Kind::List => natural[index].min(USUAL_NAME),
    };
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|index| columns[*index].rank);
    let mut used = 0;
    let mut shown: Vec<usize> = Vec::new();
    for index in by_rank {
        used += usual(index) + GAP;
        // The space after the last column is not written.
        if columns[index].rank > 0 && used > width + 1 {
            break;
        }
        shown.push(index);
    }
    shown.sort_unstable();
    shown
}

/// The width of each column: names share what the numbers leave, the short ones first.
fn with_short_names(
    columns: &[Column],
    natural: &[usize],
    shown: &[usize],
    width: usize,
) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let is_number = |index: &usize| matches!(columns[*index].kind, Kind::Number { .. });
    let (numbers, mut names): (Vec<usize>, Vec<usize>) = shown.iter().copied().partition(is_number);
    let taken: usize = numbers.iter().map(|index| natural[*index]).sum();
    let mut room = (width + 1).saturating_sub(taken + GAP * shown.len());
    names.sort_by_key(|index| natural[*index]);
    for (done, index) in names.iter().enumerate() {
        let fair = room / (names.len() - done);
        widths[*index] = natural[*index].min(fair.max(LEAST_NAME));
        room = room.saturating_sub(widths[*index]);
    }
    widths
}

fn cut(text: &str, width: usize, kind: Kind) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let tail = match kind {
        Kind::Number { .. } => return text.to_owned(),
        Kind::List => 0,
        Kind::Name => kept.div_ceil(2),
    };
    let end: Vec<char> = taken(text.chars().rev(), tail);
    let head: String = taken(text.chars(), kept - tail).into_iter().collect();
    format!("{head}…{}", end.into_iter().rev().collect::<String>())
}

/// So many columns of a terminal at most.
fn taken(chars: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|char| {
            used += display_width(char.encode_utf8(&mut [0; 4]));
            used <= width
        })
        .collect()
}

/// Cuts a line where it may be broken: after a comma or semicolon, and at a wide gap. A number stays beside its unit.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, char) in line.char_indices() {
        let before = line[start..at].trim_end_matches(' ');
        let gap = at - start - before.len();
        let is_place = gap >= 2 || (gap == 1 && before.ends_with([',', ';']));
        if char != ' ' && is_place && !before.is_empty() {
            pieces.push(&line[start..at]);
            start = at;
        }
    }
    pieces.push(&line[start..]);
    pieces
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
