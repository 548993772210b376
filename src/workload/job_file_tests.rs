use super::*;
use crate::failure::{Kind, kind_of};
use proptest::prelude::*;
use std::sync::LazyLock;

fn parse(text: &str) -> Result<JobFile> {
    JobFile::parse("my.fio", text, &[PathBuf::from("/dev/sdx")])
}

static SDX: LazyLock<[PathBuf; 1]> = LazyLock::new(|| ["/dev/sdx".into()]);

fn window(ramp_s: u64, time_s: u64, lead: Duration) -> Window<'static> {
    Window {
        targets: &*SDX,
        ramp: Duration::from_secs(ramp_s),
        time: Duration::from_secs(time_s),
        lead,
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
        "filename=/dev/sdy",
        "filename=/dev/sdx:/dev/sdy",
        "directory=/tmp",
        "directory=0",
        "opendir=/",
        "read_iolog=trace",
        "cgroup=mine",
        "stonewall",
        "wait_for_previous=1",
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
fn writing_is_what_remains_after_all_sections() {
    for (text, writes) in [
        ("[a]\n", false),
        ("[a]\nrw=randread:8\n", false),
        ("[a]\nrw=rw\n", true),
        ("[a]\nreadwrite=randtrim\n", true),
        ("[global]\nrw=write\n[a]\nreadwrite=read\n", false),
        ("[global]\nrw=read\n[a]\n[b]\nrw=randwrite:4\n", true),
        // A later global section does not reach back, and any name that begins so is one.
        ("[a]\n[global]\nrw=write\n", false),
        ("[globalisation]\nrw=write\n[a]\n", true),
    ] {
        assert_eq!(parse(text).unwrap().writes(), writes, "{text}");
    }
}

#[test]
fn the_round_sets_device_and_times_and_no_line_of_the_file_overrides_them() {
    let file = "[global]\nruntime=99\nfilename=/dev/sdx\n[a]\ntimeout=3\nbs=4k ; blocks\n\
                ramp_time=1\ntime_based=0\nallow_file_create=1\nrandseed=1\nthread\n";
    let text = parse(file)
        .unwrap()
        .for_round(&window(2, 5, Duration::ZERO));
    assert_eq!(
        text,
        "[global]\nfilename=/dev/sdx\nallow_file_create=0\ntime_based=1\nruntime=5000ms\n\n\
         [global]\n[a]\nbs=4k\nthread\nramp_time=2000ms\n"
    );
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
        ("[a]\nnumjobs=many\n", None),
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
