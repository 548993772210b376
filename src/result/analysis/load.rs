//! Warnings when CPU load may explain the differences. They never correct. Pure.

use crate::types::result::Round;

/// Steal time comes in slices as long as an I/O.
const STEAL: f64 = 0.05;
/// Above this share, a runnable thread usually waits for a CPU.
const BUSY: f64 = 0.9;

/// One line per problem.
pub fn warnings(rounds: &[Round]) -> Vec<String> {
    let above = |share: fn(&Round) -> Option<f64>, limit: f64| {
        let shares = rounds.iter().filter_map(share);
        let high: Vec<f64> = shares.filter(|share| *share > limit).collect();
        let highest = high.iter().copied().reduce(f64::max)?;
        Some((high.len(), highest * 100.0))
    };
    let of = rounds.len();
    let steal = above(|round| round.steal_share, STEAL).map(|(count, percent)| {
        format!(
            "the hypervisor took up to {percent:.0} % of the CPU time (steal) in {count} of {of} rounds, which can affect the differences"
        )
    });
    let busy = above(|round| round.busy_share, BUSY).map(|(count, percent)| {
        format!(
            "the CPUs were up to {percent:.0} % busy in {count} of {of} rounds, so all times include waiting for a CPU"
        )
    });
    steal.into_iter().chain(busy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn only_what_can_drown_an_effect_is_said() {
        let mut rounds = fixture::sample().rounds;
        for round in &mut rounds {
            (round.busy_share, round.steal_share) = (Some(0.9), Some(0.05));
        }
        assert!(warnings(&rounds).is_empty());
        rounds[0].steal_share = Some(0.061);
        rounds[1].steal_share = Some(0.23);
        rounds[2].busy_share = Some(0.95);
        rounds[3].busy_share = None;
        let [steal, busy] = &warnings(&rounds)[..] else {
            panic!("{:?}", warnings(&rounds));
        };
        let of = rounds.len();
        assert!(
            steal.contains("23 %") && steal.contains(&format!("2 of {of}")),
            "{steal}"
        );
        assert!(
            busy.contains("95 %") && busy.contains(&format!("1 of {of}")),
            "{busy}"
        );
    }
}
