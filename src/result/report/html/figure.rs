//! A figure: what to see in it, the picture, its key, and its numbers as a table to unfold. Pure.

use maud::{Markup, html};

pub struct Figure {
    pub id: String,
    /// A line on what to see.
    pub title: String,
    /// How to read it, with units.
    pub says: String,
    pub picture: Markup,
    pub data: Data,
}

/// The numbers of a figure.
#[derive(Default)]
pub struct Data {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    pub fn render(&self) -> Markup {
        html! {
            figure id=(&self.id) {
                figcaption { h2 { (name(&self.title)) } p { (name(&self.says)) } }
                (self.picture)
                @if !self.data.rows.is_empty() {
                    details { summary { "Its numbers" } (table(&self.title, &self.data)) }
                }
            }
        }
    }
}

/// A table that scrolls by itself where it is wider than the page.
pub fn table(label: &str, data: &Data) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table {
                @if !data.head.is_empty() {
                    thead { tr { @for cell in &data.head { th scope="col" { (name(cell)) } } } }
                }
                tbody {
                    @for row in &data.rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (name(cell)) } } @else { td { (name(cell)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Text from outside, with a direction of its own.
pub fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}
