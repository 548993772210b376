//! The page around a report: one file without references, readable without scripts. Pure.

use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

use crate::report::escape;

const STYLE: &str = include_str!("style.css");
/// A larger result is left out of the page; the page says so.
const MOST_BYTES: usize = 16 << 20;

/// `result` goes into the page as a compressed file to download.
pub fn page(title: &str, result: &impl Serialize, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("iosched ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                footer { (download(result)) }
            }
        }
    };
    // Wherever in the page it is.
    escape::page(&page.into_string())
}

fn download(result: &impl Serialize) -> Markup {
    html! {
        @if let Some(data) = compressed(result) {
            p {
                "The whole result, which this page was made from: "
                a download="result.json.gz" href=(format!("data:application/gzip;base64,{data}")) { "result.json.gz" }
                ". After " code { "gunzip" } " other formats can be made from it with " code { "iosched-ab report" } "."
            }
        } @else {
            p { "The result is too large for this page: keep its JSON file." }
        }
    }
}

fn compressed(result: &impl Serialize) -> Option<String> {
    let json = serde_json::to_vec(result)
        .ok()
        .filter(|json| json.len() <= MOST_BYTES)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&json).ok()?;
    Some(BASE64_STANDARD.encode(encoder.finish().ok()?))
}
