//! The table in docs/commands.md.

use super::*;

/// The table in the docs has every program, and each kind of metric that a sample of it has.
#[test]
fn the_docs_have_each_program_and_its_metrics() {
    let path = format!("{}/../../docs/commands.md", env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_to_string(&path).expect(&path);
    let row = |program: &str| {
        let is_it = |line: &&str| {
            let first = line
                .strip_prefix("| ")
                .and_then(|rest| rest.split([' ', ',']).next());
            first == Some(program)
        };
        docs.lines()
            .find(is_it)
            .unwrap_or_else(|| panic!("no row of {program}"))
    };
    for program in names() {
        let _ = row(program);
    }
    let new = [
        "bonnie++",
        "elbencho",
        "filebench",
        "hammerdbcli",
        "memtier_benchmark",
        "mysqlslap",
        "perf",
    ];
    let new = [&new[..], &["redis-benchmark", "time", "vdbench", "ycsb"]].concat();
    for (program, printed) in samples() {
        let found = parse(program, &printed).unwrap_or_default();
        for metric in found.metrics.iter().filter(|_| new.contains(&program)) {
            let last = metric.name.rsplit('.').next().unwrap_or_default();
            let of = ["read_", "write_", "random_", "seq_", "files_", "latency_p"];
            // One of each family is there.
            let is_family = of.iter().any(|part| last.contains(part)) || program == "perf";
            let decides = metric.is_headline.then(|| format!("{last}`**"));
            let is_there = row(program).contains(decides.as_deref().unwrap_or(last));
            assert!(
                is_there || (is_family && !metric.is_headline) || last.ends_with("_latency_max"),
                "{}",
                metric.name
            );
            if metric.unit != "1" {
                assert!(
                    row(program).contains(&metric.unit),
                    "{program}: {}",
                    metric.unit
                );
            }
        }
    }
}
