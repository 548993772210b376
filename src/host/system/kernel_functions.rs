//! Kernel functions by address, from `/proc/kallsyms`: only those that are asked for, and those of modules that are loaded
//! later.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

/// No function is longer; the last one before a gap ends here at the latest.
const LONGEST: u64 = 1 << 16;

pub struct KernelFunctions {
    is_wanted: fn(&str) -> bool,
    functions: Vec<Function>,
    /// The modules then: those of a file system may be loaded later.
    modules: Vec<u8>,
    is_stale: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    name: String,
}

impl KernelFunctions {
    /// Those with these names. Empty if the addresses are hidden.
    pub fn read(is_wanted: fn(&str) -> bool) -> KernelFunctions {
        let functions = File::open("/proc/kallsyms")
            .map(|file| functions(file, is_wanted))
            .unwrap_or_default();
        KernelFunctions {
            is_wanted,
            functions,
            modules: modules(),
            is_stale: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Reads them again if another module was loaded, and says whether it did.
    pub fn reread_if_changed(&mut self) -> bool {
        let has_changed = modules() != self.modules;
        if has_changed {
            let again = KernelFunctions::read(self.is_wanted);
            // They may be hidden by now, from a process with fewer rights.
            if again.is_empty() {
                self.is_stale = true;
                return false;
            }
            *self = again;
        }
        has_changed
    }

    /// Another module was loaded, and the addresses are hidden by now.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The names among these return addresses.
    pub fn names(&self, addresses: &[u64]) -> Vec<&str> {
        addresses
            .iter()
            .filter_map(|address| {
                let after = self.functions.partition_point(|f| f.start < *address);
                let function = self.functions.get(after.checked_sub(1)?)?;
                // A return address may be the first byte after the function, if its last instruction is the call.
                (*address <= function.end).then_some(&*function.name)
            })
            .collect()
    }
}

fn modules() -> Vec<u8> {
    let mut names = Vec::new();
    for line in fs::read("/proc/modules")
        .unwrap_or_default()
        .split(|byte| *byte == b'\n')
    {
        names.extend(line.split(|byte| *byte == b' ').next().unwrap_or_default());
        names.push(b' ');
    }
    names
}

/// By address; each ends where the next symbol begins.
fn functions(text: impl Read, is_wanted: fn(&str) -> bool) -> Vec<Function> {
    let mut starts: Vec<u64> = Vec::new();
    let mut found: Vec<Function> = Vec::new();
    for line in BufReader::new(text).lines().map_while(Result::ok) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(start) = u64::from_str_radix(address, 16) else {
            continue;
        };
        if start == 0 || !["t", "T", "w", "W"].contains(&kind) {
            continue;
        }
        starts.push(start);
        if is_wanted(name) {
            found.push(Function {
                start,
                end: start + LONGEST,
                name: name.to_owned(),
            });
        }
    }
    starts.sort_unstable();
    for function in &mut found {
        let next = starts.partition_point(|start| *start <= function.start);
        if let Some(next) = starts.get(next) {
            function.end = function.end.min(*next);
        }
    }
    found.sort_by_key(|function| function.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000100 T first
ffffffff81000200 T jbd2_log_wait_commit
ffffffff81000300 t next
ffffffff81000320 d jbd2_complete_transaction
ffffffffc0000000 t xfs_log_force.part.0\t[xfs]
";

    fn is_named(name: &str) -> bool {
        ["jbd2_log_wait_commit", "jbd2_complete_transaction"].contains(&name)
            || name.starts_with("xfs_log_force")
    }

    fn symbols(text: &str) -> KernelFunctions {
        KernelFunctions {
            is_wanted: is_named,
            functions: functions(text.as_bytes(), is_named),
            modules: Vec::new(),
            is_stale: false,
        }
    }

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let symbols = symbols(TEXT);
        let names = |address: u64| {
            symbols
                .names(&[address])
                .first()
                .map(|name| (*name).to_owned())
        };
        for (address, name) in [
            (0xffff_ffff_8100_0150, None),
            (0xffff_ffff_8100_0200, None), // a return address is never the first byte
            (0xffff_ffff_8100_0201, Some("jbd2_log_wait_commit")),
            (0xffff_ffff_8100_0300, Some("jbd2_log_wait_commit")),
            (0xffff_ffff_8100_0301, None),
            (0xffff_ffff_8100_0321, None), // data
            (0xffff_ffff_c000_0010, Some("xfs_log_force.part.0")),
            (0xffff_ffff_c100_0010, None), // too far
        ] {
            assert_eq!(names(address).as_deref(), name, "{address:x}");
        }
    }

    #[test]
    fn hidden_addresses_are_none() {
        let hidden = TEXT.replace("ffffffff8100", "000000000000");
        assert_eq!(symbols(&hidden.replace("0200", "0000")).functions.len(), 1);
        assert!(symbols("0000000000000000 T jbd2_log_wait_commit\n").is_empty());
        assert!(symbols("garbage\n\n\u{0}\n").is_empty());
    }
}
