//! Which arguments make a program run for a fixed time.

use super::*;

#[test]
fn arguments_that_give_the_time() {
    for (line, expected) in [
        ("pgbench -T 5 b", true),
        ("pgbench -c4 -T5 b", true),
        ("pgbench --time=5", true),
        ("pgbench -t 100 b", false),
        // T is the value of -f.
        ("pgbench -f -T b", false),
        ("sysbench fileio --file-test-mode=rndrw run", true),
        ("sysbench fileio --time=0 --events=100 run", false),
        ("sysbench fileio --events=100 run", true),
        ("sysbench fileio --time=0 --max-time=5 run", true),
        ("sysbench fileio prepare", false),
        ("ioping -c 10 /mnt", true),
        ("ioping -c 10 -i 0 /mnt", false),
        ("ioping -c 10 -i0 -D /mnt", false),
        ("ioping -DR /mnt", true),
        ("ioping -R -w 0 -c 100 /mnt", false),
        ("ioping -N -c 100 /mnt", false),
        ("ioping -i 0 -w 3 /mnt", true),
        ("nice -n 5 ioping -i 0 -c 3 /mnt", false),
        ("dd if=/dev/zero of=x", false),
        ("iozone -a", false),
        ("dbench 4", true),
        ("dbench --run-once 4", false),
        ("pg_test_fsync", true),
        ("db_bench --benchmarks=fillseq", false),
        ("db_bench --duration=5", true),
        ("db_bench -duration 5", true),
        ("db_bench --duration=0", false),
        ("stress-ng --hdd 1", true),
        ("stress-ng --hdd 1 --hdd-ops 100", false),
        ("stress-ng --hdd 1 --hdd-ops=100", false),
        ("stress-ng --hdd 1 -t 5s", true),
        ("stress-ng --hdd 1 --hdd-opts direct --timeout 5", true),
        ("stress-ng --hdd 1 --timeout 0", false),
        ("hammerdbcli auto run.tcl", true),
        ("vdbench -f parm", true),
        ("filebench -f fileserver.f", true),
        ("elbencho -w -s 1g file", false),
        ("elbencho -w -s 1g --timelimit 5 file", true),
        ("elbencho -w --infloop file", true),
        ("mysqlslap --auto-generate-sql", false),
        ("mariadb-slap --auto-generate-sql", false),
        ("memtier_benchmark -n 1000", false),
        ("memtier_benchmark --test-time=5", true),
        ("redis-benchmark -n 1000", false),
        ("bonnie++ -d /mnt", false),
        ("ycsb run basic -P workloada", false),
        ("ycsb.sh run basic -p maxexecutiontime=5", true),
        ("ycsb run basic -p maxexecutiontime=0", false),
        ("fio --name=a --size=1G", false),
        ("fio --name=a --runtime=5 --time_based", true),
        ("fio --name=a --runtime=0", false),
        ("fio --name=a --time_based=0 --size=1G", false),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let program = words.iter().find_map(|word| find(word)).expect("a program");
        assert_eq!((program.is_timed)(&words), expected, "{line}");
    }
}

#[test]
fn pgbench_logs_where_it_is_told() {
    for (line, expected) in [
        ("pgbench -l -T 5 b", true),
        ("pgbench --log b", true),
        ("pgbench -nl b", true),
        ("pgbench -T 5 b", false),
        ("pgbench -l --log-prefix=mine b", false),
        ("pgbench -l --aggregate-interval=5 b", false),
        ("nice -l pgbench b", false),
        ("sudo -u postgres pgbench -l b", false),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(
            (find("pgbench").expect("it").logs)(&words),
            expected,
            "{line}"
        );
    }
}
