use super::*;

const COLUMNS: [Column; 5] = [
    Column::count("PID", 0),
    Column::name("COMM", 0),
    Column::quantity("BYTES/s", 2),
    Column::quantity("WAIT p99", 0),
    Column::name("CGROUP", 1),
];

fn row(group: &str) -> Vec<String> {
    ["7", "reader", "1.00 MiB/s", "1.05 ms", group]
        .map(str::to_owned)
        .to_vec()
}

fn table(width: Option<usize>, group: &str) -> (Vec<String>, bool) {
    let mut page = Page::new(width);
    page.table(&COLUMNS, &[row(group)]);
    let lines = page.text.lines().map(str::to_owned).collect();
    (lines, page.has_left_out)
}

#[test]
fn columns_go_by_their_rank_and_keep_their_order() {
    let headers = |width| {
        let (lines, left_out) = table(width, "/a.slice");
        let headers: Vec<&str> = lines[0].split("  ").map(str::trim).collect();
        let headers: Vec<&str> = headers
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        (headers.join(" "), left_out)
    };
    let all = "PID COMM BYTES/s WAIT p99 CGROUP".to_owned();
    assert_eq!(headers(None), (all.clone(), false));
    assert_eq!(headers(Some(80)), (all, false));
    assert_eq!(
        headers(Some(42)),
        ("PID COMM WAIT p99 CGROUP".to_owned(), true)
    );
    assert_eq!(headers(Some(30)), ("PID COMM WAIT p99".to_owned(), true));
    // What matters is there however narrow it is.
    assert_eq!(headers(Some(5)), ("PID COMM WAIT p99".to_owned(), true));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_a_name_keeps_both_ends() {
    let group = "/system.slice/a-very-long-name-of-a-unit-that-nobody-can-read@instance.service";
    for width in 53..140 {
        let (lines, _) = table(Some(width), group);
        for line in &lines {
            assert!(display_width(line) <= width, "{width}: {line}");
        }
        assert!(
            lines[1].contains("/sys") && lines[1].ends_with("ce"),
            "{width}: {}",
            lines[1]
        );
    }
    let (lines, _) = table(Some(140), group);
    assert!(lines[1].ends_with(group));
    let wide = "/数据库/非常长的名字非常长的名字非常长的名字.service";
    for width in 53..100 {
        let (lines, _) = table(Some(width), wide);
        assert!(display_width(&lines[1]) <= width, "{width}: {}", lines[1]);
    }
}

#[test]
fn a_list_keeps_its_beginning() {
    assert_eq!(
        cut("60 % journal, 30 % disk", 13, Kind::List),
        "60 % journal…"
    );
    assert_eq!(cut("/system.slice/x.service", 9, Kind::Name), "/sys…vice");
    assert_eq!(cut("123456", 3, Kind::Number { usual: 3 }), "123456");
}

#[test]
fn lines_are_broken_between_statements_not_between_a_number_and_its_unit() {
    let line =
        "  queue wait p50 1.05 ms p99 2.10 ms max 4.19 ms   device p50 100 us p99 200 us, lost 3";
    let broken = |width| {
        let mut page = Page::new(width);
        page.lines(line);
        page.text
    };
    assert_eq!(broken(None), format!("{line}\n"));
    assert_eq!(
        broken(Some(60)),
        "  queue wait p50 1.05 ms p99 2.10 ms max 4.19 ms\n    device p50 100 us p99 200 us, lost 3\n"
    );
    assert_eq!(
        broken(Some(39)),
        "  queue wait p50 1.05 ms p99 2.10 ms max 4.19 ms\n    device p50 100 us p99 200 us, lost 3\n"
            .replace(", lost", ",\n    lost")
    );
}
