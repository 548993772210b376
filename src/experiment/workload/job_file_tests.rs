use super::*;
use iosched_result::failure::{Kind, kind_of};
use proptest::prelude::*;
use std::sync::LazyLock;

fn parse(text: &str) -> Result<JobFile> {
    JobFile::parse("my.fio", text, &[])
}

static SDX: LazyLock<[PathBuf; 1]> = LazyLock::new(|| ["/dev/sdx".into()]);

fn window(ramp_s: u64, time_s: u64, lead: Duration) -> Window<'static> {
    Window {
        targets: &*SDX,
        ramp: Duration::from_secs(ramp_s),
        time: Duration::from_secs(time_s),
        lead,
        layout: None,
    }
}

fn refusal(text: &str) -> String {
    let error = parse(text).expect_err(text);
    assert_eq!(kind_of(&error), Kind::Refused, "{text}");
    error.to_string()
}

#[test]
fn what_would_falsify_the_round_is_refused_by_line() {
    for option in [
        "ioscheduler=bfq",
        "exec_prerun=reboot",
        "exec_postrun = rm x",
        "filename=/dev/sdx:/dev/sdy",
        "filename=/dev/null",
        "filename=-",
        "filename",
        "directory=/tmp:/var/tmp",
        "directory=$HOME",
        "nrfiles=4",
        "opendir=/",
        "read_iolog=trace",
        "cgroup=mine",
        "unlink=1",
        "ioengine=null",
        "ioengine=external:/tmp/x.so",
        "size=${SIZE}",
        "include other.fio",
        "  ioscheduler=bfq  ; quietly",
        "IOSCHEDULER=bfq",
        "rw=sideways",
        "startdelay=1-5",
        "write_iolog=/etc/passwd",
        "write_lat_log=../x",
        "write_bw_log=a/b",
        "mem=mmapshared:/etc/passwd",
        "iomem=mmaphuge:/x",
        "buffer_pattern='/etc/shadow'",
        "allow_mounted_write=1",
        "unlink_each_loop",
        "unlink\0=0",
        "write_bw_log=/etc/cron.d/x",
        "write_iolog=../trace",
        "iomem=mmap:/etc/passwd",
        "[../../x]",
        "name=../x",
        "uid=0",
        "frobnicate=1",
        "rw=read\rioscheduler=bfq",
    ] {
        let message = refusal(&format!("# a comment\n[job]\n{option}\n"));
        assert!(message.starts_with("my.fio:3: "), "{option}: {message}");
    }
    assert!(refusal("rw=read\n[job]\n").starts_with("my.fio:1: "));
    assert!(refusal("[job\n").starts_with("my.fio:1: "));
    assert!(refusal("[global]\nrw=read\n").contains("no job"));
    parse("[job]\nstonewall=0\nunified_rw_reporting=none\nfilename=/dev/sdx\nioengine=io_uring\n")
        .unwrap();
    parse("[job]\nwrite_iolog=trace\nwrite_lat_log\nmem=mmap\nbuffer_pattern=0xdeadbeef\n")
        .unwrap();
}

#[test]
fn an_option_that_is_not_known_is_refused_and_a_similar_one_named() {
    for (option, says) in [
        ("frobnicate=1", "frobnicate is not an option of fio"),
        ("reed=1", "not an option of fio that iosched knows"),
        ("iodpeth=8", "did you mean iodepth?"),
        ("IODEPTH=8", "did you mean iodepth?"),
        ("blocksise=4k", "did you mean blocksize?"),
        ("write_lat_logs=x", "did you mean write_lat_log?"),
        // Options of engines that are not accepted.
        ("hostname=example.org", "not an option of fio"),
        ("ioengine_so_path=x", "not an option of fio"),
        ("=4k", "not an option of fio"),
    ] {
        let message = refusal(&format!("[a]\n{option}\n"));
        assert!(message.starts_with("my.fio:2: "), "{message}");
        assert!(message.contains(says), "{option}: {message}");
    }
    // Refused options are not suggested.
    for option in ["exec_preran=x", "cgroups=x", "unknown_option"] {
        let message = refusal(&format!("[a]\n{option}\n"));
        assert!(!message.contains("did you mean"), "{option}: {message}");
    }
}

#[test]
fn every_refusal_says_what_the_option_would_do() {
    for (option, says) in [
        ("ioscheduler=bfq", "change the scheduler"),
        ("exec_prerun=x", "start a program"),
        ("exec_postrun=x", "start a program"),
        ("cgroup=x", "leave the control group"),
        ("cgroup_nodelete=1", "leave the control group"),
        ("uid=1000", "no longer end fio with iosched"),
        ("gid=1000", "no longer end fio with iosched"),
        ("profile=tiobench", "I/O elsewhere"),
        ("opendir=/", "I/O elsewhere"),
        ("filename=/dev/zero", "no file or disk"),
        ("filename=a:b", "names several files"),
        ("nr_files=2", "over several files"),
        ("replay_redirect=/dev/sdy", "I/O elsewhere"),
        ("merge_blktrace_file=x", "I/O elsewhere"),
        ("replay_no_stall=1", "replay of a trace"),
        ("verify_state_load=1", "file of an earlier run"),
        ("dp_scheme=x", "read another file"),
        ("cmd_type=nvme", "bypass the scheduler"),
        ("filetype=char", "another kind of file"),
        ("end_syncfs=1", "write back all files"),
        ("wait_for=a", "one after another"),
        ("create_only=1", "no I/O"),
        ("stats=0", "out of the result"),
        ("unified_rw_reporting=both", "mix reads and writes"),
        ("allow_mounted_write=1", "mounted device"),
        ("ioengine=net", "does not go through the scheduler"),
        ("ioengine=external:x", "does not go through the scheduler"),
        ("ioengine=libaio:x", "does not go through the scheduler"),
    ] {
        let message = refusal(&format!("[a]\n{option}\n"));
        assert!(message.starts_with("my.fio:2: "), "{message}");
        assert!(message.contains(says), "{option}: {message}");
    }
}

#[test]
fn a_value_is_what_its_option_takes() {
    for option in [
        "bs=4k",
        "bs=4k,8k,",
        "bs=,8k",
        "blocksize_range=1k-4k,8k:32k",
        "bssplit=4k/60:8k/40,64k/:1m/",
        "size=50%",
        "size=3z",
        "offset=0x1000",
        "nice=-5",
        "rate=1m,500k",
        "startdelay=500ms",
        "cpus_allowed=0-3,7",
        "percentile_list=50:99.9:99.99",
        "rw=randrw:8",
        "rw=read:-4k",
        "random_distribution=zipf:1.2",
        "random_distribution=zoned:50/5:30/15:20/",
        "random_distribution=zoned_abs:60/20G:40/5G,100/1G",
        "file_service_type=random:4",
        "sync_file_range=wait_before,write:8",
        "steadystate=iops_slope:0.3%",
        "ignore_error=EIO:122,ENOSPC",
        "numa_mem_policy=bind:0-1,+3",
        "numa_cpu_nodes=all",
        "verify_pattern=\"abc-d\"0xff%o-12",
        "description=the 99 % of /dev/sdx: what it's worth (really)",
        "cmdprio_bssplit=4k/10/1/0:64k/5",
        "hugepage-size=2m",
        "per_job_logs=0",
        "thread=1",
        "direct=0",
    ] {
        parse(&format!("[a]\n{option}\n")).expect(option);
    }
    for option in [
        "bs=",
        "bs",
        "bs=(4+4)k",
        "bs=4k 8k",
        "bs=4k/50",
        "bs=-",
        "size=many",
        "size=1m=2",
        "size=`reboot`",
        "size=$mb_memory",
        "iodepth=$ncpus",
        "bssplit=/etc/passwd",
        "bssplit=4k//etc",
        "bssplit=/50",
        "rw=read,write",
        "rw=read:/etc",
        "random_distribution=zoned:/etc/passwd",
        "thread=yes",
        "thread=",
        "direct=2",
        "cpus_allowed=/proc/self",
        "numa_cpu_nodes=file:/etc/passwd",
        "numa_mem_policy=bind:netdev:eth0",
        "ignore_error=../x",
        "verify=rot13",
        "verify_pattern='secret'",
        "buffer_pattern=0xff'x'",
        "mem=mmap:x",
        "iomem=mmapshared:x",
        "clocksource=sundial",
        "description=`reboot`",
        "description=$HOME",
        "randseed=$ncpus",
    ] {
        let message = refusal(&format!("[a]\n{option}\n"));
        assert!(message.starts_with("my.fio:2: "), "{option}: {message}");
    }
}

/// fio derives file names from these.
#[test]
fn jobs_and_logs_have_plain_names() {
    for log in [
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ] {
        parse(&format!("[a]\n{log}\n")).expect(log);
        parse(&format!("[a]\n{log}=\n")).expect(log);
    }
    for option in [
        "name",
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
        "write_iolog",
    ] {
        for plain in ["x", "db 4k", "a.b-c_d", "x.log"] {
            parse(&format!("[a]\n{option}={plain}\n")).expect(plain);
        }
        for name in [
            "/etc/cron.d/x",
            "../x",
            "a/b",
            ".hidden",
            "-x",
            "a:b",
            "a\\b",
            "größe",
            "x~",
        ] {
            let message = refusal(&format!("[a]\n{option}={name}\n"));
            assert!(message.contains("must be plain"), "{message}");
        }
    }
    refusal("[a]\nwrite_iolog\n");
    refusal("[a]\nname\n");
    // The job file itself, and fio's outputs.
    for name in ["fio.fio", "fio.json", "x.stdout", "x.stderr"] {
        let message = refusal(&format!("[a]\nwrite_iolog={name}\n"));
        assert!(
            message.contains("overwrite a file of the round"),
            "{message}"
        );
    }
    for section in [
        "../x",
        "/dev/zero",
        ".x",
        "-x",
        "",
        " ",
        "a]b",
        "x:y",
        "a`b",
        &"x".repeat(129),
    ] {
        let message = refusal(&format!("[{section}]\nrw=read\n"));
        assert!(message.starts_with("my.fio:1: "), "{message}");
    }
    parse("[ 4k random-read_1.0 ]\n[global x]\n").unwrap();
}

/// fio reads a line in pieces, and would take the second piece for another option.
#[test]
fn no_line_is_longer_than_what_fio_reads_at_once() {
    let padding = "x".repeat(8191 - "description=".len());
    let message = refusal(&format!("[a]\ndescription={padding}exec_prerun=reboot\n"));
    assert!(message.contains("more than 2048 bytes"), "{message}");
    let text = format!("[a]\ndescription={} ; {padding}\n", "x".repeat(2000));
    let round = parse(&text)
        .unwrap()
        .for_round(&window(0, 1, Duration::ZERO));
    assert!(round.lines().all(|line| line.len() < 4096));
}

#[test]
fn all_names_of_an_option_are_one() {
    let text = "[a]\nreadwrite=write\nrw=read\nblocksize=4k\n";
    let file = parse(text).unwrap();
    // fio may sort two settings of the same option, so only the last is kept.
    assert_eq!(file.text(), "[a]\nrw=read\nblocksize=4k\n");
    assert!(!file.writes());
    assert!(parse("[a]\nrw=read\nreadwrite=write\n").unwrap().writes());
    for option in ["timeout=5", "runtime=5", "ramp_size=1g"] {
        assert_eq!(parse(&format!("[a]\n{option}\n")).unwrap().text(), "[a]\n");
    }
}

#[test]
fn writing_is_what_remains_after_all_sections() {
    for (text, writes) in [
        ("[a]\n", false),
        ("[a]\nrw=randread:8\n", false),
        ("[a]\nrw=rw\n", true),
        ("[a]\nreadwrite=randtrim\n", true),
        ("[global]\nrw=write\n[a]\nreadwrite=read\n", false),
        ("[global]\nrw=read\n[a]\n[b]\nrw=randwrite:4\n", true),
        // A later global section does not apply to earlier jobs, and every name that begins with "global" is one.
        ("[a]\n[global]\nrw=write\n", false),
        ("[globalisation]\nrw=write\n[a]\n", true),
    ] {
        assert_eq!(parse(text).unwrap().writes(), writes, "{text}");
    }
}

#[test]
fn the_round_sets_device_and_times_and_no_line_of_the_file_overrides_them() {
    let file = "[global]\nruntime=99\nfilename=/dev/sdx\n[a]\ntimeout=3\nbs=4k ; blocks\n\
                ramp_time=1\ntime_based=0\nallow_file_create=1\nrandseed=1\nlat_percentiles=0\nthread\n";
    let text = parse(file)
        .unwrap()
        .for_round(&window(2, 5, Duration::ZERO));
    assert_eq!(
        text,
        "[global]\nfilename=/dev/sdx\nallow_file_create=0\ntime_based=1\nruntime=5000ms\n\n\
         [global]\n[a]\nbs=4k\nthread\nramp_time=2000ms\nlat_percentiles=1\n"
    );
}

#[test]
fn jobs_of_one_phase_run_and_the_others_can_be_left_out() {
    let text = "[global]\nstonewall\nsize=1m\n[a]\nrw=read\n[b]\nioengine=null\n[c]\nwait_for=a\nstonewall=0\n";
    let chosen = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        JobFile::parse("my.fio", text, &names)
    };
    assert_eq!(
        chosen(&["a"]).unwrap().text(),
        "[global]\nsize=1m\n[a]\nrw=read\n"
    );
    assert_eq!(chosen(&["c"]).unwrap().text(), "[global]\nsize=1m\n[c]\n");
    let error = chosen(&["b"]).unwrap_err().to_string();
    assert!(error.starts_with("my.fio:7: ioengine=null"), "{error}");
    let error = chosen(&["a", "c"]).unwrap_err().to_string();
    assert!(
        error.starts_with("my.fio:9: wait_for would run jobs one after another"),
        "{error}"
    );
    let error = chosen(&["a", "d"]).unwrap_err();
    assert_eq!(kind_of(&error), Kind::Usage);
    assert!(error.to_string().contains("no job [d]"), "{error}");
    let message = refusal("[a]\n[b]\nstonewall\n[c]\n");
    assert!(message.starts_with("my.fio:3: stonewall would run") && message.contains("--section"));
    let message = refusal("[global]\nwait_for_previous\n[a]\n[b]\n");
    assert!(
        message.starts_with("my.fio:2: wait_for_previous"),
        "{message}"
    );
    // Before the first job there is nothing to wait for.
    assert_eq!(parse("[a]\nstonewall\n[b]\n").unwrap().text(), "[a]\n[b]\n");
}

#[test]
fn what_is_replaced_is_told_with_its_lines() {
    let text = "[global]\ndirectory=/tmp\nruntime=60\n[a]\nfilename=x\ntime_based\n[b]\nunique_filename=0\n";
    let device = Target {
        bytes: 1 << 30,
        is_file: false,
        disks: 1,
    };
    assert_eq!(
        parse(text).unwrap().replaced(&device),
        [
            "the job file's directory=/tmp (line 2), filename=x (line 5), unique_filename=0 (line 8) only name a place: \
             the jobs use the device instead",
            "the job file's runtime=60 (line 3), time_based (line 6) are not used: iosched sets time, ramp and seed of \
             each round",
        ]
    );
    let file = Target {
        is_file: true,
        ..device
    };
    assert!(parse(text).unwrap().replaced(&file)[0].ends_with("use the scratch file instead"));
    assert_eq!(parse("[a]\nsize=1m\n").unwrap().replaced(&device), [""; 0]);
}

/// Checked with fio 3.33: in the last three cases it reports times although it reads no clock, and no later line undoes
/// `gtod_reduce=1`.
#[test]
fn a_job_whose_latency_fio_does_not_measure_is_known_and_reports_none() {
    for (text, why) in [
        ("[a]\nbs=4k\n", None),
        ("[a]\ndisable_clat=1\ndisable_slat=1\n", None),
        ("[a]\ndisable_lat=0\n", None),
        ("[global]\ndisable_lat=1\n[a]\ndisable_lat=0\n", None),
        ("[a]\n[global]\ndisable_lat=1\n", None),
        (
            "[a]\ndisable_lat=1\n",
            Some("[a] has disable_lat=1 in line 2"),
        ),
        (
            "[global]\ndisable_lat=1\n[a]\n",
            Some("[a] has disable_lat=1 in line 2"),
        ),
        (
            "[a]\n[b]\ngtod_reduce=1\n",
            Some("[b] has gtod_reduce=1 in line 3"),
        ),
        (
            "[global]\ngtod_reduce=1\n[a]\ngtod_reduce=0\ndisable_lat=0\n",
            Some("[a] has gtod_reduce=1 in line 2"),
        ),
        (
            "[global]\ndisable_clat=1\ndisable_bw=1\n[a]\ndisable_slat=1\ndisable_lat=0\n",
            Some("[a] has disable_clat=1 in line 2"),
        ),
    ] {
        let file = parse(text).unwrap();
        assert_eq!(file.without_latency(), why, "{text}");
        let round = file.for_round(&window(0, 1, Duration::ZERO));
        let sections = round.split("\n[").skip(1);
        for section in
            sections.filter(|section| why.is_some_and(|why| why[1..].starts_with(&section[..2])))
        {
            let lines = section
                .lines()
                .filter(|line| line.starts_with("disable_lat"));
            assert_eq!(lines.collect::<Vec<_>>(), ["disable_lat=1"], "{round}");
        }
        // Writing and parsing again gives the same.
        let again = parse(&file.text()).unwrap();
        assert_eq!(again.without_latency().is_some(), why.is_some(), "{text}");
        assert_eq!(again.text(), file.text());
    }
}

#[test]
fn who_starts_early_ramps_longer() {
    let file =
        parse("[early]\n[global]\nstartdelay=1500ms\n[late]\n[later]\nstartdelay=2s\n").unwrap();
    assert_eq!(file.longest_start_delay(), Duration::from_secs(2));
    let text = file.for_round(&window(3, 5, Duration::from_secs(2)));
    let ramps: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("ramp_time"))
        .collect();
    assert_eq!(
        ramps,
        ["ramp_time=5000ms", "ramp_time=3500ms", "ramp_time=3000ms"]
    );
}

#[test]
fn several_devices_are_several_files_and_a_colon_in_a_name_makes_none() {
    let nodes = ["/dev/disk/by-path/pci-0000:01", "/dev/sdx"].map(PathBuf::from);
    let window = Window {
        targets: &nodes,
        ..window(0, 1, Duration::ZERO)
    };
    let text = parse("[a]\n").unwrap().for_round(&window);
    assert!(text.contains("filename=/dev/disk/by-path/pci-0000\\:01:/dev/sdx\n"));
}

#[test]
fn entries_are_counted_where_nothing_is_grouped() {
    for (text, entries) in [
        ("[a]\n[b]\nnumjobs=3\n", Some(4)),
        ("[global]\nnumjobs=2\n[a]\n[b]\n", Some(4)),
        ("[a]\ngroup_reporting\n", None),
        ("[a]\ngroup_reporting=0\n", Some(1)),
        ("[a]\nnumjobs=4k\n", None),
        ("[a]\nnumjobs=18446744073709551615\n[b]\n", None),
    ] {
        assert_eq!(parse(text).unwrap().entries(), entries, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_written_reads_back_the_same(text in "(\\[?[a-z_=;# ]{0,12}\\]?\n|\\[[a-z]{1,9}\\]\n|[a-z_]{1,9}=[a-z0-9:]{0,9}\n){0,12}") {
        if let Ok(file) = parse(&text) {
            let again = parse(&file.text()).unwrap();
            prop_assert_eq!(again.text(), file.text());
            prop_assert_eq!(again.writes(), file.writes());
        }
    }
}

#[test]
fn a_job_that_goes_through_the_page_cache_is_known() {
    for (text, why) in [
        ("[a]\n", Some("[a] has no direct=1")),
        ("[a]\ndirect=1\n[b]\n", Some("[b] has no direct=1")),
        (
            "[global]\ndirect=1\n[a]\ndirect=0\n",
            Some("[a] has no direct=1"),
        ),
        ("[a]\nbuffered=1\n", Some("[a] has no direct=1")),
        (
            "[a]\ndirect\nioengine=mmap\n",
            Some("[a] has ioengine=mmap, which uses the page cache"),
        ),
        ("[global]\ndirect=1\n[a]\n[b]\n", None),
        ("[a]\nbuffered=0\n", None),
    ] {
        assert_eq!(
            parse(text).unwrap().through_page_cache().as_deref(),
            why,
            "{text}"
        );
    }
    for entry in crate::workload::catalogue::list() {
        let workload = crate::workload::catalogue::find(entry.name).unwrap();
        assert_eq!(
            crate::workload::Workload::properties(&workload).through_page_cache,
            None
        );
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text = "[job]\nrw=${MODE}\nbs=${BLOCK}\nsize=${AREA}\nfilename=x\n[files]\nnrfiles=8\n[job]\niodepth=8\n";
    let why = JobFile::parse("env.fio", text, &[])
        .unwrap_err()
        .to_string();
    for says in [
        "env.fio: 5 lines must change",
        "env.fio:2: rw=${MODE} depends on the environment",
        "env.fio:3: bs=${BLOCK}",
        "env.fio:4: size=${AREA}",
        "env.fio:7: nrfiles=8 would spread",
        "env.fio:8: two jobs are called [job], the other one in line 1",
    ] {
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn jobs_of_one_name_are_refused_unless_fio_adds_them_up() {
    let two = "[reader]\niodepth=1\n[reader]\niodepth=8\n";
    assert!(JobFile::parse("two.fio", two, &[]).is_err());
    let grouped = format!("[global]\ngroup_reporting\n{two}");
    let file = JobFile::parse("two.fio", &grouped, &[]).unwrap();
    assert_eq!(file.reported().len(), 1);
    let clones = JobFile::parse("x.fio", "[a]\nnumjobs=4\n[b]\nrw=randtrim\n", &[]).unwrap();
    let names: Vec<String> = clones
        .reported()
        .into_iter()
        .map(|part| part.label)
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_job_file_says_which_io_it_does() {
    let does = |options: &str| {
        let text = format!("[job]\ndirect=1\n{options}\n");
        let does = JobFile::parse("x.fio", &text, &[]).unwrap().does();
        (does.reads, does.writes, does.discards, does.syncs)
    };
    assert_eq!(does(""), (true, false, false, false));
    assert_eq!(does("rw=randwrite"), (false, true, false, false));
    assert_eq!(does("rw=randrw"), (true, true, false, false));
    assert_eq!(does("rw=randtrim:8"), (false, false, true, false));
    assert_eq!(does("rw=trimwrite\nfdatasync=1"), (false, true, true, true));
    assert_eq!(does("rw=write\nverify=crc32c"), (true, true, false, false));
    assert_eq!(
        does("rw=write\ndirect=0"),
        (true, true, false, false),
        "the page cache may read"
    );
}
