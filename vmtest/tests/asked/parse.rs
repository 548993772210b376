//! ftrace's text. Shares no code with the product.

use iosched_vmtest::{Disk, Ftrace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub time_ns: u64,
    /// The thread in which it happened.
    pub tid: u32,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Number of a system call.
    Enter(u32),
    /// Its number, and what it returned.
    Exit(u32, i64),
    /// io_uring took an entry from the ring.
    Taken,
    /// First sector of a bio.
    Queue(u64),
    GetRequest(u64),
    /// First sector of a request.
    Complete(u64),
}

/// x86-64's numbers.
pub const IO_GETEVENTS: u32 = 208;
pub const IO_SUBMIT: u32 = 209;
pub const IO_PGETEVENTS: u32 = 333;
pub const IO_URING_ENTER: u32 = 426;

/// The event of an entry that io_uring takes from its ring: its name since 6.4, and the one before.
const TAKEN: [&str; 2] = ["io_uring_submit_req", "io_uring_submit_sqe"];

/// A trace of what is read here, of one disk.
pub fn trace(disk: &Disk) -> Ftrace {
    // As the kernel has it in memory.
    let of_disk = format!("dev == {}", disk.device.major << 20 | disk.device.minor);
    let calls = [IO_GETEVENTS, IO_SUBMIT, IO_PGETEVENTS, IO_URING_ENTER];
    let calls = calls.map(|call| format!("id == {call}")).join(" || ");
    let taken = TAKEN.map(|name| format!("io_uring/{name}"));
    let mut events = vec![
        ("block/block_bio_queue", of_disk.clone()),
        ("block/block_getrq", of_disk.clone()),
        ("block/block_rq_complete", of_disk),
        ("raw_syscalls/sys_enter", calls.clone()),
        ("raw_syscalls/sys_exit", calls),
    ];
    let uring = taken.iter().find(|event| Ftrace::has(event));
    events.push((uring.expect("io_uring's events"), String::new()));
    Ftrace::new(&events)
}

pub fn events(text: &str) -> Vec<Event> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let events = lines.filter(|line| !line.trim().is_empty());
    events
        .map(|line| event(line).unwrap_or_else(|| panic!("not understood: {line}")))
        .collect()
}

/// `  iou-wrk-12-34  [000] d..1.   5.678901: block_getrq: 259,0 R 1024 + 8 [fio]`
fn event(line: &str) -> Option<Event> {
    let (task, rest) = line.split_once(" [")?;
    let (before, rest) = rest.split_once(": ")?;
    let (name, details) = rest.split_once(": ")?;
    let call = || word(details, 1)?.parse().ok();
    let what = match name {
        "sys_enter" => What::Enter(call()?),
        "sys_exit" => What::Exit(call()?, details.rsplit(' ').next()?.parse().ok()?),
        "block_bio_queue" => What::Queue(sector(details)?),
        "block_getrq" => What::GetRequest(sector(details)?),
        "block_rq_complete" => What::Complete(sector(details)?),
        name => TAKEN.contains(&name).then_some(What::Taken)?,
    };
    Some(Event {
        time_ns: nanoseconds(before.split_whitespace().last()?)?,
        tid: task.trim_end().rsplit('-').next()?.parse().ok()?,
        what,
    })
}

fn word(text: &str, place: usize) -> Option<&str> {
    text.split_whitespace().nth(place)
}

/// The sector in `252,0 R 1024 + 8 [fio]`, with more words in between.
fn sector(details: &str) -> Option<u64> {
    let (before, _) = details.split_once(" + ")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Nanoseconds of `5.678901`.
fn nanoseconds(seconds: &str) -> Option<u64> {
    let (whole, micro) = seconds.split_once('.')?;
    let (whole, us): (u64, u64) = (whole.parse().ok()?, micro.parse().ok()?);
    (micro.len() == 6).then_some((whole * 1_000_000 + us) * 1000)
}
