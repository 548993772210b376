//! `iosched why FILE` against a simulation that shares no code with it.

#[path = "../../tests/support/mod.rs"]
mod support;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

const BINARY: &str = support::under_test!("iosched");

/// Processes, the last one with long bursts; then what issues flush commands.
const NAMES: [&str; 5] = ["reader", "my app [x]", "dd", "kworker/u8:2", "[flush]"];
const PIDS: [u64; 5] = [697, 1002, 31, 1_234_567, 0];
/// Reads and writes of each process, then the flush commands.
const OWNERS: usize = 9;
const FLUSH: usize = 8;
const NOBODY: usize = 9;
const IDLE: usize = 9;
/// The least common multiple of 1 to 48: with no more in service, each share is a whole number of these.
const UNIT: i128 = 442_720_643_463_713_815_200;

#[derive(Clone, Default)]
struct Life {
    /// Nobody's is a flush without data, or a bio that was merged.
    owner: usize,
    rwbs: &'static str,
    sector: u64,
    sectors: u64,
    queued: u64,
    issued: Option<u64>,
    done: Option<u64>,
    part: u64,
    processes: Vec<usize>,
    /// What a bio is to be merged into, or what a flush command is for.
    target: Option<usize>,
    open: bool,
}

#[derive(Default)]
struct Disk {
    name: &'static str,
    scheduler: &'static str,
    depth: u64,
    /// All times are multiples of it, so that many are equal.
    tick: u64,
    now: u64,
    random: u64,
    events: BinaryHeap<Reverse<(u64, &'static str, usize)>>,
    lives: Vec<Life>,
    queues: [VecDeque<usize>; 4],
    /// What is issued before all that the scheduler holds.
    first: VecDeque<usize>,
    in_device: u64,
    turn: usize,
    served: u64,
    idle_until: u64,
    slots: VecDeque<u64>,
    lines: Vec<(u64, u64, String)>,
}

impl Disk {
    fn new(name: &'static str, scheduler: &'static str, depth: u64, tick: u64) -> Disk {
        let mut disk = Disk::default();
        (disk.name, disk.scheduler, disk.depth, disk.tick) = (name, scheduler, depth, tick);
        disk.random = depth * 1000 + tick + scheduler.len() as u64;
        disk.slots = (1..40_000).collect();
        disk.run(3_000);
        disk
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005) | 1;
        (self.random >> 33) % limit
    }

    fn after(&mut self, delay: u64, event: &'static str, of: usize) {
        let time = (self.now + delay).next_multiple_of(self.tick);
        self.events.push(Reverse((time, event, of)));
    }

    fn line(&mut self, process: Option<usize>, action: &str, rwbs: &str, what: &str) {
        let (cpu, pid, name) = match (process, action) {
            (Some(process), _) => (process as u64, PIDS[process], NAMES[process]),
            (None, "C" | "R") => (1, 0, "0"),
            (None, _) => (2, 99, "kworker/2:1H"),
        };
        let (disk, number, now) = (self.name, self.lines.len(), self.now as f64 / 1e9);
        let head = format!("{disk} {cpu:4} {number:8} {now:15.9} {pid:5}");
        let text = format!("{head}  {action} {rwbs:>3} {what}[{name}]\n");
        self.lines.push((self.now, cpu, text));
    }

    fn request(&mut self, process: Option<usize>, action: &str, id: usize) {
        let life = &self.lives[id];
        let rwbs = [life.rwbs, "WS"][usize::from(process.is_none() && life.rwbs == "FWS")];
        let part = if action == "C" { life.part } else { 0 };
        let what = match (life.sectors, action) {
            (0, "C") => "0 ".into(),
            (0, _) => String::new(),
            (sectors, _) => format!("{} + {} ", life.sector + part, sectors - part),
        };
        self.line(process, action, rwbs, &what);
    }

    /// Runs until so many were queued; the last ones then wait or are in service.
    fn run(&mut self, requests: usize) {
        for process in [0, 0, 0, 0, 0, 0, 1, 2, 3] {
            self.after(process as u64, "arrive", process);
        }
        while let Some(Reverse((time, event, of))) = self.events.pop() {
            self.now = time;
            let enough = self.lives.len() >= requests;
            match event {
                "arrive" if !enough => self.arrive(of),
                "prepare" => self.prepare(of),
                "insert" => self.queues[self.lives[of].processes[0]].push_back(of),
                "a part" => {
                    let what = format!("{} + 4 ", self.lives[of].sector);
                    self.lives[of].part = 4;
                    self.line(None, "C", self.lives[of].rwbs, &what);
                }
                "finish" => self.finish(of),
                "requeue" => {
                    self.request(None, "R", of);
                    self.in_device -= 1;
                    self.first.push_front(of);
                }
                _ => {}
            }
            self.dispatch();
            let mut events = self.events.iter();
            if enough && events.all(|event| event.0.1 != "prepare") && event == "finish" {
                return;
            }
        }
    }

    /// Two processes come by themselves, the others when one of theirs is done.
    fn arrive(&mut self, process: usize) {
        let write = self.below(100) < [5, 50, 30, 95][process];
        let owner = process * 2 + usize::from(write);
        let (owner, rwbs, sectors) = match (write, self.below(40) as usize) {
            (true, 0) => (NOBODY, "FWS", 0),
            (true, 1) => (owner, "FWS", 8),
            (true, dice) => (owner, ["W", "WS", "WM", "WFS"][dice % 4], 8),
            (false, dice) => (owner, ["R", "RA", "RS", "RM"][dice % 4], 8),
        };
        let sectors = sectors * (1 + self.below(4));
        let (id, front) = (self.lives.len(), self.below(3) == 0);
        let at = id.saturating_sub(1 + self.below(8) as usize);
        let mut into = self.lives.get_mut(at).filter(|into| {
            let open = into.open && into.issued.is_none() && into.sectors < 256;
            open && into.owner % 2 == owner % 2 && rwbs != "FWS"
        });
        let sector = match &mut into {
            Some(into) if front => into.sector - sectors,
            Some(into) => into.sector + into.sectors,
            None => self.slots.pop_front().expect("a slot") * 4096 + 2048,
        };
        let target = into.map(|into| {
            into.open = false;
            at
        });
        let mut life = Life::default();
        (life.owner, life.rwbs, life.sector, life.sectors) = (owner, rwbs, sector, sectors);
        (life.queued, life.target, life.processes) = (self.now, target, vec![process]);
        self.lives.push(life);
        self.request(Some(process), "Q", id);
        let (delay, burst) = (self.below(3) * 400, self.below(150) > 0);
        self.after(delay, "prepare", id);
        let gap = match process {
            1 => self.below(600_000),
            3 if burst => self.below(1_500),
            3 => 20_000_000 + self.below(80_000_000),
            _ => return,
        };
        self.after(gap, "arrive", process);
    }

    /// A bio joins a request, unless that was issued meanwhile, or becomes one.
    fn prepare(&mut self, id: usize) {
        let life = self.lives[id].clone();
        let process = life.processes[0];
        if let Some(into) = life.target
            && self.lives[into].issued.is_none()
        {
            let front = life.sector < self.lives[into].sector;
            self.request(Some(process), if front { "F" } else { "M" }, id);
            self.lives[id].owner = NOBODY;
            let into = &mut self.lives[into];
            into.open = true;
            into.sectors += life.sectors;
            into.sector = into.sector.min(life.sector);
            into.processes.push(process);
            return;
        }
        self.request(Some(process), "G", id);
        if life.rwbs == "FWS" {
            let mut flush = Life::default();
            (flush.owner, flush.rwbs, flush.target) = (FLUSH, "FN", Some(id));
            self.first.push_back(self.lives.len());
            return self.lives.push(flush);
        }
        self.lives[id].open = life.target.is_none();
        self.request(Some(process), "I", id);
        let delay = 1 + self.below(4) * 500;
        self.after(delay, "insert", id);
    }

    fn pick(&mut self) -> Option<usize> {
        let queues = &mut self.queues;
        let busy = |process: &usize| !queues[*process].is_empty();
        let process = match self.scheduler {
            "fifo" => (0..4).filter(busy).min_by_key(|at| queues[*at][0])?,
            "priority" => (0..4).find(busy)?,
            "idling" if self.served < 16 && busy(&self.turn) => self.turn,
            "idling" if self.served < 16 && self.now < self.idle_until => return None,
            _ => (1..5).map(|step| (self.turn + step) % 4).find(busy)?,
        };
        self.served = (self.served + 1) * u64::from(process == self.turn);
        self.turn = process;
        queues[process].pop_front()
    }

    fn dispatch(&mut self) {
        while self.in_device < self.depth
            && let Some(id) = self.first.pop_front().or_else(|| self.pick())
        {
            self.in_device += 1;
            self.lives[id].issued.get_or_insert(self.now);
            self.request(None, "D", id);
            let (sectors, rwbs) = (self.lives[id].sectors, self.lives[id].rwbs);
            // Nothing tells flush commands apart: they end in the order of their issue.
            let work = [5_000 + self.below(60_000), 30_000][usize::from(rwbs == "FN")];
            let service = self.depth * work + sectors * 100;
            match self.below(60) {
                0 if rwbs != "FN" => self.after(service / 4, "requeue", id),
                1 if !rwbs.starts_with('F') => {
                    self.after(service / 2, "a part", id);
                    self.after(service, "finish", id);
                }
                _ => self.after(service, "finish", id),
            }
        }
    }

    fn finish(&mut self, id: usize) {
        self.in_device -= 1;
        self.lives[id].done = Some(self.now);
        self.request(None, "C", id);
        let mut life = self.lives[id].clone();
        if life.owner == FLUSH {
            let id = life.target.expect("one");
            life = self.lives[id].clone();
            if life.owner != NOBODY {
                return self.first.push_back(id);
            }
            self.line(None, "C", "FWS", "0 ");
        } else if life.rwbs == "FWS" {
            self.line(None, "C", "WS", &format!("{} ", life.sector));
        } else if life.processes.len() == 1 && life.open {
            // No other request is next to these sectors.
            self.slots.push_front(life.sector / 4096);
        }
        if life.processes[0] == self.turn {
            self.idle_until = self.now + 150_000;
            self.after(150_000, "end of idling", 0);
        }
        for process in life.processes.iter().filter(|process| *process % 2 == 0) {
            let think = self.below(80_000);
            self.after(think, "arrive", *process);
        }
    }
}

const FIELDS: [&str; 5] = ["device_idle_ns", "wait_ns", "waits", "ios", "service_ns"];
/// In `UNIT`s: behind each owner, then the fields.
type Row = [i128; OWNERS + FIELDS.len()];

/// Paints each service over the moments it lasts, sums up over the time what one waiting request would be charged, and
/// takes for each request that waits the difference between the end and the start of its wait.
fn expected(lives: &[Life], start: u64, end: u64) -> [Row; OWNERS] {
    let mut rows = [Row::default(); OWNERS];
    let times = lives.iter().flat_map(|life| [life.issued, life.done]);
    let mut marks: Vec<u64> = times.flatten().chain([start, end]).collect();
    marks.sort_unstable();
    let index = |time: u64| marks.partition_point(|mark| *mark <= time) - 1;
    let mut painted = vec![[0_i128; OWNERS + 1]; marks.len()];
    for life in lives.iter().filter(|life| life.owner != NOBODY) {
        let issued = life.issued.unwrap_or(end);
        rows[life.owner][IDLE + 3] += UNIT * i128::from(issued < end);
        rows[life.owner][IDLE + 4] += UNIT * i128::from(life.done.unwrap_or(issued) - issued);
        for moment in &mut painted[index(issued)..index(life.done.unwrap_or(end))] {
            moment[life.owner] += UNIT;
        }
    }
    for moment in &mut painted {
        moment[IDLE] = UNIT * i128::from(*moment == [0; OWNERS + 1]);
        let count = moment.iter().sum::<i128>() / UNIT;
        assert!(count <= 48);
        *moment = moment.map(|share| share / count);
    }
    let mut sums = vec![[0_i128; OWNERS + 1]];
    for (at, ends) in marks.windows(2).enumerate() {
        let sum = |part| sums[at][part] + painted[at][part] * i128::from(ends[1] - ends[0]);
        sums.push(std::array::from_fn(sum));
    }
    let waits = |life: &&Life| life.owner < FLUSH && life.rwbs != "FWS";
    for life in lives.iter().filter(waits) {
        let row = &mut rows[life.owner];
        for (time, sign) in [(life.issued.unwrap_or(end), 1), (life.queued, -1)] {
            let (at, rest) = (index(time), i128::from(time - marks[index(time)]));
            for part in 0..=IDLE {
                row[part] += sign * (sums[at][part] + painted[at][part] * rest);
            }
            row[IDLE + 1] += sign * UNIT * i128::from(time);
        }
        row[IDLE + 2] += UNIT * i128::from(life.queued < end);
    }
    rows
}

fn why(text: &str) -> Value {
    let mut command = Command::new(BINARY);
    command.args(["why", "-", "--json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("to write");
    drop(input);
    let output = child.wait_with_output().expect("its output");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The entry of an owner in a list, by its number here.
fn find(list: &Value, owner: usize) -> &Value {
    let does = ["reads", "writes", "flushes"][owner % 2 + owner / FLUSH * 2];
    let (name, pid) = (NAMES[owner / 2], PIDS[owner / 2]);
    let is = |entry: &&Value| entry["name"] == name && entry["pid"] == pid && entry["does"] == does;
    let mut entries = list.as_array().into_iter().flatten();
    entries.find(is).unwrap_or(&Value::Null)
}

fn compare(case: &str, device: &Value, rows: &[Row]) {
    assert_eq!(device["missing"], 0, "{case}");
    let active = rows.iter().filter(|row| **row != Row::default());
    let listed = device["owners"].as_array().map(Vec::len);
    assert_eq!(listed, Some(active.count()), "{case}");
    for (number, row) in rows.iter().enumerate() {
        let entry = find(&device["owners"], number);
        let mut rest = row[IDLE + 1] / UNIT;
        for (at, should) in row.iter().enumerate() {
            let (field, is, tolerated) = match at.checked_sub(IDLE) {
                None => (NAMES[at / 2], &find(&entry["behind"], at)["ns"], UNIT),
                Some(at) => (FIELDS[at], &entry[FIELDS[at]], 0),
            };
            let is = i128::from(is.as_u64().unwrap_or(0));
            rest -= is * i128::from(at <= IDLE);
            let wrong = format!("{case}, {number}, {field}: {is}, not {}", should / UNIT);
            assert!((is * UNIT - should).abs() <= tolerated, "{wrong}");
        }
        assert_eq!(rest, 0, "{case}, {number}");
    }
}

/// Compares what the program says about the disks' lines, which are in the order of the time, except that those of each
/// processor come so much later than those of the one before.
fn check(disks: &[Disk], late: u64) {
    let mut lines: Vec<_> = disks.iter().flat_map(|disk| &disk.lines).collect();
    lines.sort_by_key(|line| line.0);
    let (start, end) = (lines[0].0, lines[lines.len() - 1].0);
    lines.sort_by_key(|line| line.0 + line.1 * late);
    let result = why(&lines.iter().map(|line| line.2.as_str()).collect::<String>());
    for disk in disks {
        let mut devices = result["devices"].as_array().into_iter().flatten();
        let device = devices.find(|device| device["device"] == disk.name.trim());
        let case = format!("{}, {}, {}", disk.scheduler, disk.depth, disk.tick);
        let rows = expected(&disk.lives, start, end);
        compare(&case, device.expect("the disk"), &rows);
    }
}

#[test]
fn every_scheduler_at_every_depth() {
    for scheduler in ["fifo", "round robin", "priority", "idling"] {
        for (depth, tick) in [(1, 1), (4, 1), (32, 1), (4, 1_000), (1, 20_000)] {
            let disk = |name, depth| Disk::new(name, scheduler, depth, tick);
            check(&[disk("  8,0", depth), disk("259,1", 8)], 0);
        }
    }
}

/// As blkparse prints what it reads from a pipe.
#[test]
fn lines_of_processors_out_of_order() {
    let disk = Disk::new("  8,0", "round robin", 4, 1);
    check(&[disk], 30_000);
}
