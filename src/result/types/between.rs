//! `22:00-05:00`: the local hours in which the rounds of a live run begin. Pure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

const DAY_MINUTES: u32 = 24 * 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Between {
    /// Minutes since midnight.
    from: u32,
    to: u32,
}

impl Between {
    /// How long to wait at this local time of day; zero between the two times. Over midnight if `to` is before `from`.
    pub fn wait(self, time_of_day: Duration) -> Duration {
        let now_s = time_of_day.as_secs() as u32;
        let (from_s, to_s) = (self.from * 60, self.to * 60);
        let is_between = if from_s < to_s {
            (from_s..to_s).contains(&now_s)
        } else {
            now_s >= from_s || now_s < to_s
        };
        let day_s = DAY_MINUTES * 60;
        let wait_s = if is_between {
            0
        } else {
            (from_s + day_s - now_s % day_s) % day_s
        };
        Duration::from_secs(u64::from(wait_s))
    }
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a stretch of the day such as 02:00-05:00");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let between = Between {
            from: minutes(from).ok_or_else(wrong)?,
            to: minutes(to).ok_or_else(wrong)?,
        };
        if between.from == between.to {
            return Err(format!("{text:?} begins when it ends"));
        }
        Ok(between)
    }
}

fn minutes(text: &str) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let is_short = |text: &str| (1..=2).contains(&text.len());
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| is_short(text));
    let all = number(hours)? * 60 + number(minutes).filter(|minutes| *minutes < 60)?;
    Some(all % DAY_MINUTES).filter(|_| all <= DAY_MINUTES)
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from, self.to);
        write!(
            f,
            "{:02}:{:02}-{:02}:{:02}",
            from / 60,
            from % 60,
            to / 60,
            to % 60
        )
    }
}

impl TryFrom<String> for Between {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Between> for String {
    fn from(between: Between) -> String {
        between.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_until_the_next_beginning() {
        let at = |text: &str| {
            let minutes = minutes(text).unwrap();
            Duration::from_secs(u64::from(minutes) * 60)
        };
        for (between, now, waits_min) in [
            ("02:00-05:00", "02:00", 0),
            ("02:00-05:00", "04:59", 0),
            ("02:00-05:00", "05:00", 21 * 60),
            ("02:00-05:00", "01:30", 30),
            ("22:00-05:00", "23:59", 0),
            ("22:00-05:00", "00:00", 0),
            ("22:00-05:00", "05:00", 17 * 60),
            ("22:00-24:00", "21:59", 1),
            ("22:00-24:00", "00:01", 21 * 60 + 59),
        ] {
            let between: Between = between.parse().unwrap();
            let waits = between.wait(at(now)).as_secs() / 60;
            assert_eq!(waits, waits_min, "{between} at {now}");
        }
        let end_of_day = Duration::from_millis(86_399_999);
        assert_eq!(
            "00:00-01:00"
                .parse::<Between>()
                .unwrap()
                .wait(end_of_day)
                .as_secs(),
            1
        );
    }

    #[test]
    fn only_times_of_day_are_taken() {
        for text in [
            "2-5",
            "02:00",
            "25:00-26:00",
            "02:60-05:00",
            "a:b-c:d",
            "02:00-02:00",
            "-1:00-02:00",
            "",
            "24:01-01:00",
        ] {
            assert!(text.parse::<Between>().is_err(), "{text}");
        }
        assert_eq!(
            "2:05-24:00".parse::<Between>().unwrap().to_string(),
            "02:05-00:00"
        );
    }
}
