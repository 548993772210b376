//! How long a run goes on, in words. Pure.

use crate::analysis::left::Left;

/// `4 min 20 s left`, or what else is known; None: nothing is.
pub fn words(left: Left) -> Option<String> {
    // Less than this is no second statement.
    const ALIKE: f64 = 1.02;
    // A file may say anything.
    const LONGEST_S: f64 = 1e9;
    let within = |seconds: f64| {
        if seconds > 0.0 {
            seconds.min(LONGEST_S)
        } else {
            0.0
        }
    };
    let most_s = within(left.most_s?);
    let most = time(most_s);
    Some(match left.next_s.map(within) {
        None => format!("at most {most} left"),
        Some(next_s) if most_s <= ALIKE * next_s => format!("{most} left"),
        Some(next_s) => format!("{} to the next look, at most {most} left", time(next_s)),
    })
}

/// The same as time goes by: `since_s` after it was known.
pub fn words_after(left: Left, since_s: f64) -> Option<String> {
    let later = |seconds: f64| (seconds - since_s).max(0.0);
    words(Left {
        next_s: left.next_s.map(later),
        most_s: left.most_s.map(later),
    })
}

/// Rounded by a twentieth at most, from 10 s on.
fn time(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 595.0 => {
            let tens = (s / 10.0).round() as u64;
            match (tens / 6, tens % 6 * 10) {
                (minutes, 0) => format!("{minutes} min"),
                (minutes, seconds) => format!("{minutes} min {seconds} s"),
            }
        }
        s if s < 99.5 * MINUTE => format!("{:.0} min", s / MINUTE),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_rounded_by_little() {
        let told = |seconds: f64| {
            let text = time(seconds);
            let words: Vec<&str> = text.split(' ').collect();
            let parts = words.chunks(2).map(|pair| {
                let number: f64 = pair[0].parse().expect("a number");
                number
                    * match pair[1] {
                        "s" => 1.0,
                        "min" => 60.0,
                        "h" => 3600.0,
                        other => panic!("{other}"),
                    }
            });
            parts.sum::<f64>()
        };
        for tenths in 100..200_000 {
            let seconds = f64::from(tenths) / 10.0;
            let error = told(seconds) / seconds - 1.0;
            assert!(error.abs() <= 0.051, "{seconds}: {}", time(seconds));
        }
        assert_eq!(time(260.0), "4 min 20 s");
        assert_eq!(time(299.0), "5 min");
        assert_eq!(time(599.0), "10 min");
    }

    #[test]
    fn it_says_of_what_the_time_is() {
        let of = |next_s, most_s| words(Left { next_s, most_s });
        assert_eq!(of(Some(45.0), Some(45.0)).as_deref(), Some("45 s left"));
        assert_eq!(
            of(Some(45.0), Some(600.0)).as_deref(),
            Some("45 s to the next look, at most 10 min left")
        );
        assert_eq!(of(None, Some(90.0)).as_deref(), Some("at most 90 s left"));
        assert_eq!(of(None, None), None);
        assert_eq!(
            of(None, Some(f64::NAN)).as_deref(),
            Some("at most 0 s left")
        );
        assert_eq!(
            of(None, Some(1e300)).as_deref(),
            of(None, Some(1e9)).as_deref()
        );
        let later = words_after(
            Left {
                next_s: Some(5.0),
                most_s: Some(60.0),
            },
            8.0,
        );
        assert_eq!(
            later.as_deref(),
            Some("0 s to the next look, at most 52 s left")
        );
    }
}
