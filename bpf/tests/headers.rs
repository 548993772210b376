//! Checks bpf/block.bpf.h against the running kernel's BTF: its declarations exist there with the same sizes and signs,
//! and its constants have the kernel's values. Skipped, with a message, on a kernel without BTF.

#[path = "headers/declared.rs"]
mod declared;
#[path = "headers/kernel.rs"]
mod kernel;

use declared::{Header, Shape};
use kernel::Kernel;

const HEADER: &str = include_str!("../block.bpf.h");

/// Structures and fields that some kernels lack, with the replacement that the programs then read.
struct Optional {
    structure: &'static str,
    /// Empty for the whole structure.
    field: &'static str,
    instead: Option<(&'static str, &'static str)>,
    reason: &'static str,
}

const OPTIONAL: [Optional; 20] = [
    Optional {
        structure: "request_queue",
        field: "disk",
        instead: Some(("request", "rq_disk")),
        reason: "f3fa33acca9f (5.17) removed request.rq_disk; disk_of_request checks for both",
    },
    Optional {
        structure: "bio",
        field: "bi_bdev",
        instead: Some(("bio", "bi_disk")),
        reason: "309dca309fc3 (5.12) replaced bio.bi_disk; disk_of_bio checks for both",
    },
    Optional {
        structure: "task_struct",
        field: "worker_private",
        instead: Some(("task_struct", "set_child_tid")),
        reason: "e32cf5dfbe22 (5.17) moved the kthread there; read_work_name checks for both",
    },
    Optional {
        structure: "task_struct",
        field: "__state",
        instead: Some(("task_struct", "state")),
        reason: "2f064a59a11f (5.14) renamed it; sleeps_uninterruptibly checks for both",
    },
    Optional {
        structure: "page",
        field: "compound_head",
        instead: None,
        reason: "7.2 renamed it; head_of checks for both",
    },
    Optional {
        structure: "page",
        field: "compound_info",
        instead: Some(("page", "compound_head")),
        reason: "before 7.2 it is compound_head",
    },
    Optional {
        structure: "dentry",
        field: "d_alias",
        instead: Some(("dentry", "d_u")),
        reason: "until 7.1 it was in a union with a name; dentry_of checks for both",
    },
    Optional {
        structure: "dio",
        field: "",
        instead: None,
        reason: "kernels without a file system that needs it (CONFIG_LEGACY_DIRECT_IO)",
    },
    Optional {
        structure: "buffer_head",
        field: "b_end_io",
        instead: None,
        reason: "since 7.2 the bio has it; is_journal_buffer checks for it",
    },
    in_a_module("btrfs_key"),
    in_a_module("btrfs_root"),
    in_a_module("btrfs_bio"),
    in_a_module("btrfs_inode"),
    Optional {
        structure: "iomap_dio",
        field: "",
        instead: None,
        reason: "kernels without CONFIG_FS_IOMAP",
    },
    Optional {
        structure: "gendisk",
        field: "diskseq",
        instead: Some(("gendisk", "first_minor")),
        reason: "cf1795633024 (5.15) added it; identity_of_disk then takes the device number",
    },
    without_cgroups("bio", "bi_blkg"),
    without_cgroups("blkcg", ""),
    without_cgroups("blkcg_gq", ""),
    without_cgroups("cgroup", ""),
    without_cgroups("cgroup_subsys_state", ""),
];

const fn in_a_module(structure: &'static str) -> Optional {
    Optional {
        structure,
        field: "",
        instead: None,
        reason: "the module may not be loaded; inode_of_btrfs checks for it",
    }
}

const fn without_cgroups(structure: &'static str, field: &'static str) -> Optional {
    Optional {
        structure,
        field,
        instead: None,
        reason: "kernels without CONFIG_BLK_CGROUP; cgroup_of_bio checks for bio.bi_blkg first",
    }
}

/// Constants that BTF does not contain under their own name.
enum Indirect {
    /// The kernel has the bit's number under this name.
    Bit(&'static str),
    /// All REQ_OP_* below it are generic; from it on they belong to the driver.
    Passthrough,
    /// A macro, which BTF does not contain.
    Macro,
}

fn indirect(name: &str) -> Option<Indirect> {
    match name {
        "REQ_SYNC" => Some(Indirect::Bit("__REQ_SYNC")),
        "REQ_META" => Some(Indirect::Bit("__REQ_META")),
        "REQ_FUA" => Some(Indirect::Bit("__REQ_FUA")),
        "REQ_PREFLUSH" => Some(Indirect::Bit("__REQ_PREFLUSH")),
        "REQ_NOWAIT" => Some(Indirect::Bit("__REQ_NOWAIT")),
        "REQ_OP_FIRST_PASSTHROUGH" => Some(Indirect::Passthrough),
        "REQ_OP_MASK" | "BLK_STS_AGAIN" | "S_IFMT" | "S_IFREG" | "S_IFBLK" | "PF_IO_WORKER"
        | "PF_WQ_WORKER" | "PF_KTHREAD" | "PF_EXITING" => Some(Indirect::Macro),
        _ => None,
    }
}

/// Everything in the header that does not match this kernel.
fn complaints(header: &Header, kernel: &Kernel) -> Vec<String> {
    let mut complaints = Vec::new();
    for structure in &header.structures {
        // Layouts of older kernels, read only if the newer one is missing.
        if structure.name.contains("___") {
            continue;
        }
        if !kernel.has_struct(&structure.name) {
            complaints.extend(missing(kernel, &structure.name, ""));
            continue;
        }
        for field in &structure.fields {
            let place = format!("{}.{}", structure.name, field.name);
            match kernel.field(&structure.name, &field.name) {
                None => complaints.extend(missing(kernel, &structure.name, &field.name)),
                Some(shape) if !is_as_declared(&place, &shape, &field.shape) => {
                    complaints.push(format!(
                        "{place} is declared as {:?}, the kernel has {shape:?}",
                        field.shape
                    ));
                }
                Some(_) => {}
            }
        }
    }
    for (name, value) in &header.constants {
        complaints.extend(constant_complaint(kernel, name, *value));
    }
    complaints
}

/// `worker.desc` has become longer; only its beginning is read.
fn is_as_declared(place: &str, kernel: &Shape, declared: &Shape) -> bool {
    let is_text = |shape: &Shape| matches!(shape, Shape::Characters(_));
    kernel == declared || (place == "worker.desc" && is_text(kernel) && is_text(declared))
}

fn missing(kernel: &Kernel, structure: &str, field: &str) -> Option<String> {
    let listed = OPTIONAL
        .iter()
        .find(|optional| optional.structure == structure && optional.field == field);
    let Some(listed) = listed else {
        return Some(format!("{structure}.{field}: the kernel has none"));
    };
    if let Some((other, instead)) = listed.instead
        && kernel.field(other, instead).is_none()
    {
        return Some(format!(
            "neither {structure}.{field} nor {other}.{instead} exists"
        ));
    }
    println!("{structure}.{field} is missing here: {}", listed.reason);
    None
}

fn constant_complaint(kernel: &Kernel, name: &str, value: u64) -> Option<String> {
    let differs = |wanted: Option<u64>, source: &str| match wanted {
        Some(wanted) if wanted == value => None,
        Some(wanted) => Some(format!(
            "{name} is declared as {value}, the kernel's {source} says {wanted}"
        )),
        None => Some(format!("{name}: the kernel has no enumerator {source}")),
    };
    match indirect(name) {
        Some(Indirect::Bit(bit)) => differs(kernel.enumerator(bit).map(|bit| 1 << bit), bit),
        None => differs(kernel.enumerator(name), name),
        Some(Indirect::Macro) => {
            println!("{name}: a macro, not in BTF, not compared");
            None
        }
        Some(Indirect::Passthrough) => {
            let operations = kernel.enumerators_with("REQ_OP_");
            if operations.is_empty() {
                return Some(format!("{name}: the kernel has no REQ_OP_ enumerators"));
            }
            let wrong = operations.iter().find(|(operation, number)| {
                let of_the_driver =
                    operation.starts_with("REQ_OP_DRV_") || operation.starts_with("REQ_OP_SCSI_");
                operation != "REQ_OP_LAST" && of_the_driver != (*number >= value)
            });
            wrong.map(|(operation, number)| {
                format!("{name} is {value}, on the wrong side of {operation} = {number}")
            })
        }
    }
}

fn kernel() -> Option<Kernel> {
    let kernel = Kernel::running();
    if kernel.is_none() {
        println!("skipped: this kernel has no BTF (/sys/kernel/btf/vmlinux)");
    }
    kernel
}

#[test]
fn the_header_holds_on_this_kernel() {
    let Some(kernel) = kernel() else { return };
    let header = Header::parse(HEADER);
    let fields: usize = header.structures.iter().map(|s| s.fields.len()).sum();
    println!(
        "{} structures with {fields} fields, {} constants",
        header.structures.len(),
        header.constants.len()
    );
    assert_eq!(complaints(&header, &kernel), Vec::<String>::new());
}

/// The parser of the header skips nothing.
#[test]
fn every_declaration_is_read() {
    let header = Header::parse(HEADER);
    let definitions = |opening: &str| {
        let lines = HEADER.lines();
        lines
            .filter(|line| line.starts_with(opening) && line.ends_with('{'))
            .count()
    };
    assert_eq!(header.structures.len(), definitions("struct "));
    // In a structure a semicolon ends a field, in an enumeration an `=` defines a constant.
    let fields: usize = header.structures.iter().map(|s| s.fields.len()).sum();
    let indented = |text: &str| {
        HEADER
            .lines()
            .filter(|line| line.starts_with('\t') && line.contains(text))
            .count()
    };
    assert_eq!(fields, indented(";"));
    let on_one_line = HEADER
        .lines()
        .filter(|line| line.starts_with("enum {"))
        .count();
    assert_eq!(header.constants.len(), indented(" = ") + on_one_line);
}

/// Each kind of mistake is found, without false complaints.
#[test]
fn a_wrong_header_is_found() {
    let Some(kernel) = kernel() else { return };
    for (right, wrong, found) in [
        ("int major;", "int majr;", "gendisk.majr"),
        ("struct gendisk {", "struct gendisc {", "gendisc"),
        (
            "unsigned int queue_num;",
            "__u64 queue_num;",
            "blk_mq_hw_ctx.queue_num",
        ),
        ("int tag;", "unsigned int tag;", "request.tag"),
        ("char comm[16];", "char comm[8];", "task_struct.comm"),
        (
            "struct blk_mq_hw_ctx *mq_hctx;",
            "struct gendisk *mq_hctx;",
            "request.mq_hctx",
        ),
        ("REQ_OP_DISCARD = 3", "REQ_OP_DISCARD = 4", "REQ_OP_DISCARD"),
        (
            "REQ_PREFLUSH = 1U << 18",
            "REQ_PREFLUSH = 1U << 17",
            "REQ_PREFLUSH",
        ),
        (
            "PASSTHROUGH = 32",
            "PASSTHROUGH = 8",
            "REQ_OP_FIRST_PASSTHROUGH",
        ),
        (
            "BPF_F_MMAPABLE = 1U << 10",
            "BPF_F_MMAPABLE = 1U << 11",
            "BPF_F_MMAPABLE",
        ),
        ("BPF_NOEXIST = 1", "BPF_NOEXISTS = 1", "BPF_NOEXISTS"),
    ] {
        assert!(HEADER.contains(right), "{right}");
        let header = Header::parse(&HEADER.replacen(right, wrong, 1));
        let complaints = complaints(&header, &kernel);
        assert_eq!(complaints.len(), 1, "{wrong}: {complaints:?}");
        assert!(complaints[0].contains(found), "{wrong}: {complaints:?}");
    }
}
