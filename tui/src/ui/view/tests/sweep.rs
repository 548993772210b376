//! Draws every screen and dialog with every number of arms at every size. Nothing may panic, no number may lose a
//! digit or its unit, and no heading may be cut.
//!
//! `UPDATE=1 cargo test -p iosched-tui --bin iosched the_words` regenerates words.txt; review the diff.

pub mod models;
mod numbers;
mod oracle;
pub mod views;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::drawn;
use crate::ui::state::action::Action;
use crate::ui::state::model::Model;
use crate::ui::state::update::update;
use oracle::Known;
use views::VIEWS;

/// At this size nothing is dropped or shortened.
const WIDEST: (u16, u16) = (300, 110);
const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/src/ui/view/tests/sweep/words.txt"
);
/// Common sizes, and the minimum.
const USUAL: [(u16, u16); 8] = [
    (40, 10),
    (50, 12),
    (60, 16),
    (70, 20),
    (80, 24),
    (100, 30),
    (132, 43),
    (220, 60),
];

type Size = (u16, u16);

/// All small sizes, where room is scarce; then every width, and every height.
fn sizes() -> Vec<Size> {
    let small = (40..=60).flat_map(|width| (10..=18).map(move |height| (width, height)));
    let wide = (61..=220).map(|width| (width, 10 + width % 14));
    let high = (19..=60).flat_map(|height| [40 + height * 3 % 47, 80].map(|width| (width, height)));
    small.chain(wide).chain(high).collect()
}

/// All words on the widest screens, without numbers and names.
fn all_words() -> BTreeSet<String> {
    let mut models = models::poor();
    models.extend([4, 8].map(|arms| ("rotated", models::rotated(arms))));
    let mut words = BTreeSet::new();
    for (_, model) in &models {
        for (_, change) in VIEWS {
            let mut model = model.clone();
            change(&mut model);
            let names = oracle::names(&model);
            let terminal = drawn(&model, WIDEST);
            let rows = oracle::rows(terminal.backend().buffer());
            let tokens = rows.iter().flat_map(|row| oracle::tokens(row));
            let is_word = |word: &String| {
                !oracle::is_number(word) && !word.ends_with('…') && !names.contains(word)
            };
            words.extend(tokens.filter(is_word));
        }
    }
    words
}

#[test]
fn the_words_are_those_of_the_widest_screens() {
    let words = all_words();
    if std::env::var_os("UPDATE").is_some() {
        let lines: Vec<&str> = words.iter().map(String::as_str).collect();
        std::fs::write(FILE, lines.join("\n") + "\n").expect("words.txt");
        return;
    }
    let known: BTreeSet<String> = oracle::WORDS.lines().map(str::to_owned).collect();
    let new: Vec<&String> = words.difference(&known).collect();
    let gone: Vec<&String> = known.difference(&words).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new {new:?}, gone {gone:?}"
    );
}

/// Collects the complaints about this model's views, each at the sizes that `at` returns.
struct Sweep {
    screens: usize,
    wrong: Vec<String>,
}

impl Sweep {
    fn new() -> Self {
        Sweep {
            screens: 0,
            wrong: Vec::new(),
        }
    }

    fn all_views(&mut self, name: &str, model: &Model, at: impl Fn(usize) -> Vec<Size>) {
        for (index, (view, change)) in VIEWS.into_iter().enumerate() {
            let mut model = model.clone();
            change(&mut model);
            let known = Known::of(&model);
            for (width, height) in at(index) {
                self.screens += 1;
                // The panic hook has printed the panic itself.
                let draw = AssertUnwindSafe(|| drawn(&model, (width, height)));
                let complaints = match catch_unwind(draw) {
                    Ok(terminal) => known.complaints(terminal.backend().buffer()),
                    Err(_) => vec!["it panics".to_owned()],
                };
                let told = complaints
                    .into_iter()
                    .map(|text| format!("{name}, {view}, {width}x{height}: {text}"));
                self.wrong.extend(told);
            }
        }
    }

    #[track_caller]
    fn end(self) {
        let first = self.wrong[..self.wrong.len().min(20)].join("\n");
        let count = self.wrong.len();
        assert_eq!(count, 0, "of {} screens, the first:\n{first}", self.screens);
    }
}

fn arms_are_swept(arms: impl Iterator<Item = usize>) {
    let mut sweep = Sweep::new();
    let sizes = sizes();
    for arms in arms {
        // Each view at each size with one number of arms, and at the usual sizes with all of them.
        let at = |view: usize| {
            let its =
                |&(index, _): &(usize, &Size)| (index + view) % models::ARMS.len() + 1 == arms;
            let part = sizes.iter().enumerate().filter(its).map(|(_, &size)| size);
            part.chain(USUAL).collect()
        };
        let name = format!("{arms} arms");
        sweep.all_views(&name, &models::rotated(arms), at);
    }
    sweep.end();
}

#[test]
fn one_to_four_arms() {
    arms_are_swept(1..=4);
}

#[test]
fn five_to_eight_arms() {
    arms_are_swept(5..=8);
}

#[test]
fn little_or_nothing_to_show() {
    let mut sweep = Sweep::new();
    for (name, model) in models::poor() {
        let sizes = sizes();
        let at = |view: usize| {
            let part = sizes.iter().skip(view % 83).step_by(83);
            part.copied().chain(USUAL.into_iter().take(4)).collect()
        };
        sweep.all_views(name, &model, at);
    }
    sweep.end();
}

#[test]
fn numbers_and_names_at_their_limits() {
    let mut sweep = Sweep::new();
    for arms in [1, 5, 8] {
        let sizes = sizes();
        let at = |view: usize| {
            let part = sizes.iter().skip(view % 29).step_by(29);
            part.copied().chain(USUAL).collect()
        };
        let name = format!("{arms} arms at the limits");
        sweep.all_views(&name, &models::extreme(arms), at);
    }
    sweep.end();
}

/// No key may panic without a disk.
#[test]
fn no_disk_and_every_key() {
    let mut model = Model::new(Vec::new(), models::rotated(1).palette, 2);
    for binding in crate::ui::state::keys::KEYS {
        let _ = update(&mut model, Action::Do(binding.command));
        let _ = drawn(&model, (80, 24));
    }
}

/// Below the minimum size no screen is drawn, only a message that fits.
#[test]
fn smaller_than_any_screen() {
    let sizes = (1..=220)
        .flat_map(|width| (1..=12).map(move |height| (width, height)))
        .filter(|&(width, height)| width < 40 || height < 10);
    let model = models::extreme(3);
    for (width, height) in sizes {
        let terminal = drawn(&model, (width, height));
        let rows = oracle::rows(terminal.backend().buffer());
        let (first, rest) = rows.split_first().expect("a row");
        let words = first.trim_end();
        let says = if width < 5 { "" } else { "40" };
        assert!(
            words.contains(says) && (width >= 5 || words.is_empty()),
            "{words:?}"
        );
        let whole = [
            "or q to quit.",
            &format!("has {width}x{height}"),
            "needs 40x10",
            "40x10",
            "",
        ];
        assert!(whole.iter().any(|end| words.ends_with(end)), "{words:?}");
        assert!(rest.iter().all(|row| row.trim().is_empty()));
    }
}
