use super::*;
use crate::merge::{contribution, merge};
use crate::report::fixture::{empty, play, values};
use crate::report::text::Look;
use crate::statistics::stopping::Stopping;

pub fn merged(ratios: &[f64]) -> Merged {
    let hosts = ratios.iter().enumerate().map(|(index, ratio)| {
        let mut result = empty(
            &["none", "bfq"],
            Stopping::Fixed { blocks: 8 },
            &["throughput"],
        );
        result.environment.hostname = Some(format!("db<{index}>"));
        play(&mut result, |turn| {
            let level = if turn.planned.arm == 1 { *ratio } else { 1.0 };
            Ok(values(turn, &[("throughput", 1e8 * level)]))
        });
        contribution(&format!("{index}.json"), result).unwrap()
    });
    merge(hosts.collect(), Vec::new()).unwrap()
}

fn text(merged: &Merged, width: Option<usize>) -> String {
    render(
        merged,
        Look {
            width,
            ..Look::default()
        },
    )
}

#[test]
fn it_begins_with_what_was_asked_and_each_group_with_its_decision() {
    let text = text(&merged(&[1.20, 1.22, 1.18, 1.21]), None);
    for line in [
        "randread · bfq against none · 4 hosts of 1 kind, 4 runs\n",
        "\nA disk, firmware 1.0, Linux 6.12 · 4 hosts, 4 runs\nUse bfq: throughput +20.2 % (at least ",
        " throughput  bfq      4  +20.2 %",
        "better by more than 5 %",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let merged = merged(&[1.20, 1.9, 0.4, 1.21, 1.22]);
    for width in [60, 80, 120] {
        let text = text(&merged, Some(width));
        let widest = text.lines().map(textwrap::core::display_width).max();
        assert!(widest <= Some(width), "{text}");
    }
}

#[test]
fn a_mean_is_no_promise_for_a_further_host() {
    let of = text(&merged(&[1.05, 1.6, 1.3, 1.1, 1.5, 1.2, 1.02, 1.4]), None);
    assert!(
        of.contains("a further host may be worse by more than 5 %"),
        "{of}"
    );
    let two = text(&merged(&[1.200, 1.2001]), None);
    assert!(
        two.contains("two hosts do not tell what a further one may expect"),
        "{two}"
    );
    let one = text(&merged(&[1.2]), None);
    assert!(
        one.contains("Not decided: one host says nothing of others."),
        "{one}"
    );
}

#[test]
fn names_are_text_on_every_page() {
    let merged = merged(&[1.2, 1.21, 1.19, 1.205, 0.2]);
    let page = crate::report::html::render_merge(&merged);
    assert!(!page.contains("db<") && page.contains("db&lt;4&gt;"));
    let page = markdown(&merged);
    assert!(!page.contains("db<"), "{page}");
}
