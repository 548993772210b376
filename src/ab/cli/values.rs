//! Values of options: times, sizes and numbers of rounds.

use std::time::Duration;

use iosched_result::statistics::stopping::{MOST_BLOCKS, Stopping};
use iosched_result::types::cold::Cold;
use iosched_result::types::washout::Washout;

const DAY: Duration = Duration::from_secs(86_400);

pub fn duration(text: &str) -> Result<Duration, String> {
    duration_up_to(text, DAY, "one day")
}

/// For a whole run.
pub fn long_duration(text: &str) -> Result<Duration, String> {
    duration_up_to(text, 60 * DAY, "60 days")
}

pub fn budget(text: &str) -> Result<Duration, String> {
    let length = long_duration(text)?;
    if length < Duration::from_secs(1) {
        return Err("give a time of 1s or more".to_owned());
    }
    Ok(length)
}

fn duration_up_to(text: &str, most: Duration, in_words: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    let length =
        parsed.map_err(|error| format!("{error}; give a time such as 20s, 1500ms or 2m"))?;
    if length > most {
        return Err(format!(
            "give a time from 0 to {in_words}, for instance 20s"
        ));
    }
    Ok(length)
}

pub fn washout(text: &str) -> Result<Washout, String> {
    match text {
        "auto" => Ok(Washout::Auto),
        _ => duration(text).map(Washout::For),
    }
}

/// A time, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Auto,
    Named(Duration),
}

impl Chosen {
    pub fn named(self) -> Option<Duration> {
        match self {
            Chosen::Auto => None,
            Chosen::Named(time) => Some(time),
        }
    }
}

pub fn ramp(text: &str) -> Result<Chosen, String> {
    match text {
        "auto" => Ok(Chosen::Auto),
        _ => duration(text).map(Chosen::Named),
    }
}

pub fn round_time(text: &str) -> Result<Chosen, String> {
    let chosen = ramp(text)?;
    let is_short = |time: Duration| time < Duration::from_millis(100);
    if chosen.named().is_some_and(is_short) {
        return Err("a round lasts at least 100ms".to_owned());
    }
    Ok(chosen)
}

pub fn trace_time(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    if !(Duration::from_millis(100)..=Duration::from_secs(60)).contains(&length) {
        return Err("a trace lasts from 100ms to 1m".to_owned());
    }
    Ok(length)
}

pub fn rounds(text: &str) -> Result<Stopping, String> {
    match text {
        "auto" => Ok(Stopping::LOOKS),
        "open" => Ok(Stopping::Open),
        _ => match text.parse() {
            Ok(blocks @ 1..=MOST_BLOCKS) => Ok(Stopping::Fixed { blocks }),
            _ => Err(format!(
                "give a number from 1 to {MOST_BLOCKS}, auto or open"
            )),
        },
    }
}

/// Rounds of a new run, or more of one that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    Of(Stopping),
    More(usize),
}

pub fn rounds_or_more(text: &str) -> Result<Rounds, String> {
    let Some(more) = text.strip_prefix('+') else {
        return rounds(text).map(Rounds::Of);
    };
    let is_number = more.bytes().all(|byte| byte.is_ascii_digit());
    match more.parse() {
        Ok(blocks @ 1..=MOST_BLOCKS) if is_number => Ok(Rounds::More(blocks)),
        _ => Err(format!("add a number from +1 to +{MOST_BLOCKS}")),
    }
}

pub fn cold(text: &str) -> Result<Cold, String> {
    match text {
        "FILE" | "file" => Ok(Cold::File),
        "ALL" | "all" => Ok(Cold::All),
        _ => Err("give FILE or ALL".to_owned()),
    }
}
