//! Sizes and offsets of a job file as numbers. Pure.

use super::line::Setting;
use super::place::Refusal;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    Bytes(u64),
    /// A part of the file.
    Share(f64),
}

impl Amount {
    pub fn bytes(self, whole_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Share(share) => (whole_bytes as f64 * share) as u64,
        }
    }
}

/// None if it is in another unit, such as zones, or a range.
pub(super) fn amount(setting: &Setting) -> Option<Amount> {
    let value = setting.value();
    match value.strip_suffix('%') {
        Some(share) => {
            let share: f64 = share.parse().ok()?;
            (0.0..=100.0)
                .contains(&share)
                .then_some(Amount::Share(share / 100.0))
        }
        None => bytes(value).map(Amount::Bytes),
    }
}

/// An option that is needed as a number.
pub(super) fn needed(setting: Option<&Setting>) -> Result<Option<Amount>, Refusal> {
    let Some(setting) = setting else {
        return Ok(None);
    };
    match amount(setting) {
        Some(amount) => Ok(Some(amount)),
        None => Err((
            setting.line,
            format!(
                "{} is neither a number with k, m, g nor a percentage",
                setting.text()
            ),
        )),
    }
}

/// fio's sizes, as powers of two whatever `kb_base` says: 512, 4k, 10m, 1g, 1GiB.
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.trim_end_matches('b').trim_end_matches('i');
    let (digits, shift) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 10),
        'm' => (&text[..text.len() - 1], 20),
        'g' => (&text[..text.len() - 1], 30),
        't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

pub(super) fn mebibytes(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    }
}
