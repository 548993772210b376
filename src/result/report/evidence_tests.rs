use super::check::{Candidate, Checked, check};
use super::*;
use crate::report::fixture::{empty, play, sample, values};
use crate::statistics::stopping::Stopping;

fn of(result: &ResultFile) -> (Vec<u8>, String) {
    let bytes = serde_json::to_vec(result).unwrap();
    let origin = Origin {
        name: "result.json",
        bytes: &bytes,
        cell: None,
    };
    let block = block(result, origin);
    (bytes, block)
}

fn checked(text: &str, bytes: &[u8], blocks: &[&str]) -> Vec<Checked> {
    let origin = Origin {
        name: "result.json",
        bytes,
        cell: None,
    };
    let blocks = blocks.iter().map(|block| (*block).to_owned()).collect();
    let found = check(text, &[Candidate { origin, blocks }]);
    found.into_iter().map(|place| place.checked).collect()
}

fn same() -> Vec<Checked> {
    vec![Checked::Same {
        file: "result.json".to_owned(),
    }]
}

#[test]
fn a_block_says_what_was_asked_on_what_and_what_came_of_it() {
    let mut result = sample();
    result.command = ["/opt/iosched-ab", "run", "nvme0n1", "--workload", "it's"]
        .map(str::to_owned)
        .to_vec();
    let (_, block) = of(&result);
    for text in [
        "iosched evidence 1, by iosched 0.1.0\nDecision   Not decided: mq-deadline,iosched/read_expire=100 against",
        "\nQuestion   bfq, mq-deadline,iosched/read_expire=100 against none; workload\n           randread\n",
        "\nDisk       A disk, firmware 1.0, 1.00 TiB\n",
        "\nMachine    Linux 6.12.1-test, x86_64, 2 CPUs (A CPU)\n",
        "seed 7",
        "\nDoubts     1 of 12 blocks did not count, regardless of their results\n",
        "at most 5 % of such runs",
        "\n throughput, against none 99.6 MB/s\n bfq",
        "\nReproduce  iosched-ab run --seed 7 nvme0n1 --workload \"it's\"\n",
        "\nSHA-256    ",
    ] {
        assert!(block.contains(text), "{text}\n{block}");
    }
    assert!(block.lines().count() <= LINES, "{block}");
    let widest = block.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(WIDTH), "{block}");
}

#[test]
fn a_block_is_checked_however_it_was_quoted() {
    let (bytes, block) = of(&sample());
    assert_eq!(checked(&block, &bytes, &[&block]), same());
    for prefix in ["> ", "# ", "    ", "> > # "] {
        let quoted: Vec<String> = block
            .lines()
            .map(|line| format!("{prefix}{line}").trim_end().to_owned())
            .collect();
        let text = format!("Hello,\n\n{}\n\nSincerely\n", quoted.join("\n"));
        assert_eq!(checked(&text, &bytes, &[&block]), same(), "{text}");
    }
    let as_comment: Vec<String> = block
        .lines()
        .map(|line| format!("# {}", crate::text::comment::comment(line)))
        .collect();
    assert_eq!(checked(&as_comment.join("\n"), &bytes, &[&block]), same());
}

#[test]
fn each_line_that_was_changed_is_found() {
    let (bytes, block) = of(&sample());
    let lines: Vec<&str> = block.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if line.is_empty() || line.contains(SHA256) || line.contains(" bytes, ") {
            continue;
        }
        let changed = if index == 0 {
            line.replace("0.1.0", "9.9.9")
        } else {
            line.replace(|c: char| c.is_ascii_alphanumeric(), "7")
        };
        let mut text = lines.clone();
        text[index] = &changed;
        let found = checked(&text.join("\n"), &bytes, &[&block]);
        let is_found = match &found[0] {
            Checked::Differs { line, .. } => *line == index + 1,
            // The other lines are the same.
            Checked::Same { .. } => index == 0,
            _ => false,
        };
        assert!(is_found, "{changed}: {found:?}");
        // A line that is left out is found, too.
        let mut less = lines.clone();
        less.remove(index);
        let found = checked(&less.join("\n"), &bytes, &[&block]);
        assert_ne!(found, same(), "without {line}");
    }
    let others = checked(&block, b"{}", &[&block]);
    assert!(matches!(others[0], Checked::NoFile { .. }), "{others:?}");
    let (without, _) = block.split_once("Result ").unwrap();
    assert_eq!(checked(without, &bytes, &[&block]), [Checked::NoDigest]);
    assert_eq!(checked("nothing", &bytes, &[&block]), []);
    // Another version does not hide another verdict.
    let other = block
        .replace("0.1.0", "9.9.9")
        .replacen("better", "worse", 1);
    let found = checked(&other, &bytes, &[&block]);
    assert!(
        matches!(found[0], Checked::OtherVersion { .. }),
        "{found:?}"
    );
    // A block that only looks like one does not hide behind another.
    for fake in [
        "Iosched evidence 1",
        "iosched  evidence 2, by iosched 0.1.0",
        "xx iosched evidence 1",
    ] {
        let found = checked(
            &format!("{block}\n{fake}\nDecision   Use it.\n"),
            &bytes,
            &[&block],
        );
        assert_eq!(found, [same(), vec![Checked::NotOne]].concat(), "{fake}");
    }
    let twice = format!("{block}\n{block}");
    assert_eq!(checked(&twice, &bytes, &[&block]).len(), 2);
}

#[test]
fn what_is_against_an_arm_is_never_left_out() {
    let arms: Vec<String> = (0..12)
        .map(|index| format!("mq-deadline,iosched/read_expire={}", 100 + index))
        .collect();
    let arms: Vec<&str> = ["none"]
        .into_iter()
        .chain(arms.iter().map(String::as_str))
        .collect();
    let primary = ["throughput", "total_p99", "iops"];
    let mut result = empty(&arms, Stopping::Fixed { blocks: 12 }, &primary);
    play(&mut result, |turn| {
        let loss = if turn.planned.arm == 11 { 0.5 } else { 1.0 };
        Ok(values(
            turn,
            &[
                ("throughput", 1e8 * loss),
                ("total_p99", 1e6),
                ("iops", 1e4),
            ],
        ))
    });
    let (_, block) = of(&result);
    assert!(block.lines().count() <= LINES, "{block}");
    assert!(block.contains("worse by more than"), "{block}");
    assert!(block.contains("more rows in the result"), "{block}");
}

#[test]
fn names_from_files_have_lines_of_their_own_only() {
    let mut result = sample();
    result.workload.name = format!(
        "evil\niosched evidence 1, by iosched 0.1.0\n{}{TITLE}{}",
        "x ".repeat(9),
        "x ".repeat(900)
    );
    result.device.model = Some("\u{1b}[31mred\n\n".to_owned());
    let (bytes, block) = of(&result);
    assert!(!block.contains('\u{1b}'));
    assert!(block.lines().count() <= LINES + 8, "{block}");
    assert_eq!(checked(&block, &bytes, &[&block]), same());
}
