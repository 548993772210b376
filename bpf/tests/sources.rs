//! Rules on the sources of the programs.

use std::fs;
use std::path::Path;

/// Every source file of the object and of its loader.
fn sources() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(directory).expect("the sources").flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().expect("UTF-8");
        let is_source = [".c", ".h", ".rs"].iter().any(|end| name.ends_with(end));
        is_source.then(|| (name, fs::read_to_string(entry.path()).expect("a source")))
    });
    files.collect()
}

/// Kernel functions may be inlined, renamed or occupied by another tracer; tracepoints are stable and support any
/// number of users.
#[test]
fn every_program_is_on_a_tracepoint() {
    let sources = sources();
    let sections: Vec<&str> = sources
        .iter()
        .filter(|(name, _)| !is_rust(name))
        .flat_map(|(_, text)| text.split("SEC(\"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .filter(|section| !["license", ".maps"].contains(section))
        .collect();
    assert!(sections.len() >= 9, "{sections:?}");
    for section in sections {
        // Programs that user space runs itself are attached to nothing, or to its reading; what a limit holds back is seen nowhere else: the
        // probe does without that one.
        let is_known = ["raw_tp", "iter/task", "fentry/__blk_throtl_bio"].contains(&section);
        assert!(section.starts_with("tp_btf/") || is_known, "{section}");
    }
}

fn is_rust(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "rs")
}

fn is_plain_c(name: &str) -> bool {
    let name = Path::new(name);
    name.extension().is_some_and(|end| end == "h") && !name.to_string_lossy().ends_with(".bpf.h")
}

/// iosched.bpf.c and sync.bpf.c list all programs; a header not named `.bpf.h` is plain C.
#[test]
fn programs_and_maps_stand_where_their_files_names_say() {
    for (name, text) in &sources() {
        let has_program = text.contains("SEC(\"tp_btf/") || text.contains("SEC(\"raw_tp");
        let lists = ["iosched.bpf.c", "sync.bpf.c"].contains(&&**name);
        assert!(!has_program || lists, "{name}");
        if is_plain_c(name) {
            for word in ["SEC(", "bpf_", ".bpf.h\""] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}

/// Distributions backport changes to older kernels, so a version says nothing about a tracepoint's arguments.
#[test]
fn nothing_asks_for_the_kernels_version() {
    let sources = sources();
    assert!(
        sources
            .iter()
            .any(|(_, text)| text.contains("of_running_kernel"))
    );
    for (name, text) in &sources {
        for word in [
            "KERNEL_VERSION",
            "utsname",
            "uname(",
            "/proc/version",
            "osrelease",
        ] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
}

fn in_braces<'a>(text: &'a str, opening: &str) -> &'a str {
    let (_, rest) = text.split_once(opening).expect(opening);
    rest.split_once("\n}").expect("an end").0
}

/// Names of the enumerations and their members in wire.h.
fn wire() -> (Vec<String>, Vec<String>) {
    let header = include_str!("../wire.h");
    let (mut enumerations, mut members) = (Vec::new(), Vec::new());
    for (name, _) in header
        .split("\nenum ")
        .skip(1)
        .filter_map(|rest| rest.split_once(" {\n"))
    {
        let body = in_braces(header, &format!("\nenum {name} {{"));
        let first_words = body
            .lines()
            .filter_map(|line| line.split([',', ' ']).next());
        let upper = first_words.map(|word| word.trim().to_owned());
        members.extend(upper.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())));
        enumerations.push(name.to_owned());
    }
    assert!(enumerations.len() >= 6, "{enumerations:?}");
    assert!(members.len() >= 30, "{members:?}");
    (enumerations, members)
}

/// An enumeration that the object does not use is missing in its BTF, and thus in Rust.
#[test]
fn every_enumeration_of_the_wire_is_generated() {
    let generated = include_str!(concat!(env!("OUT_DIR"), "/iosched.skel.rs"));
    let (enumerations, members) = wire();
    for name in enumerations {
        let opening = format!("impl {name} {{");
        assert!(generated.contains(&opening), "{name}");
    }
    for member in members {
        let constant = format!("pub const {member}: Self");
        assert!(generated.contains(&constant), "{member}");
    }
}

/// A value of wire.h repeated by hand in Rust would not follow a change of wire.h. The pure crate repeats some:
/// src/measure/agreement.rs compares them when it is compiled.
#[test]
fn no_value_of_the_wire_is_repeated_in_rust() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (_, members) = wire();
    let mut sources = sources();
    let mut directories = vec![directory.join("../src/measure")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("src/measure").flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.display().to_string();
                sources.push((name, fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    for (name, text) in sources.iter().filter(|(name, _)| is_rust(name)) {
        for line in text.lines() {
            let Some((_, constant)) = line.split_once("const ") else {
                continue;
            };
            let value = constant.rsplit(" = ").next().unwrap_or_default();
            let is_number = value.starts_with(|c: char| c.is_ascii_digit());
            let is_member = members
                .iter()
                .any(|member| constant.starts_with(&format!("{member}:")));
            assert!(!(is_number && is_member), "{name}: {line}");
        }
    }
}

/// Padding bytes would be uninitialised; the generator names them.
#[test]
fn nothing_of_the_wire_is_padded() {
    const OBJECTS: [(&str, &str); 2] = [
        (
            include_str!("../wire.rs"),
            include_str!(concat!(env!("OUT_DIR"), "/iosched.skel.rs")),
        ),
        (
            include_str!("../sync_wire.rs"),
            include_str!(concat!(env!("OUT_DIR"), "/sync.skel.rs")),
        ),
    ];
    for (wire, generated) in OBJECTS {
        let plain = wire.split_once("\nplain!(").expect("the list").1;
        let names = plain.split([',', ')']).map(str::trim);
        let names: Vec<&str> = names
            .filter(|name| !["", ";", "u64"].contains(name))
            .collect();
        assert!(names.len() >= 6, "{names:?}");
        for name in names {
            let (_, rest) = generated
                .split_once(&format!("pub struct {name} {{"))
                .expect(name);
            let fields = rest.split_once('}').expect("an end").0;
            assert!(!fields.contains("__pad"), "{name}: {fields}");
        }
    }
}
