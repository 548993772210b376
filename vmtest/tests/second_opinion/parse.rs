//! blkparse's text. Shares no code with the product.

/// Action, CPU, number on it, seconds, nanoseconds, thread, kind, sector, bytes, command.
pub const FORMAT: &str = r"%a %c %s %T %t %p %d %S %N %C\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub action: Action,
    pub time_ns: u64,
    /// The thread in which it happened.
    pub tid: u32,
    /// Letters of what is asked for: `R` a read, `WS` a synchronous write, `FWFS` one with a flush before and FUA.
    pub kind: String,
    pub sector: u64,
    pub bytes: u64,
    pub command: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Queue,
    Split,
    GetRequest,
    BackMerge,
    FrontMerge,
    Insert,
    Issue,
    Requeue,
    Complete,
}

fn action(letter: &str) -> Option<Action> {
    Some(match letter {
        "Q" => Action::Queue,
        "X" => Action::Split,
        "G" => Action::GetRequest,
        "M" => Action::BackMerge,
        "F" => Action::FrontMerge,
        "I" => Action::Insert,
        "D" => Action::Issue,
        "R" => Action::Requeue,
        "C" => Action::Complete,
        _ => return None, // plugs, and messages of the schedulers
    })
}

/// The events of requests, in the order of their times.
pub fn events(text: &str) -> Vec<Event> {
    text.lines().filter_map(event).collect()
}

fn event(line: &str) -> Option<Event> {
    let mut words = line.split_whitespace();
    let action = action(words.next()?)?;
    let mut word = || words.next().unwrap_or_else(|| panic!("cut off: {line}"));
    let (_cpu, _number) = (word(), word());
    let mut number = |what: &str| -> u64 {
        let word = word();
        word.parse()
            .unwrap_or_else(|_| panic!("{what} {word}: {line}"))
    };
    let time_ns = number("seconds") * 1_000_000_000 + number("nanoseconds");
    let tid = number("thread") as u32;
    let kind = words.next().expect("a kind").to_owned();
    let mut number = || -> u64 {
        let word = words.next().unwrap_or_default();
        word.parse().unwrap_or_else(|_| panic!("{word}: {line}"))
    };
    let (sector, bytes) = (number(), number());
    Some(Event {
        action,
        time_ns,
        tid,
        kind,
        sector,
        bytes,
        command: words.collect::<Vec<_>>().join(" "),
    })
}
