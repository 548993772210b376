use std::cell::Cell as Counter;
use std::rc::Rc;

use super::*;
use crate::machine::fake::{FakeMachine, cgroup, disk};
use crate::run::silent::Silent;
use crate::study::format::parse;
use crate::workload::fake::{Fake, Played};
use iosched_result::types::outcome::Outcome;

const STUDY: &str = r#"
name = "staged"
title = "Two states of the disk"
device = "ram"
arms = ["none", "bfq"]
metrics = ["throughput"]

[times]
ramp_s = 1
round_s = 2

[[stage]]
name = "first"

[[stage]]
name = "second"
prepare = [["true"]]

[[cell]]
name = "reads-{stage}"
fio.r = "rw=randread"
"#;
const LIMIT: Duration = Duration::from_secs(300);
const MAKING: Duration = Duration::from_secs(30);
/// Polls of 20 ms: the ramp, the round's time, and a little more.
const POLLS: usize = 160;
/// Two of each of three cells, with two arms.
const ROUNDS_OF_THE_PILOT: usize = 12;

impl StudyObserver for Silent {
    fn cell_begins(&mut self, _: &str, _: &Ahead) {}
    fn prepares(&mut self, _: &str) {}
    fn pilots(&mut self, _: &str) {}
    fn leaves_out(&mut self, _: &LeftOut) {}
    fn chose(&mut self, _: &Times, _: &Budget) {}
}

/// A study with a budget whose rounds take `slower` times as long as those of its pilot.
struct Budgeted {
    study: StudyResult,
    /// How often the second stage was made, the pilot's included.
    made: usize,
    /// After the end that was asked for.
    late: Duration,
    planned_blocks: usize,
}

impl Budgeted {
    fn slowed(slower: usize) -> Budgeted {
        let study = parse("staged.toml", STUDY).expect("a study");
        let mut run = StudyRun {
            arms: study.arms.clone(),
            candidates: Vec::new(),
            cells: study.cells.clone(),
            disks: disk().into(),
            scratch_file: None,
            times: study.times,
            budget: Some(LIMIT),
            began: Instant::now(),
            deadline: None,
            quick: false,
            may_write: false,
            seed: 5,
            output: None,
            replaces_output: false,
            notes: Vec::new(),
            earlier: None,
            study: &study,
        };
        let mut machine = FakeMachine::new(&[]);
        machine.making = MAKING;
        let world = machine.world();
        let end = machine.now() + LIMIT;
        let cells = run.with_placebo();
        let rounds = Rc::new(Counter::new(0));
        let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
        for _ in &cells {
            let rounds = rounds.clone();
            let mut workload = Fake::new(move |_| {
                rounds.set(rounds.get() + 1);
                let is_pilot = rounds.get() <= ROUNDS_OF_THE_PILOT;
                Ok(Played {
                    polls_before_end: if is_pilot { POLLS } else { POLLS * slower },
                    outcome: Outcome::default(),
                })
            });
            workload.cgroups = vec![cgroup()];
            workloads.push(Box::new(workload));
        }
        let runs = run.cell_runs(&cells, &mut workloads, study.pilot());
        let planned = run.pilot(&mut machine, runs, end, &mut Silent);
        let planned = planned.expect("a plan");
        (run.times, run.deadline) = (planned.times, Some(planned.deadline));
        let runs = run.cell_runs(&cells, &mut workloads, run.times);
        let budget = Some(planned.budget);
        let ran = run.run_on(&mut machine, runs, budget, Vec::new(), &mut Silent);
        let makes = |did: &&String| did.starts_with("make ready");
        Budgeted {
            study: ran.expect("a result"),
            made: world.borrow().done.iter().filter(makes).count(),
            late: machine.now().saturating_sub(end),
            planned_blocks: planned.times.blocks.expect("a number"),
        }
    }

    /// The blocks of the first stage's cell, of the second's, and of A/A, which is in the second stage.
    fn blocks(&self) -> Vec<usize> {
        let cells = self.study.cells.iter();
        cells.map(|cell| cell.result.blocks_begun()).collect()
    }

    fn cut(&self) -> Vec<&str> {
        let budget = self.study.budget.as_ref().expect("a budget");
        budget.cut.iter().map(|cut| cut.cell.as_str()).collect()
    }
}

#[test]
fn a_study_that_goes_as_its_pilot_did_has_all_its_blocks_in_time() {
    let ran = Budgeted::slowed(1);
    assert!(ran.planned_blocks > 6, "{}", ran.planned_blocks);
    assert_eq!(ran.blocks(), [ran.planned_blocks; 3]);
    assert_eq!((ran.cut(), ran.made), (vec![], 2));
    assert_eq!(ran.late, Duration::ZERO);
}

#[test]
fn a_stage_that_is_slower_than_foretold_takes_nothing_from_the_next() {
    let ran = Budgeted::slowed(3);
    let blocks = ran.blocks();
    let is_cut = |blocks: &usize| (1..ran.planned_blocks).contains(blocks);
    assert!(blocks.iter().all(is_cut), "{blocks:?}");
    assert_eq!(ran.cut()[0], "reads-first");
    assert_eq!((ran.cut().len(), ran.made), (3, 2));
    // The first block of a cell is foretold by the pilot.
    assert!(ran.late < Duration::from_secs(20), "{:?}", ran.late);
}

#[test]
fn a_stage_that_could_not_be_made_in_time_is_not_begun() {
    let ran = Budgeted::slowed(150);
    assert_eq!(ran.blocks(), [1, 0, 0]);
    assert_eq!((ran.cut().len(), ran.made), (3, 1));
    assert_eq!(ran.study.status, Status::Complete);
}
