//! A whole experiment on simulated rounds: plan, looks, arms that leave, verdicts.

use iosched_result::analysis::washout::{NOTHING_SHOWS, PILOT_BLOCKS};
use iosched_result::statistics::covariate::Slopes;
use iosched_result::statistics::layout::Cell;
use iosched_result::statistics::rows::{Judged, Row, RowBlock, judge_family};
use iosched_result::statistics::scale::{Direction, Scale};
use iosched_result::statistics::signed_rank::Difference;
use iosched_result::statistics::stopping::{Extension, Schedule, Stopping};
use iosched_result::statistics::verdict::{Question, Verdict};
use iosched_result::types::plan::{Plan, PlannedRound};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

pub const MARGIN: f64 = 0.05;

/// Values of so many consecutive rounds.
pub type Series<'a> = dyn Fn(&mut ChaCha8Rng, usize) -> Vec<f64> + 'a;

/// The truth, on the log scale; arm 0 is the reference.
pub struct World<'a> {
    /// Noise of consecutive rounds.
    pub noise: &'a Series<'a>,
    pub arms: usize,
    /// More metrics with the same effects: noise of their own, as much again.
    pub metrics: usize,
    /// The second round of a block, the third and so on.
    pub by_position: f64,
    /// The arm that leaves something behind, how much, and for how many rounds.
    pub carry_over: (usize, f64, usize),
    /// `--washout auto`.
    pub washes_out: bool,
    /// The chance of a round of this arm to lose so much.
    pub stalls: (usize, f64, f64),
    pub effects: &'a [f64],
    /// A live run on this load, which adds to every value; verdicts are adjusted for that before each block.
    pub load: Option<&'a Series<'a>>,
    /// A closed loop: arm 1 makes its own load larger, which changes no value.
    pub reacts: f64,
}

pub const QUIET: World<'static> = World {
    noise: &|_, n| vec![0.0; n],
    arms: 2,
    metrics: 1,
    by_position: 0.0,
    carry_over: (0, 0.0, 1),
    washes_out: false,
    stalls: (0, 0.0, 0.0),
    effects: &[],
    load: None,
    reacts: 0.0,
};

pub struct Outcome {
    /// By metric and arm.
    pub judged: Vec<Judged>,
    pub rounds: usize,
    pub blocks: usize,
}

impl Outcome {
    pub fn any_difference(&self) -> bool {
        self.judged
            .iter()
            .any(|j| is_difference(j.comparison.verdict))
    }

    pub fn covers(&self, effect: f64) -> bool {
        let mut rows = self.judged.iter();
        rows.all(|j| j.comparison.interval.is_none_or(|i| i.contains(effect)))
    }
}

pub fn is_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

pub fn question(stopping: Stopping) -> Question {
    Question::plain(
        Scale::Log,
        Direction::HigherIsBetter,
        MARGIN,
        0.05,
        stopping.method(),
    )
}

/// Carried out to its end.
pub fn run(rng: &mut ChaCha8Rng, world: &World<'_>, stopping: Stopping) -> Outcome {
    extended(rng, world, stopping, &[])
}

/// The same, and as long as something is not decided, so many more blocks after its end.
pub fn extended(
    rng: &mut ChaCha8Rng,
    world: &World<'_>,
    stopping: Stopping,
    more: &[usize],
) -> Outcome {
    let most = stopping.most_blocks().expect("an end") + more.iter().sum::<usize>();
    let mut more = more.iter();
    let mut extensions: Vec<Extension> = Vec::new();
    let first = stopping.next_segment(0).expect("blocks");
    let mut plan = Plan::new(rng.next_u64(), world.arms, first);
    let noise = Noise::of(rng, world, world.arms * most);
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); world.metrics];
    loop {
        add_cells(rng, world, &plan, &noise, &mut cells);
        let slopes: Vec<Option<Slopes>> = cells.iter().map(|cells| Slopes::of(cells)).collect();
        let each = cells.iter().zip(&slopes);
        let adjusted: Vec<Vec<Cell>> = each.map(|(of, by)| adjusted(of, by.as_ref())).collect();
        let rows = rows(world, &adjusted, &slopes, stopping);
        let judged = judge_family(&rows, schedule(stopping, &extensions).level(0.05));
        if world.washes_out && plan.blocks() <= PILOT_BLOCKS && may_leave_something(&judged) {
            return run(rng, &washed_out(world), stopping);
        }
        let goes_on = |arm: &usize| {
            let mut own = rows.iter().zip(&judged).filter(|(row, _)| row.arm == *arm);
            own.any(|(_, j)| j.comparison.verdict == Verdict::Inconclusive)
        };
        let open: Vec<usize> = (1..world.arms).filter(goes_on).collect();
        let done = plan.blocks();
        let mut segment = schedule(stopping, &extensions).next_segment(done);
        if let (None, Some(blocks)) = (segment, more.next()) {
            extensions.push(Extension {
                after_blocks: done,
                blocks: *blocks,
            });
            segment = schedule(stopping, &extensions).next_segment(done);
        }
        match segment {
            Some(blocks) if !open.is_empty() => {
                let arms: Vec<usize> = [0].into_iter().chain(open).collect();
                plan.extend(blocks, &arms);
            }
            _ => {
                return Outcome {
                    judged,
                    rounds: plan.rounds.len(),
                    blocks: plan.blocks(),
                };
            }
        }
    }
}

/// What the world does to the rounds of a run, whatever their arms.
struct Noise {
    common: Vec<f64>,
    /// By metric; the first has none of its own.
    own: Vec<Vec<f64>>,
    load: Option<Vec<f64>>,
}

impl Noise {
    fn of(rng: &mut ChaCha8Rng, world: &World<'_>, rounds: usize) -> Noise {
        Noise {
            common: (world.noise)(rng, rounds),
            own: (1..world.metrics)
                .map(|_| (world.noise)(rng, rounds))
                .collect(),
            load: world.load.map(|load| load(rng, rounds)),
        }
    }
}

/// The values of the rounds that have none yet, by metric.
fn add_cells(
    rng: &mut ChaCha8Rng,
    world: &World<'_>,
    plan: &Plan,
    noise: &Noise,
    cells: &mut [Vec<Cell>],
) {
    for index in cells[0].len()..plan.rounds.len() {
        let round = plan.rounds[index];
        let before = std::array::from_fn(|lag| Some(plan.rounds[index.checked_sub(lag + 1)?].arm));
        let mut truth = world.effects.get(round.arm).copied().unwrap_or(0.0);
        truth += world.by_position * round.position as f64;
        truth += left_behind(world, &plan.rounds[..index]);
        truth += noise.load.as_ref().map_or(0.0, |load| load[index]);
        let (arm, chance, depth) = world.stalls;
        if chance > 0.0 && round.arm == arm && rng.random_bool(chance) {
            truth += depth;
        }
        for (metric, cells) in cells.iter_mut().enumerate() {
            let y = match metric {
                0 => noise.common[index],
                // Half of the variance is shared.
                _ => (noise.common[index] + noise.own[metric - 1][index]) * 0.5f64.sqrt(),
            };
            cells.push(Cell {
                block: round.block,
                arm: round.arm,
                position: round.position,
                before,
                before_load: noise.load.as_ref().and_then(|load| {
                    let before = index.checked_sub(round.position + 1)?;
                    let reaction = f64::from(plan.rounds[before].arm == 1);
                    Some(load[before] + world.reacts * reaction)
                }),
                y: truth + y,
            });
        }
    }
}

/// All rows after each block of a run that is watched for so many.
pub fn watched(
    rng: &mut ChaCha8Rng,
    world: &World<'_>,
    blocks: usize,
    mut look: impl FnMut(usize, &[Judged]),
) {
    let plan = Plan::new(rng.next_u64(), world.arms, blocks);
    let noise = Noise::of(rng, world, world.arms * blocks);
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); world.metrics];
    add_cells(rng, world, &plan, &noise, &mut cells);
    let slopes: Vec<Option<Slopes>> = vec![None; world.metrics];
    for block in 1..=blocks {
        let so_far = |of: &Vec<Cell>| {
            of.iter()
                .filter(|cell| cell.block < block)
                .copied()
                .collect()
        };
        let so_far: Vec<Vec<Cell>> = cells.iter().map(so_far).collect();
        let rows = rows(world, &so_far, &slopes, Stopping::Open);
        look(block, &judge_family(&rows, Stopping::Open.level(0.05)));
    }
}

/// The rows of all metrics: each arm against the first.
fn rows<'a>(
    world: &World<'_>,
    adjusted: &'a [Vec<Cell>],
    slopes: &[Option<Slopes>],
    stopping: Stopping,
) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (cells, slopes) in adjusted.iter().zip(slopes) {
        for arm in 1..world.arms {
            let mut row = row(cells, arm, stopping);
            if let Some(slopes) = slopes {
                slopes.spread(&mut row.blocks);
            }
            rows.push(row);
        }
    }
    rows
}

fn schedule(stopping: Stopping, extensions: &[Extension]) -> Schedule<'_> {
    Schedule {
        stopping,
        extensions,
    }
}

/// The amount that the rounds before add to one.
fn left_behind(world: &World<'_>, before: &[PlannedRound]) -> f64 {
    let (leaves, left, lasts) = world.carry_over;
    let recent = before.iter().rev().take(lasts);
    left * recent.filter(|round| round.arm == leaves).count() as f64
}

/// Every round comes after three of the reference, which do not count.
fn washed_out<'a>(world: &World<'a>) -> World<'a> {
    World {
        carry_over: (0, 0.0, 0),
        washes_out: false,
        ..*world
    }
}

/// As `ab::washout` decides it.
fn may_leave_something(judged: &[Judged]) -> bool {
    let mut rows = judged.iter();
    rows.any(|j| j.carry_over.is_none_or(|bias| bias.p <= NOTHING_SHOWS))
}

/// As `ab::table` does it.
fn adjusted(cells: &[Cell], slopes: Option<&Slopes>) -> Vec<Cell> {
    let y = |cell: &Cell| slopes.map_or(cell.y, |slopes| slopes.adjusted(cell));
    cells
        .iter()
        .map(|cell| Cell {
            y: y(cell),
            ..*cell
        })
        .collect()
}

pub fn row(cells: &[Cell], arm: usize, stopping: Stopping) -> Row<'_> {
    let of = |block: usize, arm: usize| cells.iter().find(|c| (c.block, c.arm) == (block, arm));
    let of_arm = cells.iter().filter(|cell| cell.arm == arm);
    Row {
        arm,
        reference: 0,
        cells,
        blocks: of_arm
            .map(|cell| {
                let reference = of(cell.block, 0).expect("the reference is in each block");
                RowBlock {
                    block: cell.block,
                    difference: Some(Difference::exact(cell.y - reference.y)),
                    positions: (cell.position, reference.position),
                    before: (cell.before[0], reference.before[0]),
                }
            })
            .collect(),
        question: question(stopping),
    }
}
