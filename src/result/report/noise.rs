//! The comparison of an arm with itself, as text. Pure.

use std::fmt::Write;

use comfy_table::{Table, presets};

use super::units;
use crate::statistics::scale::Scale;
use crate::statistics::verdict::Verdict;
use crate::types::noise::{MetricNoise, Needed, Noise};
use crate::types::result::{ArmComparison, ResultFile};

/// Nothing for a comparison of different arms.
pub fn section(result: &ResultFile) -> String {
    if !result.design.is_placebo {
        return String::new();
    }
    let is_alarm = |row: &ArmComparison| {
        row.primary && matches!(row.comparison.verdict, Verdict::Better | Verdict::Worse)
    };
    let mut text = if result.comparisons.iter().any(is_alarm) {
        "FALSE ALARM: both arms are identical, but a difference was found. One such run in twenty finds one by chance: \
         run it again.\n"
    } else {
        "Both arms are identical, and no difference was found.\n"
    }
    .to_owned();
    if let Some(noise) = &result.noise {
        detectable(&mut text, result, noise);
        for metric in &noise.metrics {
            recommended(&mut text, metric, scale(result, metric));
        }
        text += "The round length stays as it is: there is one value per round and only one length, so this run cannot tell how \
                 much of the noise a longer round would remove.\n";
    }
    text += "Both arms leave the same behind for the round after them. So this run cannot see carry-over between different \
             arms, and says nothing about the length of the ramp.\n";
    text
}

fn scale(result: &ResultFile, metric: &MetricNoise) -> Scale {
    let mut rows = result.comparisons.iter();
    let row = rows.find(|row| row.metric.name == metric.metric);
    row.map_or(Scale::Log, |row| row.metric.scale)
}

fn detectable(text: &mut String, result: &ResultFile, noise: &Noise) {
    let Some(first) = noise.metrics.first() else {
        return;
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = noise.metrics.iter().map(|noise| noise.metric.clone());
    let header = ["ROUNDS PER ARM", "TIME"].map(str::to_owned);
    table.set_header(header.into_iter().chain(names));
    for (index, row) in first.detectable.iter().enumerate() {
        let effects = noise.metrics.iter().map(|metric| {
            let found = metric.detectable.get(index);
            found.map_or("-".to_owned(), |found| match scale(result, metric) {
                Scale::Identity => format!("{:.3}", found.effect),
                Scale::Log => format!("{:.1} %", found.effect * 100.0),
            })
        });
        let time = units::duration(row.seconds);
        let row = [row.blocks.to_string(), time].into_iter().chain(effects);
        table.add_row(row);
    }
    let _ = writeln!(
        text,
        "Smallest effects that a run of two arms detects here with 80 % power:\n{}",
        table.trim_fmt()
    );
}

/// `throughput: the differences have a standard deviation of 2.1 %, ... a difference of 5 % takes 14 blocks, 12 min; ...`
fn recommended(text: &mut String, metric: &MetricNoise, scale: Scale) {
    let spread = |sd: f64| {
        let sd = scale.to_margin(sd).unwrap_or(f64::INFINITY);
        match scale {
            Scale::Log => format!("{:.1} %", sd * 100.0),
            Scale::Identity => format!("{sd:.3}"),
        }
    };
    let _ = write!(
        text,
        "{}: the differences have a standard deviation of {}",
        metric.metric,
        spread(metric.sd)
    );
    if let Some(upper) = metric.sd_upper {
        let _ = write!(text, ", with 75 % confidence below {}", spread(upper));
    }
    if let Some(common) = metric.block_sd {
        let _ = write!(
            text,
            "; what the rounds of a block have in common varies by {} and cancels",
            spread(common)
        );
    }
    let lengths: Vec<String> = metric.needed.iter().map(|of| length(of, scale)).collect();
    if lengths.is_empty() {
        text.push_str(".\n");
    } else {
        let _ = writeln!(
            text,
            ". With 80 % power, a difference of {}.",
            lengths.join("; of ")
        );
    }
}

fn length(needed: &Needed, scale: Scale) -> String {
    // Two fifths of 5 are 2, and not 2.0000000000000004.
    let effect = match scale {
        Scale::Log => format!("{} %", (needed.effect * 1e4).round() / 1e2),
        Scale::Identity => format!("{}", (needed.effect * 1e4).round() / 1e4),
    };
    match needed.blocks.zip(needed.seconds) {
        Some((blocks, seconds)) => {
            let time = units::duration(seconds);
            format!("{effect} takes {blocks} blocks, {time}")
        }
        None => format!("{effect} takes more than 1000 blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::noise;
    use crate::report::fixture::{empty, play, values};
    use crate::statistics::stopping::Stopping;

    #[test]
    fn an_arm_against_itself_says_how_long_a_run_must_be() {
        let fixed = Stopping::Fixed { blocks: 12 };
        let primary = ["throughput", "jain_bytes"];
        let mut result = empty(&["A=none", "B=none"], fixed, &primary);
        play(&mut result, |turn| {
            let mut found = values(turn, &[("throughput", 1.0), ("jain_bytes", 0.9)]);
            found.insert("throughput".into(), found["throughput"].powi(6));
            Ok(found)
        });
        assert_eq!(section(&result), "");
        result.design.is_placebo = true;
        let before = section(&result);
        assert!(before.contains("cannot see carry-over"), "{before}");
        assert!(!before.contains("ROUNDS PER ARM"), "{before}");
        result.noise = noise::noise(&result, 50.0);
        let text = section(&result);
        for needle in [
            "no difference was found",
            "ROUNDS PER ARM",
            "throughput: the differences have a standard deviation of ",
            "with 75 % confidence below ",
            "With 80 % power, a difference of 5 % takes ",
            " min; of 2 % takes ",
            "a difference of 0.02 takes 6 blocks, 5 min; of 0.008 ",
            "says nothing about the length of the ramp",
            "cannot tell how much of the noise a longer round would remove",
        ] {
            assert!(text.contains(needle), "{needle}: {text}");
        }
    }
}
