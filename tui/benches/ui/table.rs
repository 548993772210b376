//! The looks as a table. Pure.

use std::fmt::Write;

use crate::looks::Look;
use crate::{Build, SCREENS, Seen, above};

const HEAD: &str = "screen     build      of one core  drawing sampling  records    output";

/// A row for each screen and build: medians over the rounds, and the ratio to the first build in the same round.
pub fn of(builds: &[Build], seen: &[Seen], limit_percent: f64) -> String {
    let mut text = format!("{HEAD}\n");
    for (_, screen) in SCREENS {
        for (place, build) in builds.iter().enumerate() {
            let of = |build| {
                let is_its = move |seen: &&Seen| seen.screen == screen && seen.build == build;
                seen.iter().filter(is_its)
            };
            let middle =
                |value: fn(&Look) -> f64| middle(of(place).map(|seen| value(&seen.look)).collect());
            let Some(percent) = middle(Look::percent) else {
                continue;
            };
            let part = |value| middle(value).unwrap_or_default();
            let _ = write!(
                text,
                "{screen:<10} {:<10} {percent:>9.2} % {:>6.2} % {:>6.2} % {:>6.2} % {:>4.0} kB/s",
                build.name,
                part(drawing),
                part(|look| thread(look, "sampling")),
                part(|look| thread(look, "records")),
                part(|look| look.output_bytes_per_s / 1000.0)
            );
            let shares = of(place).filter_map(|seen| seen.interrupted_share);
            if let Some(share) = middle_of(shares) {
                let own = percent * (1.0 - share);
                let _ = write!(
                    text,
                    "   {own:.2} % without interrupts, which are {:.0} % of it",
                    share * 100.0
                );
            }
            let ratios = of(place).filter_map(|seen| {
                let first = of(0).find(|first| first.round == seen.round)?;
                (place > 0).then(|| seen.look.percent() / first.look.percent())
            });
            let mut ratios: Vec<f64> = ratios.collect();
            ratios.sort_unstable_by(f64::total_cmp);
            if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
                let ratio = middle_of(ratios.iter().copied()).unwrap_or_default();
                let first = &builds[0].name;
                let _ = write!(text, "   {ratio:.2} [{least:.2}, {most:.2}] of {first}");
            }
            text += &above(percent, limit_percent, "%");
            text.push('\n');
        }
    }
    text
}

fn thread(look: &Look, name: &str) -> f64 {
    look.threads.get(name).copied().unwrap_or_default()
}

/// Everything but the two others: the loop that draws, and threads that wait for keys and signals.
fn drawing(look: &Look) -> f64 {
    look.percent() - thread(look, "sampling") - thread(look, "records")
}

fn middle_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    middle(values.collect())
}

/// The median.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(values[low], values[high]))
}
