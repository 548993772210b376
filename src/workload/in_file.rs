//! fio jobs in a scratch file instead of on a device: what would reach beyond it. fio removes a
//! file that is smaller than a job asks for, to lay it out anew; as it must not create files, the round then fails. Pure.

use anyhow::Result;

use super::job_file::{JobFile, refuse};

/// Key and what it would do, unless switched off.
const REFUSED_IF_ON: [(&str, &str); 3] = [
    ("file_append", GROWS),
    ("fill_device", "would fill the file system"),
    ("filesize", GROWS),
];
const GROWS: &str = "would change the size of the scratch file";

/// `name` and the line are told in the refusal.
pub(super) fn check(name: &str, jobs: &JobFile, size_bytes: u64) -> Result<()> {
    for (_, settings) in jobs.jobs() {
        for (option, why) in REFUSED_IF_ON {
            if let Some(setting) = settings.get(option)
                && setting.value() != "0"
            {
                let key = &setting.key;
                return Err(refuse(name, setting.line, &format!("{key} {why}")));
            }
        }
        if let Some(rw) = settings.get("rw")
            && rw.value().contains("trim")
        {
            let why = "trims, which fio does on devices alone";
            return Err(refuse(name, rw.line, why));
        }
        let Some(size) = settings.get("size") else {
            continue;
        };
        let value = size.value();
        let offset_bytes = settings.get("offset").and_then(|at| bytes(at.value()));
        match bytes(value) {
            _ if value.ends_with('%') => {}
            Some(bytes) if bytes.saturating_add(offset_bytes.unwrap_or(0)) <= size_bytes => {}
            Some(_) => {
                let why = format!(
                    "size={value} reaches beyond the scratch file: take a larger --scratch-size",
                );
                return Err(refuse(name, size.line, &why));
            }
            None => {
                let why = format!("size={value} is neither a number with k, m, g nor a percentage");
                return Err(refuse(name, size.line, &why));
            }
        }
    }
    Ok(())
}

/// fio's sizes, in powers of two whatever `kb_base` makes of them: 512, 4k, 10m, 1g, 1GiB.
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.trim_end_matches('b').trim_end_matches('i');
    let (digits, shift) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 10),
        'm' => (&text[..text.len() - 1], 20),
        'g' => (&text[..text.len() - 1], 30),
        't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Kind, kind_of};

    fn checked(options: &str) -> Result<()> {
        let jobs = JobFile::parse("db.fio", &format!("[a]\n{options}\n"), &[]).unwrap();
        check("db", &jobs, 64 << 20)
    }

    #[test]
    fn what_fits_into_the_file_is_accepted() {
        for options in [
            "rw=randrw",
            "size=64m",
            "size=100%",
            "size=67108864\nfilesize=0\nfill_device=0",
            "size=65536K",
            "size=64MiB\noffset=50%",
        ] {
            checked(options).expect(options);
        }
    }

    #[test]
    fn what_would_reach_beyond_it_is_refused_by_line() {
        for (options, says) in [
            ("rw=write\nsize=65m", "db:3: size=65m reaches beyond"),
            ("size=1t", "--scratch-size"),
            ("offset=1m\nsize=64m", "db:3: size=64m reaches beyond"),
            ("fileoffset=1m\nsize=64m", "db:3: size=64m reaches beyond"),
            ("size=99999999999999999999", "is neither a number"),
            ("size=16777216t", "is neither a number"),
            ("size=1m-2m", "is neither a number"),
            ("filesize=10g", "would change the size"),
            ("file_append", "would change the size"),
            ("fill_device=1", "would fill the file system"),
            ("fill_fs", "fill_fs would fill the file system"),
            ("readwrite=randtrim", "db:2: trims"),
        ] {
            let error = checked(options).expect_err(options);
            assert_eq!(kind_of(&error), Kind::Refused, "{options}");
            assert!(error.to_string().contains(says), "{error}");
        }
        let global = "[global]\nsize=1g\n[a]\nrw=read\n";
        let jobs = JobFile::parse("db.fio", global, &[]).unwrap();
        assert!(check("db", &jobs, 64 << 20).is_err());
    }
}
