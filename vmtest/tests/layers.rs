//! Arrays and the disks below them: which layer is switched, measured and used. Profile `stress`.

#[allow(dead_code)] // each test binary uses its part
#[path = "../../tests/support/program.rs"]
mod program;

use std::fs;
use std::time::Duration;

use iosched_host::scheduler;
use iosched_host::system::device::Device;
use iosched_result::types::queue::State;
use iosched_vmtest::{ARRAY as NAME, Array, Disk, set};
use program::{Ended, Program};
use serde_json::Value;

fn state(device: &Device) -> State {
    scheduler::read(device).expect("its queue")
}

fn ab(program: &Program, devices: &[&str], arguments: &[&[&str]]) -> Ended {
    let start = [
        &["run"],
        devices,
        &["-o", "result", "--force", "--arm", "none", "--arm", "bfq"],
    ]
    .concat();
    program.run(&[&start, &arguments.concat()[..]].concat())
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

#[test]
fn an_array_is_used_and_the_disks_below_it_are_switched_and_measured() {
    let (first, second) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    first.set_scheduler("mq-deadline");
    first.set("queue/nr_requests", "77");
    set(
        &second.sysfs("queue/scheduler").display().to_string(),
        "kyber",
    );
    let members = [&first.device, &second];
    let _array = Array::over(members);
    let before = members.map(state);
    let program = Program::new("iosched-ab");
    let read = "dd if=$IOSCHED_DEVICE of=/dev/null bs=64k count=64 iflag=direct 2>/dev/null";
    let command = ["--rounds", "2", "--", "sh", "-c", read];
    let layers = format!("{NAME} has no requests to schedule: ");
    let ended = ab(&program, &[NAME], &[&command]);
    println!("{}", ended.stderr);
    ended.ends(0, &[&layers, "raw I/O goes to md_vmtest"]);
    assert_eq!(members.map(state), before);
    assert!(program.journals().is_empty());

    let result = program.result("result");
    assert_eq!(result["device"]["group"]["named"][0], NAME);
    let rounds = result["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 4);
    for round in rounds {
        assert_eq!(round["problem"], Value::Null);
        let evidence = &round["evidence"];
        let applied = evidence["members"].as_array().expect("members");
        assert_eq!(applied.len(), 2);
        for member in applied {
            assert_eq!(member["applied"]["effective"]["active"], round["scheduler"]);
        }
        assert_eq!(round["lost_events"], 0);
        // Half of it on each.
        let owners = evidence["owners"].as_array().expect("owners");
        for member in members {
            let its = owners
                .iter()
                .filter(|row| row["key"]["device"] == member.name.as_str());
            let bytes: u64 = its.map(|row| count(&row["ops"][0]["bytes"])).sum();
            assert_eq!(bytes, 32 << 16, "{} in {owners:?}", member.name);
        }
        assert_eq!(count(&evidence["device"]["ops"][0]["bytes"]), 64 << 16);
    }

    // The array may be overwritten by its own name; a member never, for it is the array's.
    let write = "dd if=/dev/zero of=$IOSCHED_DEVICE bs=64k count=4 oflag=direct 2>/dev/null";
    let destroy = ["--rounds", "1", "--destroy-data", "--yes-destroy"];
    let command = ["--", "sh", "-c", write];
    let part_of = format!("{} is part of {NAME}", second.name);
    let by_member = [second.name.as_str()];
    let refused = ab(&program, &by_member, &[&destroy, &by_member, &command]);
    refused.ends(5, &[&part_of, "must not be written"]);
    let refused = ab(&program, &[NAME], &[&destroy, &by_member, &command]);
    refused.ends(5, &[&format!("is not the name or serial number of {NAME}")]);
    ab(&program, &[NAME], &[&destroy, &[NAME], &command]).ends(0, &[]);
    let round = &program.result("result")["rounds"][0]["evidence"];
    assert_eq!(count(&round["device"]["ops"][1]["bytes"]), 4 << 16);
    assert_eq!(members.map(state), before);
}

#[test]
fn where_one_of_several_disks_goes_the_others_are_put_back() {
    let (first, second) = Disk::two_scsi_debugs(&["delay=0", "ndelay=100000"]);
    first.set_scheduler("mq-deadline");
    first.set("queue/nr_requests", "77");
    let before = state(&first.device);
    let program = Program::new("iosched-ab");
    let read = "for d in $IOSCHED_DEVICES; do dd if=$d of=/dev/null bs=4k count=16 iflag=direct 2>/dev/null; done";
    let devices = [first.name(), &second.name];
    let start = [&["run"], &devices[..], &["-o", "result", "--rounds", "200"]].concat();
    let arms = ["--arm", "none", "--arm", "bfq", "--", "sh", "-c", read];
    let mut started = program.start(&[&start[..], &arms].concat());
    started.until(Duration::from_secs(60), "two rounds", || {
        let bytes = fs::read(program.file("result")).unwrap_or_default();
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        result["rounds"].as_array().map_or(0, Vec::len) >= 2
    });
    set(&second.sysfs("device/delete").display().to_string(), "1");
    let ended = started.end();
    println!("{}", ended.stderr);
    let gone = format!("{} disappeared", second.name);
    let says = [
        "the settings of the other disks were restored",
        "the completed rounds are in result",
    ];
    ended.ends(1, &[&gone, says[0], says[1]]);
    assert_eq!(state(&first.device), before);
    assert!(program.journals().is_empty());
    program.run(&["report", "result"]).ends(0, &[]);
}
