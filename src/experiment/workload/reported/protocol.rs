//! The lines of the file `$IOSCHED_METRICS`: `NAME VALUE [UNIT] [higher|lower]`, comments after `#`. Pure.

use super::check_unit;
use iosched_result::metric::reported::{Better, Reported, check_name};
use iosched_result::text::unit;

pub fn parse(text: &str) -> Result<Vec<Reported>, String> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("").trim()));
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| metric(line).map_err(|why| format!("line {number}: {why}")))
        .collect()
}

fn metric(line: &str) -> Result<Reported, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, value, ref rest @ ..] = words[..] else {
        return Err("expected NAME VALUE [UNIT] [higher|lower]".to_owned());
    };
    check_name(name)?;
    let (unit, better) = match *rest {
        [] => (None, None),
        [word] => better(word).map_or((Some(word), None), |better| (None, Some(better))),
        [unit, word] => {
            let better =
                better(word).ok_or_else(|| format!("{word:?} is neither higher nor lower"))?;
            (Some(unit), Some(better))
        }
        _ => return Err("there are more than four words".to_owned()),
    };
    unit.map_or(Ok(()), check_unit)?;
    let (value, unit) = unit::read(value, unit)?;
    check_unit(&unit)?;
    let metric = Reported::new(name, value, &unit, better);
    Ok(if better.is_some() {
        metric.headline()
    } else {
        metric
    })
}

pub(super) fn better(word: &str) -> Option<Better> {
    match word {
        "higher" => Some(Better::Higher),
        "lower" => Some(Better::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_metric() {
        let found = parse(
            "# of this round\n\n tps 1234.5 1/s higher # by itself\nrows 7\nhits 0.5 higher\nlag 3e-3 s\r\nwait 12,5ms lower\n",
        );
        let expected = vec![
            Reported::new("tps", 1234.5, "1/s", Some(Better::Higher)).headline(),
            Reported::new("rows", 7.0, "1", None),
            Reported::new("hits", 0.5, "1", Some(Better::Higher)).headline(),
            Reported::new("lag", 0.003, "s", None),
            Reported::new("wait", 12.5, "ms", Some(Better::Lower)).headline(),
        ];
        assert_eq!(found.unwrap(), expected);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_metric_is_refused_by_line() {
        for (text, says) in [
            ("ok 1\ntps", "line 2: expected NAME VALUE"),
            ("tps fast", "line 1: \"fast\" is not a finite number"),
            ("tps inf", "not a finite number"),
            ("tps nan", "not a finite number"),
            ("tps 5ms 1/s lower", "\"ms\""),
            ("tps 1 1/s faster", "neither higher nor lower"),
            ("tps 1 1/s higher x", "more than four words"),
            ("t\u{1b}[2J 1", "the name of a metric"),
            ("tps 1 \u{7}x", "a unit has"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
