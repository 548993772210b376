//! Properties that hold for any input from outside: nothing panics, and accepted input can be used completely. One
//! function per kind of input; tests call them with generated input, `fuzz/` with fuzzed input. Each returns whether
//! its input was accepted, because input that is always refused tests little.

use std::time::Duration;

use crate::analysis::{identity, turn};
use crate::failure::{Kind, kind_of};
use crate::report::characters::Form;
use crate::report::formats::{self, Asked, FORMATS, Made, Source};
use crate::report::text::Look;
use crate::report::{self, junit, markdown};
use crate::types::arm::Arm;
use crate::types::result::ResultFile;
use crate::{gate, persist, read};

/// The result of a search: once read, it can be shown in every form, and it is known what comes next.
pub fn tune_file(bytes: &[u8]) -> bool {
    let Ok(Some(tune)) = crate::tune::read::parse(bytes) else {
        return false;
    };
    let _ = crate::tune::search::next(&tune);
    let asked = Asked {
        look: Look {
            all: true,
            ..Look::default()
        },
        ..Asked::default()
    };
    for format in FORMATS
        .iter()
        .filter(|format| ["text", "html", "markdown"].contains(&format.name))
    {
        let made = formats::make(format, Source::Tune(&tune), asked);
        if let Ok(Made::Painted(text) | Made::Text(text)) = made {
            let hidden = |c: char| c != '\n' && c.is_control();
            assert!(!text.contains(hidden), "{text:?}");
        }
    }
    true
}

/// The results of many hosts: once read, they can be shown in every form, and judged.
pub fn merged_file(bytes: &[u8]) -> bool {
    let Ok(Some(merged)) = crate::merge::read::parse(bytes) else {
        return false;
    };
    for format in FORMATS
        .iter()
        .filter(|format| formats::OF_MERGED.contains(&format.name))
    {
        let made = formats::make(format, Source::Merged(&merged), Asked::default());
        if let Ok(Made::Painted(text) | Made::Text(text)) = made {
            let hidden = |c: char| c != '\n' && c.is_control();
            assert!(!text.contains(hidden), "{text:?}");
        }
    }
    for group in &merged.groups {
        let view = merged.as_result(group);
        let _ = gate::judge(
            &view,
            &[],
            gate::Rules::default(),
            gate::Selection::default(),
        );
    }
    true
}

/// A result file: once read, it can be rendered in every format, judged, and resumed.
pub fn result_file(bytes: &[u8]) -> bool {
    let Ok(result) = read::parse(bytes) else {
        return false;
    };
    let traced = report::traces::of_arms(&result, None);
    for of in &traced {
        let shown = report::blkparse::render(&result, *of).replace('\n', "");
        assert!(!shown.contains(char::is_control), "{shown:?}");
    }
    let _ = report::why::records::records(&result, &|_| true);
    for text in formats(&result) {
        assert!(!text.is_empty());
        let shown = text.replace("\r\n", "\n");
        assert!(
            !shown.contains(|c: char| c != '\n' && c.is_control()),
            "{text:?}"
        );
    }
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    let page = markdown::render(&result);
    let mut rows = page.lines().filter(|line| line.starts_with('|'));
    assert!(rows.all(|row| bars(row) == 9), "{page}");
    for mode in [
        gate::Mode::Worse,
        gate::Mode::BeyondMargin,
        gate::Mode::Noninferior,
    ] {
        let rules = gate::Rules {
            mode,
            require_verdict: true,
            other_kernel: false,
        };
        for baselines in [&[][..], &[("it".to_owned(), result.clone())]] {
            let judgement = gate::judge(&result, baselines, rules, gate::Selection::default());
            for text in findings(&result, &judgement) {
                let hidden = |c: char| c != '\n' && c.is_control();
                assert!(!text.is_empty() && !text.contains(hidden), "{text:?}");
            }
        }
    }
    for arm in &result.design.arms {
        let wanted = persist::Wanted {
            arm: Some(&arm.label),
            ..persist::Wanted::default()
        };
        let _ = persist::decide(&result, wanted);
    }
    let _ = identity::changes(&result, &result.environment, &result.device);
    let _ = turn::next(&result);
    for seconds in [result.design.ramp_s, result.design.round_time_s] {
        let _ = Duration::from_secs_f64(seconds);
    }
    let again = serde_json::to_vec(&result).expect("JSON");
    let again = read::parse(&again).expect("what was written is read");
    assert!(again == result, "written and read, it is another one");
    true
}

/// Findings of a gate, in every format.
fn findings(result: &ResultFile, judgement: &gate::Judgement) -> Vec<String> {
    vec![
        report::gate::text(result, judgement, Some(80)),
        report::gate::json(result, judgement).expect("JSON"),
        report::gate::markdown(result, judgement),
        junit::gate(&[(result, judgement)], &[], &[]),
    ]
}

/// The result in every format.
pub fn formats(result: &ResultFile) -> Vec<String> {
    let mut all = Vec::new();
    for format in FORMATS {
        for (all_metrics, width, is_ascii) in [(true, 80, true), (false, 20, false)] {
            let asked = Asked {
                look: Look {
                    all: all_metrics,
                    pictures: Some(Form { width, is_ascii }),
                    width: Some(width),
                },
                ..Asked::default()
            };
            match formats::make(format, Source::Run(result), asked) {
                Ok(Made::Painted(text) | Made::Text(text)) => all.push(text),
                Ok(Made::Several(files)) => all.extend(files.into_iter().map(|(_, text)| text)),
                Ok(Made::Binary(bytes)) => assert!(!bytes.is_empty(), "{}", format.name),
                // It has no trace, or several.
                Err(error) => assert_eq!(kind_of(&error), Kind::Usage, "{error:#}"),
            }
        }
    }
    all
}

pub fn arm(text: &str) -> bool {
    let arm = text.parse::<Arm>();
    if let Ok(arm) = &arm {
        assert!(!arm.label.is_empty() && !arm.label.contains(char::is_control));
        assert!(
            arm.settings
                .iter()
                .all(|(name, _)| !name.contains("..") || name.split('/').all(|part| part != ".."))
        );
        let again: Arm = arm.to_string().parse().expect("it parses back");
        assert_eq!(again.scheduler, arm.scheduler);
        assert_eq!(again.settings, arm.settings);
    }
    arm.is_ok()
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod tests;
