//! The study fsync with the real pg_test_fsync. Root only: `cargo test --test fsync_study -- --ignored`.

#[path = "support/short_study.rs"]
mod short_study;
mod support;

use short_study::{TIMES, postgres, run};

const BINARY: &str = support::under_test!("iosched-ab");

#[test]
#[ignore = "root"]
fn pg_test_fsync_reports_its_methods() {
    if postgres().is_none() {
        println!("skipped: pg_test_fsync is not installed");
        return;
    }
    run(BINARY, "fsync", &["pg_test_fsync"], TIMES);
}
