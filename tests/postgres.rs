//! pgbench against a PostgreSQL server that runs already, on an ext4 on a simulated SSD, under four schedulers. The server's
//! I/O is the workload's. Root only: `cargo test --test postgres -- --ignored --test-threads=1`.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use iosched_host::safety::journal::Journal;
use iosched_host::scratch::Scratch;
use iosched_result::types::scratch::spec::DiskSpec;
use serde_json::Value;
use support::program::Program;
use support::run;
use tempfile::TempDir;

const BINARY: &str = support::under_test!("iosched-ab");
const PORT: &str = "54329";

/// A server with its data on `volume`. It ends when this is dropped.
struct Server {
    programs: PathBuf,
    data: PathBuf,
    sockets: TempDir,
}

impl Server {
    fn start(programs: &Path, volume: &Path) -> Server {
        let sockets = TempDir::new().expect("a directory");
        let server = Server {
            programs: programs.to_owned(),
            data: volume.join("data"),
            sockets,
        };
        std::fs::create_dir(&server.data).expect("a directory");
        for path in [volume, &server.data, server.sockets.path()] {
            run("chown", &["postgres", path.to_str().expect("UTF-8")]);
        }
        let data = server.data.display().to_string();
        server.as_postgres("initdb", &["-D", &data, "-A", "trust"]);
        let options = format!(
            "-k {} -p {PORT} -c listen_addresses= -c shared_buffers=16MB -c autovacuum=off",
            server.sockets.path().display()
        );
        let log = volume.join("data/log").display().to_string();
        server.as_postgres(
            "pg_ctl",
            &["-D", &data, "-o", &options, "-l", &log, "-w", "start"],
        );
        let host = server.sockets.path().display().to_string();
        server.as_postgres(
            "pgbench",
            &["-h", &host, "-p", PORT, "-i", "-q", "-s", "2", "postgres"],
        );
        server
    }

    fn as_postgres(&self, program: &str, arguments: &[&str]) {
        let path = self.programs.join(program);
        let output = Command::new("runuser")
            .args(["-u", "postgres", "--"])
            .arg(path)
            .args(arguments)
            .current_dir("/")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .expect("runuser");
        // A second panic would end the process, and leave the simulated disk.
        assert!(
            output.success() || std::thread::panicking(),
            "{program} {arguments:?}: {output}"
        );
    }

    fn pid(&self) -> String {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).expect("its PID file");
        text.lines().next().expect("its PID").to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data.display().to_string();
        self.as_postgres("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

/// The newest version's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    found.retain(|path| path.join("initdb").exists() && path.join("pgbench").exists());
    found.sort();
    found.pop()
}

#[test]
#[ignore = "root"]
fn pgbench_is_compared_with_the_io_of_its_server() {
    let Some(programs) = programs() else {
        println!("skipped: PostgreSQL is not installed");
        return;
    };
    let journal = Journal::create().expect("a journal");
    let directory = tempfile::tempdir().expect("a directory");
    let spec: DiskSpec = "ssd+ext4".parse().expect("a disk");
    let scratch = Scratch::create_at(spec, 1 << 30, Some(directory.path()), &journal);
    let scratch = scratch.expect("a scratch device");
    let volume = scratch.mount_point().expect("its mount point");
    let server = Server::start(&programs, volume);
    let program = Program::new(BINARY);
    let pid = server.pid();
    let place = volume.display().to_string();
    let pgbench = programs.join("pgbench").display().to_string();
    let host = server.sockets.path().display().to_string();
    let arms = [
        "--arm",
        "none",
        "--arm",
        "mq-deadline",
        "--arm",
        "kyber",
        "--arm",
        "bfq",
        "--reference",
        "none",
    ];
    let command = [
        "--", &pgbench, "-h", &host, "-p", PORT, "-U", "postgres", "-n", "-T", "3", "-c", "4",
        "-l", "postgres",
    ];
    let start = [
        "run",
        &place,
        "--allow-mounted",
        "--rounds",
        "2",
        "-o",
        "result",
    ];

    // Without the server's I/O there is nothing to compare, and the run says whose I/O that was.
    let ended = program.run(&[&start[..], &arms, &command].concat());
    ended.ends(6, &["other processes moved", "postgres (", "--unit"]);

    let own = format!("pid{pid}");
    let wait = format!("{own}.write_queue_wait_p50");
    let metrics = [
        "--force",
        "--pid",
        &pid,
        "--metric",
        "pgbench.tps",
        "--metric",
        &wait,
    ];
    program
        .run(&[&start[..], &arms, &metrics, &command].concat())
        .ends(0, &["pgbench.tps"]);
    check(&program.result("result"), &wait);
}

/// The result says what pgbench printed, and the server's I/O.
fn check(result: &Value, wait: &str) {
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 8);
    for round in rounds {
        let tps = round["reported"]["pgbench.tps"]
            .as_f64()
            .expect("transactions per second");
        // The output of pgbench itself.
        let printed = round["evidence"]["outcome"]["output"]["stdout"]["head"]
            .as_str()
            .expect("its output");
        let line = printed
            .lines()
            .find(|line| line.starts_with("tps ="))
            .expect("a line");
        let said: f64 = line
            .split_whitespace()
            .nth(2)
            .expect("a number")
            .parse()
            .expect("a number");
        assert!((tps - said).abs() < 1e-6, "{line}");
        assert!(
            round["reported"]["pgbench.latency_p50"].is_number(),
            "from its log of transactions"
        );
        assert!(round["metrics"][wait].is_number(), "the server's wait");
        assert!(round["foreign_share"].as_f64().expect("a share") < 0.01);
        assert!(
            round["metrics"]["elapsed"].is_null(),
            "it ends by the clock"
        );
    }
}
