//! How sure a share of the waiting is. Requests depend on each other; busy periods do not, nor do rounds: so the error is that of a
//! ratio of sums over these units. Pure.

/// Fewer busy periods, in which the owner waited, say nothing.
pub const FEWEST_PERIODS: u64 = 10;
/// Parts of the same length into which the time is cut if there are too few busy periods.
pub const BATCHES: u64 = 20;
/// Fewer waits say nothing.
pub const FEWEST_WAITS: u64 = 100;

/// Sums over the units of an owner, of its waiting x and of parts y of it.
#[derive(Default)]
pub struct Spread {
    units: u64,
    before: f64,
    sum_xx: f64,
    last_x: f64,
    lag_xx: f64,
    idle: Part,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    before: f64,
    sum_xy: f64,
    sum_yy: f64,
    last_y: f64,
    /// Sums over pairs of a unit with the one before it: x y and y x, and y y.
    lag_xy: f64,
    lag_yy: f64,
}

impl Part {
    fn add(&mut self, x: f64, last_x: f64, so_far: f64) {
        let y = so_far - self.before;
        self.before = so_far;
        self.sum_xy += x * y;
        self.sum_yy += y * y;
        self.lag_xy += x * self.last_y + last_x * y;
        self.lag_yy += y * self.last_y;
        self.last_y = y;
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
        let last_x = std::mem::replace(&mut self.last_x, x);
        self.lag_xx += x * last_x;
        self.idle.add(x, last_x, idle);
        for (place, part) in parts.enumerate() {
            if place >= self.parts.len() {
                self.parts.resize(place + 1, Part::default());
            }
            self.parts[place].add(x, last_x, part);
        }
    }

    /// The standard error of a share: that behind the owner at this place, or behind nobody. None for fewer units than `fewest`.
    pub fn error(&self, fewest: u64, waits: u64, place: Option<usize>) -> Option<f64> {
        if self.units < fewest || waits < FEWEST_WAITS || self.before <= 0.0 {
            return None;
        }
        let (_, squares) = self.residuals(place);
        let n = self.units as f64;
        Some((n / (n - 1.0) * squares).sqrt() / self.before)
    }

    /// Whether so many units carry weight, and nearly all of the waiting is in them.
    pub fn is_enough(&self, fewest: u64, wait: f64) -> bool {
        const NEARLY_ALL: f64 = 0.9;
        let effective = self.before * self.before / self.sum_xx.max(f64::MIN_POSITIVE);
        self.units >= fewest && effective >= fewest as f64 && self.before >= NEARLY_ALL * wait
    }

    /// The same for units that may depend on each other: none if one says too much about the next.
    pub fn error_of_batches(&self, waits: u64, place: Option<usize>) -> Option<f64> {
        let error = self.error(FEWEST_PERIODS, waits, place)?;
        let (lagged, squares) = self.residuals(place);
        // Independent ones reach this in one of forty cases.
        let most = 2.0 / (self.units as f64).sqrt();
        (lagged <= most * squares).then_some(error)
    }

    /// Sums of what differs from the share: each with the one after it, and with itself.
    fn residuals(&self, place: Option<usize>) -> (f64, f64) {
        let part = match place {
            Some(place) => self.parts.get(place).copied().unwrap_or_default(),
            None => self.idle,
        };
        let ratio = part.before / self.before;
        let sum = |yy: f64, xy: f64, xx: f64| yy - ratio * xy + ratio * ratio * xx;
        let lagged = sum(part.lag_yy, part.lag_xy, self.lag_xx);
        let squares = sum(part.sum_yy, 2.0 * part.sum_xy, self.sum_xx);
        (lagged, squares.max(0.0))
    }
}
