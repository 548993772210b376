//! One plot: an SVG that stretches with the page, and the names of its axes as text, which does not. Pure.

use maud::{Markup, html};

use crate::report::axis::Axis;

/// The SVG's own coordinates on both axes.
const EXTENT: f64 = 1000.0;

pub struct Plot<'a> {
    pub x: Axis,
    pub y: Axis,
    pub x_name: &'a str,
    pub y_name: &'a str,
    pub x_label: &'a dyn Fn(f64) -> String,
    pub y_label: &'a dyn Fn(f64) -> String,
    /// A text for those who cannot see the picture.
    pub alternative: &'a str,
    /// Leaves out the names of the x axis: plots above each other need them only once.
    pub is_bare: bool,
}

impl Plot<'_> {
    pub fn draw(&self, marks: &[Markup]) -> Markup {
        let (x_ticks, y_ticks) = (self.x.ticks(7), self.y.ticks(6));
        html! {
            div.plot.bare[self.is_bare] {
                div.y-name { (self.y_name) }
                div.y-ticks aria-hidden="true" {
                    @for tick in &y_ticks {
                        span style=(format!("bottom:{}%", number(self.y.position(*tick) * 100.0))) { ((self.y_label)(*tick)) }
                    }
                }
                svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label=(self.alternative) {
                    @for tick in &x_ticks {
                        (line("grid", (self.x_at(*tick), 0.0), (self.x_at(*tick), EXTENT)))
                    }
                    @for tick in &y_ticks {
                        (line("grid", (0.0, self.y_at(*tick)), (EXTENT, self.y_at(*tick))))
                    }
                    @for mark in marks { (mark) }
                }
                @if !self.is_bare {
                    div.x-ticks aria-hidden="true" {
                        @for tick in &x_ticks {
                            span style=(format!("left:{}%", number(self.x.position(*tick) * 100.0))) { ((self.x_label)(*tick)) }
                        }
                    }
                    div.x-name { (self.x_name) }
                }
            }
        }
    }

    fn x_at(&self, x: f64) -> f64 {
        self.x.position(x) * EXTENT
    }

    fn y_at(&self, y: f64) -> f64 {
        EXTENT - self.y.position(y) * EXTENT
    }

    fn points(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let points = points
            .into_iter()
            .map(|(x, y)| format!("{},{}", number(self.x_at(x)), number(self.y_at(y))));
        points.collect::<Vec<_>>().join(" ")
    }

    pub fn curve(&self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Markup {
        html! { polyline class=(class) points=(self.points(points)) {} }
    }

    pub fn area(&self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Markup {
        html! { polygon class=(class) points=(self.points(points)) {} }
    }

    pub fn segment(&self, class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
        let place = |(x, y)| (self.x_at(x), self.y_at(y));
        line(class, place(from), place(to))
    }

    /// A dot of fixed size, with its value for the pointer.
    pub fn dot(&self, class: &str, at: (f64, f64), says: &str) -> Markup {
        dot(class, (self.x_at(at.0), self.y_at(at.1)), says)
    }

    pub fn level(&self, class: &str, y: f64) -> Markup {
        line(class, (0.0, self.y_at(y)), (EXTENT, self.y_at(y)))
    }

    /// All rectangles of one class as one path: from the left to the right, and from the bottom to the top.
    pub fn boxes(&self, class: &str, boxes: &[[f64; 4]]) -> Markup {
        let mut path = String::new();
        for [left, right, bottom, top] in boxes {
            let (x, y) = (self.x_at(*left), self.y_at(*top));
            let (width, height) = (self.x_at(*right) - x, self.y_at(*bottom) - y);
            for (command, value) in [
                ("M", x),
                (" ", y),
                ("h", width),
                ("v", height),
                ("h", -width),
            ] {
                path += command;
                path += &number(value);
            }
            path += "z";
        }
        html! { path class=(class) d=(path) {} }
    }
}

/// A line of no length: its round or square cap is a dot, which keeps its shape however the SVG is stretched.
pub fn dot(class: &str, (x, y): (f64, f64), says: &str) -> Markup {
    html! {
        line class=(class) x1=(number(x)) x2=(number(x)) y1=(number(y)) y2=(number(y)) {
            @if !says.is_empty() { title { (says) } }
        }
    }
}

pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! {
        line class=(class) x1=(number(from.0)) x2=(number(to.0)) y1=(number(from.1)) y2=(number(to.1)) {}
    }
}

/// A tenth of a coordinate is finer than a screen.
pub fn number(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
