//! Abilities of the running kernel, read from its BTF and never derived from its version.

use std::path::Path;

use anyhow::{Context, Result, bail};
use libbpf_rs::Btf;
use libbpf_rs::btf::types;

/// Position of each tracepoint's bio or request among its arguments; `None` if the tracepoint is missing.
#[allow(clippy::struct_excessive_bools)] // each by itself
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub bio_queue: Option<u32>,
    pub back_merge: Option<u32>,
    pub front_merge: Option<u32>,
    pub rq_merge: Option<u32>,
    pub io_start: Option<u32>,
    /// Replaces block_io_start on kernels without it.
    pub getrq: Option<u32>,
    pub insert: Option<u32>,
    pub issue: Option<u32>,
    pub requeue: Option<u32>,
    pub complete: Option<u32>,
    /// The current task is readable without copying (bpf_get_current_task_btf).
    pub task_btf: bool,
    /// Kernel memory may be copied: not in the lockdown mode "confidentiality".
    pub may_copy: bool,
    /// The kernel never runs a program on a CPU where it is already running.
    pub runs_alone: bool,
    /// The name: `writeback_dirty_folio`, or formerly `writeback_dirty_page`.
    pub writeback_dirty: Option<&'static str>,
    /// Requests complete with an errno instead of a `blk_status_t` (before 5.16).
    pub status_is_errno: bool,
    /// Bit mask of the zone operations.
    pub zone_ops: u64,
    /// The name: `io_uring_submit_req`, or formerly `io_uring_submit_sqe`.
    pub uring_submit: Option<&'static str>,
    /// `io_uring_queue_async_work`: position of the request or, in older kernels, of its address.
    pub uring_async_work: Option<u32>,
    /// `sys_enter` and `sys_exit`.
    pub syscalls: bool,
    /// `__blk_throtl_bio`, which is called only for bios of groups with a limit: a7b36ee6ba29 ("block: move blk-throtl fast
    /// path inline", 5.16). Before, its like is called for each bio.
    pub throttle: bool,
    /// The kernel says when a thread sleeps for a tag, and of which pool (`block_rq_tag_wait`, 7.2).
    pub tag_wait: bool,
    /// Position of the task that stops running among the arguments of `sched_switch`: in 5.18 its state was before it.
    pub sched_switch: Option<u32>,
    /// Position of `pause` among the arguments of `balance_dirty_pages`: the last but one.
    pub dirty_pause: Option<u32>,
    /// The name: `folio_wait_writeback`, or formerly `wait_on_page_writeback`.
    pub writeback_wait: Option<&'static str>,
    /// A program can look through the tasks (`iter/task`).
    pub tasks: bool,
    /// The bit of `RQF_FLUSH_SEQ` in `request.rq_flags`.
    pub flush_seq_flag: u32,
    /// Maps are charged against RLIMIT_MEMLOCK: until 80ee81e0403c ("bpf: Eliminate rlimit-based memory accounting
    /// infra for bpf maps", 5.11) `bpf_map` had a structure for it. Since then they are charged to the memory control
    /// group.
    pub counts_locked_memory: bool,
}

impl Abilities {
    pub fn of_running_kernel() -> Result<Self> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            bail!(
                "this kernel has no BTF (/sys/kernel/btf/vmlinux): boot a kernel with CONFIG_DEBUG_INFO_BTF=y"
            );
        }
        let btf = Btf::from_vmlinux().context("reading the kernel's BTF")?;
        Ok(Abilities {
            bio_queue: argument(&btf, "block_bio_queue", "bio"),
            back_merge: argument(&btf, "block_bio_backmerge", "bio"),
            front_merge: argument(&btf, "block_bio_frontmerge", "bio"),
            rq_merge: argument(&btf, "block_rq_merge", "request"),
            io_start: argument(&btf, "block_io_start", "request"),
            getrq: argument(&btf, "block_getrq", "bio"),
            insert: argument(&btf, "block_rq_insert", "request"),
            issue: argument(&btf, "block_rq_issue", "request"),
            requeue: argument(&btf, "block_rq_requeue", "request"),
            complete: argument(&btf, "block_rq_complete", "request"),
            task_btf: enumerator(&btf, "bpf_func_id", "BPF_FUNC_get_current_task_btf").is_some(),
            may_copy: !is_confidential(),
            runs_alone: btf
                .type_by_name::<types::Func<'_>>("bpf_prog_inc_misses_counter")
                .is_some(),
            writeback_dirty: first_tracepoint(
                &btf,
                ["writeback_dirty_folio", "writeback_dirty_page"],
            ),
            status_is_errno: second_argument_is_int(&btf, "block_rq_complete"),
            zone_ops: zone_ops(&btf),
            uring_submit: first_tracepoint(&btf, ["io_uring_submit_req", "io_uring_submit_sqe"]),
            // Older kernels pass (ctx, rw, request, work, flags), newer ones only the request.
            uring_async_work: argument(&btf, "io_uring_queue_async_work", "io_kiocb")
                .or_else(|| has_tracepoint(&btf, "io_uring_queue_async_work").then_some(2)),
            syscalls: has_tracepoint(&btf, "sys_enter") && has_tracepoint(&btf, "sys_exit"),
            throttle: btf
                .type_by_name::<types::Func<'_>>("__blk_throtl_bio")
                .is_some(),
            tag_wait: has_tracepoint(&btf, "block_rq_tag_wait"),
            sched_switch: argument(&btf, "sched_switch", "task_struct"),
            dirty_pause: arguments(&btf, "balance_dirty_pages").and_then(|n| n.checked_sub(2)),
            writeback_wait: first_tracepoint(
                &btf,
                ["folio_wait_writeback", "wait_on_page_writeback"],
            ),
            tasks: btf
                .type_by_name::<types::Struct<'_>>("bpf_iter__task")
                .is_some(),
            flush_seq_flag: any_enumerator(&btf, "__RQF_FLUSH_SEQ").map_or(1 << 4, |bit| 1 << bit),
            counts_locked_memory: btf
                .type_by_name::<types::Struct<'_>>("bpf_map_memory")
                .is_some(),
        })
    }

    /// Notes on what cannot be measured on this kernel, in words for reports.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut missing = |absent: bool, note: &str| {
            if absent {
                notes.push(note.to_owned());
            }
        };
        missing(
            self.bio_queue.is_none(),
            "no block_bio_queue, so no Q2G: the queue wait is G2D alone",
        );
        missing(
            self.io_start.is_none(),
            "no block_io_start: block_getrq replaces it, and requests are first seen at insert or issue",
        );
        missing(
            self.io_start.is_none() && self.getrq.is_none(),
            "neither block_io_start nor block_getrq: no queue wait, and no owner",
        );
        missing(
            self.uring_async_work.is_none(),
            "no io_uring_queue_async_work: io_uring's wait for a tag is counted from the worker thread's new attempt",
        );
        missing(
            self.back_merge.is_none(),
            "no block_bio_backmerge: back merges are not counted",
        );
        missing(
            self.front_merge.is_none(),
            "no block_bio_frontmerge: front merges are not counted",
        );
        missing(
            self.rq_merge.is_none(),
            "no block_rq_merge: request merges are not counted",
        );
        missing(
            self.requeue.is_none(),
            "no block_rq_requeue: requeues are not counted",
        );
        missing(
            !self.tasks,
            "no task iterator: threads that wait for a request are not shown",
        );
        missing(
            !self.may_copy,
            "lockdown mode \"confidentiality\": kernel workers are named after their thread instead of their work",
        );
        notes
    }
}

/// Parameter 0 is the tracepoint's private data, which is not part of the context.
fn prototype<'a>(btf: &'a Btf<'_>, tracepoint: &str) -> Option<types::FuncProto<'a>> {
    let typedef = btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{tracepoint}"))?;
    types::FuncProto::try_from(typedef.next_type()?.next_type()?).ok()
}

/// Index of the argument that points to `struct pointee`, in the program's context.
fn argument(btf: &Btf<'_>, tracepoint: &str, pointee: &str) -> Option<u32> {
    prototype(btf, tracepoint)?
        .iter()
        .skip(1)
        .position(|parameter| {
            btf.type_by_id::<types::Ptr<'_>>(parameter.ty)
                .and_then(|pointer| pointer.next_type())
                .is_some_and(|target| {
                    target
                        .skip_mods_and_typedefs()
                        .name()
                        .is_some_and(|name| name == pointee)
                })
        })
        .and_then(|index| u32::try_from(index).ok())
}

/// How many arguments the tracepoint has.
fn arguments(btf: &Btf<'_>, tracepoint: &str) -> Option<u32> {
    u32::try_from(prototype(btf, tracepoint)?.iter().skip(1).count()).ok()
}

fn second_argument_is_int(btf: &Btf<'_>, tracepoint: &str) -> bool {
    prototype(btf, tracepoint)
        .and_then(|prototype| prototype.iter().nth(2).map(|parameter| parameter.ty))
        .is_some_and(|ty| btf.type_by_id::<types::Int<'_>>(ty).is_some())
}

fn has_tracepoint(btf: &Btf<'_>, name: &str) -> bool {
    let typedef = format!("btf_trace_{name}");
    btf.type_by_name::<types::Typedef<'_>>(&typedef).is_some()
}

fn first_tracepoint(btf: &Btf<'_>, names: [&'static str; 2]) -> Option<&'static str> {
    names.into_iter().find(|name| has_tracepoint(btf, name))
}

fn enumerator(btf: &Btf<'_>, enumeration: &str, name: &str) -> Option<i64> {
    find(&btf.type_by_name::<types::Enum<'_>>(enumeration)?, name)
}

/// REQ_OP_ZONE_*, in an enumeration that was renamed.
fn zone_ops(btf: &Btf<'_>) -> u64 {
    ["req_op", "req_opf"]
        .into_iter()
        .filter_map(|name| btf.type_by_name::<types::Enum<'_>>(name))
        .flat_map(|enumeration| {
            enumeration
                .iter()
                .filter(|op| {
                    op.name
                        .is_some_and(|n| n.to_string_lossy().starts_with("REQ_OP_ZONE_"))
                })
                .map(|op| op.value)
                .collect::<Vec<_>>()
        })
        .filter(|value| (0..64).contains(value))
        .fold(0, |bits, value| bits | 1 << value)
}

/// The active mode is in brackets: `[confidentiality]`.
pub(crate) fn is_confidential() -> bool {
    std::fs::read_to_string("/sys/kernel/security/lockdown")
        .is_ok_and(|modes| modes.contains("[confidentiality]"))
}

/// In any enumeration: this one was anonymous before it got a name.
fn any_enumerator(btf: &Btf<'_>, name: &str) -> Option<i64> {
    btf.type_by_kind::<types::Enum<'_>>()
        .find_map(|enumeration| find(&enumeration, name))
}

fn find(enumeration: &types::Enum<'_>, name: &str) -> Option<i64> {
    enumeration
        .iter()
        .find(|member| member.name.is_some_and(|n| n == name))
        .map(|member| member.value)
}

#[cfg(test)]
mod tests {
    use super::Abilities;

    /// The VM matrix compares the page's cells; a missing row is found here, an hour earlier.
    #[test]
    fn the_page_of_kernels_has_a_row_for_each_ability() {
        let page = include_str!("../docs/kernels.md");
        let rows: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(name, _)| name)
            .collect();
        let shown = format!("{:?}", Abilities::default());
        let fields: Vec<&str> = shown
            .trim_start_matches("Abilities { ")
            .trim_end_matches(" }")
            .split(", ")
            .filter_map(|field| Some(field.split_once(": ")?.0))
            .collect();
        assert_eq!(rows, fields);
    }
}
