//! Whether a workload has the processes in whose control groups arms set something. Pure.

use anyhow::Result;
use iosched_result::failure::Failure;
use iosched_result::types::arm::Arm;

use super::Workload;

pub fn ensure_there(workload: &dyn Workload, arms: &[Arm]) -> Result<()> {
    let profile = workload.properties().profile;
    let known: Vec<&str> = profile.groups.iter().map(|it| it.label.as_str()).collect();
    for arm in arms {
        let mut named = arm.of_own_groups().map(|(process, ..)| process);
        let Some(unknown) = named.find(|process| !known.contains(process)) else {
            continue;
        };
        let what = format!(
            "arm {}: {} starts no process {unknown}, in whose control group something could be set",
            arm.label,
            workload.name()
        );
        let hint = if known.is_empty() {
            "name a control group by its path: cgroup:/PATH/FILE".to_owned()
        } else {
            format!("its processes are: {}", known.join(", "))
        };
        return Err(Failure::usage(what, hint));
    }
    Ok(())
}
