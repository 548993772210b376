//! The self-check of a build. A test's own build has more features than the released one (those that the dependencies of
//! tests ask for), so the release is checked in the same way: `iosched-ab self-check`.

mod support;

use support::program::Program;

#[test]
fn a_build_can_compile_what_users_write() {
    let program = Program::new(support::under_test!("iosched-ab"));
    let checked = program.run(&["self-check"]).ends(0, &[]);
    assert_eq!(checked.stdout, "patterns: 8 compiled\n");
    let help = program.run(&["--help"]).ends(0, &[]);
    assert!(!help.stdout.contains("self-check"), "it is for tests");
}
