//! What the words on the screens mean; the help page's other half.

#[rustfmt::skip] // a table: one line a word
pub const WORDS: &[(&str, &str)] = &[
    ("queue wait", "Q2D: from the bio's arrival to its first issue. What a scheduler decides."),
    ("device time", "D2C: from the first issue to completion. What the disk and its driver take."),
    ("total", "Q2C: both together."),
    ("p99", "99 of 100 I/Os took no longer."),
    ("~, few", "Fewer than 100 I/Os beyond the percentile; in a comparison fewer than 10: few."),
    ("waiting", "Requests between arrival and issue, on average: queue waits over time."),
    ("stalled", "Time for which threads with I/O under way stood still for a request of the next, over the interval: what they would have asked for is in no queue wait. Several threads can have more than 100 %."),
    ("asked", "With --detail asked: since the call of io_submit, or since the kernel took the entry of io_uring's ring."),
    ("merged", "Bios that joined a request that was there already, of all bios."),
    ("arm", "A scheduler with its settings: one side of a comparison."),
    ("round", "One arm's time between two flips. A block has one round of every arm, in random order."),
    ("ratio", "Of a round to the reference's round in the same block; the mean on a log scale."),
    ("interval", "Holds at 95 % however often you look; for all arms together, one metric at a time."),
    ("left out", "I/Os asked for under one scheduler and completed under another, and those of the first moments."),
    ("stood still", "How long the queue is frozen by a flip: whoever submits waits."),
    ("reordered", "Issued after a request that started later."),
    ("seek", "From the end of a request to the start of the next."),
    ("device share", "Of a moment with n requests at the device each has 1/n."),
    ("backlogged", "Time with a request asked for and not done."),
    ("starved", "The longest time in which a request waited and none of its owner was issued."),
    ("waits for whom", "Of those backlogged half the interval or more: the mean queue wait of what completed in it, and whom the device served in it (device shares). It does not say who was ahead in the queue."),
    ("Jain's index", "1: everyone backlogged got the same. 1/n: one of n got all."),
    ("lost", "What the measurement itself missed. 0 is a clean measurement."),
    ("-", "Not measured, or nothing happened: never a zero."),
];
