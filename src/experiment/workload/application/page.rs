//! A page of metrics: the text format of Prometheus, or OpenMetrics. Pure.

use std::collections::BTreeMap;
use std::fmt;

/// What a page says that a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    /// It has a sum and a count, and buckets if it is a histogram.
    Distribution,
}

/// One value with its labels.
///
/// Shown as a user can name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: Labels,
    pub value: f64,
}

/// In the order of their names.
pub type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub struct Page {
    kinds: BTreeMap<String, Kind>,
    pub samples: Vec<Sample>,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.labels.iter();
        let labels: Vec<String> = labels
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        f.write_str(&self.name)?;
        match labels.as_slice() {
            [] => Ok(()),
            some => write!(f, "{{{}}}", some.join(",")),
        }
    }
}

impl Page {
    /// Lines of another form are left out. Err: the page is cut.
    pub fn parse(text: &str) -> Result<Page, String> {
        if !text.ends_with('\n') {
            return Err("its last line is not complete".to_owned());
        }
        let mut page = Page::default();
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix('#') {
                let words: Vec<&str> = comment.split_whitespace().collect();
                if let ["TYPE", name, kind] = words[..] {
                    page.kinds
                        .extend(of_word(kind).map(|it| (name.to_owned(), it)));
                }
            } else {
                page.samples.extend(sample(line));
            }
        }
        Ok(page)
    }

    /// By the type that the page states for a sample of this name, if it states one.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        let stated = |name: &str| self.kinds.get(name).copied();
        let parts = ["_total", "_sum", "_count", "_bucket"];
        let base = parts.iter().find_map(|part| name.strip_suffix(part));
        match (stated(name), base.and_then(stated)) {
            (None, Some(Kind::Distribution)) => Some(Kind::Counter),
            (of_name, of_base) => of_name.or(of_base),
        }
    }

    /// Names that a user can choose, each once.
    pub fn names(&self) -> Vec<&str> {
        let samples = self.samples.iter().map(|it| it.name.as_str());
        let mut names: Vec<&str> = samples
            .chain(self.kinds.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn of_word(word: &str) -> Option<Kind> {
    match word {
        "counter" => Some(Kind::Counter),
        "gauge" => Some(Kind::Gauge),
        "histogram" | "summary" => Some(Kind::Distribution),
        _ => None,
    }
}

/// `NAME[{LABELS}] VALUE`; a time and an exemplar may follow.
fn sample(line: &str) -> Option<Sample> {
    let (name, labels, rest) = series(line)?;
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// A name, its labels, and what follows them.
pub fn series(text: &str) -> Option<(&str, Labels, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let Some(mut rest) = rest.strip_prefix('{') else {
        return Some((name, Labels::new(), rest));
    };
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((name, labels, rest));
        }
        let (label, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start())?;
        labels.insert(label.trim().to_owned(), value);
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after,
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// A text in quotes, without what escapes its marks, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let inside = &text[1..];
    let mut value = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            end if end == quote => return Some((value, &inside[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_samples_and_their_kinds() {
        let text = "# HELP reqs_total Requests.\n# TYPE reqs counter\nreqs_total{path=\"/a,b}\",code=\"2\\\"0\"} 5e3 1700000000\n\
            # TYPE lag gauge\nlag NaN\n# TYPE s summary\ns{quantile=\"0.5\"} 3\ns_sum 9\nnot a sample\n{}\n\
            b_bucket{le=\"+Inf\",} 7 # {id=\"x\"} 0.5\nopen{a=\"b 1\n# EOF\n";
        let page = Page::parse(text).unwrap();
        let names: Vec<&str> = page.samples.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["reqs_total", "lag", "s", "s_sum", "b_bucket"]);
        let first = &page.samples[0];
        assert_eq!(first.labels["path"], "/a,b}");
        assert_eq!(first.labels["code"], "2\"0");
        assert!((first.value - 5000.0).abs() < 1e-9);
        assert_eq!(page.samples[4].labels["le"], "+Inf");
        for (name, kind) in [
            ("reqs_total", Some(Kind::Counter)),
            ("lag", Some(Kind::Gauge)),
            ("s", Some(Kind::Distribution)),
            ("s_sum", Some(Kind::Counter)),
            ("b_bucket", None),
        ] {
            assert_eq!(page.kind(name), kind, "{name}");
        }
    }

    #[test]
    fn a_page_that_is_cut_is_none() {
        assert!(Page::parse("tps 12").is_err());
        assert!(Page::parse("").is_err());
        assert!(Page::parse("<html>\n").unwrap().names().is_empty());
    }
}
