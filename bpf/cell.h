/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which cell of a log-linear histogram does a time belong to? Plain C, so that a test can compile it natively and
 * hold it to the user side's own formula. Wants __u32, __u64 and __always_inline.
 */
#ifndef IOSCHED_CELL_H
#define IOSCHED_CELL_H

/* Keeps clang 19 from proving a bounds check away that the verifier cannot prove. */
#define keep(value) asm volatile("" : "+r"(value))

/* clang 14 never ends compiling the builtin for BPF. */
#ifndef OCTAVE_BY_BUILTIN
#define OCTAVE_BY_BUILTIN (__clang_major__ > 14)
#endif

/* Position of the highest bit of a value above 0. */
static __always_inline __u32 octave_of(__u64 value)
{
#if OCTAVE_BY_BUILTIN
	return 63 - __builtin_clzll(value);
#else
	for (__u32 step = 1; step < 64; step <<= 1)
		value |= value >> step;
	keep(value); /* all ones up to the highest bit; count them without branches for the verifier */
	value -= (value >> 1) & 0x5555555555555555ULL;
	value = (value & 0x3333333333333333ULL) + ((value >> 2) & 0x3333333333333333ULL);
	value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (__u32)((value * 0x0101010101010101ULL) >> 56) - 1;
#endif
}

/* May lie beyond the layout's last cell, which then takes it: see clamp_cell. */
static __always_inline __u32 cell_of(__u64 ns, __u32 unit_shift, __u32 sub_bits)
{
	__u64 units = ns >> unit_shift;
	__u32 octave;

	if (units < (2U << sub_bits))
		return units;
	octave = octave_of(units);
	return ((octave - sub_bits) << sub_bits) + (__u32)(units >> (octave - sub_bits));
}

/* The last cell catches what is longer than the layout. */
static __always_inline __u32 clamp_cell(__u32 cell, __u32 cell_count)
{
	return cell > cell_count - 1 ? cell_count - 1 : cell;
}

#endif
