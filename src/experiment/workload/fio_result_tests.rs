use super::*;
use proptest::prelude::*;

/// Unmodified outputs of fio 3.33.
fn fixture(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/../../tests/data/fio/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn report(name: &str) -> FioReport {
    parse(&fixture(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

const NORMAL_IOS: u64 = 500;
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_normal_run_counts_and_its_quantiles_are_those_of_fio() {
    let report = report("normal");
    assert_eq!(problem(&report, SECOND, Some(1)), None);
    assert_eq!(report.fio_version, "fio-3.33");
    assert_eq!(report.diagnostics, "");
    let fio = report.summary.pointer("/jobs/0/read/clat_ns").unwrap();
    let read = report.jobs[0].result.read.as_ref().unwrap();
    let clat = read.clat.as_ref().unwrap();
    assert_eq!((read.ios, read.bytes), (NORMAL_IOS, NORMAL_IOS * 4096));
    assert_eq!(clat.count, NORMAL_IOS);
    assert_eq!(clat.bins.iter().map(|bin| bin.1).sum::<u64>(), NORMAL_IOS);
    assert!(clat.bins.is_sorted());
    for percentile in ["1", "50", "90", "99", "99.9"] {
        let p: f64 = percentile.parse().unwrap();
        let theirs = fio["percentile"][format!("{p:.6}")].as_u64();
        assert_eq!(clat.quantile_ns(p / 100.0), theirs, "p{percentile}");
    }
    assert!(clat.min_ns <= clat.max_ns && clat.mean_ns > clat.min_ns as f64);
    assert!(
        fio.get("bins").is_none(),
        "the summary repeats the histogram"
    );
}

#[test]
fn jobs_keep_their_directions_apart() {
    let report = report("jobs");
    assert_eq!(problem(&report, SECOND, Some(2)), None);
    let names: Vec<&str> = report
        .jobs
        .iter()
        .map(|job| job.result.name.as_str())
        .collect();
    assert_eq!(names, ["mixed", "trickle"]);
    let (mixed, trickle) = (&report.jobs[0].result, &report.jobs[1].result);
    assert!(mixed.read.is_some() && mixed.write.is_some() && mixed.trim.is_none());
    assert!(trickle.read.is_none() && trickle.write.as_ref().unwrap().ios > 100);
    let found = problem(&report, SECOND, Some(3)).unwrap();
    assert!(found.contains("2 jobs instead of 3"), "{found}");
}

#[test]
fn text_before_the_json_is_kept_as_a_diagnostic() {
    let report = report("text-before");
    assert!(
        report.diagnostics.starts_with("note: both iodepth >= 1"),
        "{}",
        report.diagnostics
    );
    assert_eq!(problem(&report, SECOND, Some(1)), None);
}

#[test]
fn an_interrupted_run_is_valid_json_and_too_short() {
    let report = report("interrupted");
    assert!(report.diagnostics.contains("terminating on signal"));
    assert_eq!(report.jobs[0].error, 0);
    let found = problem(&report, 20 * SECOND, Some(1)).unwrap();
    assert!(found.contains("instead of 20000 ms"), "{found}");
}

#[test]
fn a_run_that_did_nothing_does_not_count_though_fio_calls_it_a_success() {
    let report = report("zero");
    assert_eq!(report.jobs[0].error, 0);
    assert!(report.diagnostics.contains("appears mounted"));
    let found = problem(&report, SECOND, Some(1)).unwrap();
    assert!(found.contains("job w did no I/O"), "{found}");
    assert!(problem(&self::report("no-file"), SECOND, Some(1)).is_some());
}

#[test]
fn of_several_documents_the_last_counts() {
    let all = fixture("status");
    let read = |report: FioReport| report.jobs[0].result.read.clone().unwrap();
    let last = read(parse(&all).unwrap());
    let end = all.windows(3).position(|bytes| bytes == b"\n}\n").unwrap() + 3;
    let first = read(parse(&all[..end]).unwrap());
    assert!(first.ios < last.ios, "{} {}", first.ios, last.ios);
    assert!(last.runtime_ms >= 2990);
    // A truncated later document means that the end is missing.
    let error = parse(&all[..all.len() - 100]).unwrap_err();
    assert!(error.contains("truncated"), "{error}");
}

#[test]
fn what_is_no_result_says_why() {
    assert!(
        parse(&fixture("truncated"))
            .unwrap_err()
            .contains("truncated")
    );
    let error = parse(&fixture("bad-option")).unwrap_err();
    assert!(
        error.contains("unrecognized option '--no_such=1'"),
        "{error}"
    );
    assert_eq!(parse(b"").unwrap_err(), "fio wrote no result");
    assert!(parse(b"{\n}\n").unwrap_err().contains("no list of jobs"));
    assert!(parse(b"{\n,\n").unwrap_err().contains("cannot be read"));
    let bin =
        b"{\n\"jobs\":[{\"read\":{\"total_ios\":1,\"clat_ns\":{\"N\":1,\"bins\":{\"x\":1}}}}]}";
    assert!(parse(bin).unwrap_err().contains("bin x"));
}

#[test]
fn errors_count_even_where_fio_went_on() {
    let with = |entry: &str| {
        let text = format!(
            "{{\n\"jobs\":[{{\"jobname\":\"a\",{entry}\"read\":{{\"total_ios\":9,\"runtime\":1000}}}}]}}"
        );
        problem(&parse(text.as_bytes()).unwrap(), SECOND, Some(1))
    };
    assert_eq!(with("\"error\":0,"), None);
    assert!(with("\"error\":5,").unwrap().contains("error 5"));
    assert!(
        with("").is_some(),
        "an entry without error field must not pass"
    );
    assert!(
        with("\"error\":0,\"total_err\":2,")
            .unwrap()
            .contains("2 I/O errors")
    );
    let none = parse(b"{\n\"jobs\":[]}").unwrap();
    assert!(problem(&none, SECOND, None).unwrap().contains("no job"));
}

#[test]
fn text_after_the_json_is_kept_too() {
    let mut bytes = fixture("normal");
    bytes.extend_from_slice(b"\nfio: pid=9, err=5: late words\n");
    assert!(parse(&bytes).unwrap().diagnostics.contains("late words"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
        let mut with_start = b"{\n".to_vec();
        with_start.extend(bytes);
        let _ = parse(&with_start);
    }

    #[test]
    fn no_damage_to_a_real_output_panics(at in 0_usize..9000, byte in any::<u8>(), cut in 0_usize..9300) {
        let mut bytes = fixture("normal");
        if let Some(target) = bytes.get_mut(at) {
            *target = byte;
        }
        bytes.truncate(cut);
        if let Ok(report) = parse(&bytes) {
            let _ = problem(&report, SECOND, Some(1));
            for direction in report.jobs.iter().flat_map(|job| job.result.directions()) {
                let _ = direction.clat.as_ref().and_then(|clat| clat.quantile_ns(0.99));
            }
        }
    }
}

#[test]
fn syncs_have_a_latency_of_their_own() {
    let report = report("fdatasync");
    let fio = report.summary.pointer("/jobs/0/sync/lat_ns").unwrap();
    let job = &report.jobs[0].result;
    let sync = job.sync_lat.as_ref().unwrap();
    assert_eq!(Some(sync.count), fio["N"].as_u64());
    assert!(sync.count > 0 && sync.mean_ns > 0.0);
    for percentile in ["50", "99"] {
        let p: f64 = percentile.parse().unwrap();
        let theirs = fio["percentile"][format!("{p:.6}")].as_u64();
        assert_eq!(sync.quantile_ns(p / 100.0), theirs, "p{percentile}");
    }
    assert_eq!(self::report("normal").jobs[0].result.sync_lat, None);
}
