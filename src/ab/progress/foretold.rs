//! The time that is left: foretold after each round, and counted down until the next.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use iosched_result::analysis::left::{Left, left};
use iosched_result::report::left::words_after;
use iosched_result::statistics::stopping::Stopping;
use iosched_result::types::result::ResultFile;

#[derive(Clone, Default)]
pub struct Foretold {
    shared: Arc<Mutex<Shared>>,
    /// What the rounds had taken when this process began.
    took_before_s: f64,
    has_looks: bool,
    /// What ends, if it is not the run, after a space.
    pub of: &'static str,
}

#[derive(Default)]
struct Shared {
    told: Option<(Left, Instant)>,
    /// Not every arm has had a round.
    is_rough: bool,
}

impl Foretold {
    pub fn begin(&mut self, result: &ResultFile) {
        self.took_before_s = result.rounds_took_s.unwrap_or(0.0);
        self.has_looks = matches!(result.design.stopping, Stopping::Looks { .. });
        self.update(result);
    }

    pub fn has_looks(&self) -> bool {
        self.has_looks
    }

    /// After a round, for a line of its own: from the end of the first block on.
    pub fn after(&self, result: &ResultFile) -> Option<String> {
        self.update(result);
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, _) = shared.told.filter(|_| !shared.is_rough)?;
        Some(words_after(left, 0.0)? + self.of)
    }

    /// For a bar.
    pub fn now(&self) -> String {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((left, at)) = shared.told else {
            return "? left".to_owned();
        };
        let about = if shared.is_rough { "about " } else { "" };
        match words_after(left, at.elapsed().as_secs_f64()) {
            Some(words) => format!("{about}{words}{}", self.of),
            None => "until every metric has its verdict, or Ctrl-C".to_owned(),
        }
    }

    fn update(&self, result: &ResultFile) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let told = left(result, self.took_before_s);
        shared.told = told.map(|left| (left, Instant::now()));
        shared.is_rough = result.rounds.len() < result.plan.rounds_of(0);
    }
}
