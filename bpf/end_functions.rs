//! Addresses of the functions that bios call at their end, from `/proc/kallsyms`: they tell what a bio is for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result};

use crate::skeleton::types::end_functions;

macro_rules! of_names {
    ($addresses:expr, $($name:ident)*) => {{
        // A field more would stay 0.
        const _: () = assert!(
            size_of::<end_functions>() == size_of::<u64>() * [$(stringify!($name)),*].len()
        );
        let addresses = $addresses;
        let address = |name| addresses.get(name).copied().unwrap_or(0);
        end_functions { $($name: address(stringify!($name))),* }
    }};
}

/// Those of the running kernel and of its loaded modules; 0 for a function that is not there, or whose address is hidden.
pub(crate) fn read() -> Result<end_functions> {
    const SYMBOLS: &str = "/proc/kallsyms";
    let file = File::open(SYMBOLS).with_context(|| format!("opening {SYMBOLS}"))?;
    let found = addresses(file).with_context(|| format!("reading {SYMBOLS}"))?;
    Ok(of_names!(
        found,
        iomap_dio_bio_end_io dio_bio_end_io dio_bio_end_aio f2fs_dio_end_io
        blkdev_bio_end_io blkdev_bio_end_io_async blkdev_bio_end_io_simple
        btrfs_simple_end_io btrfs_orig_write_end_io
        xlog_bio_end_io xfs_buf_bio_end_io
        end_swap_bio_write end_swap_bio_read
        journal_end_buffer_io_sync ext4_end_buffer_io_sync end_bio_bh_io_sync
        bio_wait_end_io submit_bio_wait_endio bio_chain_endio
    ))
}

/// The address of each symbol with `end` in its name; 0 for a name that stands for two addresses.
fn addresses(text: impl Read) -> std::io::Result<HashMap<String, u64>> {
    let mut found: HashMap<String, u64> = HashMap::new();
    let mut text = BufReader::with_capacity(1 << 16, text);
    let mut line = String::new();
    loop {
        line.clear();
        if text.read_line(&mut line)? == 0 {
            return Ok(found);
        }
        let mut words = line.split_ascii_whitespace();
        let (Some(address), _, Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if !name.contains("end") {
            continue;
        }
        let address = u64::from_str_radix(address, 16).unwrap_or(0);
        let known = found.entry(name.to_owned()).or_insert(address);
        if *known != address {
            *known = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_has_its_address_unless_there_are_two() {
        let text = "\
ffffffff81000100 T first
ffffffff81000200 t bio_chain_endio
ffffffffc0000000 t xlog_bio_end_io\t[xfs]
ffffffffc0000010 t end_twice\t[one]
ffffffffc0000020 t end_twice\t[other]
0000000000000000 t hidden_end_io
garbage
";
        let found = addresses(text.as_bytes()).expect("symbols");
        let of = |name| found.get(name).copied();
        assert_eq!(of("bio_chain_endio"), Some(0xffff_ffff_8100_0200));
        assert_eq!(of("xlog_bio_end_io"), Some(0xffff_ffff_c000_0000));
        assert_eq!([of("end_twice"), of("hidden_end_io")], [Some(0); 2]);
        assert_eq!(of("first"), None);
    }
}
