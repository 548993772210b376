//! For tests: an observer that shows nothing.

use super::Observer;
use iosched_result::types::arm::Arm;
use iosched_result::types::plan::Turn;
use iosched_result::types::result::{ResultFile, Round};
use iosched_result::types::scratch_place::ScratchPlace;

pub struct Silent;

impl Observer for Silent {
    fn waits(&mut self, _: &str) {}
    fn scratch_file_grows(&mut self, _: &ScratchPlace, _: u64) {}
    fn begin(&mut self, _: &ResultFile) {}
    fn trace_begins(&mut self, _: &Arm) {}
    fn round_begins(&mut self, _: &Turn, _: &Arm) {}
    fn round_ends(&mut self, _: &ResultFile, _: &Round) {}
}
