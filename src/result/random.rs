//! Random numbers from a seed; their sequence must not change with a crate's version. Pure.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// Uniform in `0..n`; rejects draws that would favour small numbers (modulo bias).
pub fn below(rng: &mut ChaCha8Rng, n: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % n;
    loop {
        let x = rng.next_u64();
        if x < fair {
            return x % n;
        }
    }
}
