use super::cell::MAX_COUNT;
use super::*;
use proptest::prelude::*;

const LAYOUTS: [Layout; 3] = [
    DEVICE,
    OWNER,
    Layout {
        unit_shift: 0,
        sub_bits: 0,
        cells: 37,
    },
];

fn of(layout: Layout, values: &[u64]) -> Histogram {
    let mut h = Histogram::new(layout);
    for &ns in values {
        h.record(ns);
    }
    h
}

/// Latencies distributed like those of devices: over many octaves instead of uniformly.
fn latency_ns() -> impl Strategy<Value = u64> {
    (0u32..36, any::<u64>()).prop_map(|(bits, x)| x >> (63 - bits))
}

#[test]
fn each_time_has_its_cell() {
    assert_eq!(DEVICE.index(0), 0);
    assert_eq!(DEVICE.index(15), 0);
    assert_eq!(DEVICE.index(16), 1);
    assert_eq!(DEVICE.index(127 * 16), 127); // the last cell of one unit
    assert_eq!(DEVICE.index(128 * 16), 128); // two units from here on
    assert_eq!(DEVICE.index(129 * 16), 128);
    assert_eq!(DEVICE.index(1_000_000), 698); // 62500 units: octave 15, 62500 >> 9 = 122, 9 * 64 + 122
    assert_eq!(DEVICE.index((1 << 37) - 1), 1791);
    assert_eq!(DEVICE.index(u64::MAX), 1791);
    assert_eq!(DEVICE.upper_ns(1791), 1 << 37);
    assert_eq!(OWNER.index(u64::MAX), 447);
    assert_eq!(OWNER.upper_ns(447), 1 << 37);
    assert_eq!((OWNER.lower_ns(32), OWNER.upper_ns(32)), (2048, 2176));
    assert!((OWNER.mid_ns(32) - 2112.0).abs() < f64::EPSILON);
}

#[test]
fn quantiles_interpolate_inside_the_cell() {
    let mut h = Histogram::new(DEVICE);
    assert_eq!(h.quantile_ns(0.5), None);
    assert_eq!(
        (h.mean_ns(), h.sd_ns(), h.share_above(0)),
        (None, None, None)
    );
    assert_eq!(h.quantile_is_fragile(0.5), None);
    h.record_n(1600, 4); // cell 100: 1600..1616
    assert_eq!(h.quantile_ns(0.0), Some(1600.0));
    assert_eq!(h.quantile_ns(0.25), Some(1604.0));
    assert_eq!(h.quantile_ns(1.0), Some(1616.0));
    assert_eq!(h.quantile_ns(f64::NAN), None);
    assert_eq!(h.quantile_ns(1.01), None);
    h.record_n(3200, 4);
    assert_eq!(h.quantile_ns(0.5), Some(1616.0));
    assert_eq!(h.mean_ns(), Some(f64::midpoint(1608.0, 3216.0))); // the cell of 3200 is 3200..3232
    assert!((h.sd_ns().unwrap() - 804.0 * (8.0f64 / 7.0).sqrt()).abs() < 1e-9);
    assert_eq!(h.share_above(1_000), Some(1.0));
    assert_eq!(h.share_above(1612), Some((1.0 + 4.0) / 8.0));
    assert_eq!(h.share_above(2_000), Some(0.5));
    assert_eq!(h.share_above(u64::MAX), Some(0.0));
}

#[test]
fn a_percentile_needs_a_hundred_values_beyond_it_and_firm_ground() {
    let mut h = Histogram::new(DEVICE);
    h.record_n(100_000, 9_900);
    h.record_n(8_000_000, 99);
    assert!(!h.supports_quantile(0.99));
    h.record(8_000_000);
    assert!(h.supports_quantile(0.99));
    assert!(!h.supports_quantile(0.999));
    // 1 % slow values: p99 is the border of the two populations, p95 is not.
    assert_eq!(h.quantile_is_fragile(0.99), Some(true));
    assert_eq!(h.quantile_is_fragile(0.95), Some(false));
}

#[test]
fn different_things_are_not_added_and_time_does_not_run_backwards() {
    let mut device = of(DEVICE, &[5_000, 70_000]);
    let later = of(DEVICE, &[5_000, 70_000, 70_000]);
    assert!(device.merge(&of(OWNER, &[5_000])).is_err());
    assert_eq!(later.subtract(&device).unwrap(), of(DEVICE, &[70_000]));
    assert!(device.subtract(&later).is_err());
    assert!(Histogram::from_counts(DEVICE, &[0; 448]).is_err());
    let mut nothing = Histogram::new(DEVICE);
    nothing.merge(&of(OWNER, &[5_000])).unwrap();
    assert_eq!(nothing, of(OWNER, &[5_000]));
    nothing.merge(&Histogram::new(DEVICE)).unwrap();
    assert_eq!(nothing, of(OWNER, &[5_000]));
    let mut full = Histogram::new(OWNER);
    full.record_n(1, u64::MAX);
    full.record(1);
    assert_eq!(full.count(), MAX_COUNT);
    assert!(full.clone().merge(&full).is_err());
}

#[test]
fn coarsening_only_goes_where_cells_nest() {
    let values = [0, 63, 64, 5_000, 5_130, 1 << 30, 1 << 37, u64::MAX];
    assert_eq!(
        of(DEVICE, &values).coarsen(OWNER).unwrap(),
        of(OWNER, &values)
    );
    assert!(of(OWNER, &values).coarsen(DEVICE).is_err());
    let longer = Layout {
        cells: OWNER.cells + 16,
        ..OWNER
    };
    assert!(of(DEVICE, &values).coarsen(longer).is_err());
}

#[test]
fn json_is_sparse_and_strict() {
    let mut h = Histogram::new(DEVICE);
    h.record_n(100, 3);
    h.record(u64::MAX);
    let json = serde_json::to_string(&h).unwrap();
    assert_eq!(
        json,
        r#"{"layout":{"unit_shift":4,"sub_bits":6,"cells":1792},"cells":[[6,3],[1791,1]]}"#
    );
    assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), h);
    for (from, to) in [
        ("1791", "1792"), // outside
        ("1791", "6"),    // twice
        ("1791", "5"),    // not ascending
        ("\"cells\":1792", "\"cells\":4294967295"),
        ("\"cells\":1792", "\"cells\":0"),
        ("[6,3]", "[6,281474976710656]"), // beyond 48 bits
        ("\"sub_bits\":6", "\"sub_bits\":60"),
        ("\"unit_shift\":4", "\"unit_shift\":4294967295"),
    ] {
        let broken = json.replacen(from, to, if from == "1791" { 2 } else { 1 });
        assert_ne!(broken, json);
        assert!(
            serde_json::from_str::<Histogram>(&broken).is_err(),
            "{broken}"
        );
    }
    let schema = serde_json::to_value(schemars::schema_for!(Histogram)).unwrap();
    assert!(
        schema["properties"]["cells"]["items"].is_object(),
        "{schema}"
    );
}

proptest! {
    #[test]
    fn a_value_lies_in_its_cell(ns in latency_ns(), which in 0..LAYOUTS.len()) {
        let layout = LAYOUTS[which];
        let i = layout.index(ns);
        prop_assert!(layout.lower_ns(i) <= ns);
        prop_assert!(ns < layout.upper_ns(i));
        let width = (layout.upper_ns(i) - layout.lower_ns(i)) as f64;
        let unit = f64::from(1 << layout.unit_shift);
        let relative = 0.5f64.powi(layout.sub_bits as i32);
        prop_assert!(width <= unit.max(layout.lower_ns(i) as f64 * relative));
    }

    #[test]
    fn larger_values_are_never_in_an_earlier_cell(a in any::<u64>(), b in any::<u64>(), which in 0..LAYOUTS.len()) {
        let layout = LAYOUTS[which];
        prop_assert!(layout.index(a.min(b)) <= layout.index(a.max(b)));
        prop_assert!(layout.index(a) < layout.cells as usize);
    }

    #[test]
    fn cells_touch(i in 0usize..447, which in 0usize..2) {
        let layout = LAYOUTS[which];
        prop_assert_eq!(layout.index(layout.lower_ns(i)), i);
        prop_assert_eq!(layout.index(layout.upper_ns(i)), i + 1);
    }

    #[test]
    fn a_quantile_is_as_near_to_the_truth_as_promised(
        mut values in prop::collection::vec(latency_ns(), 1..400),
        p in 0.0f64..=1.0,
        which in 0usize..2,
    ) {
        let (layout, promised) = [(DEVICE, 0.016), (OWNER, 0.032)][which];
        let found = of(layout, &values).quantile_ns(p).unwrap();
        values.sort_unstable();
        let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
        let truth = values[rank - 1] as f64;
        let unit = f64::from(1 << layout.unit_shift);
        let bound = unit.max(truth * promised);
        prop_assert!((found - truth).abs() <= bound, "{found} for {truth}");
    }

    #[test]
    fn walking_is_recording(
        before in prop::collection::vec(latency_ns(), 0..60),
        mut after in prop::collection::vec(latency_ns(), 0..60),
    ) {
        after.sort_unstable();
        let mut walked = of(OWNER, &before);
        let mut counts = walked.ascending();
        for &ns in &after {
            counts.update(OWNER.index(ns), |count| count + 1);
        }
        prop_assert_eq!(walked, of(OWNER, &[before, after].concat()));
    }

    #[test]
    fn merging_is_recording_together(
        a in prop::collection::vec(latency_ns(), 0..100),
        b in prop::collection::vec(latency_ns(), 0..100),
        c in prop::collection::vec(latency_ns(), 0..100),
    ) {
        let merged = |parts: [&Vec<u64>; 3]| {
            let mut sum = Histogram::new(DEVICE);
            for part in parts {
                sum.merge(&of(DEVICE, part)).unwrap();
            }
            sum
        };
        let all: Vec<u64> = a.iter().chain(&b).chain(&c).copied().collect();
        prop_assert_eq!(merged([&a, &b, &c]), of(DEVICE, &all));
        prop_assert_eq!(merged([&c, &a, &b]), of(DEVICE, &all));
        prop_assert_eq!(of(DEVICE, &all).count(), all.len() as u64);
        let rest = of(DEVICE, &all).subtract(&of(DEVICE, &a)).unwrap();
        prop_assert_eq!(rest, merged([&b, &c, &vec![]]));
        prop_assert_eq!(of(DEVICE, &all).coarsen(OWNER).unwrap(), of(OWNER, &all));
    }
}
