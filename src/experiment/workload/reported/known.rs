//! The names of all metrics that a benchmark can report, so that a wrong one is refused before the first round. Pure.

use super::programs::Program;
use iosched_result::text::glob::spelled_out;

/// Patterns without the prefix; `*` is any text of the benchmark's output.
const NAMES: &[(&str, &[&str])] = &[
    (
        "pg_test_fsync",
        &[
            "{one_write|two_writes}_*",
            "open_sync_*",
            "write_fsync_close",
            "write_close_fsync",
            "unsynced_*",
        ],
    ),
    (
        "pgbench",
        &[
            "tps",
            "latency_{mean|sd|p50|p90|p95|p99|p99.9}",
            "{connection|reconnection}_time",
            "schedule_lag",
            "{failed|skipped}_transactions",
        ],
    ),
    (
        "sysbench",
        &[
            "{events|reads|writes|fsyncs|transactions|queries|read_bytes|written_bytes}_per_s",
            "latency_{mean|max}",
            "latency_p*",
            "fairness_sd",
        ],
    ),
    (
        "ioping",
        &["latency_{mean|min|max|sd}", "{requests|bytes}_per_s"],
    ),
    ("dd", &["bytes_per_s"]),
    ("dbench", &["bytes_per_s", "latency_max", "*.latency_mean"]),
    (
        "fio",
        &[
            "[read_|write_|trim_]{ios|bytes}_per_s",
            "{read|write|trim|sync}_latency_{mean|p50|p90|p95|p99|p99.9}",
        ],
    ),
    (
        "stress-ng",
        &["*.ops_per_s", "hdd.{read_bytes|written_bytes|bytes}_per_s"],
    ),
    ("ycsb", &["ops_per_s", "*.[intended_]latency_{mean|max|p*}"]),
    ("hammerdbcli", &["nopm", "tpm"]),
    (
        "mysqlslap",
        &[
            "clients_*.run_time_{mean|min|max}",
            "*.clients_*.run_time_{mean|min|max}",
        ],
    ),
    (
        "memtier_benchmark",
        &[
            "{ops|bytes}_per_s",
            "*.{ops|bytes}_per_s",
            "latency_{mean|p*}",
            "*.latency_{mean|p*}",
        ],
    ),
    (
        "redis-benchmark",
        &["*.ops_per_s", "*.latency_{mean|min|max|p50|p95|p99}"],
    ),
    (
        "vdbench",
        &["*.{ops|bytes}_per_s", "*.[read_|write_]latency_mean"],
    ),
    (
        "elbencho",
        &[
            "*.[read_|write_]{ios|bytes|files}_per_s",
            "*.dirs_per_s",
            "*.*_latency_{mean|max}",
        ],
    ),
    (
        "filebench",
        &[
            "{ops|reads|writes|bytes}_per_s",
            "latency_mean",
            "*.latency_mean",
        ],
    ),
    (
        "time",
        &[
            "{user|system}_time",
            "max_rss",
            "{major|minor}_page_faults",
            "{voluntary|involuntary}_context_switches",
            "file_system_{inputs|outputs}",
        ],
    ),
];

/// With the prefix. None: they are not known.
pub fn names_of(program: &Program) -> Option<Vec<String>> {
    let (_, patterns) = NAMES.iter().find(|(name, _)| *name == program.name)?;
    let names = patterns.iter().flat_map(|pattern| spelled_out(pattern));
    Some(
        names
            .map(|name| format!("{}.{name}", program.name))
            .collect(),
    )
}
