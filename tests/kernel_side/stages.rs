//! A request's moments through bpf/latency.bpf.h itself: which stage gets what, and what of a clock that runs backwards.

use super::{by_all, run};

/// Reads the flags, bios and moments q g d c of requests. Writes for each what was negative, what is in the histograms of
/// Q2D, Q2G, G2D, D2C and Q2C, the sums of wait, service and total of a synchronous write, and what is in the histograms of
/// its owner: Q2D of direct requests and of others, of those Q2G and G2D, then D2C and Q2C.
const PROGRAM: &str = r#"
#include <stdbool.h>

#define SEC(name)
#define __uint(name, value) int name
#define __type(name, type) type *name
#define add(counter, n) (*(counter) += (n))

static void *lookup(void *map, __u32 *key);
#define bpf_map_lookup_elem(map, key) lookup(map, key)

const volatile bool with_asked;
const volatile bool with_owner_stages = true;
const volatile bool with_q = true;
#include "latency.bpf.h"

static struct device_histogram rows[HISTOGRAM_ROWS];

static void *lookup(void *map, __u32 *key)
{
	return map == &histograms && *key < HISTOGRAM_ROWS ? &rows[*key] : 0;
}

static unsigned int times_in(__u32 latency)
{
	__u32 row = first_row(0, OP_WRITE_SYNC) + latency;
	unsigned int times = 0;

	for (int i = 0; i < DEVICE_CELLS; i++)
		times += rows[row].cells[i];
	return times;
}

static unsigned int times_in_owner(const struct owner_histogram *histogram)
{
	unsigned int times = 0;

	for (int i = 0; i < OWNER_CELLS; i++)
		times += histogram->cells[i];
	return times;
}

/* Of writes, and only in lines that are said to hold something. */
static unsigned int times_in_stage(const struct owner_stages *stages, enum owner_stage stage)
{
	struct owner_histogram said = stages->histograms[stage + 1];

	for (int i = 0; i < OWNER_CELLS; i++)
		if (!stages->occupied[stage + 1][i / LINE_CELLS])
			said.cells[i] = 0;
	return times_in_owner(&said);
}

int main(void)
{
	static struct owner_latency latency;
	static struct owner_stages stages;
	static struct device_stats device;
	static struct owner owner;
	struct ledger to = {.device = &device, .device_op = &device.op[OP_WRITE_SYNC], .owner = &owner,
			    .owner_op = &owner.op[OP_WRITE_SYNC], .latency = &latency, .stages = &stages,
			    .first_row = first_row(0, OP_WRITE_SYNC), .op = OP_WRITE_SYNC};
	struct op_counters *op = &device.op[OP_WRITE_SYNC];
	unsigned int flags, bios;
	__u64 q, g, d, c;

	while (scanf("%u %u %llu %llu %llu %llu", &flags, &bios, &q, &g, &d, &c) == 6) {
		struct inflight state = {.q_ns = q, .g_ns = g, .d_ns = d, .flags = flags, .bios = bios};

		memset(&device, 0, sizeof(device));
		memset(&owner, 0, sizeof(owner));
		memset(rows, 0, sizeof(rows));
		memset(&latency, 0, sizeof(latency));
		memset(&stages, 0, sizeof(stages));
		count_service(&to, &state, c);
		count_wait(&to, &state);
		count_total(&to, &state, c);
		printf("%llu %u %u %u %u %u %llu %llu %llu", device.negative,
		       times_in(Q2D_DIRECT) + times_in(Q2D_WAITED) + times_in(Q2D_MERGED),
		       times_in(Q2G_WAITED), times_in(G2D_WAITED) + times_in(G2D_ALONE),
		       times_in(D2C) + times_in(D2C_MERGED), times_in(Q2C) + times_in(Q2C_MERGED),
		       op->q2d_ns, op->d2c_ns, op->q2c_ns);
		printf(" %u %u %u %u %u %u\n", times_in_owner(&latency.q2d[1]),
		       times_in_stage(&stages, OWNER_Q2D_INDIRECT), times_in_stage(&stages, OWNER_Q2G_INDIRECT),
		       times_in_stage(&stages, OWNER_G2D_INDIRECT), times_in_owner(&latency.d2c[1]),
		       times_in_stage(&stages, OWNER_Q2C));
	}
	return 0;
}
"#;

const PREFLUSH: u64 = iosched_bpf::enums::inflight_flags::STATE_PREFLUSH.0 as u64;

/// Flags, bios, q, g, d, c; of the device negative, Q2D, Q2G, G2D, D2C, Q2C, and the sums; of the owner Q2D direct and not,
/// Q2G, G2D, D2C, Q2C.
const REQUESTS: [([u64; 6], [u64; 9], [u64; 6]); 10] = [
    // Got its request at once; waited for it; of three bios.
    (
        [0, 1, 100, 100, 150, 350],
        [0, 1, 0, 0, 1, 1, 50, 200, 250],
        [1, 0, 0, 0, 1, 1],
    ),
    (
        [0, 1, 100, 120, 150, 350],
        [0, 1, 1, 1, 1, 1, 50, 200, 250],
        [0, 1, 1, 1, 1, 1],
    ),
    (
        [0, 3, 100, 100, 150, 350],
        [0, 3, 0, 0, 3, 3, 50, 200, 250],
        [1, 0, 0, 0, 1, 1],
    ),
    // Its bio was not seen; its start neither; nor its issue.
    (
        [0, 1, 0, 120, 150, 350],
        [0, 0, 0, 1, 1, 0, 0, 200, 0],
        [0, 0, 0, 0, 1, 0],
    ),
    (
        [0, 1, 0, 0, 150, 350],
        [0, 0, 0, 0, 1, 0, 0, 200, 0],
        [0, 0, 0, 0, 1, 0],
    ),
    (
        [0, 1, 100, 100, 0, 350],
        [0, 0, 0, 0, 0, 1, 0, 0, 250],
        [0, 0, 0, 0, 0, 1],
    ),
    // Waited for a flush, which is not the scheduler's doing.
    (
        [PREFLUSH, 1, 100, 100, 150, 350],
        [0, 0, 0, 0, 1, 1, 0, 200, 250],
        [0, 0, 0, 0, 1, 1],
    ),
    // Two clocks that disagree: counted each time, never a huge or a made-up time, and never silent.
    (
        [0, 1, 120, 100, 150, 350],
        [1, 0, 0, 1, 1, 1, 0, 200, 230],
        [0, 0, 0, 0, 1, 1],
    ),
    (
        [0, 1, 100, 160, 150, 350],
        [1, 0, 0, 0, 1, 1, 0, 200, 250],
        [0, 0, 0, 0, 1, 1],
    ),
    (
        [0, 1, 100, 100, 400, 350],
        [1, 1, 0, 0, 0, 1, 300, 0, 250],
        [1, 0, 0, 0, 0, 1],
    ),
];

fn words(numbers: &[u64]) -> String {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    words.join(" ")
}

#[test]
fn each_stage_gets_its_time_and_negative_ones_are_counted() {
    let lines = REQUESTS.map(|(request, ..)| words(&request));
    for program in by_all(PROGRAM) {
        let text = run(&program.binary, lines.join("\n"));
        let found: Vec<&str> = text.lines().collect();
        assert_eq!(found.len(), REQUESTS.len());
        for ((request, device, owner), found) in REQUESTS.iter().zip(found) {
            let wanted = [words(device), words(owner)].join(" ");
            assert_eq!(found, wanted, "{request:?}");
        }
    }
}
