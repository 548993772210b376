//! `metrics`: what iosched measures.

use anyhow::Result;
use iosched_result::metric::listed;

use crate::print::print;

pub fn run() -> Result<()> {
    print(&listed::text())
}
