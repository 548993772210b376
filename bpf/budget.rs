//! The number of instructions that the kernel's verifier processes for the programs.

use anyhow::Result;
use libbpf_rs::PrintLevel;
use libbpf_rs::skel::OpenSkel;

use crate::Config;
use crate::loader::{keep_log, load, whole_log};
use crate::sync;

/// Instructions processed by the verifier for each loaded program. Parsed from the verifier's log, because 5.10 offers
/// no other way. Loads the programs again and attaches none.
pub fn verified_instructions(config: &Config) -> Result<Vec<(String, u32)>> {
    const STATISTICS: u32 = 4;
    libbpf_rs::set_print(Some((PrintLevel::Debug, keep_log)));
    let loaded = load(config, |open| {
        for mut program in open.open_object_mut().progs_mut() {
            program.set_log_level(STATISTICS);
        }
    });
    let log = whole_log();
    loaded?;
    let mut programs = processed(&log);
    let loaded = sync::load(|open| {
        for mut program in open.open_object_mut().progs_mut() {
            program.set_log_level(STATISTICS);
        }
    });
    let log = whole_log();
    loaded?;
    programs.extend(processed(&log));
    Ok(programs)
}

/// Parses "prog 'NAME': -- BEGIN PROG LOAD LOG --" and, below it, "processed N insns ...".
fn processed(log: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut program = "";
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("prog '")
            && let Some((name, _)) = rest.split_once("': -- BEGIN")
        {
            program = name;
        } else if let Some(rest) = line.strip_prefix("processed ")
            && let Some(count) = rest.split(' ').next().and_then(|word| word.parse().ok())
        {
            found.push((program.to_owned(), count));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_count_of_each_program_is_found() {
        let log = "libbpf: prog 'a': -- BEGIN PROG LOAD LOG --\nprocessed 12 insns (limit 1000000) max\n\
            -- END PROG LOAD LOG --\nlibbpf: prog 'b': relo #1\nlibbpf: prog 'c': -- BEGIN PROG LOAD LOG --\n\
            verification time 5 usec\nprocessed 7 insns";
        let expected = [("a".to_owned(), 12), ("c".to_owned(), 7)];
        assert_eq!(super::processed(log), expected);
    }
}
