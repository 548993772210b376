use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;

use super::super::{JobFile, Setting, Window};
use super::*;

const MIB: u64 = 1 << 20;
const DEVICE: Target = Target {
    bytes: 1 << 30,
    is_file: false,
    disks: 1,
};
const FILE: Target = Target {
    bytes: 64 * MIB,
    is_file: true,
    disks: 1,
};

fn parse(text: &str) -> JobFile {
    JobFile::parse("my.fio", text, &[]).expect(text)
}

fn laid_out(text: &str, target: Target) -> Layout {
    parse(text).lay_out("my.fio", &target).expect(text)
}

fn refusal(text: &str, target: Target) -> String {
    let refused = parse(text).lay_out("my.fio", &target).expect_err(text);
    refused.to_string()
}

/// The job file that fio gets, without the lines of every round.
fn round(text: &str, target: Target) -> String {
    let jobs = parse(text);
    let layout = jobs.lay_out("my.fio", &target).expect(text);
    let round = jobs.for_round(&Window {
        targets: &["/dev/sdx".into()],
        ramp: Duration::ZERO,
        time: Duration::from_secs(1),
        lead: Duration::ZERO,
        layout: Some(&layout),
    });
    let (_, jobs) = round.split_once("\n\n").expect("the global section");
    let ours = |line: &&str| line.starts_with("ramp_time") || *line == "lat_percentiles=1";
    let lines: Vec<&str> = jobs.lines().filter(|line| !ours(line)).collect();
    lines.join("\n")
}

#[test]
fn jobs_that_name_one_file_or_none_use_the_whole_target() {
    for text in [
        "[a]\nrw=read",
        "[a]\nnumjobs=4\n[b]",
        "[a]\nfilename=/tmp/x\n[b]\nfilename=/tmp/x",
        "[global]\nfilename=/dev/sda\n[a]\nnumjobs=4\n[b]",
        "[global]\ndirectory=/tmp\nfilename=x\n[a]\n[b]",
        "[a]\nsize=64m\ndirectory=/tmp",
        "[global]\nfilename_format=x\nsize=1m\n[a]\n[b]",
    ] {
        for target in [DEVICE, FILE] {
            let layout = laid_out(text, target);
            assert_eq!(layout.notes, [""; 0], "{text}");
            let round = round(text, target);
            assert!(!round.contains("offset"), "{round}");
            assert!(
                !round.contains("/tmp") && !round.contains("filename"),
                "{round}"
            );
        }
    }
    let text = "[a]\nfilename=x\nsize=8m\noffset=1m\nbs=4k\nio_size=2m";
    assert_eq!(
        round(text, FILE),
        "[a]\nbs=4k\nsize=8m\nio_size=2m\noffset=1m"
    );
    let text = "[a]\nsize=50%\noffset=25%";
    assert_eq!(round(text, DEVICE), "[a]\nsize=50%\noffset=25%");
}

#[test]
fn jobs_with_different_files_get_parts_that_do_not_overlap() {
    let text = "[global]\nsize=100m\ndirectory=/d\n[a]\niodepth=4\n[b]\nnumjobs=2\n[c]\nfilename=x\noffset=1m";
    assert_eq!(
        round(text, DEVICE),
        "[global]\n[a]\niodepth=4\nsize=104857600\noffset=0\n\
         [b]\nnumjobs=2\nsize=104857600\noffset=104857600\noffset_increment=104857600\n\
         [c]\nsize=104857600\noffset=315621376"
    );
    let notes = laid_out(text, DEVICE).notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("the 4 files") && notes[0].contains("100 MiB to 101 MiB"),
        "{notes:?}"
    );
    // Four files of 512 MiB do not fit.
    let text = "[global]\nsize=512m\ndirectory=/data1\n[a]\n[b]\n[c]\n[d]";
    let notes = laid_out(text, DEVICE).notes;
    assert!(
        notes[0].contains("256 MiB each, smaller than in the job file"),
        "{notes:?}"
    );
    let text = "[global]\nsize=1m\n[a]\n[b]\n[c]\nnumjobs=4\noffset_increment=1m";
    assert!(round(text, DEVICE).ends_with("size=1m\noffset_increment=1m"));
    assert!(laid_out(text, DEVICE).notes[1].contains("[c] names no file"));
    // The job file does not tell the size of a device.
    let text = "[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb";
    assert_eq!(
        round(text, FILE),
        "[a]\nsize=33554432\noffset=0\n[b]\nsize=33554432\noffset=33554432"
    );
    assert!(laid_out(text, FILE).notes[0].contains("equal parts because"));
}

#[test]
fn a_file_that_does_not_fit_is_as_large_as_the_target_and_the_note_says_so() {
    for (text, says) in [
        (
            "[a]\nsize=65m",
            "size=65m in line 2 is more than the scratch file has: [a] uses 64 MiB",
        ),
        (
            "[a]\nfilename=x\nfilesize=10g\nrw=write",
            "filesize=10g in line 3 is more",
        ),
        ("[a]\noffset=1m\nsize=64m", "[a] uses 63 MiB"),
        (
            "[a]\nfilename=x\noffset_increment=1m\nnumjobs=5\nsize=64m",
            "[a] uses 60 MiB",
        ),
    ] {
        let notes = laid_out(text, FILE).notes;
        assert!(notes.len() == 1 && notes[0].contains(says), "{notes:?}");
    }
    assert_eq!(
        round("[a]\nfilesize=1m\nsize=4m", FILE),
        "[a]\nsize=1048576\nio_size=4m"
    );
    assert_eq!(
        round("[global]\nsize=1t\n[a]\nfilename=x", FILE),
        "[global]\n[a]\nsize=67108864"
    );
}

#[test]
fn what_cannot_be_placed_is_refused_by_line() {
    for (text, says) in [
        (
            "[a]\nsize=1m-2m",
            "my.fio:2: size=1m-2m is neither a number",
        ),
        ("[a]\nsize=99999999999999999999", "is neither a number"),
        ("[a]\nsize=16777216t", "is neither a number"),
        ("[a]\nfilesize=1k-2k", "my.fio:2: filesize=1k-2k is neither"),
        (
            "[a]\noffset=64m",
            "my.fio:2: offset=64m reaches beyond the scratch file",
        ),
        (
            "[a]\noffset_increment=32m\nnumjobs=3",
            "my.fio:2: offset_increment=32m reaches beyond",
        ),
        (
            "[a]\nsize=1m\n[b]\nsize=1m\noffset=1z",
            "my.fio:5: offset=1z is neither",
        ),
        ("[a]\nsize=1m\nnumjobs=4k", "numjobs must be a plain number"),
        (
            "[global]\ndirectory=/d\n[a]\nnumjobs=200",
            "too small for 200 of them",
        ),
        ("[a]\nfile_append", "would change the size"),
        ("[a]\nfill_device=1", "would fill the file system"),
        ("[a]\nfill_fs", "fill_fs would fill the file system"),
        ("[a]\nreadwrite=randtrim", "my.fio:2: trims"),
    ] {
        let message = refusal(text, FILE);
        assert!(message.contains(says), "{text}: {message}");
    }
    let two = Target { disks: 2, ..DEVICE };
    let message = refusal("[a]\nsize=1m\n[b]\nsize=1m", two);
    assert!(
        message.contains("needs one disk or a scratch file"),
        "{message}"
    );
    assert_eq!(
        round("[a]\nfilesize=1m\nfilename=x", two),
        "[a]\nfilesize=1m"
    );
}

/// fio's own log of its I/O says where each job was.
#[test]
fn fio_stays_in_the_parts() {
    let text = "[global]\nrw=randwrite\nbs=64k\nsize=8m\ndirectory=/nowhere\nnumber_ios=200\nnorandommap\n\
                [a]\nwrite_iolog=a.log\n[b]\noffset=1m\nsize=7m\nwrite_iolog=b.log\n[c]\nfilename=x\nwrite_iolog=c.log\n";
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("target");
    fs::write(&target, vec![0; FILE.bytes as usize]).expect("a file");
    let jobs = parse(text);
    let layout = jobs.lay_out("my.fio", &FILE).expect("a layout");
    let round = jobs.for_round(&Window {
        targets: &[target],
        ramp: Duration::ZERO,
        time: Duration::from_secs(2),
        lead: Duration::ZERO,
        layout: Some(&layout),
    });
    fs::write(directory.path().join("round.fio"), round).expect("a job file");
    let mut fio = Command::new("timeout");
    fio.args(["60", "fio", "--output=fio.txt", "round.fio"]);
    let Ok(status) = fio.current_dir(&directory).status() else {
        return println!("skipped: timeout is not installed");
    };
    if status.code() == Some(127) {
        return println!("skipped: fio is not installed");
    }
    assert!(status.success(), "{status}");
    let blocks = |log: &str, part: Range<u64>| {
        let text = fs::read_to_string(directory.path().join(log)).expect("a log");
        let mut blocks = BTreeSet::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(at) = words.iter().position(|word| *word == "write") else {
                continue;
            };
            let offset: u64 = words[at + 1].parse().expect(line);
            assert!(part.contains(&offset), "{log}: {line}");
            blocks.insert(offset);
        }
        assert!(blocks.len() > 20, "{log}: {}", blocks.len());
        blocks
    };
    let (a, b) = (
        blocks("a.log", 0..8 * MIB),
        blocks("b.log", 9 * MIB..16 * MIB),
    );
    let c = blocks("c.log", 16 * MIB..24 * MIB);
    assert!(a.is_disjoint(&b) && b.is_disjoint(&c));
}

proptest! {
    #[test]
    fn parts_stay_in_the_target_and_apart(
        sizes in prop::collection::vec((1_u64..200, 1_u64..4, 0_u64..8), 1..6),
        mebibytes in 1_u64..2000,
    ) {
        let jobs = sizes.iter().enumerate().map(|(index, (size, clones, offset))| {
            format!("[j{index}]\nsize={size}m\nnumjobs={clones}\noffset={offset}m\n")
        });
        let jobs = jobs.collect::<Vec<_>>().concat();
        let target = Target { bytes: mebibytes * MIB, ..DEVICE };
        let Ok(layout) = parse(&jobs).lay_out("my.fio", &target) else {
            return Ok(());
        };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (job, (size, clones, offset)) in sizes.iter().enumerate() {
            let number = |key: &str| layout.lines(job).lines().find_map(|line| {
                let value = line.strip_prefix(key)?.strip_prefix('=')?;
                amount(&Setting { option: "size", key: String::new(), value: Some(value.to_owned()), line: 1 })
            }).map(|it| it.bytes(0));
            for clone in 0..*clones {
                let begin = number("offset").unwrap_or(offset * MIB)
                    + clone * number("offset_increment").unwrap_or(0);
                let length = number("size").unwrap_or(size * MIB);
                prop_assert!(length > 0 && length <= size * MIB);
                ranges.push((begin, begin + length));
            }
        }
        ranges.sort_unstable();
        prop_assert!(ranges.windows(2).all(|two| two[0].1 <= two[1].0), "{ranges:?}");
        prop_assert!(ranges.iter().all(|(_, end)| *end <= target.bytes), "{ranges:?}");
    }
}
