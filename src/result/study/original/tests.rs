use super::compare::Blocks;
use super::*;
use crate::statistics::estimate;
use crate::statistics::scale::Scale;

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn close(found: f64, wanted: f64, to: f64) {
    assert!((found - wanted).abs() <= to, "{found} instead of {wanted}");
}

fn judged(name: &str) -> Judged {
    judge(name).expect("an original")
}

#[test]
fn every_name_is_judged_and_no_other() {
    for name in NAMES {
        let judged = judged(name);
        let text = judged.text();
        assert_eq!(judged.name, name);
        for part in [
            "Claim: ",
            "Its own figures:\n- ",
            "Why they do not say more:\n- ",
            "Conclusion: ",
        ] {
            assert!(text.contains(part), "{name} has no {part}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        for none in ["NaN", "inf", "-0.0 %"] {
            assert!(!text.contains(none), "{name}: {none}");
        }
        let json = serde_json::to_value(&judged).expect("JSON");
        assert_eq!(json["name"], name);
    }
    assert_eq!(judge("record_size"), None);
    assert_eq!(judge(""), None);
}

#[test]
fn every_line_is_a_row() {
    let lines = |csv: &str| csv.lines().count() - 1;
    let record_size = record_size::read(record_size::CSV).unwrap();
    let cells: usize = record_size
        .table
        .columns
        .iter()
        .map(|column| record_size.table.column(column).len())
        .sum();
    assert_eq!((cells, lines(record_size::CSV)), (390, 390));
    let fsync = fsync::read(fsync::CSV).unwrap();
    let cells = fsync.disk.column("ops_per_s").len() + fsync.control.column("ops_per_s").len();
    assert_eq!((cells, lines(fsync::CSV)), (56, 56));
    let web = oltp_web::read(oltp_web::CSV).unwrap();
    assert_eq!((web.len(), lines(oltp_web::CSV)), (15, 15));
    let buffer = read_buffer::read(read_buffer::CSV).unwrap();
    assert_eq!((buffer.len(), lines(read_buffer::CSV)), (17, 17));
    let dss = oltp_dss::read(oltp_dss::CSV).unwrap();
    assert_eq!((dss.len(), lines(oltp_dss::CSV)), (7, 7));
}

#[test]
fn a_broken_line_is_named() {
    let of_fsync = |line: &str| {
        let csv =
            format!("order,scheduler,section,method,ops_per_s,us_per_op\n1,a,b,c,1,1\n{line}\n");
        fsync::judge(&csv).unwrap_err().to_string()
    };
    for (line, wanted) in [
        ("1,a,b,d,fast,1", "line 3: field 4: invalid float literal"),
        ("1,a,b,d", "line 3: 4 fields instead of 6"),
        ("1,a,b,d,0,1", "line 3: 0 is not positive"),
        ("1,a,b,d,NaN,1", "line 3: NaN is not positive"),
        ("x,a,b,d,2,1", "line 3: field 0: invalid digit"),
        ("1,a,b,c,2,1", ": two values of a for b: c, ops_per_s"),
        ("2,e,b,f,2,1", ": no value of e for b: c, ops_per_s"),
    ] {
        let found = of_fsync(line);
        assert!(found.starts_with("data/originals/fsync.csv"), "{found}");
        assert!(found.contains(wanted), "{found} instead of {wanted}");
    }
    let missing = oltp_dss::judge("workload,metric\na,b\n").unwrap_err();
    assert!(missing.to_string().contains("line 2: missing field"));
    for judge in [
        record_size::judge as fn(&str) -> anyhow::Result<Judged>,
        oltp_web::judge,
        read_buffer::judge,
        fsync::judge,
        oltp_dss::judge,
    ] {
        let error = judge("nothing\nof this\n").unwrap_err().to_string();
        assert!(error.contains(".csv"), "{error}");
        let _ = judge("");
    }
    let negative = read_buffer::CSV.replace("6.362", "-6.362");
    let error = read_buffer::judge(&negative).unwrap_err().to_string();
    assert!(error.contains("line 2: -6.362 is not positive"), "{error}");
}

#[test]
fn record_sizes_give_the_means_over_the_direct_operations() {
    let found = judged("record-size").comparisons;
    let wanted = [
        ("deadline", "noop", -0.13, 39),
        ("cfq", "noop", -1.35, 27),
        ("deadline", "cfq", 1.25, 56),
    ];
    assert_eq!(found.len(), wanted.len());
    for (found, (arm, reference, mean, higher)) in found.iter().zip(wanted) {
        assert_eq!((&*found.arm, &*found.reference), (arm, reference));
        assert_eq!((found.higher, found.pairs, found.blocks), (higher, 90, 10));
        close(percent(found.mean_ratio.unwrap()), mean, 0.0051);
        // No comparison shows a difference.
        let interval = found.ratio_interval.unwrap();
        assert!(interval.contains(1.0) && interval.attained_confidence >= 0.95);
    }
    let interval = found[0].ratio_interval.unwrap();
    close(percent(found[0].ratio.unwrap()), -0.54, 0.006);
    close(percent(interval.lower), -3.10, 0.006);
    close(percent(interval.upper), 3.05, 0.006);
}

/// Student's intervals of single operations: those that an earlier analysis of the same figures gave.
#[test]
fn record_sizes_by_operation() {
    let study = record_size::read(record_size::CSV).unwrap();
    let of = |arm: &str, column: &str| {
        let blocks = study.blocks(arm, "noop", &[column]).unwrap();
        let d: Vec<f64> = blocks.0.concat();
        let interval = estimate::student_interval(&d, ALPHA);
        let ratio = Scale::Log.ratio(estimate::mean(&d)).unwrap();
        let interval = Scale::Log.ratio_interval(interval).unwrap();
        [ratio, interval.lower, interval.upper].map(percent)
    };
    let table = [
        ("deadline", "random_read", [-1.3, -3.5, 1.0]),
        ("cfq", "rewrite", [-3.2, -5.4, -0.8]),
        ("cfq", "random_read", [-4.3, -7.9, -0.6]),
    ];
    for (arm, column, wanted) in table {
        for (found, wanted) in of(arm, column).into_iter().zip(wanted) {
            close(found, wanted, 0.051);
        }
    }
    for (column, mean) in [
        ("backward_read", -2.7),
        ("stride_read", -4.0),
        ("fwrite", -1.2),
    ] {
        let [found, _, upper] = of("cfq", column);
        close(found, mean, 0.051);
        assert!(upper < 0.0);
    }
    for column in &study.table.columns {
        let [_, lower, upper] = of("deadline", column);
        assert!(lower < 0.0 && upper > 0.0, "{column}");
    }
    assert_eq!(study.differing("deadline", "noop", ALPHA).unwrap(), [""; 0]);
}

/// 1.6 to 2.9 % with the divisor n; a sample's standard deviation is larger by the root of 20/19.
#[test]
fn repeats_within_a_run_are_as_noisy_as_the_schedulers() {
    let study = record_size::read(record_size::CSV).unwrap();
    let of = |scheduler| study.noise(scheduler).unwrap().unwrap() * 100.0 * (19f64 / 20.0).sqrt();
    close(of("noop"), 1.6, 0.051);
    close(of("cfq"), 2.5, 0.051);
    close(of("deadline"), 2.9, 0.051);
}

#[test]
fn methods_of_fsync_differ_less_than_the_control() {
    let study = fsync::read(fsync::CSV).unwrap();
    let mut spreads: Vec<f64> = fsync::spreads(&study.disk).unwrap();
    spreads.sort_by(f64::total_cmp);
    let spreads: Vec<f64> = spreads.into_iter().map(percent).collect();
    assert_eq!(spreads.len(), 13);
    close(spreads[0], 3.9, 0.051);
    close(spreads[11], 7.3, 0.051);
    close(spreads[12], 13.3, 0.051);
    let control = fsync::spreads(&study.control).unwrap();
    close(percent(control[0]), 8.3, 0.051);

    let found = judged("fsync").comparisons;
    let cfq = found.iter().find(|c| c.arm == "cfq").unwrap();
    assert_eq!((cfq.pairs - cfq.higher, cfq.pairs), (12, 13));
    let blocks = Blocks::of(&study.disk, "cfq", "noop", &["ops_per_s"]).unwrap();
    let lower = blocks.0.concat().into_iter().filter(|d| *d < 0.0);
    let (most, least) = range(lower.map(|d| percent(d.exp())));
    close(least, -3.7, 0.051);
    close(most, -11.8, 0.051);
}

#[test]
fn pairs_of_single_values_have_no_interval() {
    let web = judged("oltp-web").comparisons;
    let changes: Vec<String> = web.iter().map(|c| change(c.ratio.unwrap(), 1)).collect();
    assert_eq!(changes, ["+18.5 %", "-7.6 %", "+8.7 %"]);
    let dss = judged("oltp-dss").comparisons;
    let changes: Vec<String> = dss.iter().map(|c| change(c.ratio.unwrap(), 1)).collect();
    assert_eq!(changes, ["-12.5 %", "-23.0 %"]);
    for comparison in web.iter().chain(&dss) {
        assert_eq!(comparison.ratio_interval, None);
        let text = comparison.to_string();
        assert!(
            text.ends_with("no interval: that needs 6 pairs of values, not 1"),
            "{text}"
        );
    }
}

#[test]
fn reads_without_readahead_are_one_page_each() {
    let rows = read_buffer::read(read_buffer::CSV).unwrap();
    let measured: Vec<&read_buffer::Row> = rows.iter().filter(|r| r.cpu_s().is_some()).collect();
    let (without, with): (Vec<_>, Vec<_>) = measured
        .into_iter()
        .partition(|row| row.readahead_sectors == 0);
    let (few, many) = range(without.iter().filter_map(|row| row.disk_reads));
    close(few / 1000.0, 25.7, 0.051);
    close(many / 1000.0, 27.0, 0.051);
    let sizes = without.iter().filter_map(|row| row.mean_read_bytes());
    let (small, large) = range(sizes);
    assert!(small > 0.9 * read_buffer::PAGE_BYTES && large <= read_buffer::PAGE_BYTES);
    close(with[0].disk_reads.unwrap(), 922.0, 0.0);
    close(with[0].mean_read_bytes().unwrap() / 1024.0, 111.0, 0.1);
    close(without[0].cpu_s().unwrap(), 7.2 + 40.7, 0.1);
    close(without[12].cpu_s().unwrap(), 0.04 + 0.85, 0.01);
}

#[test]
fn each_says_why() {
    for (name, reasons) in [
        (
            "record-size",
            &[
                "n = 1",
                "Fixed order: noop, then cfq, then deadline",
                "Noise floor",
                "Page cache: 4 of 13",
                "queue depth",
            ][..],
        ),
        (
            "oltp-web",
            &["n = 1", "has no cfq", "are the defaults", "70/30"],
        ),
        (
            "read-buffer",
            &["n = 1", "/proc/diskstats", "16394", "10 of 16"],
        ),
        (
            "fsync",
            &[
                "n = 1",
                "Fixed order: noop, then anticipatory, then deadline, then cfq",
                "Noise floor",
            ],
        ),
        ("oltp-dss", &["n = 1", "rebooted", "CPU cycles"]),
    ] {
        let found = judged(name).reasons.join("\n");
        for reason in reasons {
            assert!(found.contains(reason), "{name}: {reason} in {found}");
        }
    }
}

#[test]
fn changes_are_rounded_and_have_a_sign() {
    assert_eq!(change(0.875, 1), "-12.5 %");
    assert_eq!(change(1.0, 1), "+0.0 %");
    assert_eq!(change(0.9999, 1), "+0.0 %");
    assert_eq!(change(1.7, 0), "+70 %");
}
