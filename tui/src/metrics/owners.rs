//! Counts of each process, of which only the busiest have a name: thousands may come and go. Pure.

use std::collections::HashMap;

use iosched_result::measured::snapshot::{Op, OwnerNumbers};

/// Commands with one name in one control group count together: PIDs would make a series of each process that ever was.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub process: String,
    pub cgroup: String,
}

/// Of reads, or of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub ios: u64,
    pub bytes: u64,
    pub queue_wait_ns: u64,
    pub device_ns: u64,
}

/// Of reads and of writes; flushes and discards are not data.
pub type Directions = [Counts; 2];

const OF_READS: &[Op] = &[Op::Read];

/// The counts of an owner in an interval.
pub fn of(owner: &OwnerNumbers) -> Directions {
    [OF_READS, &Op::WRITES].map(|ops| {
        let mut sum = Counts::default();
        for op in ops.iter().filter_map(|op| owner.ops.get(*op as usize)) {
            sum.add(Counts {
                ios: op.ios,
                bytes: op.bytes,
                queue_wait_ns: op.q2d_sum_ns,
                device_ns: op.d2c_sum_ns,
            });
        }
        sum
    })
}

impl Counts {
    fn add(&mut self, more: Counts) {
        self.ios += more.ios;
        self.bytes += more.bytes;
        self.queue_wait_ns += more.queue_wait_ns;
        self.device_ns += more.device_ns;
    }
}

fn add(sum: &mut Directions, more: &Directions) {
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.add(*more);
    }
}

/// Everything counted since the start. While there is room, everybody gets a name. Then a busier one may take that of another:
/// it begins with 0, because a count of the others never falls, and who loses the name takes its counts along.
#[derive(Clone, Debug)]
pub struct Owners {
    most: usize,
    named: HashMap<Key, Directions>,
    others: Directions,
    /// Recent I/Os of each that may get a name; old ones count ever less.
    recent: HashMap<Key, f64>,
    /// Series that have ended for busier ones.
    pub replaced: u64,
}

/// I/Os count half after this time.
const HALF_LIFE_S: f64 = 300.0;
/// A newcomer must do this many times as much: names that change often are no history.
const CLEARLY: f64 = 2.0;
/// Of this many it is remembered how much they do.
const REMEMBERED: usize = 4096;

impl Owners {
    pub fn new(most: usize) -> Owners {
        Owners {
            most,
            named: HashMap::new(),
            others: Directions::default(),
            recent: HashMap::new(),
            replaced: 0,
        }
    }

    /// Adds an interval of this length.
    pub fn add(&mut self, seconds: f64, counts: impl Iterator<Item = (Key, Directions)>) {
        let kept = 0.5_f64.powf(seconds / HALF_LIFE_S);
        self.recent.values_mut().for_each(|it| *it *= kept);
        for (key, counts) in counts {
            let ios = counts[0].ios + counts[1].ios;
            let has_room = self.named.len() < self.most && ios > 0;
            if has_room || self.named.contains_key(&key) {
                add(self.named.entry(key.clone()).or_default(), &counts);
            } else {
                add(&mut self.others, &counts);
            }
            *self.recent.entry(key).or_default() += ios as f64;
        }
        self.name_the_busiest();
        self.forget();
    }

    fn name_the_busiest(&mut self) {
        let mut unnamed: Vec<(&Key, f64)> = self
            .recent
            .iter()
            .filter(|(key, recent)| **recent >= 1.0 && !self.named.contains_key(key))
            .map(|(key, recent)| (key, *recent))
            .collect();
        // Ties by name: the same counts name the same.
        unnamed.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        if self.named.len() < self.most {
            return;
        }
        let unnamed: Vec<(Key, f64)> = unnamed
            .into_iter()
            .take(self.most)
            .map(|(key, busy)| (key.clone(), busy))
            .collect();
        for (key, busy) in unnamed {
            let recent = |key: &Key| self.recent.get(key).copied().unwrap_or(0.0);
            let weakest = self
                .named
                .keys()
                .min_by(|a, b| recent(a).total_cmp(&recent(b)).then_with(|| b.cmp(a)));
            let weakest = weakest.filter(|it| busy > CLEARLY * recent(it));
            let Some(weakest) = weakest.cloned() else {
                break;
            };
            self.named.remove(&weakest);
            self.named.insert(key, Directions::default());
            self.replaced += 1;
        }
    }

    fn forget(&mut self) {
        if self.recent.len() <= REMEMBERED {
            return;
        }
        let mut all: Vec<f64> = self.recent.values().copied().collect();
        all.sort_by(f64::total_cmp);
        let least = all[all.len() / 2];
        let named = &self.named;
        self.recent
            .retain(|key, recent| *recent > least || named.contains_key(key));
    }

    /// By name, the others at the end.
    pub fn all(&self) -> Vec<(Key, Directions)> {
        let mut all: Vec<(Key, Directions)> = self
            .named
            .iter()
            .map(|(key, counts)| (key.clone(), *counts))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let others = Key {
            process: OTHERS.to_owned(),
            cgroup: String::new(),
        };
        all.push((others, self.others));
        all
    }
}

/// No command: those are as the kernel has them, or in brackets.
pub const OTHERS: &str = "(others)";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(process: &str) -> Key {
        Key {
            process: process.to_owned(),
            cgroup: "/".to_owned(),
        }
    }

    fn ios(count: u64) -> Directions {
        let own = Counts {
            ios: count,
            bytes: count * 4096,
            ..Counts::default()
        };
        [own, Counts::default()]
    }

    fn named(owners: &Owners) -> Vec<(String, u64)> {
        let all = owners.all().into_iter();
        all.map(|(key, counts)| (key.process, counts[0].ios))
            .collect()
    }

    #[test]
    fn the_busiest_have_names_and_the_others_are_counted() {
        let mut owners = Owners::new(2);
        for _ in 0..3 {
            let all = [("a", 100), ("b", 50), ("c", 10)];
            owners.add(5.0, all.into_iter().map(|(name, n)| (key(name), ios(n))));
        }
        let expected = [("a", 300), ("b", 150), (OTHERS, 30)];
        let expected = expected.map(|(name, n)| (name.to_owned(), n));
        assert_eq!(named(&owners), expected);
        // A little more is no reason to take a name.
        owners.add(5.0, [(key("c"), ios(200))].into_iter());
        assert_eq!(named(&owners)[1].0, "b");
        owners.add(5.0, [(key("c"), ios(10_000))].into_iter());
        let names: Vec<String> = named(&owners).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["a", "c", OTHERS]);
        assert_eq!(owners.replaced, 1);
    }

    #[test]
    fn ten_thousand_processes_leave_as_many_series_as_before() {
        let mut owners = Owners::new(20);
        for round in 0..100 {
            let all = (0..100).map(|it| (key(&format!("p{}", round * 100 + it)), ios(1)));
            owners.add(1.0, all);
            assert!(owners.all().len() <= 21);
            assert!(owners.recent.len() <= REMEMBERED + 100);
        }
    }

    proptest! {
        /// Whoever is named: no count of a series falls while it has its name.
        #[test]
        fn counts_never_fall(steps in prop::collection::vec(prop::collection::vec((0_u8..30, 0_u64..1000), 0..20), 0..40)) {
            let mut owners = Owners::new(3);
            let mut before: HashMap<Key, Directions> = HashMap::new();
            for step in steps {
                let counts = step.into_iter().map(|(name, n)| (key(&name.to_string()), ios(n)));
                owners.add(60.0, counts);
                let now: HashMap<Key, Directions> = owners.all().into_iter().collect();
                for (key, counts) in &now {
                    if let Some(earlier) = before.get(key) {
                        prop_assert!(counts[0].ios >= earlier[0].ios || earlier[0].ios == 0 || owners.replaced > 0);
                    }
                }
                let others = |of: &HashMap<Key, Directions>| of.iter().find(|(key, _)| key.process == OTHERS).map_or(0, |it| it.1[0].ios);
                prop_assert!(others(&now) >= others(&before));
                before = now;
            }
        }
    }
}
