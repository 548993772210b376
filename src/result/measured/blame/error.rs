//! How sure a share of the waiting is. Requests depend on each other; busy periods do not, nor do rounds: so the error is that of a
//! ratio of sums over these units. Pure.

/// Fewer busy periods, in which the owner waited, say nothing.
pub const FEWEST_PERIODS: u64 = 10;
/// Fewer waits say nothing.
pub const FEWEST_WAITS: u64 = 100;

/// Sums over the units of an owner, of its waiting x and of parts y of it.
#[derive(Default)]
pub struct Spread {
    units: u64,
    before: f64,
    sum_xx: f64,
    idle: Part,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    before: f64,
    sum_xy: f64,
    sum_yy: f64,
}

impl Part {
    fn add(&mut self, x: f64, so_far: f64) {
        let y = so_far - self.before;
        self.before = so_far;
        self.sum_xy += x * y;
        self.sum_yy += y * y;
    }
}

impl Spread {
    /// A unit ends. Sums up to now: of the waiting, of that behind nobody, and of that behind each owner.
    pub fn add_unit(&mut self, wait: f64, idle: f64, parts: impl Iterator<Item = f64>) {
        let x = wait - self.before;
        if x <= 0.0 {
            return;
        }
        self.before = wait;
        self.units += 1;
        self.sum_xx += x * x;
        self.idle.add(x, idle);
        for (place, part) in parts.enumerate() {
            if place >= self.parts.len() {
                self.parts.resize(place + 1, Part::default());
            }
            self.parts[place].add(x, part);
        }
    }

    /// The standard error of a share: that behind the owner at this place, or behind nobody. None for fewer units than `fewest`.
    pub fn error(&self, fewest: u64, waits: u64, place: Option<usize>) -> Option<f64> {
        if self.units < fewest || waits < FEWEST_WAITS || self.before <= 0.0 {
            return None;
        }
        let part = match place {
            Some(place) => self.parts.get(place).copied().unwrap_or_default(),
            None => self.idle,
        };
        let n = self.units as f64;
        let ratio = part.before / self.before;
        let squares = part.sum_yy - 2.0 * ratio * part.sum_xy + ratio * ratio * self.sum_xx;
        Some((n / (n - 1.0) * squares.max(0.0)).sqrt() / self.before)
    }
}
