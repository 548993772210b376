//! From `--metric`, `--prefer` and `--keep` to the metrics that decide, and what is wanted of them. Pure.

use anyhow::Result;

use super::{Goals, Limit, Side};
use crate::failure::Failure;
use crate::metric::Metric;
use crate::metric::offer::Offer;
use crate::statistics::scale::Direction;
use crate::text::unit;

/// What the user named, read.
pub struct Asked {
    named: Vec<Named>,
    prefer: Option<Named>,
    keep: Vec<Named>,
}

/// A metric, and what was given with it.
struct Named {
    metric: Metric,
    has_margin: bool,
    limit: Option<Limit>,
}

impl Asked {
    /// `[reported:]NAME[:MARGIN]`; of `keep` also `NAME:at most VALUE`.
    pub fn read(
        offer: &Offer,
        metrics: &[String],
        prefer: Option<&str>,
        keep: &[String],
    ) -> Result<Asked> {
        let named = metrics.iter().map(|text| Named::read(offer, text));
        let kept = keep.iter().map(|text| Named::kept(offer, text));
        let asked = Asked {
            named: named.collect::<Result<_>>()?,
            prefer: prefer.map(|text| Named::read(offer, text)).transpose()?,
            keep: kept.collect::<Result<_>>()?,
        };
        asked.check()?;
        Ok(asked)
    }

    fn check(&self) -> Result<()> {
        let Some(prefer) = &self.prefer else {
            return Ok(());
        };
        let name = &prefer.metric.name;
        if prefer.has_no_direction() {
            return Err(Failure::usage(
                format!("{name} has no better direction, so it cannot be preferred"),
                "prefer another metric; --metric shows this one",
            ));
        }
        let is_it = |kept: &Named| kept.metric.is_same(&prefer.metric);
        if self
            .keep
            .iter()
            .any(|kept| kept.limit.is_none() && is_it(kept))
        {
            return Err(Failure::usage(
                format!("{name} is both preferred and kept"),
                "what is preferred decides; name other metrics with --keep",
            ));
        }
        Ok(())
    }

    pub fn names_none(&self) -> bool {
        self.named.is_empty() && self.keep.is_empty()
    }

    pub fn has_goals(&self) -> bool {
        self.prefer.is_some() || !self.keep.is_empty()
    }

    /// A user who names no metric to keep keeps those of the workload.
    pub fn needs_defaults(&self) -> bool {
        self.named.is_empty() && (self.prefer.is_none() || self.keep.is_empty())
    }

    /// Each metric once, with the margin that was given, and the goals, if there are any.
    pub fn beside(self, defaults: Vec<Metric>) -> Result<(Vec<Metric>, Option<Goals>)> {
        let mut all: Vec<Named> = defaults.into_iter().map(Named::unasked).collect();
        for metric in self.named.iter().chain(&self.prefer).chain(&self.keep) {
            metric.join(&mut all)?;
        }
        let (limited, kept): (Vec<Named>, Vec<Named>) =
            self.keep.into_iter().partition(|it| it.limit.is_some());
        let goals = Goals {
            prefer: self.prefer.map(|it| it.metric.name),
            keep: kept.into_iter().map(|it| it.metric.name).collect(),
            limits: limited.into_iter().filter_map(|it| it.limit).collect(),
        };
        refuse_twice(&goals.limits)?;
        if let Some(both) = goals.keep.iter().find(|name| goals.limit(name).is_some()) {
            return Err(Failure::usage(
                format!("{both} is kept twice: by comparison, and by a limit"),
                "choose one of them",
            ));
        }
        let metrics = all.into_iter().map(|it| it.metric).collect();
        Ok((metrics, (goals != Goals::default()).then_some(goals)))
    }
}

/// Name, side and value: `NAME:at most VALUE`, `NAME: <= VALUE`. None: it is no limit.
fn parts(text: &str) -> Option<(&str, Side, &str)> {
    let (name, rest) = text.rsplit_once(':')?;
    let rest = rest.trim();
    let sides = [
        ("at most", Side::AtMost),
        ("at least", Side::AtLeast),
        ("<=", Side::AtMost),
        (">=", Side::AtLeast),
    ];
    sides.into_iter().find_map(|(words, side)| {
        let begins = rest.get(..words.len())?.eq_ignore_ascii_case(words);
        begins.then(|| (name, side, rest[words.len()..].trim()))
    })
}

fn refuse_twice(limits: &[Limit]) -> Result<()> {
    for (index, limit) in limits.iter().enumerate() {
        if limits[..index].iter().any(|it| it.metric == limit.metric) {
            return Err(Failure::usage(
                format!("{} has two limits", limit.metric),
                "give it one",
            ));
        }
    }
    Ok(())
}

impl Named {
    fn read(offer: &Offer, text: &str) -> Result<Named> {
        let after = text.rsplit_once(':').map(|(_, margin)| margin);
        let is_number = |margin: &str| margin.trim_end_matches('%').parse::<f64>().is_ok();
        Ok(Named {
            metric: offer.metric(text)?,
            has_margin: after.is_some_and(is_number),
            limit: None,
        })
    }

    fn kept(offer: &Offer, text: &str) -> Result<Named> {
        let Some((name, side, written)) = parts(text) else {
            return Named::read(offer, text);
        };
        let wrong = |why: String| {
            Failure::usage(
                format!("{text:?} is no limit: {why}"),
                "write for example --keep 'read_total_p99:at most 10ms', 'iops:at least 500' or 'throughput:at least 20MB/s'",
            )
        };
        let metric = offer.metric(name)?;
        let (value, of) = unit::read(written, None).map_err(wrong)?;
        let limit = Limit {
            metric: metric.name.clone(),
            side,
            value,
            unit: if of.is_empty() { "1".to_owned() } else { of },
        };
        let contradiction = limit.contradiction(&metric).filter(|_| !metric.is_open());
        let is_none = (limit.value <= 0.0).then(|| "a limit is above 0".to_owned());
        match is_none.or(contradiction) {
            Some(why) => Err(wrong(why)),
            None => Ok(Named {
                metric,
                has_margin: false,
                limit: Some(limit),
            }),
        }
    }

    fn unasked(metric: Metric) -> Named {
        Named {
            metric,
            has_margin: false,
            limit: None,
        }
    }

    /// False for a metric that a command reports: its direction is known after the first round.
    fn has_no_direction(&self) -> bool {
        !self.metric.is_open() && self.metric.direction == Direction::Neutral
    }

    /// Each once, with the margin that was given.
    fn join(&self, all: &mut Vec<Named>) -> Result<()> {
        let Some(known) = all.iter_mut().find(|it| it.metric.is_same(&self.metric)) else {
            all.push(Named {
                metric: self.metric.clone(),
                has_margin: self.has_margin,
                limit: None,
            });
            return Ok(());
        };
        let is_same = known.metric.margin.total_cmp(&self.metric.margin).is_eq();
        if known.has_margin && self.has_margin && !is_same {
            return Err(Failure::usage(
                format!("{} has two margins", self.metric.name),
                "give the same margin, or name it once",
            ));
        }
        if self.has_margin {
            known.metric.margin = self.metric.margin;
            known.has_margin = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Result<Limit> {
        let offer = Offer::default();
        let (_, goals) =
            Asked::read(&offer, &[], Some("write_iops"), &[text.to_owned()])?.beside(Vec::new())?;
        Ok(goals.expect("goals").limits.remove(0))
    }

    #[test]
    fn a_limit_has_the_side_and_the_unit_of_its_metric() {
        let metric = |name: &str| Metric::named(name).expect(name);
        for (text, bound) in [
            ("read_total_p99:at most 10ms", 10e6),
            ("read_total_p99: At most 0.5 s", 5e8),
            ("read_total_p99:<=20us", 20e3),
            ("iops:at least 500", 500.0),
            ("iops:at least 1.5k", 1500.0),
            ("throughput:at least 20MB/s", 20e6),
        ] {
            let limit = limit(text).expect(text);
            let found = limit.bound(&metric(&limit.metric)).expect(text);
            assert!((found - bound).abs() < 1e-6 * bound, "{text}: {found}");
        }
        for (text, why) in [
            ("read_total_p99:at least 10ms", "kept `at most VALUE`"),
            ("read_total_p99:at most 10", "have the unit ns"),
            ("read_total_p99:at most 10MB/s", "have the unit ns"),
            ("read_total_p99:at most -10ms", "a limit is above 0"),
            ("read_total_p99:at most", "is no limit"),
            ("iops:at least many", "is no limit"),
            ("iops:at least 0", "a limit is above 0"),
            ("read_total_p9:at most 10ms", "unknown metric"),
        ] {
            let refused = limit(text).expect_err(text).to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_limited_metric_may_be_preferred_but_has_one_limit() {
        let offer = Offer::default();
        let read = |keep: &[&str]| {
            let keep: Vec<String> = keep.iter().map(|&text| text.to_owned()).collect();
            Asked::read(&offer, &[], Some("iops"), &keep)?.beside(Vec::new())
        };
        let (metrics, goals) = read(&["iops:at least 5", "write_total_p99"]).expect("goals");
        let goals = goals.expect("goals");
        assert_eq!(metrics.len(), 2);
        assert!(goals.is_kept("write_total_p99") && !goals.is_kept("iops"));
        assert!(goals.limit("iops").is_some());
        assert!(read(&["iops"]).is_err());
        assert!(read(&["write_iops:at least 5", "write_iops"]).is_err());
        assert!(read(&["iops:at least 5", "iops:at least 6"]).is_err());
    }
}
