//! How an arm looks: the same colour, line and dot in every figure. Pure.

use maud::{Markup, html};

use super::figure::name;
use crate::types::arm::Arm;
use crate::types::result::ResultFile;

/// As many as there are colours in the style sheet.
const LOOKS: usize = 8;

/// The class of each arm, in the order of the arms. A scheduler has its own look in every report; a second arm with the
/// same scheduler takes the next that is free.
pub fn colours(arms: &[Arm]) -> Vec<String> {
    let usual = |scheduler: &str| match scheduler {
        "none" => Some(0),
        "mq-deadline" => Some(1),
        "kyber" => Some(2),
        "bfq" => Some(3),
        "adios" => Some(4),
        _ => None,
    };
    let mut taken: Vec<usize> = Vec::new();
    for arm in arms {
        let wanted = usual(&arm.scheduler).filter(|look| !taken.contains(look));
        let free = (0..LOOKS).rev().find(|look| !taken.contains(look));
        taken.push(wanted.or(free).unwrap_or(taken.len() % LOOKS));
    }
    taken.into_iter().map(|look| format!("arm{look}")).collect()
}

/// The arms with their lines.
pub fn key(result: &ResultFile) -> Markup {
    let arms = &result.design.arms;
    html! {
        ul.key {
            @for (arm, look) in arms.iter().zip(colours(arms)) {
                li {
                    svg.swatch viewBox="0 0 28 10" aria-hidden="true" {
                        line class=(format!("line {look}")) x1="0" x2="28" y1="5" y2="5" {}
                        line class=(format!("dot {look}")) x1="14" x2="14" y1="5" y2="5" {}
                    }
                    (name(&arm.label))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_keep_their_looks() {
        let looks = |texts: &[&str]| {
            let arms: Vec<Arm> = texts.iter().map(|text| text.parse().unwrap()).collect();
            colours(&arms)
        };
        assert_eq!(looks(&["bfq", "none"]), ["arm3", "arm0"]);
        let two = looks(&["bfq", "bfq,iosched/low_latency=0", "kyber"]);
        assert_eq!(two, ["arm3", "arm7", "arm2"]);
    }
}
