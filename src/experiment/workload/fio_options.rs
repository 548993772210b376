//! The fio options that a job file may use, and how each value is checked. Any option that is not in this table is
//! refused. The names are those of fio 3 up to 3.42: general options and those of the engines in [`ENGINES`]. Pure.

/// How the value of an option is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// iosched sets it for each round; the value in the file is ignored.
    Ours,
    /// It only names a place: fio never sees it, but jobs with the same value use the same part of the target.
    Place,
    /// Like `Place`, and the value is the name of one file or device.
    File,
    /// Like `Place`, and the value is the name of one directory.
    Directory,
    /// Jobs that it separates would run one after another.
    Phase,
    /// 0, 1 or no value.
    Switch,
    /// A number with an optional unit, or several separated by commas, colons and hyphens.
    Numbers,
    /// Like `Numbers`, with slashes between sizes and their shares: `4k/60:8k/40`.
    Shares,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, optionally followed by a colon and `Numbers`.
    WordAndNumbers(&'static [&'static str]),
    /// One of these words, optionally followed by a colon and `Shares`.
    WordAndShares(&'static [&'static str]),
    /// Letters, digits and these signs.
    Signs(&'static str),
    /// NUMA nodes: numbers, and fio's words for nodes.
    Nodes,
    /// One of [`ENGINES`].
    Engine,
    /// fio derives file names from it: a plain name.
    Name,
    /// Like `Name`, or empty, which selects the name of the job.
    NameOrNothing,
    /// fio uses it as a file name without adding anything.
    WholeName,
    /// Text that fio only prints.
    Text,
    /// One of these values; the second field says what every other value would do.
    Only(&'static [&'static str], &'static str),
    /// No value is accepted, for this reason.
    Refused(&'static str),
}

use Rule::{
    Directory, Engine, File, Name, NameOrNothing, Nodes, Numbers, Only, Ours, Phase, Place,
    Refused, Shares, Signs, Switch, Text, WholeName, Word, WordAndNumbers, WordAndShares,
};
use iosched_result::text::similar::near;

pub(super) const ELSEWHERE: &str = "would do I/O elsewhere than on the device under test";
const OWN_GROUP: &str = "would leave the control group that identifies its I/O";
const PROGRAM: &str = "would start a program beside the measurement";
const TRACE: &str = "is for the replay of a trace, which would do I/O elsewhere";
const NODE: &str = "would remove the device node";
const READS: &str = "would read another file";
/// The kernel clears the parent-death signal (PR_SET_PDEATHSIG) when a process changes its user or group.
const USER: &str = "would change the user, and the kernel would no longer end fio with iosched";
const PASSTHROUGH: &str = "is for engines that bypass the scheduler";

/// Engines whose I/O goes through the device's scheduler.
pub(super) const ENGINES: &[&str] = &[
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "linuxaio", "aio", "posixaio",
    "io_uring", "mmap", "splice",
];

const DIRECTIONS: &[&str] = &[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];
const DISTRIBUTIONS: &[&str] = &[
    "random",
    "zipf",
    "pareto",
    "normal",
    "zoned",
    "zoned_abs",
    "sequence",
];
const SERVICES: &[&str] = &[
    "random",
    "zipf",
    "pareto",
    "normal",
    "gauss",
    "roundrobin",
    "sequential",
];
/// `mem` followed by a colon and a path would map a file: only plain words are accepted.
const MEMORY: &[&str] = &["malloc", "shm", "shmhuge", "mmap", "mmaphuge", "mmapshared"];
const CHECKSUMS: &[&str] = &[
    "0",
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "pattern_hdr",
    "null",
];
const STEADY: &[&str] = &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"];
const ERRORS: &[&str] = &["none", "read", "write", "io", "verify", "all", "0", "1"];
const FALLOCATE: &[&str] = &["none", "native", "posix", "keep", "truncate", "0", "1"];
const LIFETIMES: &[&str] = &["none", "short", "medium", "long", "extreme"];
/// In single quotes a pattern would name a file to read: no `'`.
const PATTERN: Rule = Signs("\"%-._ ");

/// Each option with its aliases, as in `bs=blocksize`.
const OPTIONS: &[(Rule, &str)] = &[
    // Options that rounds set.
    (
        Ours,
        "runtime=timeout time_based ramp_time ramp_size randseed allow_file_create lat_percentiles",
    ),
    // Options that only name a place.
    (File, "filename"),
    (Directory, "directory"),
    (Place, "filename_format unique_filename"),
    // The job's description, and names that become file names.
    (Text, "description"),
    (Name, "name comm"),
    // Direction, size and position of the I/O.
    (WordAndNumbers(DIRECTIONS), "rw=readwrite"),
    (Word(&["sequential", "identical"]), "rw_sequencer"),
    (
        Numbers,
        "bs=blocksize ba=blockalign bsrange=blocksize_range size io_size=io_limit filesize \
        offset=fileoffset offset_align offset_increment number_ios num_range rwmixread rwmixwrite \
        percentage_random nrfiles=nr_files openfiles loops write_barrier fsync fdatasync \
        spr_num_regions spr_op spr_cs",
    ),
    (Shares, "bssplit"),
    (
        Switch,
        "bs_unaligned=blocksize_unaligned bs_is_seq_rand randrepeat allrandrepeat norandommap \
        softrandommap sprandom random_sequence_stride direct buffered atomic overwrite file_append \
        fill_device=fill_fs invalidate pre_read end_fsync fsync_on_close create_serialize \
        create_fsync create_on_open",
    ),
    (WordAndShares(DISTRIBUTIONS), "random_distribution"),
    (WordAndNumbers(SERVICES), "file_service_type"),
    (
        Word(&["tausworthe", "tausworthe64", "lfsr"]),
        "random_generator",
    ),
    (Signs(",:_"), "sync_file_range"),
    (Word(&["none", "0", "sync", "1", "dsync"]), "sync"),
    (Word(FALLOCATE), "fallocate"),
    (
        Word(&["0", "1", "random", "sequential", "noreuse"]),
        "fadvise_hint",
    ),
    (Word(&["none", "exclusive", "readwrite"]), "lockfile"),
    (Word(LIFETIMES), "write_hint"),
    (Switch, "fdp"),
    (
        Word(&["none", "fdp", "streams"]),
        "dataplacement=data_placement",
    ),
    (
        Word(&["random", "roundrobin", "scheme"]),
        "plid_select=fdp_pli_select",
    ),
    (Numbers, "plids=fdp_pli"),
    (Refused(READS), "dp_scheme"),
    (Refused(ELSEWHERE), "opendir profile"),
    (
        Refused("would take the device for another kind of file"),
        "filetype",
    ),
    (Only(&["0"], NODE), "unlink unlink_each_loop"),
    (
        Only(&["0"], "would write to a mounted device"),
        "allow_mounted_write",
    ),
    (Only(&["0"], "would do no I/O"), "create_only"),
    (
        Only(&["0"], "would write back all files of a file system"),
        "end_syncfs",
    ),
    // Engine and queue depth.
    (Engine, "ioengine"),
    (
        Numbers,
        "iodepth iodepth_batch=iodepth_batch_submit iodepth_low \
        iodepth_batch_complete_min=iodepth_batch_complete iodepth_batch_complete_max",
    ),
    (Word(&["inline", "offload"]), "io_submit_mode"),
    (Switch, "serialize_overlap"),
    // Options of particular engines.
    (
        Switch,
        "hipri userspace_reap libaio_vectored fixedbufs registerfiles sqthread_poll nowait \
        readfua writefua",
    ),
    (
        Numbers,
        "hipri_percentage uncached sqthread_poll_cpu nonvectored force_async thp \
        cmdprio_percentage cmdprio_class cmdprio_hint cmdprio",
    ),
    (Shares, "cmdprio_bssplit"),
    (
        Refused(PASSTHROUGH),
        "cmd_type write_mode read_mode verify_mode verify_bytchk cdb_len deac \
        md_per_io_size pi_act pi_chk apptag apptag_mask",
    ),
    // Rates, pauses, latency targets.
    (
        Numbers,
        "rate rate_min=ratemin rate_iops rate_iops_min rate_cycle=ratecycle thinktime \
        thinktime_spin thinkcycles thinktime_blocks thinktime_iotime max_latency latency_target \
        latency_window latency_percentile flow flow_id flow_sleep flow_watermark startdelay",
    ),
    (Word(&["linear", "poisson"]), "rate_process"),
    (Word(&["complete", "issue"]), "thinktime_blocks_type"),
    (Switch, "rate_ignore_thinktime latency_run"),
    (WordAndNumbers(STEADY), "steadystate=ss"),
    (
        Numbers,
        "steadystate_duration=ss_dur steadystate_ramp_time=ss_ramp \
        steadystate_check_interval=ss_interval",
    ),
    // Verification.
    (Word(CHECKSUMS), "verify"),
    (
        Switch,
        "do_verify verify_only verify_fatal verify_dump experimental_verify verifysort \
        verify_state_save verify_write_sequence verify_header_seed trim_verify_zero",
    ),
    (
        Numbers,
        "verify_interval verify_offset verify_async verify_async_cpus verify_backlog \
        verify_backlog_batch verify_pattern_interval verifysort_nr trim_percentage trim_backlog \
        trim_backlog_batch",
    ),
    (Signs(","), "verify_policy"),
    (PATTERN, "verify_pattern buffer_pattern"),
    (
        Only(&["0"], "would read a file of an earlier run"),
        "verify_state_load",
    ),
    // Content and memory of the buffers.
    (
        Switch,
        "zero_buffers refill_buffers scramble_buffers dedupe_global",
    ),
    (
        Numbers,
        "buffer_compress_percentage buffer_compress_chunk dedupe_percentage \
        dedupe_working_set_percentage iomem_align=mem_align hugepage-size lockmem",
    ),
    (Word(&["repeat", "working_set"]), "dedupe_mode"),
    (Word(MEMORY), "mem=iomem"),
    // Zones.
    (Word(&["none", "strided", "zbd"]), "zonemode"),
    (
        Numbers,
        "zonesize zonecapacity zonerange zoneskip max_open_zones job_max_open_zones \
        zone_reset_threshold zone_reset_frequency",
    ),
    (
        Switch,
        "read_beyond_wp ignore_zone_limits recover_zbd_write_error write_zone_remainder",
    ),
    // Processes, priorities and processors.
    (
        Numbers,
        "numjobs nice prio prioclass priohint cpumask cpus_allowed gtod_cpu",
    ),
    (Word(&["shared", "split"]), "cpus_allowed_policy"),
    (Nodes, "numa_cpu_nodes numa_mem_policy"),
    (Switch, "thread new_group exitall exitall_on_error"),
    (Word(&["group", "stonewall", "all"]), "exit_what"),
    (Word(ERRORS), "continue_on_error"),
    (Signs(",:"), "ignore_error"),
    (Phase, "stonewall=wait_for_previous wait_for"),
    (Refused(OWN_GROUP), "cgroup cgroup_weight cgroup_nodelete"),
    (Refused(USER), "uid gid"),
    (Refused(PROGRAM), "exec_prerun exec_postrun"),
    (
        Refused("would change the scheduler under test"),
        "ioscheduler",
    ),
    // Logs, which are files in the round's directory, and the result.
    (
        NameOrNothing,
        "write_bw_log write_lat_log write_iops_log write_hist_log",
    ),
    (WholeName, "write_iolog"),
    (
        Switch,
        "per_job_logs log_offset log_prio log_issue_time log_store_compressed log_unix_epoch \
        log_alternate_epoch group_reporting clat_percentiles slat_percentiles \
        block_error_percentiles disk_util error_dump gtod_reduce disable_lat disable_clat \
        disable_slat disable_bw_measurement=disable_bw",
    ),
    (
        Numbers,
        "log_entries log_avg_msec log_hist_msec log_hist_coarseness log_compression \
        log_compression_cpus log_alternate_epoch_clock_id job_start_clock_id bwavgtime iopsavgtime \
        percentile_list significant_figures",
    ),
    (
        Word(&["avg", "max", "both", "0", "1"]),
        "log_max_value=log_window_value",
    ),
    (
        Word(&["gettimeofday", "clock_gettime", "cpu"]),
        "clocksource",
    ),
    (Word(&["1000", "1024"]), "kb_base"),
    (Word(&["0", "1", "8"]), "unit_base"),
    (
        Only(&["0", "none"], "would mix reads and writes in the result"),
        "unified_rw_reporting",
    ),
    (
        Only(&["1"], "would leave the job out of the result"),
        "stats",
    ),
    // Traces.
    (
        Refused(ELSEWHERE),
        "read_iolog merge_blktrace_file replay_redirect",
    ),
    (
        Refused(TRACE),
        "read_iolog_chunked replay_no_stall replay_scale replay_align \
        replay_time_scale replay_skip merge_blktrace_scalars merge_blktrace_iters",
    ),
];

/// The first name and the rule of an option, found by any of its names.
pub(super) fn find(name: &str) -> Option<(&'static str, Rule)> {
    let mut all = all();
    let (names, rule) = all.find(|(names, _)| names.split('=').any(|other| other == name))?;
    Some((names.split('=').next()?, rule))
}

/// The accepted name that is most similar, if one is similar enough.
pub(super) fn similar(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let accepted = all().filter(|(_, rule)| !matches!(rule, Refused(_)));
    let names = accepted.flat_map(|(names, _)| names.split('='));
    near(&name, names).into_iter().next()
}

/// All options, each with all of its names.
fn all() -> impl Iterator<Item = (&'static str, Rule)> {
    let words = |names: &'static str| names.split_whitespace();
    OPTIONS
        .iter()
        .flat_map(move |(rule, names)| words(names).map(move |names| (names, *rule)))
}

#[cfg(test)]
#[path = "fio_options_tests.rs"]
mod tests;
