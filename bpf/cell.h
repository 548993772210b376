/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps a time to a cell of a log-linear histogram. Plain C, so that a test can compile it natively and
 * compare it with user space's formula. Needs __u32, __u64 and __always_inline.
 */
#ifndef IOSCHED_CELL_H
#define IOSCHED_CELL_H

/* Prevents clang 19 from optimising away a bounds check that the verifier needs. */
#define keep(value) asm volatile("" : "+r"(value))

/* Up to version 18, clang cannot compile the builtin for BPF: it ends with an error, or hangs. */
#ifndef OCTAVE_BY_BUILTIN
#define OCTAVE_BY_BUILTIN (__clang_major__ > 18)
#endif

/* Position of the highest set bit of a value above 0. */
static __always_inline __u32 octave_of(__u64 value)
{
#if OCTAVE_BY_BUILTIN
	return 63 - __builtin_clzll(value);
#else
	for (__u32 step = 1; step < 64; step <<= 1)
		value |= value >> step;
	keep(value); /* all ones below the highest bit; count them without branches, for the verifier */
	value -= (value >> 1) & 0x5555555555555555ULL;
	value = (value & 0x3333333333333333ULL) + ((value >> 2) & 0x3333333333333333ULL);
	value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (__u32)((value * 0x0101010101010101ULL) >> 56) - 1;
#endif
}

/* A time and its octave. */
struct span {
	__u64 ns;
	__u32 octave;
};

static __always_inline struct span span_of(__u64 ns)
{
	struct span span = {.ns = ns, .octave = octave_of(ns | 1)};

	return span;
}

/* The result may exceed the layout's last cell: see clamp_cell. */
static __always_inline __u32 cell_of(struct span span, __u32 unit_shift, __u32 sub_bits)
{
	if (span.octave <= unit_shift + sub_bits)
		return span.ns >> unit_shift;
	return ((span.octave - unit_shift - sub_bits) << sub_bits) +
	       (__u32)(span.ns >> (span.octave - sub_bits));
}

/* The last cell also counts everything longer than the layout. */
static __always_inline __u32 clamp_cell(__u32 cell, __u32 cell_count)
{
	return cell > cell_count - 1 ? cell_count - 1 : cell;
}

#endif
