//! Our reading of udev's rules against `udevadm test` itself, on a loop device: `cargo test --test udev_rules -- --ignored`.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iosched_host::preflight::rivals::{self, Agent};
use support::LoopDevice;

/// The last lines of rules, and what they write.
type Writes = BTreeSet<(usize, String)>;

/// A file of rules for one loop device only, which is removed again.
struct Rules {
    path: PathBuf,
    name: String,
}

impl Rules {
    /// A real udev may be running here, and other disks are none of ours: the first line leaves for all of them.
    fn new(disk: &str) -> Self {
        let directory = Path::new("/run/udev/rules.d");
        fs::create_dir_all(directory).expect("a directory");
        let path = directory.join(format!("66-iosched-test-{}.rules", std::process::id()));
        Rules {
            path,
            name: disk.to_owned(),
        }
    }

    fn write(&self, text: &str) {
        let text = format!(
            "KERNEL!=\"{}\", GOTO=\"of_other_disks\"\n{text}\nLABEL=\"of_other_disks\"\n",
            self.name
        );
        fs::write(&self.path, text).expect("rules");
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes that udevadm does or would do. Until systemd 255 it does them: the device is ours.
fn of_udevadm(disk: &LoopDevice, rules: &Rules) -> Option<Writes> {
    let mut found = Writes::new();
    for action in ["add", "change"] {
        disk.set("scheduler", "none");
        let mut command = Command::new("udevadm");
        command.args(["test", "--action", action]);
        command.arg(format!("/sys/block/{}", disk.device.name));
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                println!("skipped: udevadm: {error}");
                return None;
            }
        };
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let place = format!("{}:", rules.path.display());
        for line in said.lines() {
            let Some((_, rest)) = line.split_once(&place) else {
                continue;
            };
            // As the rule names it: `./queue//scheduler`.
            if !rest.contains("/scheduler") || !rest.contains("writing") {
                continue;
            }
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let quoted = rest.strip_suffix('.').unwrap_or(rest);
            let value = quoted.strip_suffix(['"', '\'']).unwrap_or(quoted);
            let value = value.rsplit(['"', '\'']).next().unwrap_or_default();
            found.insert((number.parse().expect("a line"), value.to_owned()));
        }
    }
    disk.set("scheduler", "none");
    Some(found)
}

/// By our reading: certain or not.
fn of_ours(disk: &LoopDevice, rules: &Rules) -> Writes {
    let devices = [disk.device.clone()];
    let found = rivals::find(Path::new("/"), &devices)
        .expect("a survey")
        .rivals;
    let file = rules.path.display().to_string();
    found
        .into_iter()
        .filter(|rival| rival.agent == Agent::Udev && rival.file == file)
        .map(|rival| {
            let line = rival.rule.as_ref().expect("its rule").line;
            (line, rival.value.unwrap_or_default())
        })
        .collect()
}

/// udev's entry for the disk without what the rules of an earlier file have left there. Where udevadm writes nothing and no
/// udev runs, there is none: what its builtins find would not be known.
fn forget_properties(disk: &LoopDevice) {
    let file = format!(
        "/run/udev/data/b{}:{}",
        disk.device.major, disk.device.minor
    );
    let text = fs::read_to_string(&file).unwrap_or_else(|_| "I:1\nV:1\n".to_owned());
    let own = ["E:MINE=", "E:S=", "E:ID_MINE="];
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !own.iter().any(|begin| line.starts_with(begin)))
        .collect();
    fs::create_dir_all("/run/udev/data").expect("a directory");
    fs::write(&file, kept.join("\n") + "\n").expect("the database");
}

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const CONDITIONS: [&str; 66] = [
    r#"ACTION=="add""#,
    r#"ACTION!="add""#,
    r#"ACTION=="change""#,
    r#"ACTION=="add|change""#,
    r#"ACTION!="add|change""#,
    r#"ACTION=="remove""#,
    r#"ACTION!="remove""#,
    r#"SUBSYSTEM=="block""#,
    r#"SUBSYSTEM!="block""#,
    r#"SUBSYSTEM=="b*|scsi""#,
    r#"KERNEL=="loop[0-9]*""#,
    r#"KERNEL=="sd[a-z]*|mmcblk[0-9]*""#,
    r#"KERNEL=="mmcblk*[0-9]|sd*[!0-9]|sr*""#,
    r#"KERNEL=="loop*[!0-9]""#,
    r#"KERNEL!="loop*""#,
    r#"KERNEL=="l[^a-n]op*""#,
    r#"KERNEL=="loop[[:digit:]]*""#,
    r#"KERNEL=="sd?|loop?*""#,
    r#"KERNEL=="nvme[0-9]n[0-9]""#,
    r#"KERNEL=="loop$number""#,
    r#"KERNEL=="loop\*""#,
    r#"ATTR{queue/rotational}=="0""#,
    r#"ATTR{queue/rotational}=="1""#,
    r#"ATTR{queue/rotational}!="0""#,
    r#"ATTR{queue/zoned}=="none""#,
    r#"ATTR{queue/zoned}!="none""#,
    r#"ATTR{nothing}=="1""#,
    r#"ATTR{nothing}!="1""#,
    r#"ATTR{size}=="?*""#,
    r#"ATTR{removable}=="0|2""#,
    r#"ATTR{queue}=="?*""#,
    r#"ATTR{loop/backing_file}=="/*""#,
    r#"ATTR{subsystem}=="block""#,
    r#"ENV{DEVTYPE}=="disk""#,
    r#"ENV{DEVTYPE}!="disk""#,
    r#"ENV{DEVNAME}=="/dev/loop*""#,
    r#"ENV{MAJOR}=="7""#,
    r#"ENV{.MINE}=="1""#,
    r#"ENV{.MINE}!="1""#,
    r#"ENV{MINE}=="?*""#,
    r#"ENV{MINE}=="""#,
    r#"ENV{MINE}=="|2""#,
    r#"ENV{MINE}=="2*3""#,
    r#"ENV{ID_MINE}!="?*""#,
    r#"ENV{ID_NOT_THERE}=="?*""#,
    r#"TEST=="queue/scheduler""#,
    r#"TEST!="queue/scheduler""#,
    r#"TEST!="%S%p/queue/scheduler""#,
    r#"TEST=="%S%p/queue/scheduler""#,
    r#"TEST=="/sys$devpath/queue/nothing""#,
    r#"TEST=="mq/1""#,
    r#"TEST{0200}=="queue/scheduler""#,
    r#"TEST{0111}=="queue/scheduler""#,
    r#"TEST=="/sys/block/*/queue""#,
    r#"TEST!="/dev/$kernel""#,
    r#"SUBSYSTEMS=="block""#,
    r#"SUBSYSTEMS=="scsi""#,
    r#"KERNELS=="loop*", ATTRS{queue/rotational}=="0|1""#,
    r#"KERNELS=="sd*""#,
    r#"ATTRS{vendor}=="?*""#,
    r#"DRIVERS=="?*""#,
    r#"DEVPATH=="/devices/virtual/*""#,
    r#"DEVPATH!="*/block/loop*""#,
    r#"IMPORT{db}="NOTHING""#,
    r#"IMPORT{cmdline}="surely_not_there""#,
    r#"DRIVER=="""#,
];

const EFFECTS: [&str; 18] = [
    r#"ATTR{queue/scheduler}="bfq""#,
    r#"ATTR{queue/scheduler}="kyber""#,
    r#"ATTR{queue/scheduler}="mq-deadline""#,
    r#"ATTR{queue/scheduler}:="none""#,
    r#"ATTR{queue/scheduler}="$env{S}""#,
    r#"ATTR{./queue//scheduler}="bfq""#,
    r#"ATTR{queue/scheduler}="bfq", GOTO="a""#,
    r#"ATTR{queue/read_ahead_kb}="128""#,
    r#"ENV{.MINE}="1""#,
    r#"ENV{.MINE}="""#,
    r#"ENV{MINE}="2""#,
    r#"ENV{MINE}+="3""#,
    r#"ENV{ID_MINE}="%k""#,
    r#"ENV{S}="kyber""#,
    r#"ENV{S}="none", ATTR{queue/scheduler}="%E{S}""#,
    r#"GOTO="a""#,
    r#"GOTO="b""#,
    r#"GOTO="nowhere""#,
];

/// udev rejects a rule for each of these.
const WRONG: [&str; 7] = [
    r#"KERNEL="loop*""#,
    r#"NOTHING=="1""#,
    r#"ATTR{queue/rotational}-="1""#,
    r#"KERNEL{x}=="*""#,
    r#"ENV{DEVNAME}="x""#,
    r#"ATTR{}=="1""#,
    "SUBSYSTEM==block",
];

fn generated(draw: &mut Draw) -> String {
    let mut text = String::new();
    for _ in 0..3 + draw.below(8) {
        if draw.below(8) == 0 {
            text += ["LABEL=\"a\"\n", "LABEL=\"b\"\n", "# nothing\n", "\n"][draw.below(4)];
            continue;
        }
        let mut tokens: Vec<&str> = (0..draw.below(4)).map(|_| draw.of(&CONDITIONS)).collect();
        tokens.push(draw.of(&EFFECTS));
        if draw.below(12) == 0 {
            tokens.insert(draw.below(tokens.len()), draw.of(&WRONG));
        }
        let between = draw.of(&[", ", ",", " ", ", \\\n  ", ", \\\n  # within\n  "]);
        text += &tokens.join(between);
        text += "\n";
    }
    text + "LABEL=\"b\"\n"
}

/// None: both say the same.
fn disagreement(disk: &LoopDevice, rules: &Rules, text: &str) -> Option<String> {
    rules.write(text);
    forget_properties(disk);
    let ours = of_ours(disk, rules);
    let udev = of_udevadm(disk, rules).expect("udevadm");
    if ours == udev {
        return None;
    }
    let text = fs::read_to_string(&rules.path).expect("the rules");
    let mut shown = format!("ours {ours:?}\nudev {udev:?}\n");
    for (index, line) in text.lines().enumerate() {
        let _ = writeln!(shown, "{:3} {line}", index + 1);
    }
    Some(shown)
}

#[test]
#[ignore = "root"]
fn our_reading_of_200_files_is_that_of_udevadm() {
    let disk = LoopDevice::new(64 << 20);
    let rules = Rules::new(&disk.device.name);
    // Its entry in udev's database, as on a machine where udev runs.
    rules.write("");
    if of_udevadm(&disk, &rules).is_none() {
        return;
    }
    let mut draw = Draw(2026);
    let mut wrong = Vec::new();
    let mut with_writes = 0;
    for _ in 0..200 {
        let text = generated(&mut draw);
        wrong.extend(disagreement(&disk, &rules, &text));
        with_writes += usize::from(!of_ours(&disk, &rules).is_empty());
    }
    assert!(
        wrong.is_empty(),
        "{} of 200 differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    assert!(
        (60..180).contains(&with_writes),
        "{with_writes} of 200 files write"
    );
}

#[test]
#[ignore = "root"]
fn our_reading_of_the_rules_of_distributions_is_that_of_udevadm() {
    let disk = LoopDevice::new(64 << 20);
    let rules = Rules::new(&disk.device.name);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/udev");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("the files")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    assert!(files.len() > 5);
    let mut wrong = Vec::new();
    rules.write("");
    if of_udevadm(&disk, &rules).is_none() {
        return;
    }
    for file in files {
        let text = fs::read_to_string(&file).expect("a file");
        // As they are, they are for disks of other names.
        let own = text
            .replace("sd[a-z]", "loop[0-9]")
            .replace("sd*", "loop*")
            .replace("vd[a-z]", "loop[0-9]")
            .replace(
                "KERNEL==\"loop[0-9]*\", ATTR{queue/scheduler}=\"none\", GOTO",
                "KERNEL==\"sd*\", GOTO",
            );
        for text in [text, own] {
            let found = disagreement(&disk, &rules, &text);
            wrong.extend(found.map(|found| format!("{}: {found}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
