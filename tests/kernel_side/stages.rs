//! A request's moments: which stage gets what, and what of a clock that runs backwards. Where a record finds its ring full,
//! bpf/unrecorded.bpf.h counts it, elsewhere the ledger: both are given the same records here.

use iosched_result::measured::histogram::{DEVICE, Histogram};
use iosched_result::measured::ledger::{Ledger, Scope};
use iosched_result::measured::record::Record;
use iosched_result::measured::snapshot::{DeviceNumbers, Op, OwnerId, OwnerKind, OwnerTotals};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{by_all, run};

/// Reads records: q g d data c, bytes, owner, bios, op, flags. Writes what each of them adds.
const PROGRAM: &str = r#"
#include <stdbool.h>

#define __noinline
#define add(counter, n) (*(counter) += (n))

static struct owner owners[2];

static void *lookup(struct owner *all, const __u32 *row)
{
	return *row < 2 ? &all[*row] : 0;
}
#define bpf_map_lookup_elem(map, key) lookup(*(map), key)

const volatile bool with_q = WITH_Q;
#include "unrecorded.bpf.h"

int main(void)
{
	static struct device_stats device;
	unsigned int bios, op, flags;
	struct record record = {};

	while (scanf("%llu %llu %llu %llu %llu %u %u %u %u %u", &record.q_ns, &record.g_ns, &record.d_ns,
		     &record.data_ns, &record.c_ns, &record.bytes, &record.owner, &bios, &op, &flags) == 10) {
		struct op_counters *of_device = &device.op[op];
		struct owner *owner = &owners[record.owner];
		struct owner_op *of_owner = &owner->op[op];

		memset(&device, 0, sizeof(device));
		memset(owners, 0, sizeof(owners));
		record.bios = bios;
		record.op = op;
		record.flags = flags;
		count_unrecorded(&device, &record);
		printf("%llu %llu %llu %llu %llu", device.negative, device.straddlers, device.straddler_bytes,
		       device.unissued, device.owner_overflow);
		printf(" %llu %llu %llu %llu %llu %llu %llu", device.flush_requests, device.preflushes,
		       device.preflush_ns, device.postflushes, device.postflush_ns, device.journal_ios,
		       device.journal_ns);
		printf(" %llu %llu %llu %llu %llu %llu %llu", of_device->ios, of_device->bytes,
		       of_device->ios + of_device->more_bios, of_device->waits, of_device->q2d_ns,
		       of_device->d2c_ns, of_device->q2c_ns);
		printf(" %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", owner->preflushes,
		       of_owner->ios, of_owner->bytes, of_owner->more_bios, of_owner->q2d_ns,
		       of_owner->d2c_ns, of_owner->unwaited, of_owner->unwaited_d2c_ns, of_owner->flush_ns,
		       of_owner->q2d_max_ns, of_owner->d2c_max_ns);
	}
	return 0;
}
"#;

const SCOPE: Scope = Scope {
    layout: DEVICE,
    with_q: true,
    with_asked: false,
    with_owner_stages: false,
    owner_rows: 2,
};

fn in_c(with_q: bool, records: &[Record]) -> Vec<Vec<Vec<u64>>> {
    let line = |record: &Record| {
        use iosched_bpf::enums::record_flags;
        let flags = [
            (record.is_preflush, record_flags::RECORD_PREFLUSH),
            (record.is_postflush, record_flags::RECORD_POSTFLUSH),
            (record.is_journal, record_flags::RECORD_JOURNAL),
            (record.is_straddler, record_flags::RECORD_STRADDLER),
            (record.is_flush_command, record_flags::RECORD_FLUSH_COMMAND),
        ];
        let flags: u32 = flags
            .iter()
            .filter(|(has, _)| *has)
            .map(|(_, bit)| bit.0)
            .sum();
        let Record {
            q_ns,
            g_ns,
            d_ns,
            data_ns,
            c_ns,
            bytes,
            owner,
            bios,
            op,
            ..
        } = record;
        let op = *op as u32;
        format!("{q_ns} {g_ns} {d_ns} {data_ns} {c_ns} {bytes} {owner} {bios} {op} {flags}")
    };
    let lines: Vec<String> = records.iter().map(line).collect();
    let numbers = |line: &str| line.split(' ').map(|n| n.parse().unwrap()).collect();
    let program = PROGRAM.replace("WITH_Q", &with_q.to_string());
    by_all(&program)
        .iter()
        .map(|program| {
            run(&program.binary, lines.join("\n"))
                .lines()
                .map(numbers)
                .collect()
        })
        .collect()
}

fn in_the_ledger(with_q: bool, record: &Record) -> Vec<u64> {
    let mut ledger = Ledger::new(1, Scope { with_q, ..SCOPE });
    ledger.add(record);
    let mut device = DeviceNumbers::new("sda");
    ledger.add_to_device(0, &mut device);
    let row = record.owner as usize;
    let mut owner = OwnerTotals::new(OwnerId {
        device: Some(0),
        kind: OwnerKind::Process,
        tgid: 1,
        start_ms: 0,
        cgroup_id: 0,
        file: None,
    });
    ledger.add_to_owner(row, &mut owner);
    let (op, own) = (
        &device.ops[record.op as usize],
        &owner.ops[record.op as usize],
    );
    let (longest_wait, longest_d2c) = ledger.take_longest(row)[record.op as usize];
    let (flushes, edges, quality) = (device.flushes, device.edges, device.quality);
    vec![
        quality.negative,
        edges.straddlers,
        edges.straddler_bytes,
        quality.unissued,
        quality.owner_overflow,
        flushes.asked,
        flushes.before_data,
        flushes.before_data_ns,
        flushes.after_data,
        flushes.after_data_ns,
        flushes.journal_writes,
        flushes.journal_ns,
        op.ios,
        op.bytes,
        op.bios,
        op.waits,
        op.q2d_sum_ns,
        op.d2c_sum_ns,
        op.q2c_sum_ns,
        owner.waited_for_flush,
        own.ios,
        own.bytes,
        own.more_bios,
        own.q2d_ns,
        own.d2c_ns,
        own.unwaited,
        own.unwaited_d2c_ns,
        own.flush_ns,
        longest_wait,
        longest_d2c,
    ]
}

/// Moments that may be missing or in any order.
fn by_chance(random: &mut ChaCha8Rng) -> Record {
    let mut moment = |unseen: f64| {
        if random.random_bool(unseen) {
            0
        } else {
            random.random_range(1_000..1_300)
        }
    };
    let (q_ns, g_ns, d_ns) = (moment(0.2), moment(0.2), moment(0.2));
    let data_ns = moment(0.0);
    let c_ns = data_ns + random.random_range(0..50);
    let op = *Op::ALL.choose(random).unwrap();
    let is_flush_command = op == Op::Flush && random.random_bool(0.5);
    Record {
        q_ns: if is_flush_command { 0 } else { q_ns },
        g_ns: if is_flush_command { 0 } else { g_ns },
        data_ns,
        bytes: 512 * random.random_range(0..4),
        owner: random.random_range(0..2),
        bios: random.random_range(1..4),
        is_preflush: random.random_bool(0.1),
        is_postflush: random.random_bool(0.1),
        is_journal: random.random_bool(0.2),
        is_straddler: random.random_bool(0.05),
        is_flush_command,
        ..Record::issued(op, d_ns, c_ns)
    }
}

#[test]
fn the_kernel_side_counts_a_lost_record_as_the_ledger_counts_another() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let records: Vec<Record> = (0..20_000).map(|_| by_chance(&mut random)).collect();
    for with_q in [true, false] {
        for found in in_c(with_q, &records) {
            assert_eq!(found.len(), records.len());
            for (record, found) in records.iter().zip(found) {
                let ledger = in_the_ledger(with_q, record);
                assert_eq!(ledger, found, "with_q {with_q}: {record:#?}");
            }
        }
    }
}

/// q, g, d, c; of the device negative, Q2D, Q2G, G2D, D2C, Q2C, and the sums of wait, service and total.
const REQUESTS: [([u64; 4], [u64; 9]); 9] = [
    // Got its request at once; waited for it.
    ([100, 100, 150, 350], [0, 1, 1, 1, 1, 1, 50, 200, 250]),
    ([100, 120, 150, 350], [0, 1, 1, 1, 1, 1, 50, 200, 250]),
    // Its bio was not seen; its start neither; nor its issue.
    ([0, 120, 150, 350], [0, 0, 0, 1, 1, 0, 0, 200, 0]),
    ([0, 0, 150, 350], [0, 0, 0, 0, 1, 0, 0, 200, 0]),
    ([100, 100, 0, 350], [0, 0, 0, 0, 0, 1, 0, 0, 250]),
    // Two clocks that disagree: counted each time, never a huge or a made-up time, and never silent.
    ([120, 100, 150, 350], [1, 0, 0, 1, 1, 1, 0, 200, 230]),
    ([100, 160, 150, 350], [1, 0, 0, 0, 1, 1, 0, 200, 250]),
    ([100, 100, 400, 350], [1, 1, 1, 1, 0, 1, 300, 0, 250]),
    ([400, 400, 150, 350], [2, 0, 0, 0, 1, 0, 0, 200, 0]),
];

#[test]
fn each_stage_gets_its_time_and_negative_ones_are_counted() {
    for ([q_ns, g_ns, d_ns, c_ns], wanted) in REQUESTS {
        let mut ledger = Ledger::new(1, SCOPE);
        ledger.add(&Record {
            q_ns,
            g_ns,
            ..Record::issued(Op::WriteSync, d_ns, c_ns)
        });
        let mut device = DeviceNumbers::new("sda");
        ledger.add_to_device(0, &mut device);
        let op = &device.ops[Op::WriteSync as usize];
        let stages = [&op.q2d, &op.q2g, &op.g2d, &op.d2c, &op.q2c];
        let counts = stages.map(Histogram::count);
        let sums = [op.q2d_sum_ns, op.d2c_sum_ns, op.q2c_sum_ns];
        let found = [&[device.quality.negative][..], &counts, &sums].concat();
        assert_eq!(found, wanted, "{q_ns} {g_ns} {d_ns} {c_ns}");
    }
}
