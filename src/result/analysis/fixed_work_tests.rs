use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

const ARMS: [&str; 2] = ["none", "bfq"];
const WORK: f64 = 64e6;

/// A number between -1 and 1.
struct Noise(ChaCha8Rng);

impl Noise {
    fn next(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0
    }
}

/// In how many of 200 runs of 12 rounds the time gets no verdict. `round`: seconds and bytes of the second arm, or of the
/// first.
fn doubted(words: &str, mut round: impl FnMut(bool, &mut Noise) -> (f64, f64)) -> usize {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let runs = 0..200;
    let is_doubted = |seed: &u64| {
        let mut noise = Noise(ChaCha8Rng::seed_from_u64(*seed));
        let rounds: Vec<Done<'_>> = (0..12)
            .map(|index| {
                let (elapsed_s, bytes) = round(index % 2 == 1, &mut noise);
                Done {
                    arm: ARMS[index % 2],
                    elapsed_s,
                    bytes,
                }
            })
            .collect();
        // Each round is looked at, as in a run.
        (1..=rounds.len()).any(|count| doubt(&rounds[..count], &claim(&words)).is_some())
    };
    runs.filter(is_doubted).count()
}

fn claim(words: &[String]) -> Claim<'_> {
    Claim {
        is_named: false,
        reference: ARMS[0],
        margin: 0.05,
        words,
    }
}

/// The same bytes but for a journal; a noisy time, also when one arm is slower.
#[test]
fn the_time_of_a_fixed_work_decides() {
    for (time_noise, slower) in [
        (0.02, 1.0),
        (0.02, 1.3),
        (0.2, 1.0),
        (0.2, 2.0),
        (0.005, 1.0),
    ] {
        let lost = doubted("cp -r a b", |is_second, noise| {
            let factor = if is_second { slower } else { 1.0 };
            let bytes = WORK * (1.0 + 0.002 * noise.next());
            (7.3 * factor * (1.0 + time_noise * noise.next()), bytes)
        });
        assert_eq!(lost, 0, "{time_noise} {slower}");
    }
}

/// Retries do more I/O and take longer; the work varies less than the time.
#[test]
fn work_that_varies_by_retries_decides() {
    let lost = doubted("tar cf a b", |is_second, noise| {
        let retries = 0.02 * (1.0 + noise.next());
        let slower = if is_second { 1.2 } else { 1.0 };
        let seconds = 7.3 * slower * (1.0 + retries + 0.05 * noise.next());
        (seconds, WORK * (1.0 + retries))
    });
    assert!(lost <= 10, "{lost} of 200");
    // A third more under one arm is another work.
    let found = doubted("tar cf a b", |is_second, noise| {
        let bytes = if is_second { 1.33 * WORK } else { WORK };
        (7.3 * (1.0 + 0.1 * noise.next()), bytes)
    });
    assert_eq!(found, 200);
}

/// fio for three seconds, with what is queued at the end: a time that differs by arm beyond the margin, and I/O by far more.
#[test]
fn a_fixed_time_and_a_drain_decide_nothing() {
    let found = doubted("./bench.sh", |is_second, noise| {
        let (drain_s, rate) = if is_second {
            (0.6, 153.0)
        } else {
            (0.45, 107.0)
        };
        let seconds = 3.0 + drain_s + 0.05 * noise.next();
        (seconds, rate * 4096.0 * 3.0 * (1.0 + 0.03 * noise.next()))
    });
    assert_eq!(found, 200);
}

/// Equal arms: the work of a fixed time varies with the disk, the time with the start-up.
#[test]
fn a_fixed_time_of_equal_arms_decides_nothing() {
    for (start_s, work_noise) in [(0.005, 0.01), (0.02, 0.03), (0.05, 0.1)] {
        let found = doubted("./bench.sh", |_, noise| {
            let seconds = 5.0 + start_s * (1.0 + noise.next());
            (seconds, WORK * (1.0 + work_noise * noise.next()))
        });
        assert!(found >= 198, "{start_s} {work_noise}: {found} of 200");
    }
}

/// A fixed rate for a fixed time does the same work: only its arguments tell.
#[test]
fn a_time_that_the_arguments_name_decides_nothing() {
    for (words, expected) in [
        ("bench -t 5", 200),
        ("bench -T5", 200),
        ("bench --time=5s file", 200),
        ("sh -c ./bench 5", 200),
        ("bench -c 10", 0),
        ("bench --size=5g", 0),
        ("bench", 0),
    ] {
        let found = doubted(words, |_, noise| {
            (
                5.06 + 0.05 * noise.next(),
                WORK * (1.0 + 0.001 * noise.next()),
            )
        });
        assert_eq!(found, expected, "{words}");
    }
}

#[test]
fn a_few_rounds_or_the_users_word_decide() {
    let round = |arm: &'static str, elapsed_s: f64, bytes: f64| Done {
        arm,
        elapsed_s,
        bytes,
    };
    let rounds = [
        round("none", 5.0, 1e6),
        round("bfq", 5.2, 2e6),
        round("bfq", 5.1, 2e6),
        round("none", 5.0, 1e6),
    ];
    let named = Claim {
        is_named: true,
        ..claim(&[])
    };
    assert_eq!(doubt(&rounds[..3], &claim(&[])), None);
    let found = doubt(&rounds, &claim(&[])).expect("a doubt").to_string();
    assert!(found.contains("2.00 times the bytes under bfq"), "{found}");
    assert_eq!(doubt(&rounds, &named), None);
    // Not even the user's word makes a clock a result.
    let same = rounds.map(|round| Done {
        elapsed_s: 5.0,
        ..round
    });
    assert_eq!(doubt(&same, &named), Some(Doubt::SameTime));
}

/// Also where the user says that the work is fixed.
#[test]
fn an_arm_without_any_io_does_not_win_by_its_time() {
    let round = |arm, bytes| Done {
        arm,
        elapsed_s: 1.0,
        bytes,
    };
    let named = Claim {
        is_named: true,
        ..claim(&[])
    };
    let rounds = |second: f64| [round(ARMS[0], WORK), round(ARMS[1], second)].repeat(3);
    let idle = Doubt::NoWork {
        arm: ARMS[1].to_owned(),
    };
    assert_eq!(doubt(&rounds(0.0), &named), Some(idle));
    assert_eq!(doubt(&rounds(WORK), &named), None);
}
