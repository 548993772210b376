use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;
use crate::workload::application::page::Page;
use iosched_result::metric::reported::Better;

fn application(asked: Vec<Asked>) -> Application {
    Application::new(asked).expect("metrics")
}

/// Each look at the clock takes a second.
fn clock() -> impl Fn() -> Duration {
    let seconds = Cell::new(100);
    move || {
        seconds.set(seconds.get() + 1);
        Duration::from_secs(seconds.get())
    }
}

#[test]
fn each_source_is_read_once_at_one_moment() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page");
    fs::write(
        &file,
        "# TYPE tx counter\ntx_total 10\n# TYPE wait_seconds gauge\nwait_seconds 0.5\n",
    )
    .unwrap();
    let of = |text: &str| Asked::File(text.replace("PAGE", &file.display().to_string()));
    let them = application(vec![
        of("tps:higher=PAGE#tx_total"),
        of("wait:lower=PAGE#wait_seconds"),
        Asked::Cmd("five:higher:gauge:MB/s=echo 5".to_owned()),
    ]);
    let now = clock();
    let first = them.read(&now).unwrap();
    them.ensure_read(&first).unwrap();
    fs::write(
        &file,
        "# TYPE tx counter\ntx_total 50\n# TYPE wait_seconds gauge\nwait_seconds 1.5\n",
    )
    .unwrap();
    let last = them.read(&now).unwrap();
    let found = them.between(&first, &last);
    assert_eq!(found.problem, None);
    let values: Vec<(&str, f64, &str)> = found
        .metrics
        .iter()
        .map(|it| (it.name.as_str(), it.value, it.unit.as_str()))
        .collect();
    // Two sources, and two looks at the clock for each: four seconds between the readings.
    assert_eq!(
        values,
        [
            ("tps", 10.0, "1/s"),
            ("wait", 1e9, "ns"),
            ("five", 5e6, "bytes/s")
        ]
    );
    assert_eq!(found.metrics[1].better, Some(Better::Lower));
    assert!(found.metrics.iter().all(|it| it.is_headline));
}

#[test]
fn what_cannot_be_read_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("lines"), "5\n6\n").unwrap();
    fs::write(path("cut"), "tps 5").unwrap();
    for (asked, says) in [
        (Asked::Cmd("a:higher=false".to_owned()), "exit status: 1"),
        (
            Asked::Cmd("a:higher=sh -c 'echo locked >&2; exit 3'".to_owned()),
            "locked",
        ),
        (
            Asked::Cmd("a:higher=no-such-program".to_owned()),
            "no-such-program",
        ),
        (Asked::Cmd("a:higher=echo five".to_owned()), "five"),
        (
            Asked::Cmd("a:higher:MB/s:gauge=echo 5 ms".to_owned()),
            "5 ms",
        ),
        (
            Asked::File(format!("a:higher={}", path("missing"))),
            "No such file",
        ),
        (
            Asked::File(format!("a:higher={}", path("lines"))),
            "2 lines",
        ),
        (
            Asked::File(format!("a:higher={}#tps", path("cut"))),
            "not complete",
        ),
        (
            Asked::Url("a:higher=http://127.0.0.1:1/#tps".to_owned()),
            "127.0.0.1:1",
        ),
    ] {
        let them = application(vec![asked]);
        let read = them.read(&clock()).unwrap();
        let error = them.ensure_read(&read).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(says), "{says}: {text}");
        // In a round it counts against the arm, and gives no value.
        let found = them.between(&read, &read);
        assert!(found.metrics.is_empty() && found.problem.is_some());
    }
}

/// A server that answers once.
fn serves(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 1024];
        let _ = stream.read(&mut asked);
        let _ = stream.write_all(answer.as_bytes());
    });
    format!("a:higher:counter=http://{address}/metrics#tps")
}

#[test]
fn a_page_is_whole_and_no_redirection() {
    let read = |answer| {
        let them = application(vec![Asked::Url(serves(answer))]);
        them.read(&clock()).unwrap().swap_remove(0)
    };
    let good = read("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ntps 5.5\n").unwrap();
    assert_eq!(good.value, Value::Number(5.5));
    for answer in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\ntps 5.5\n",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\ntps 5.5\n",
        "nonsense",
    ] {
        assert!(read(answer).is_err(), "{answer}");
    }
}

fn watched(asked: &str, numbers: &[f64]) -> Result<String, String> {
    let them = application(vec![Asked::Cmd(asked.to_owned())]);
    let take = them.wanted[0].take.unwrap_or(Take::Gauge);
    let reading = |(index, number): (usize, &f64)| {
        vec![Ok(Reading {
            at: Duration::from_secs(5 * index as u64),
            take,
            value: Value::Number(*number),
        })]
    };
    let readings: Vec<Vec<Read>> = numbers.iter().enumerate().map(reading).collect();
    match them.watched(&readings, Duration::from_secs(10)) {
        Ok(seen) => Ok(format!(
            "{} {} {}",
            seen[0].low, seen[0].median, seen[0].high
        )),
        Err(error) => Err(format!("{error:#}")),
    }
}

#[test]
fn a_metric_that_says_nothing_is_found_before_the_first_switch() {
    let tps = "tps:higher:counter=x";
    assert_eq!(
        watched(tps, &[0.0, 5.0, 20.0, 40.0]),
        Ok("2 2.75 3.5".to_owned())
    );
    let why = watched(tps, &[7.0; 5]).unwrap_err();
    assert!(why.contains("did not grow"), "{why}");
    let why = watched(tps, &[7.0, 8.0, 2.0]).unwrap_err();
    assert!(why.contains("fell from 7 to 2"), "{why}");
    assert_eq!(
        watched("errors:lower:counter=x", &[7.0; 4]),
        Ok("0 0 0".to_owned())
    );
    let why = watched("lag:lower:ms=x", &[0.0; 4]);
    assert!(why.is_err(), "a time of 0");
    let why = watched("tx:higher=x", &[1.0, 2.0, 2.0, 3.0, 9.0]).unwrap_err();
    assert!(
        why.contains("only grew") && why.contains("tx:counter"),
        "{why}"
    );
    assert!(watched("tx:higher:gauge=x", &[1.0, 2.0, 3.0, 9.0]).is_ok());
    assert!(watched("tx:higher=x", &[1.0, 2.0, 1.0, 9.0]).is_ok());
}

#[test]
fn two_of_one_name_are_refused() {
    let asked = ["a:higher=x", "a:lower=y"].map(|text| Asked::Cmd(text.to_owned()));
    let error = Application::new(asked.to_vec())
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("are called a"), "{error}");
    assert!(Page::parse("x 1\n").is_ok());
}
