//! What many hosts say together, as a page: a forest of the means for each kind of disk, and of the hosts behind each. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name, table};
use super::forest::{self, Entry};
use super::{page, verdict};
use crate::merge::{Group, Merged, Row};
use crate::report::{merge as text, words};

/// Pictures of single hosts, by row: with more, they would be no pictures.
const MOST_HOSTS: usize = 60;

pub fn render(merged: &Merged) -> String {
    let title = text::title(merged);
    page::page(
        &title,
        merged,
        &html! { h1 { (name(&title)) } (body(merged)) },
    )
}

pub fn body(merged: &Merged) -> Markup {
    let left_out = text::left_out(merged);
    html! {
        @for (index, group) in merged.groups.iter().enumerate() { (section(merged, group, index)) }
        p { (text::KEY) }
        @if !left_out.is_empty() {
            details { summary { (left_out[0]) } ul { @for line in &left_out[1..] { li { (name(line.trim_start())) } } } }
        }
    }
}

fn section(merged: &Merged, group: &Group, index: usize) -> Markup {
    let entries: Vec<Entry> = group.rows.iter().map(of_mean).collect();
    let rows = group
        .rows
        .iter()
        .map(|row| text::cells(row).to_vec())
        .collect();
    let head = text::HEAD.map(str::to_lowercase).to_vec();
    let figures = forest::ratios_of(&entries)
        .into_iter()
        .chain(forest::differences_of(&entries))
        .map(|figure| named(figure, index, "means"));
    html! {
        section {
            h2 { (name(&text::heading(group))) }
            p.lead { (name(&text::decided(merged, group))) }
            (table(&text::kind(&group.kind), &Data { head, rows }))
            (verdict::list(&text::remarks(group).join("\n")))
            @for figure in figures { (figure.render()) }
            @for (row, of) in group.rows.iter().enumerate() { (hosts(of, index, row)) }
        }
    }
}

fn named(figure: Figure, index: usize, what: &str) -> Figure {
    Figure {
        id: format!("{}-{index}-{what}", figure.id),
        ..figure
    }
}

/// The mean over hosts.
fn of_mean(row: &Row) -> Entry {
    let comparison = row.comparison();
    let says = format!(
        "{}: {} against {}: {}: {}; {} hosts",
        row.metric.name,
        row.arm,
        row.reference,
        words::said(&comparison, &row.metric.unit),
        words::plain(row.verdict),
        row.hosts
    );
    Entry {
        metric: row.metric.clone(),
        comparison,
        names: [row.metric.name.clone(), row.arm.clone()],
        says,
        cells: text::cells(row).to_vec(),
    }
}

/// Each host of a row, and where a further one lies.
fn hosts(row: &Row, index: usize, number: usize) -> Markup {
    let known = row.votes.iter().filter(|vote| vote.estimate.is_some());
    let mut entries: Vec<Entry> = known
        .take(MOST_HOSTS)
        .map(|vote| {
            let comparison = vote.comparison(&row.metric);
            let change = words::change(&comparison);
            let interval = words::interval(&comparison);
            Entry {
                metric: row.metric.clone(),
                names: [vote.host.clone(), String::new()],
                says: format!(
                    "{}: {change}, {interval} (95 %); {} blocks",
                    vote.host, vote.blocks
                ),
                cells: vec![
                    vote.host.clone(),
                    vote.runs.to_string(),
                    vote.blocks.to_string(),
                    change,
                    interval,
                ],
                comparison,
            }
        })
        .collect();
    let new = text::of_new_host(row);
    if row.prediction.is_some() {
        let interval = words::interval(&new);
        entries.push(Entry {
            metric: row.metric.clone(),
            names: ["a further host".to_owned(), String::new()],
            says: format!("a further host: {interval} in 95 % of cases"),
            cells: vec![
                "a further host".to_owned(),
                String::new(),
                String::new(),
                words::change(&new),
                interval,
            ],
            comparison: new,
        });
    }
    let figure = forest::ratios_of(&entries).or_else(|| forest::differences_of(&entries));
    let Some(figure) = figure else {
        return html! {};
    };
    let left = row.votes.len().saturating_sub(entries.len());
    let title = format!("{} under {} on each host", row.metric.name, row.arm);
    let figure = Figure {
        says: format!(
            "The change against {} on each host with its interval, and where the true change of a further host lies in 95 % of cases.{}",
            row.reference,
            match left {
                0 => String::new(),
                left => format!(" {left} more hosts are in the JSON."),
            }
        ),
        title,
        data: Data {
            head: ["host", "runs", "blocks", "change", "interval"]
                .map(str::to_owned)
                .to_vec(),
            ..figure.data
        },
        ..figure
    };
    let figure = named(figure, index, &format!("hosts-{number}"));
    html! { (figure.render()) }
}
