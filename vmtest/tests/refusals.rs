//! Where the kernel refuses, iosched says what is missing and changes nothing. Profile `stress`; the last test locks the
//! kernel down for good.

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::fs;

use iosched_host::scheduler;
use iosched_vmtest::{Disk, run};
use program::{Ended, Program};

fn stat(program: &Program, disk: &Disk) -> Ended {
    program.run(&["stat", &disk.node(), "-n", "1", "-i", "0.5"])
}

#[test]
fn a_scheduler_without_its_module_is_refused_by_name() {
    let disk = Disk::null_blk(10_000, &[]);
    let before = disk.scheduler();
    run("rmmod", &["bfq"]);
    let loader = "/proc/sys/kernel/modprobe";
    fs::write(loader, "/none").expect("the kernel's module loader");
    let program = Program::new("iosched");
    let refused = program.run(&["set", &disk.node(), "bfq"]);
    println!("{}", refused.stderr);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(refused.stderr.contains("modprobe bfq"), "{refused:#?}");
    let comparison = Program::new("iosched-ab");
    let arms = ["--arm", "none", "--arm", "bfq", "--", "true"];
    let ended = comparison.run(&[&["run", &disk.node()][..], &arms].concat());
    assert!(matches!(ended.code, Some(2 | 5)), "{ended:#?}");
    assert!(ended.stderr.contains("modprobe bfq"), "{ended:#?}");
    assert_eq!(disk.scheduler(), before);

    fs::write(loader, "/sbin/modprobe").expect("the kernel's module loader");
    run("modprobe", &["bfq"]);
    program.run(&["set", &disk.node(), "bfq"]).ends(0, &[]);
    assert_eq!(disk.scheduler(), "bfq");
}

#[test]
fn a_kernel_without_btf_is_refused_with_a_word_on_it() {
    let disk = Disk::null_blk(10_000, &[]);
    let btf = "/sys/kernel/btf/vmlinux";
    run("mount", &["--bind", "/dev/null", btf]);
    let ended = stat(&Program::new("iosched"), &disk);
    run("umount", &[btf]);
    println!("{}", ended.stderr);
    assert!(matches!(ended.code, Some(1 | 5)), "{ended:#?}");
    assert!(
        ended.stderr.contains("reading the kernel's BTF"),
        "{ended:#?}"
    );
    stat(&Program::new("iosched"), &disk).ends(0, &[]);
}

/// Too little for the maps: refused or killed, and nothing of it stays in the kernel. 5.10 does not charge them.
#[test]
fn with_little_memory_nothing_stays_behind() {
    let disk = Disk::null_blk(10_000, &[]);
    let group = "/sys/fs/cgroup/little";
    fs::create_dir(group).expect("a control group");
    fs::write(format!("{group}/memory.max"), "8M").expect("a limit");
    let program = Program::new("iosched");
    let node = disk.node();
    let script = format!("echo $$ >{group}/cgroup.procs && exec iosched stat {node} -n 1 -i 0.5");
    let ended = Ended::of(program.command_of("/bin/sh".as_ref(), &["-c", &script]));
    println!("{:?} {}", ended.code, ended.stderr);
    match ended.code {
        None => {}
        Some(0) => assert!(ended.stdout.contains(disk.name()), "{ended:#?}"),
        code => assert!(
            code == Some(1) && ended.stderr.contains("memory"),
            "{ended:#?}"
        ),
    }
    let programs = run("bpftool", &["prog", "show"]);
    assert!(!programs.contains("block_rq_issue"), "{programs}");
    let _ = fs::remove_dir(group);
    stat(&program, &disk).ends(0, &[]);
}

#[test]
fn a_zoned_disk_stays_on_mq_deadline_where_the_kernel_needs_it() {
    let disk = Disk::null_blk(10_000, &[("zoned", "1"), ("zone_size", "64")]);
    let model = disk.device.attribute("queue/zoned").expect("its model");
    assert_eq!(model, "host-managed");
    let offered = scheduler::choice(&disk.device).expect("a queue").available;
    println!("{offered:?}");
    let program = Program::new("iosched-ab");
    let node = disk.node();
    let try_out = |second: &str| -> Ended {
        let arms = ["--arm", "a=mq-deadline", "--arm", second];
        program.run(&[&["run", &node, "--dry-run"], &arms[..], &["--", "true"]].concat())
    };
    try_out("b=mq-deadline,iosched/fifo_batch=1").ends(0, &["host-managed"]);
    let symbols = fs::read_to_string("/proc/kallsyms").expect("symbols");
    let ended = try_out("none");
    println!("{}", ended.stderr);
    if symbols.contains(" blk_zone_plug_bio\n") {
        ended.ends(0, &["host-managed"]);
    } else {
        ended.ends(5, &["does not keep writes in order", "mq-deadline"]);
    }
    let write = ["--workload", "randwrite", "--destroy-data", "--dry-run"];
    let arms = ["--arm", "a=mq-deadline", "--arm", "b=mq-deadline"];
    let ended = program.run(&[&["run", &node], &arms[..], &write].concat());
    ended.ends(5, &["rejects writes that are not at the write pointer"]);
}

/// Last by its name: there is no way back.
#[test]
fn z_on_a_locked_down_kernel_it_works_or_is_refused_before_anything_is_touched() {
    let disk = Disk::null_blk(10_000, &[]);
    let before = disk.scheduler();
    fs::write("/sys/kernel/security/lockdown", "confidentiality").expect("lockdown");
    let ended = stat(&Program::new("iosched"), &disk);
    println!("{:?} {}", ended.code, ended.stderr);
    // Before 5.11 the current task can only be read by copying, which is what this forbids.
    if ended.code == Some(0) {
        ended.ends(0, &["confidentiality"]);
        return;
    }
    ended.ends(5, &["lockdown"]);
    let comparison = Program::new("iosched-ab");
    let arms = ["--arm", "none", "--arm", "bfq", "--", "true"];
    let ended = comparison.run(&[&["run", &disk.node()][..], &arms].concat());
    ended.ends(5, &["lockdown"]);
    assert_eq!(disk.scheduler(), before);
}
