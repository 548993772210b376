//! Lines in which the least important parts are shortened first.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{sentence, width};

/// A part of a line in several forms, the longest first. Parts with the highest rank are shortened first, and then
/// left out; a part with rank 0 stays.
pub struct Piece<'a> {
    rank: u8,
    forms: Vec<Vec<Span<'a>>>,
}

impl<'a> Piece<'a> {
    pub fn new<T: Into<Cow<'a, str>>>(
        rank: u8,
        style: Style,
        forms: impl IntoIterator<Item = T>,
    ) -> Self {
        let span = |text: T| vec![Span::styled(text.into(), style)];
        Piece::of_spans(rank, forms.into_iter().map(span).collect())
    }

    pub fn of_spans(rank: u8, forms: Vec<Vec<Span<'a>>>) -> Self {
        Piece { rank, forms }
    }

    fn form(&self, at: usize) -> &[Span<'a>] {
        self.forms.get(at).map_or(&[], |form| &form[..])
    }

    /// How often it can be shortened.
    fn steps(&self) -> usize {
        self.forms.len().saturating_sub(usize::from(self.rank == 0))
    }
}

fn plain<'a>(rank: u8, text: impl Into<Cow<'a, str>>) -> Piece<'a> {
    Piece::new(rank, Style::new(), [text])
}

/// A line of unstyled texts with their ranks.
pub fn plain_line<'a, T: Into<Cow<'a, str>>>(
    pieces: impl IntoIterator<Item = (u8, T)>,
    room: u16,
) -> Line<'a> {
    let pieces = pieces.into_iter().map(|(rank, text)| plain(rank, text));
    line(pieces.collect(), room)
}

/// Joins the pieces, each in the longest form that fits.
pub fn line(pieces: Vec<Piece<'_>>, room: u16) -> Line<'_> {
    let room = usize::from(room);
    let mut at = vec![0; pieces.len()];
    let spans_width = |spans: &[Span]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let total = |at: &[usize]| {
        let forms = pieces.iter().zip(at).map(|(piece, &at)| piece.form(at));
        forms.map(spans_width).sum::<usize>()
    };
    while total(&at) > room {
        let can = |&index: &usize| at[index] < pieces[index].steps();
        let next = (0..pieces.len())
            .filter(can)
            .max_by_key(|&index| (pieces[index].rank, index));
        let Some(next) = next else { break };
        at[next] += 1;
    }
    let mut spans = Vec::new();
    let mut left = room;
    for (mut piece, at) in pieces.into_iter().zip(at) {
        if at >= piece.forms.len() {
            continue;
        }
        for span in piece.forms.swap_remove(at) {
            let needs = width(&span.content);
            if needs > left {
                spans.push(Span::styled(sentence(&span.content, left), span.style));
                return Line::from(spans);
            }
            left -= needs;
            spans.push(span);
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_gives_way_first() {
        let shown = |room| {
            let style = Style::new();
            let pieces = vec![
                Piece::new(0, style, ["loop7"]),
                Piece::new(2, style, ["  lost 12 (1.00 %)", "  lost 12"]),
                Piece::new(1, style, ["  FROZEN"]),
            ];
            line(pieces, room).to_string()
        };
        assert_eq!(shown(40), "loop7  lost 12 (1.00 %)  FROZEN");
        assert_eq!(shown(30), "loop7  lost 12  FROZEN");
        assert_eq!(shown(20), "loop7  FROZEN");
        assert_eq!(shown(5), "loop7");
        assert_eq!(shown(3), "lo…");
    }
}
