//! Selects a series of a page and what is taken of it: `rate(SERIES)`, `mean(SERIES)`, `p99(SERIES)`, `above(BOUND,SERIES)`, or the
//! series itself. Pure.

use std::fmt;
use std::str::FromStr;

use iosched_result::text::similar::near;

use super::page::{self, Kind, Labels, Page, Sample};
use super::reading::{Take, Value};

#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    text: String,
    take: Option<Take>,
    name: String,
    labels: Labels,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Selector, String> {
        let text = text.trim();
        let (take, inside) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            None => (None, text),
            Some((function, inside)) => {
                let (take, inside) = function_of(function.trim(), inside)?;
                (Some(take), inside)
            }
        };
        let parsed = page::series(inside.trim()).filter(|(_, _, rest)| rest.is_empty());
        let (name, labels, _) = parsed.ok_or_else(|| {
            format!("{inside:?} is no series such as requests_total{{code=\"200\"}}")
        })?;
        Ok(Selector {
            text: text.to_owned(),
            take,
            name: name.to_owned(),
            labels,
        })
    }
}

/// What is taken, and of which series.
fn function_of<'a>(name: &str, inside: &'a str) -> Result<(Take, &'a str), String> {
    let percent = || name.strip_prefix('p')?.parse::<f64>().ok();
    match name {
        "rate" => Ok((Take::Rate, inside)),
        "mean" => Ok((Take::Mean, inside)),
        "above" => {
            let (bound, series) = inside.split_once(',').unwrap_or((inside, ""));
            let bound = bound
                .trim()
                .parse()
                .ok()
                .filter(|bound: &f64| bound.is_finite());
            let bound =
                bound.ok_or("above needs a bound and a series: above(0.01,request_seconds)")?;
            Ok((Take::Above(bound), series))
        }
        _ => percent()
            .filter(|percent| *percent > 0.0 && *percent < 100.0)
            .map(|percent| (Take::Quantile(percent / 100.0), inside))
            .ok_or_else(|| {
                format!("{name:?} is neither rate, mean, above nor a percentile such as p99")
            }),
    }
}

impl Selector {
    /// The unit that the name ends in, as Prometheus names its metrics.
    pub fn unit(&self) -> Option<&'static str> {
        let name = self.name.strip_suffix("_total").unwrap_or(&self.name);
        [("_seconds", "s"), ("_bytes", "bytes")]
            .into_iter()
            .find_map(|(end, unit)| name.ends_with(end).then_some(unit))
    }

    /// What is to be taken, and what the page has of it. `asked`: what the user said that it is.
    pub fn find(&self, page: &Page, asked: Option<Take>) -> Result<(Take, Value), String> {
        let take = match self.take.or(asked) {
            Some(take) => take,
            None => self.by_kind(page)?,
        };
        let value = match take {
            Take::Rate => Value::Number(self.sum_of(page, &self.name)?),
            Take::Gauge => Value::Number(self.only(page)?),
            Take::Mean => Value::Sums {
                sum: self.sum_of(page, &format!("{}_sum", self.name))?,
                count: self.sum_of(page, &format!("{}_count", self.name))?,
            },
            Take::Quantile(_) | Take::Above(_) => Value::Buckets(self.buckets(page)?),
        };
        Ok((take, value))
    }

    fn by_kind(&self, page: &Page) -> Result<Take, String> {
        let name = &self.name;
        // A summary's quantile is a gauge.
        let is_there = page.samples.iter().any(|it| it.name == *name);
        match page.kind(name) {
            Some(Kind::Counter) => Ok(Take::Rate),
            Some(Kind::Gauge) => Ok(Take::Gauge),
            Some(Kind::Distribution) if is_there => Ok(Take::Gauge),
            Some(Kind::Distribution) => Err(format!(
                "{name} is a distribution: take its mean, mean({self}), a percentile, p99({self}), or the share above one of its bounds, above(0.1,{self})"
            )),
            None if is_there => Err(format!(
                "the page does not say whether {name} is a counter or a gauge: add :counter or :gauge to the name of the metric"
            )),
            None => Err(self.not_there(page, name)),
        }
    }

    fn of<'a>(&self, page: &'a Page, name: &str) -> impl Iterator<Item = &'a Sample> {
        let is_labelled = |sample: &&Sample| {
            let mut labels = self.labels.iter();
            labels.all(|(label, value)| sample.labels.get(label) == Some(value))
        };
        let samples = page.samples.iter().filter(move |it| it.name == name);
        samples.filter(is_labelled).collect::<Vec<_>>().into_iter()
    }

    /// Of all series with these labels.
    fn sum_of(&self, page: &Page, name: &str) -> Result<f64, String> {
        let found: Vec<f64> = self.of(page, name).map(|it| it.value).collect();
        match found.as_slice() {
            [] => Err(self.not_there(page, name)),
            values if values.iter().all(|value| value.is_finite()) => Ok(values.iter().sum()),
            _ => Err(format!("{name} is not a finite number")),
        }
    }

    fn only(&self, page: &Page) -> Result<f64, String> {
        let found: Vec<&Sample> = self.of(page, &self.name).collect();
        match found.as_slice() {
            [one] if one.value.is_finite() => Ok(one.value),
            [one] => Err(format!("{} is {}", self.name, one.value)),
            [] => Err(self.not_there(page, &self.name)),
            [one, other, ..] if one.labels == other.labels => {
                Err(format!("the page has {one} twice"))
            }
            [one, other, ..] => Err(format!(
                "{} series are called {self}: name one, such as {one} or {other}",
                found.len()
            )),
        }
    }

    /// Upper bounds and cumulative counts, of all series with these labels.
    fn buckets(&self, page: &Page) -> Result<Vec<(f64, f64)>, String> {
        let name = format!("{}_bucket", self.name);
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for sample in self.of(page, &name) {
            let bound = sample
                .labels
                .get("le")
                .and_then(|le| le.parse::<f64>().ok());
            let bound = bound.filter(|bound| !bound.is_nan());
            let bound = bound.ok_or_else(|| format!("a bucket of {} has no bound", self.name))?;
            match buckets
                .iter_mut()
                .find(|(known, _)| known.total_cmp(&bound).is_eq())
            {
                Some((_, count)) => *count += sample.value,
                None => buckets.push((bound, sample.value)),
            }
        }
        if buckets.is_empty() {
            return Err(self.not_there(page, &name));
        }
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_whole = buckets
            .last()
            .is_some_and(|(bound, _)| *bound == f64::INFINITY);
        if !is_whole || buckets.iter().any(|(_, count)| !count.is_finite()) {
            return Err(format!("the buckets of {} have no count of all", self.name));
        }
        Ok(buckets)
    }

    fn not_there(&self, page: &Page, name: &str) -> String {
        let names = page.names();
        if names.is_empty() {
            return "it has no line such as requests_total 5, so it is no page of metrics"
                .to_owned();
        }
        if self.labels.is_empty() || !names.contains(&name) {
            let guesses = near(name, names.iter().copied());
            let hint = match guesses.as_slice() {
                [] => format!("it has {} other names", names.len()),
                some => format!("did you mean {}?", some.join(" or ")),
            };
            return format!("it has no series {name}: {hint}");
        }
        let others = page.samples.iter().filter(|it| it.name == name);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        let shown = others[..others.len().min(3)].join(", ");
        format!("no series {name} has these labels; there are {shown}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# TYPE tx counter\ntx_total{db=\"a\"} 10\ntx_total{db=\"b\"} 5\n# TYPE up gauge\nup{n=\"1\"} 1\nup{n=\"2\"} 0\n\
        # TYPE lat histogram\nlat_bucket{le=\"0.1\",p=\"x\"} 3\nlat_bucket{le=\"+Inf\",p=\"x\"} 4\nlat_bucket{le=\"0.1\",p=\"y\"} 1\n\
        lat_bucket{le=\"+Inf\",p=\"y\"} 1\nlat_sum 0.7\nlat_count 5\nplain 3\n";

    fn found(text: &str) -> Result<(Take, Value), String> {
        let selector: Selector = text.parse()?;
        selector.find(&Page::parse(PAGE).unwrap(), None)
    }

    #[test]
    fn a_series_is_found_by_its_name_and_labels() {
        assert_eq!(found("tx_total"), Ok((Take::Rate, Value::Number(15.0))));
        let one = found("tx_total{db=\"b\"}");
        assert_eq!(one, Ok((Take::Rate, Value::Number(5.0))));
        assert_eq!(found("up{n=\"2\"}"), Ok((Take::Gauge, Value::Number(0.0))));
        let mean = Value::Sums {
            sum: 0.7,
            count: 5.0,
        };
        assert_eq!(found("mean(lat)"), Ok((Take::Mean, mean)));
        let buckets = Value::Buckets(vec![(0.1, 4.0), (f64::INFINITY, 5.0)]);
        assert_eq!(
            found(" p99( lat ) "),
            Ok((Take::Quantile(0.99), buckets.clone()))
        );
        assert_eq!(found("above(0.1, lat)"), Ok((Take::Above(0.1), buckets)));
        assert_eq!(found("rate(plain)"), Ok((Take::Rate, Value::Number(3.0))));
    }

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        for (text, says) in [
            ("tx_totl", "did you mean tx_total?"),
            ("tx_total{db=\"c\"}", "there are tx_total{db=\"a\"}"),
            ("up", "2 series"),
            ("lat", "mean(lat)"),
            ("plain", ":counter or :gauge"),
            ("p99(tx)", "no series tx_bucket"),
            ("p0(lat)", "nor a percentile"),
            ("median(lat)", "nor a percentile"),
            ("above(lat)", "above needs a bound"),
            ("above(0.1)", "is no series"),
            ("la t", "is no series"),
            ("", "is no series"),
            ("tx_total{db=\"a}", "is no series"),
        ] {
            let why = found(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
