//! What the running kernel offers, asked from its BTF and never from its version.

use std::path::Path;

use anyhow::{Context, Result, bail};
use libbpf_rs::Btf;
use libbpf_rs::btf::types;

/// Where a tracepoint's bio or request stands among its arguments; `None` when the tracepoint is missing.
#[allow(clippy::struct_excessive_bools)] // each by itself
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub bio_queue: Option<u32>,
    pub back_merge: Option<u32>,
    pub front_merge: Option<u32>,
    pub rq_merge: Option<u32>,
    pub io_start: Option<u32>,
    /// Stands in for it.
    pub getrq: Option<u32>,
    pub bio_complete: Option<u32>,
    pub insert: Option<u32>,
    pub issue: Option<u32>,
    pub requeue: Option<u32>,
    pub complete: Option<u32>,
    /// The current task can be read without copying.
    pub task_btf: bool,
    /// Copying from the kernel's memory is allowed: not in the lockdown mode "confidentiality".
    pub may_copy: bool,
    /// A program is never run on a CPU where it is already running.
    pub runs_alone: bool,
    /// `writeback_dirty_folio`, or `writeback_dirty_page` before it: the name.
    pub writeback_dirty: Option<&'static str>,
    /// Requests complete with an errno, not with a `blk_status_t` (before 5.16).
    pub status_is_errno: bool,
    /// Bits of the zone operations' numbers.
    pub zone_ops: u64,
    /// `io_uring_submit_req`, or `io_uring_submit_sqe` before it: the name.
    pub uring_submit: Option<&'static str>,
    /// `io_uring_queue_async_work`: where the request or, in older kernels, its address stands.
    pub uring_async_work: Option<u32>,
    /// `sys_enter` and `sys_exit`.
    pub syscalls: bool,
    /// The bit of `RQF_FLUSH_SEQ` in `request.rq_flags`.
    pub flush_seq_flag: u32,
    /// Maps count against RLIMIT_MEMLOCK: until 80ee81e0403c ("bpf: Eliminate rlimit-based memory accounting infra for bpf
    /// maps", 5.11) `bpf_map` had a structure for that. Since then they are charged to the memory control group.
    pub counts_locked_memory: bool,
}

impl Abilities {
    pub fn of_running_kernel() -> Result<Self> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            bail!(
                "this kernel has no BTF (/sys/kernel/btf/vmlinux): a kernel with CONFIG_DEBUG_INFO_BTF=y is needed"
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
            bio_complete: argument(&btf, "block_bio_complete", "bio"),
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
            // (ctx, rw, request, work, flags) until the request alone was enough.
            uring_async_work: argument(&btf, "io_uring_queue_async_work", "io_kiocb")
                .or_else(|| has_tracepoint(&btf, "io_uring_queue_async_work").then_some(2)),
            syscalls: has_tracepoint(&btf, "sys_enter") && has_tracepoint(&btf, "sys_exit"),
            flush_seq_flag: any_enumerator(&btf, "__RQF_FLUSH_SEQ").map_or(1 << 4, |bit| 1 << bit),
            counts_locked_memory: btf
                .type_by_name::<types::Struct<'_>>("bpf_map_memory")
                .is_some(),
        })
    }

    /// What is missing here, in words for the report.
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
            "no block_io_start: block_getrq stands in for it, and requests are first seen at insert or issue",
        );
        missing(
            self.io_start.is_none() && self.getrq.is_none(),
            "neither block_io_start nor block_getrq: no queue wait, and no owner",
        );
        missing(
            self.bio_complete.is_none(),
            "no block_bio_complete: the wait of io_uring for a tag begins when a worker thread asks again",
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
            !self.may_copy,
            "lockdown mode \"confidentiality\": kernel workers go by their thread's name, not their work's",
        );
        notes
    }
}

/// Index into the program's context of the argument that points to `struct pointee`.
fn argument(btf: &Btf<'_>, tracepoint: &str, pointee: &str) -> Option<u32> {
    let typedef = btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{tracepoint}"))?;
    let prototype = types::FuncProto::try_from(typedef.next_type()?.next_type()?).ok()?;
    // Parameter 0 is the tracepoint's private data and not part of the context.
    prototype
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

fn second_argument_is_int(btf: &Btf<'_>, tracepoint: &str) -> bool {
    let prototype = btf
        .type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{tracepoint}"))
        .and_then(|typedef| typedef.next_type()?.next_type())
        .and_then(|prototype| types::FuncProto::try_from(prototype).ok());
    prototype
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

/// REQ_OP_ZONE_*, in an enumeration that has changed its name.
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

/// `[confidentiality]` is the mode that is on.
pub(crate) fn is_confidential() -> bool {
    std::fs::read_to_string("/sys/kernel/security/lockdown")
        .is_ok_and(|modes| modes.contains("[confidentiality]"))
}

/// In whichever enumeration: this one was anonymous before it got a name.
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
