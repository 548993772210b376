//! What the programs stand on, as their sources say.

use std::fs;
use std::path::Path;

/// Every file that goes into the object, and what asks the kernel what it has.
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

/// Functions of the kernel are inlined, renamed, and can be held by another tracer; tracepoints stay, and have room for all.
#[test]
fn every_program_is_on_a_tracepoint() {
    let sources = sources();
    let sections: Vec<&str> = sources
        .iter()
        .flat_map(|(_, text)| text.split("SEC(\"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .filter(|section| !["license", ".maps"].contains(section))
        .collect();
    assert!(sections.len() >= 9, "{sections:?}");
    for section in sections {
        // What user space runs itself is on nothing.
        assert!(
            section.starts_with("tp_btf/") || section == "raw_tp",
            "{section}"
        );
    }
}

/// Distributions carry changes back to older kernels, so a version tells nothing of a tracepoint's arguments.
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
