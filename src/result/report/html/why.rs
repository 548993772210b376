//! Who waits behind whom under each arm: a heat table, whose rows wait and whose columns are waited for. Pure.

use maud::{Markup, html};

use super::figure::{Data, Figure, name};
use crate::report::units;
use crate::report::why::arms::{
    OfArm, Part, Waiter, disks, left_out, marks, mean_wait_ns, of_arms, shown, uncovered, waiters,
};
use crate::types::result::ResultFile;

/// One for each disk with somebody who waits; none without `--why`.
/// `within`: the cell of a study, ` in NAME`, which keeps the names of its tables apart; else empty.
pub fn figures(result: &ResultFile, within: &str) -> Vec<Figure> {
    let arms = of_arms(result);
    let disks = disks(&arms);
    let is_only = disks.len() == 1;
    let figures = disks.iter().enumerate().filter_map(|(place, disk)| {
        let waiters = waiters(&arms, disk, marks(result));
        (!waiters.is_empty()).then(|| Figure {
            id: format!("why{place}"),
            title: title(&arms, &waiters, (!is_only).then_some(*disk)),
            says: "Rows wait, columns are waited for: while n requests are in service, whoever waits is charged for each with 1/n of \
                   the time, and with the idle device while none is. Shares of the waiting in the windows of the rounds that count, \
                   with the standard error between the rounds. A slot was free: the device could have taken another request \
                   meanwhile; this is part of the others. "
                .to_owned()
                + &[left_out(result), uncovered(&arms)].join(" "),
            picture: picture(&arms, &waiters, &format!(" on {disk}{within}")),
            data: Data::default(),
        })
    });
    figures.collect()
}

/// The longest wait, and what most of it is.
fn title(arms: &[OfArm<'_>], waiters: &[Waiter<'_>], disk: Option<&str>) -> String {
    let on = disk.map_or(String::new(), |disk| format!(" on {disk}"));
    let first = &waiters[0];
    let waits = (0..arms.len()).filter_map(|arm| Some((arm, mean_wait_ns(first.by_arm[arm]?)?)));
    let Some((arm, wait_ns)) = waits.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return format!("Who waits behind whom{on}");
    };
    let behind = first.behind.iter().map(|name| {
        let share = first.behind(arm, name).map_or(0.0, |part| part.share);
        let whose = if *name == first.name { "its own" } else { name };
        (share, format!("behind {whose}"))
    });
    let idle = first.device_idle(arm).map_or(0.0, |part| part.share);
    let all = behind.chain([(idle, "while the device is idle".to_owned())]);
    let most = all.max_by(|a, b| a.0.total_cmp(&b.0));
    let most = most.map_or(String::new(), |(share, what)| {
        format!(", {:.0} % of it {what}", share * 100.0)
    });
    format!(
        "Under {} {} wait {} each{on}{most}",
        arms[arm].label,
        first.name,
        units::time(Some(wait_ns))
    )
}

/// `place`: ` on DISK`, and which cell.
fn picture(arms: &[OfArm<'_>], waiters: &[Waiter<'_>], place: &str) -> Markup {
    let mut columns: Vec<&str> = Vec::new();
    for name in waiters.iter().flat_map(|waiter| &waiter.behind) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    html! {
        @for (arm, of) in arms.iter().enumerate() {
            h3 { (name(of.label)) }
            div.scroll tabindex="0" role="region" aria-label=(format!("Who waits behind whom under {}{place}", of.label)) {
                table.shares {
                    thead {
                        tr {
                            th scope="col" { "waits" }
                            th scope="col" { "mean" }
                            @for column in &columns { th scope="col" { "behind " (name(column)) } }
                            th scope="col" { "device idle" }
                            th scope="col" { "a slot was free" }
                        }
                    }
                    tbody {
                        @for waiter in waiters {
                            tr {
                                th scope="row" { (name(&waiter.name)) }
                                td { (units::time(waiter.by_arm[arm].and_then(mean_wait_ns))) }
                                @for column in &columns { (cell(waiter.behind(arm, column))) }
                                (cell(waiter.device_idle(arm)))
                                td { (shown(waiter.slot_free(arm))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The larger the share, the darker.
fn cell(part: Option<Part>) -> Markup {
    let share = part.as_ref().map_or(0.0, |part| part.share);
    let style = format!("--share: {:.0}%", (share * 36.0).clamp(0.0, 36.0));
    html! { td.share style=(style) { (shown(part)) } }
}
