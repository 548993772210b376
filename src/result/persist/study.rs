//! Whether a study supports an arm. The best of many cells is easily noise, so the row that speaks for an arm must hold
//! over all cells together, or in a second study of fresh rounds, over its cells alone. Pure.

use super::Decision;
use super::support::{AGAIN, Basis, Refusal, Wanted, concluded, decide_all, refusal};
use crate::report::words;
use crate::study::BUILT_IN;
use crate::study::joint;
use crate::study::result::StudyResult;
use crate::types::result::{ArmComparison, ResultFile, Status};

/// The arm must be supported by all cells together. `confirming`: a study of some of its cells, made after it.
pub fn decide_study(
    study: &StudyResult,
    confirming: Option<&StudyResult>,
    wanted: Wanted<'_>,
) -> Result<Decision, Refusal> {
    let mut results = compared(study)?;
    let cells = results.len();
    let name = |result: usize| {
        let mut cells = study.compared().map(|cell| &*cell.name);
        cells.nth(result).unwrap_or_default()
    };
    let Some(confirming) = confirming else {
        let basis = Basis {
            disk: None,
            results,
            shown: shown(study),
            holds: (cells > 1).then(|| format!("over all {cells} cells together")),
            workload: format!("the study {}", study.study),
            beyond: &|result, row| unconfirmed(study, cells, name(result), row),
        };
        return decide_all(&basis, wanted);
    };
    let fresh = compared(confirming).map_err(|refused| Refusal {
        what: format!("the confirming study: {}", refused.what),
        ..refused
    })?;
    ensure_confirms(study, confirming)?;
    results.extend(fresh);
    let basis = Basis {
        disk: None,
        results,
        shown: shown(confirming),
        holds: Some("confirmed by fresh rounds".to_owned()),
        workload: format!("the study {}, confirmed by fresh rounds", study.study),
        beyond: &|_, row| {
            refusal(
                format!(
                    "the fresh rounds do not confirm that {}",
                    words::sentence(row)
                ),
                "keep what is in force; another attempt would be one more choice",
            )
        },
    };
    decide_all(&basis, wanted)
}

/// The results of its cells, if they may be believed.
fn compared(study: &StudyResult) -> Result<Vec<ResultFile>, Refusal> {
    if study.status != Status::Complete {
        return Err(refusal(
            "the study is not complete",
            "continue it with `iosched-ab study --resume FILE`",
        ));
    }
    if let Some(cell) = study.cells.iter().find(|cell| cell.hopeless.is_some()) {
        return Err(refusal(
            format!("the cell {} was given up", cell.name),
            AGAIN,
        ));
    }
    for cell in study.cells.iter().filter(|cell| cell.is_placebo) {
        let result = concluded(&cell.result);
        if let Some(row) = result.primary().find(|row| joint::is_difference(row)) {
            return Err(refusal(
                format!(
                    "the reference differs from itself: {}",
                    words::sentence(row)
                ),
                AGAIN,
            ));
        }
        if result
            .primary()
            .all(|row| row.comparison.interval.is_none())
        {
            return Err(refusal(
                format!("{}, the reference against itself, has no result", cell.name),
                "run the study with more blocks",
            ));
        }
    }
    let cells = study.compared();
    Ok(cells.map(|cell| concluded(&cell.result)).collect())
}

fn shown(study: &StudyResult) -> Vec<ArmComparison> {
    let of_cells = joint::comparisons(study).into_iter();
    of_cells.flat_map(|(_, rows)| rows).collect()
}

/// The same work, later. That the arms and the disk are the same is asked of all results.
fn ensure_confirms(study: &StudyResult, confirming: &StudyResult) -> Result<(), Refusal> {
    // Both are UTC, in one form.
    let end = study.finished.as_ref().unwrap_or(&study.started);
    if confirming.started < *end {
        return Err(refusal(
            "the confirming study began before the study had ended, so it has no fresh rounds",
            "name first the study, then what was measured after it",
        ));
    }
    for cell in confirming.compared() {
        let mut same = study.compared().filter(|own| own.name == cell.name);
        let is_same = same.any(|own| {
            own.result.workload.description == cell.result.workload.description
                && own.result.design.primary == cell.result.design.primary
        });
        if !is_same {
            return Err(refusal(
                format!(
                    "the cell {} of the confirming study is none of the study",
                    cell.name
                ),
                "confirm with the same study and `--cells`",
            ));
        }
    }
    Ok(())
}

fn unconfirmed(study: &StudyResult, cells: usize, cell: &str, row: &ArmComparison) -> Refusal {
    refusal(
        format!(
            "what speaks for it is the best of {cells} cells, and does not hold over all of them together: in {cell}, {}",
            words::sentence(row)
        ),
        format!(
            "confirm it with fresh rounds: `{} -o confirm.json`, then `iosched-ab persist FILE --confirm confirm.json`",
            again(study, cell)
        ),
    )
}

/// The command that runs this cell of the study again.
fn again(study: &StudyResult, cell: &str) -> String {
    let name = if BUILT_IN.contains(&&*study.study) {
        study.study.clone()
    } else {
        format!("./{}.toml", study.study)
    };
    let mut argv = vec!["iosched-ab".to_owned(), "study".to_owned(), name];
    if let Some(first) = study.compared().next() {
        let device = &first.result.device;
        match (&first.result.workload.scratch_file, &device.group) {
            (Some(place), _) => argv.push(place.directory.display().to_string()),
            (None, Some(group)) => argv.extend(group.named.iter().cloned()),
            (None, None) => argv.push(device.device.name.clone()),
        }
        if first.result.workload.scratch_file.is_some() {
            argv.push("--allow-mounted".to_owned());
        }
    }
    if study.quick {
        argv.push("--quick".to_owned());
    }
    argv.extend(["--cells".to_owned(), cell.to_owned()]);
    let words = argv.iter().map(String::as_str);
    shlex::try_join(words).unwrap_or_else(|_| argv.join(" "))
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;
