//! The columns of Processes: those that fit, or those that the user has chosen. Pure.

use iosched_result::report::units::{count, share, throughput, time};
use iosched_result::stat::LiveProcess;
use iosched_result::why::WhyDevice;

use super::table::TableLevel;
use super::{causes, few};
use crate::ui::state::model::Sort;
use crate::ui::state::reports::last_component;
use crate::ui::state::rows::Row;

#[derive(Clone, Copy)]
pub struct Field {
    /// As the configuration names it; empty if it cannot be chosen.
    name: &'static str,
    pub title: &'static str,
    pub width: u16,
    pub from: TableLevel,
    pub until: TableLevel,
    pub sort: Option<Sort>,
    /// The maximum width of a name; None for numbers.
    pub most: Option<u16>,
    cell: Cell,
    /// The column is shown only if this holds for some row; None: always.
    only_if: Option<fn(&LiveProcess) -> bool>,
}

#[derive(Clone, Copy)]
enum Cell {
    Of(fn(&LiveProcess) -> String),
    /// Only where it is recorded who waits behind whom.
    Behind(fn(&LiveProcess, &WhyDevice) -> String),
}

impl Field {
    /// A row that did nothing has its name, and zeros where they are true.
    pub fn cell(&self, row: &Row<'_>, why: Option<&WhyDevice>) -> String {
        let process = row.process;
        if row.is_idle {
            return match self.sort {
                _ if WHO.contains(&self.name) => self.number(process, None),
                Some(Sort::Ios) => count(0.0),
                Some(Sort::Bytes) => throughput(0.0),
                _ => "-".to_owned(),
            };
        }
        self.number(process, why)
    }

    fn number(&self, process: &LiveProcess, why: Option<&WhyDevice>) -> String {
        match (self.cell, why) {
            (Cell::Of(cell), _) => cell(process),
            (Cell::Behind(cell), Some(why)) => cell(process, why),
            (Cell::Behind(_), None) => "-".to_owned(),
        }
    }
}

/// A number.
const fn field(
    name: &'static str,
    title: &'static str,
    width: u16,
    from: TableLevel,
    sort: Option<Sort>,
    cell: fn(&LiveProcess) -> String,
) -> Field {
    Field {
        name,
        title,
        width,
        from,
        until: TableLevel::MAX,
        sort,
        most: None,
        cell: Cell::Of(cell),
        only_if: None,
    }
}

/// The columns that name the process.
const WHO: [&str; 3] = ["pid", "command", "cgroup"];

/// The widths include the sort mark.
pub const FIELDS: [Field; 22] = [
    field("pid", "PID", 7, 2, None, |p| {
        p.pid.map_or("-".to_owned(), |pid| pid.to_string())
    }),
    Field {
        most: Some(20),
        ..field("command", "COMMAND", 10, 0, Some(Sort::Name), |p| {
            p.comm.clone()
        })
    },
    Field {
        most: Some(40),
        ..field("cgroup", "CGROUP", 10, 4, None, |p| {
            last_component(p.cgroup.as_deref().unwrap_or("-")).to_owned()
        })
    },
    field("iops", "IOPS", 6, 0, Some(Sort::Ios), |p| count(p.iops)),
    Field {
        until: 6,
        ..field("", "bytes/s", 9, 1, Some(Sort::Bytes), |p| {
            throughput(p.bytes_per_s)
        })
    },
    field("throughput", "throughput", 11, 6, Some(Sort::Bytes), |p| {
        throughput(p.bytes_per_s)
    }),
    field("share", "share", 7, 3, Some(Sort::Share), |p| {
        share(
            p.fairness
                .as_ref()
                .and_then(|fairness| fairness.device_time_share),
        )
    }),
    field("wait-p50", "wait p50", 9, 0, Some(Sort::WaitP50), |p| {
        few::p50(&p.queue_wait)
    }),
    field("wait-p99", "wait p99", 9, 5, Some(Sort::WaitP99), |p| {
        few::p99(&p.queue_wait)
    }),
    field("wait-max", "max", 8, 7, Some(Sort::WaitMax), |p| {
        time(p.queue_wait.max_ns)
    }),
    Field {
        most: Some(32),
        ..field("waits-for", "waits for", 17, 8, None, causes::waits_for)
    },
    Field {
        most: Some(32),
        cell: Cell::Behind(causes::behind),
        ..field("behind", "behind", 17, 9, None, causes::waits_for)
    },
    Field {
        only_if: Some(|p| p.without_queue_wait > 0),
        ..field("unknown", "unknown", 7, 6, None, |p| {
            count(p.without_queue_wait as f64)
        })
    },
    field("stalled", "stalled", 8, 10, Some(Sort::Stalled), |p| {
        share(Some(p.stalled_share))
    }),
    field(
        "device-p50",
        "device p50",
        11,
        12,
        Some(Sort::Device),
        |p| few::p50(&p.device_time),
    ),
    field("device-p99", "p99", 8, 11, None, |p| {
        few::p99(&p.device_time)
    }),
    field("starved", "starved", 8, 11, Some(Sort::Starved), |p| {
        time(
            p.fairness
                .as_ref()
                .and_then(|f| f.starvation_max_ns)
                .map(|ns| ns as f64),
        )
    }),
    field("merged", "merged", 7, 14, Some(Sort::Merged), |p| {
        share(p.merge_ratio)
    }),
    field("merges", "merges", 7, 15, None, |p| {
        count(p.merges.bios() as f64)
    }),
    field("oldest", "oldest", 8, 15, None, |p| {
        time(
            p.in_flight
                .and_then(|now| now.oldest_ns)
                .map(|ns| ns as f64),
        )
    }),
    field("reads", "reads", 7, 16, None, |p| count(p.reads as f64)),
    field("writes", "writes", 7, 16, None, |p| count(p.writes as f64)),
];

/// Titles that depend on the columns beside them, and what they are alone.
const ALONE: [(&str, &str); 2] = [("wait-max", "wait max"), ("device-p99", "device p99")];

fn that_can_be_chosen() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| !field.name.is_empty())
}

/// The names of all columns that can be chosen.
pub fn all() -> Vec<&'static str> {
    that_can_be_chosen().map(|field| field.name).collect()
}

/// The columns by which rows can be sorted.
pub fn sorting() -> Vec<&'static str> {
    let sorting = that_can_be_chosen().filter(|field| field.sort.is_some());
    sorting.map(|field| field.name).collect()
}

/// Err: which names there are.
pub fn named(text: &str) -> Result<&'static str, String> {
    let mut all = that_can_be_chosen();
    let found = all.find(|field| field.name == text);
    found.map(|field| field.name).ok_or_else(|| {
        let all = self::all().join(", ");
        format!("{text:?} is not a column of Processes: there are {all}")
    })
}

pub fn sort_of(name: &str) -> Result<Sort, String> {
    let mut all = that_can_be_chosen();
    let found = all.find(|field| field.name == name);
    found.and_then(|field| field.sort).ok_or_else(|| {
        let sorting = sorting().join(", ");
        format!("rows cannot be sorted by {name}, but by {sorting}")
    })
}

pub fn of_sort(sort: Sort) -> &'static str {
    let found = that_can_be_chosen().find(|field| field.sort == Some(sort));
    found.map_or("iops", |field| field.name)
}

/// Columns of the user, of which the last are left out first; or else all, in the order of their levels.
pub fn fields(chosen: &[&'static str], rows: &[Row<'_>], why: Option<&WhyDevice>) -> Vec<Field> {
    if chosen.is_empty() {
        let is_there = |field: &&Field| {
            if matches!(field.cell, Cell::Behind(_)) && why.is_none() {
                return false;
            }
            let mut rows = rows.iter();
            let only_if = field.only_if;
            only_if.is_none_or(|holds| rows.any(|row| !row.is_idle && holds(row.process)))
        };
        return FIELDS.iter().filter(is_there).copied().collect();
    }
    let by_name = |name: &&'static str| that_can_be_chosen().find(|field| field.name == *name);
    let found = chosen.iter().filter_map(by_name).enumerate();
    let field = |(place, field): (usize, &'static Field)| {
        let alone = ALONE.iter().find(|(name, _)| *name == field.name);
        let title = alone.map_or(field.title, |(_, title)| *title);
        Field {
            title,
            width: field.width.max(title.len() as u16 + 1),
            from: TableLevel::try_from(place).unwrap_or(TableLevel::MAX),
            until: TableLevel::MAX,
            ..*field
        }
    };
    found.map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_and_each_order_has_one_name() {
        let mut all = all();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), FIELDS.len() - 1);
        for sort in Sort::ALL {
            assert_eq!(sort_of(of_sort(sort)), Ok(sort));
        }
        assert!(named("").is_err() && named("nice").is_err());
    }

    #[test]
    fn the_users_columns_are_those_and_in_that_order() {
        let of = |chosen: &[&'static str]| -> Vec<(&str, TableLevel)> {
            let fields = fields(chosen, &[], None).into_iter();
            fields.map(|field| (field.title, field.from)).collect()
        };
        assert_eq!(
            of(&["wait-max", "command", "throughput"]),
            [("wait max", 0), ("COMMAND", 1), ("throughput", 2)]
        );
        let rare = FIELDS
            .iter()
            .filter(|field| field.only_if.is_some() || matches!(field.cell, Cell::Behind(_)))
            .count();
        assert_eq!(of(&[]).len(), FIELDS.len() - rare);
    }
}
