use super::*;
use crate::report::fixture::{empty, play, values};
use crate::statistics::stopping::Stopping;

#[test]
fn arms_are_said_where_their_labels_do_not_say_them() {
    let mut result = empty(&["none", "bfq"], Stopping::Fixed { blocks: 6 }, &[]);
    assert_eq!(arms(&result), None);
    result.design.arms[1] = "capped=none,cgroup:/a.slice/io.max=wbps=5,exec:./x y,undo:z"
        .parse()
        .expect("an arm");
    let said = "Arms: capped is none,cgroup:/a.slice/io.max=wbps=5,exec:./x y,undo:z";
    assert_eq!(arms(&result).as_deref(), Some(said));
}

#[test]
fn a_round_must_be_long_enough_for_what_a_scheduler_waits_for() {
    let mut result = empty(
        &["none", "mq-deadline"],
        Stopping::Fixed { blocks: 1 },
        &["throughput"],
    );
    play(&mut result, |turn| Ok(values(turn, &[("throughput", 1.0)])));
    for round in result.rounds.iter_mut().filter(|r| r.arm == "mq-deadline") {
        let settings = &mut round.evidence.applied.effective.settings;
        settings.insert("iosched/write_expire".into(), "5000".into());
        round.evidence.device.ops[Op::WriteAsync as usize].ios = 9;
    }
    assert_eq!(unseen_expiries(&result), "", "20 s are enough");
    result.design.round_time_s = 2.0;
    let text = unseen_expiries(&result);
    assert!(text.contains("of mq-deadline (5000 ms)"), "{text}");
    for round in &mut result.rounds {
        round.evidence.device.ops[Op::WriteAsync as usize].ios = 0;
    }
    assert_eq!(unseen_expiries(&result), "", "no writes, nothing to expire");
}
