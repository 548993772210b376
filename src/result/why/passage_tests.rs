use super::*;
use proptest::prelude::*;

const BEGIN_NS: u64 = 1000;
const END_NS: u64 = 2000;

/// By the definition: everything that happens to a request, put in order.
fn plain(records: &[Record], number: impl Fn(&Request) -> u32) -> Vec<Event> {
    let or_never = |ns: u64| if ns == 0 { u64::MAX } else { ns };
    let mut events = Vec::new();
    for record in records {
        let queued_ns = record.queued_ns();
        let issued_ns = or_never(record.d_ns).max(queued_ns);
        let done_ns = or_never(record.data_ns).max(issued_ns);
        if done_ns <= BEGIN_NS {
            continue;
        }
        let waits = queued_ns > 0
            && record.op != Op::Flush
            && (record.d_ns > 0 || record.c_ns == 0)
            && !record.is_preflush
            && !record.is_flush_command
            && (issued_ns > BEGIN_NS || queued_ns >= BEGIN_NS);
        let owner = number(&Request::from(record));
        let steps = if waits {
            vec![(queued_ns, Step::Wait), (issued_ns, Step::Issue)]
        } else {
            vec![(issued_ns, Step::IssueAtOnce)]
        };
        for (time_ns, step) in steps.into_iter().chain([(done_ns, Step::End)]) {
            events.push(Event {
                time_ns: time_ns.max(BEGIN_NS),
                step,
                owner,
            });
        }
    }
    events.retain(|event| event.time_ns < END_NS);
    events
}

/// What happens at the same moment in the same step has no order.
fn key(event: &Event) -> (u64, u8, u32, bool) {
    let is_at_once = event.step == Step::IssueAtOnce;
    (event.time_ns, event.step.order(), event.owner, is_at_once)
}

fn moment() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 995..1010_u64, 1990..2005_u64, 1..3000_u64]
}

fn record() -> impl Strategy<Value = Record> {
    let times = [(); 4].map(|()| moment());
    let op = prop_oneof![Just(Op::Read), Just(Op::WriteSync), Just(Op::Flush)];
    let marks = [(); 3].map(|()| prop::bool::weighted(0.2));
    (times, op, marks, 0..4_u32).prop_map(|([q_ns, g_ns, d_ns, c_ns], op, marks, owner)| Record {
        q_ns,
        g_ns,
        owner,
        is_preflush: marks[0],
        is_flush_command: marks[1],
        c_ns: if marks[2] { c_ns + 1 } else { c_ns },
        ..Record::issued(op, d_ns, c_ns)
    })
}

proptest! {
    /// They come one after the other, and are the same.
    #[test]
    fn events_are_those_of_all_requests_in_the_order_of_time(
        records in prop::collection::vec(record(), 0..40)
    ) {
        let requests = records.iter().copied().collect();
        let stretch = Stretch::new(BEGIN_NS..END_NS, requests, 0);
        let parties = stretch.parties(0, MOST_PARTIES);
        let number = |request: &Request| {
            let mut services = parties.services.iter();
            let place = services.position(|(party, _)| *party == Party::of(request));
            place.expect("a party") as u32
        };
        let mut found: Vec<Event> = stretch.events(0, &parties).collect();
        prop_assert!(found.is_sorted_by_key(|event| (event.time_ns, event.step.order())));
        let mut expected = plain(&records, number);
        found.sort_by_key(key);
        expected.sort_by_key(key);
        prop_assert_eq!(found, expected);
    }
}
